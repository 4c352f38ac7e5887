import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDocumentSubjects } from '../../cli/standalone/document-subjects.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { withExamples } from '../../serving/http/document-examples.ts'

const example = (chain: string) => ({
  chain,
  token: `${chain}-token`,
  quote: `${chain}-quote`,
  pool: `${chain}-pool`,
  wallet: `${chain}-wallet`,
  txHash: `${chain}-tx`,
})

test('the examples of the API document are about the first chain that has a trade', () => {
  const subjects = createDocumentSubjects([CHAINS.sol, CHAINS.eth], () => 7_200_000)
  assert.equal(subjects.current(), undefined)
  subjects.set({})
  assert.equal(subjects.current(), undefined)
  subjects.set({ ethereum: example('ethereum') })
  assert.equal(subjects.current()?.walletAddress, 'ethereum-wallet')
  const both = { ethereum: example('ethereum'), sol: example('sol') }
  subjects.set(both)
  const known = subjects.current()
  assert.equal(known?.pair, 'sol-token-sol-quote')
  assert.deepEqual([known?.from, known?.to], [3_600_000, 7_200_000])
  subjects.set(both)
  assert.equal(subjects.current(), known, 'the document is not printed again for nothing')
})

test('subjects of an installation replace the examples of the recorded chain, others stay', () => {
  const operation = {
    parameters: [
      { name: 'tokenAddress', required: true, schema: { type: 'string' } },
      { name: 'duration', required: true, schema: { type: 'string' } },
    ],
  }
  const document = { paths: { '/one': { get: operation } }, components: { schemas: {} } }
  const { paths } = withExamples(document, { tokenAddress: 'mine' }) as typeof document
  assert.deepEqual(
    paths['/one'].get.parameters.map((each) => (each as { readonly example?: string }).example),
    ['mine', '1h'],
  )
})
