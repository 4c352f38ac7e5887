/** Comma-joined lists of addresses in the query of a request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddressList } from '../../serving/http/chain-parameters.ts'

test('a list without an address is refused by a message that names its parameter', () => {
  for (const text of ['', ' , ']) {
    assert.throws(() => parseAddressList('eth', text, 'tokenAddresses'), {
      faultName: 'MISSING_PARAMETER',
      message: 'tokenAddresses is required',
      details: { parameter: 'tokenAddresses' },
    })
  }
})

test('an address list has each address once, in any notation', () => {
  const address = `0x${'aB'.repeat(20)}`
  const text = ` ${address}, ${address.toLowerCase()},,`
  assert.deepEqual(parseAddressList('eth', text, 'walletAddresses'), [address.toLowerCase()])
})
