import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type Hex,
  keccak256,
  numberToHex,
  parseGwei,
  recoverTransactionAddress,
  serializeTransaction,
  toRlp,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { Fault } from '../../core/errors.ts'
import { keccakInTurns } from '../../core/keccak.ts'
import { readSignedTransaction } from '../../serving/dex/evm-signed-transaction.ts'

const signer = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const TO = `0x${'22'.repeat(20)}` as const
const fees = { maxFeePerGas: parseGwei('30'), maxPriorityFeePerGas: parseGwei('1') }
const plain = { chainId: 1, nonce: 7, gas: 21_000n, to: TO, value: 1n, data: '0x' as Hex }

const base64 = (hex: string): string => Buffer.from(hex.slice(2), 'hex').toString('base64')
const faultOf = async (text: string, chainId = 1): Promise<unknown> => {
  const fault = await readSignedTransaction(text, chainId).catch((error: unknown) => error)
  assert.ok(fault instanceof Fault, text.slice(0, 40))
  return [fault.faultName, fault.details?.reason]
}

test('every kind of signed transaction is read from hex and base64', async () => {
  const kinds = [
    { ...plain, ...fees, type: 'eip1559' },
    { ...plain, gasPrice: 5n, type: 'legacy' },
    { ...plain, gasPrice: 5n, type: 'eip2930', accessList: [{ address: TO, storageKeys: [] }] },
  ] as const
  for (const kind of kinds) {
    const hex = await signer.signTransaction(kind)
    const wanted = {
      hex,
      hash: keccak256(hex),
      nonce: 7,
      from: signer.address.toLowerCase(),
    }
    assert.deepEqual(await readSignedTransaction(hex, 1), wanted, kind.type)
    assert.deepEqual(await readSignedTransaction(base64(hex), 1), wanted, kind.type)
    const upper = `0x${hex.slice(2).toUpperCase()}`
    assert.deepEqual(await readSignedTransaction(upper, 1), wanted, kind.type)
  }
})

test('the signer is found from the bytes as they were signed, of every kind and chain', async () => {
  const accessList = [{ address: TO, storageKeys: [numberToHex(1, { size: 32 })] }]
  const authorizationList = [
    await signer.signAuthorization({ address: TO, chainId: 1, nonce: 0 }),
  ] as const
  for (const chainId of [1, 56, 127, 128, 137, 8_453, 43_114, 4_294_967_295])
    for (const data of [
      '0x',
      '0x7f',
      '0x80',
      `0x${'ab'.repeat(55)}`,
      `0x${'ab'.repeat(70_000 >> 1)}`,
    ])
      for (const kind of [
        { type: 'legacy', gasPrice: 5n },
        { type: 'eip2930', gasPrice: 5n, accessList },
        { type: 'eip1559', ...fees, accessList },
        { type: 'eip7702', ...fees, authorizationList },
      ] as const) {
        const given = { ...plain, chainId, data: data as Hex, nonce: data.length }
        const hex = await signer.signTransaction(Object.assign(given, kind) as never)
        const read = await readSignedTransaction(hex, chainId)
        assert.equal(read.from, signer.address.toLowerCase(), `${kind.type} ${chainId}`)
        assert.equal(
          read.from,
          (await recoverTransactionAddress({ serializedTransaction: hex as never })).toLowerCase(),
        )
        assert.deepEqual([read.hash, read.nonce], [keccak256(hex), data.length])
      }
})

test('others get turns while a long text is hashed, a short one is hashed at once', async () => {
  const turnsIn = async (lengths: readonly number[]): Promise<number> => {
    const parts = lengths.map((length) => Buffer.alloc(length, 0xab))
    let turns = 0
    let isHashed = false
    const count = (): void => {
      turns += 1
      if (!isHashed) setImmediate(count)
    }
    const immediate = setImmediate(count)
    assert.equal(await keccakInTurns(parts), keccak256(Buffer.concat(parts)))
    isHashed = true
    clearImmediate(immediate)
    return turns
  }
  assert.equal(await turnsIn([100, 16_000]), 0)
  assert.ok((await turnsIn([65_000])) >= 3)
  assert.ok((await turnsIn(Array.from({ length: 65 }, () => 1_000))) >= 3)
})

test('an invalid signed transaction is refused with its reason', async () => {
  const signed = await signer.signTransaction({ ...plain, ...fees })
  const unsigned = serializeTransaction({ ...plain, ...fees })
  const legacy = serializeTransaction({ ...plain, gasPrice: 5n, type: 'legacy' })
  const { chainId: _left, ...anyChain } = plain
  const old = await signer.signTransaction({ ...anyChain, gasPrice: 5n, type: 'legacy' })
  const large = await signer.signTransaction({
    ...plain,
    ...fees,
    data: `0x${'00'.repeat(131_072)}`,
  })
  const zero = serializeTransaction(
    { ...plain, ...fees },
    { r: `0x${'0'.repeat(63)}1`, s: `0x${'f'.repeat(64)}`, yParity: 0 },
  )
  const invalid = 'INVALID_PARAMETER'
  assert.deepEqual(await faultOf(signed, 56), [invalid, 'other_chain'])
  assert.deepEqual(await faultOf(old), [invalid, 'other_chain'])
  assert.deepEqual(await faultOf(unsigned), ['TRANSACTION_NOT_SIGNED', undefined])
  assert.deepEqual(await faultOf(legacy), ['TRANSACTION_NOT_SIGNED', undefined])
  assert.deepEqual(await faultOf(zero), ['TRANSACTION_SIGNATURE_MISSING', undefined])
  assert.deepEqual(await faultOf(large), ['TRANSACTION_SIZE_EXCEEDED', undefined])
  assert.deepEqual(await faultOf(signed.slice(0, -2)), [invalid, 'not_a_transaction'])
  assert.deepEqual(await faultOf(`${signed}00`), [invalid, 'not_a_transaction'])
  assert.deepEqual(await faultOf(`0x${'f8'.repeat(60_000)}`), [invalid, 'not_a_transaction'])
  for (const text of ['', '0x', '0x1', 'ä', '====', 'AAA', ' AAAA', `${base64(signed)}\n`]) {
    assert.deepEqual(await faultOf(text), [invalid, 'encoding'], text)
  }
})

test('lists of a transaction are bounded before it is decoded, in bytes and in how many fields there are', async () => {
  const addresses = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      address: `0x${index.toString(16).padStart(40, '0')}` as const,
      storageKeys: [],
    }))
  const keys = Array.from({ length: 480 }, (_, index) => numberToHex(index, { size: 32 }))
  for (const accessList of [addresses(680), [{ address: TO, storageKeys: keys }]]) {
    const hex = await signer.signTransaction({ ...plain, ...fees, accessList })
    assert.equal((await readSignedTransaction(hex, 1)).hash, keccak256(hex))
  }
  const authorization = {
    address: TO,
    chainId: 1,
    nonce: 0,
    r: `0x${'33'.repeat(32)}`,
    s: `0x${'22'.repeat(32)}`,
    yParity: 0,
  }
  const authorizationList = Array.from({ length: 300 }, () => authorization)
  for (const more of [
    { accessList: addresses(5_000) },
    { accessList: addresses(760) },
    { type: 'eip7702', authorizationList },
    { type: 'eip2930', gasPrice: 5n, maxFeePerGas: undefined, maxPriorityFeePerGas: undefined },
  ]) {
    const accessList = 'gasPrice' in more ? addresses(2_800) : []
    const hex = await signer.signTransaction({
      ...plain,
      ...fees,
      accessList,
      ...more,
    } as never)
    assert.deepEqual(await faultOf(hex), ['TRANSACTION_SIZE_EXCEEDED', undefined])
  }
  const fields = toRlp(Array.from({ length: 65_000 }, () => '0x01' as const))
  for (const hex of [
    `0x02${fields.slice(2)}`,
    fields,
    '0x02',
    '0x02f8',
    '0x02f90001c0',
    '0x02c1b8',
  ]) {
    assert.deepEqual(
      await faultOf(hex),
      ['INVALID_PARAMETER', 'not_a_transaction'],
      hex.slice(0, 9),
    )
  }
  assert.deepEqual(await faultOf(`0x03${fields.slice(2)}`), [
    'INVALID_PARAMETER',
    'blob_transaction',
  ])
})

test('random bytes as a signed transaction are refused with a typed error', async () => {
  const anything = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 300 }),
    fc.uint8Array({ maxLength: 300 }).map((rest) => Uint8Array.from([2, 0xf8, ...rest])),
  )
  await fc.assert(
    fc.asyncProperty(anything, async (bytes) => {
      await faultOf(`0x${Buffer.from(bytes).toString('hex')}`)
    }),
    { numRuns: 300 },
  )
})
