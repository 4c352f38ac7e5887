/** Transactions that go to a protected endpoint: no node gets them, and their jobs follow them at the nodes all the same. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { getSignatureFromTransaction, getTransactionDecoder, type KeyPairSigner } from '@solana/kit'
import { keccak256, parseGwei } from 'viem'
import { base58Encode } from '../../core/base58.ts'
import type { JobBody } from '../../schemas/api/job.ts'
import { transferSol } from '../../serving/dex/solana-calls.ts'
import { unsignedTransaction } from '../../serving/dex/solana-message.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { type FaultyNode, type InterceptCall, startFaultyNode } from '../support/nodes/faulty.ts'
import { fundedWallet, type LocalSvm, signedBy, startLocalSvm } from '../support/nodes/local-svm.ts'
import { until } from '../support/until.ts'

const SENDS = ['eth_sendRawTransaction', 'sendTransaction']
const signer = devAccount(3)

let anvil: Anvil
let svm: LocalSvm
let api: TestApi
let payer: KeyPairSigner
/** Proxies of both nodes: what nodes are asked, and what protected endpoints are. */
let nodes: { readonly eth: FaultyNode; readonly sol: FaultyNode }
let protectedBy: { readonly eth: FaultyNode; readonly sol: FaultyNode }

/** An endpoint that takes transactions and answers nothing else. */
const onlySends: InterceptCall = ({ id, method }) =>
  SENDS.includes(method)
    ? undefined
    : {
        raw: JSON.stringify({
          jsonrpc: '2.0',
          id,
          error: { code: -32_601, message: 'no such method' },
        }),
      }

before(async () => {
  anvil = await startAnvil()
  svm = await startLocalSvm()
  payer = await fundedWallet(svm, 1, 50_000_000_000n)
  const both = async () => ({
    eth: await startFaultyNode(anvil.httpUrl),
    sol: await startFaultyNode(svm.url),
  })
  nodes = await both()
  protectedBy = await both()
  const urlsOf = ({ eth, sol }: typeof nodes) => ({ eth: [eth.httpUrl], sol: [sol.httpUrl] })
  api = await startApi({
    chains: ['eth', 'sol'],
    overrides: {
      chainRpcUrls: urlsOf(nodes),
      protectedRpcUrls: urlsOf(protectedBy),
      rpcTimeoutMs: 1_000,
    },
  })
  protectedBy.eth.meddle = onlySends
  protectedBy.sol.meddle = onlySends
})
after(async () => {
  await api.stop()
  for (const node of [...Object.values(nodes), ...Object.values(protectedBy)]) await node.stop()
  await anvil.stop()
  await svm.stop()
})

const send = async (chain: 'eth' | 'sol', signedTx: string, more: object) => {
  const { status, body } = await callApi(api, `/v2/transaction/${chain}/send`, {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ signedTx, ...more }),
  })
  return { status, body: body as { readonly code?: number; readonly jobId?: string } }
}
const jobOf = async (id = ''): Promise<JobBody> =>
  (await callApi(api, `/v2/job/${id}`)).body as JobBody
const sentOver = ({ asked }: FaultyNode): number =>
  asked.filter(({ method }) => SENDS.includes(method)).length

const signedEvm = async (): Promise<`0x${string}`> =>
  signer.signTransaction({
    chainId: 1,
    gas: 50_000n,
    to: `0x${'22'.repeat(20)}`,
    value: 5n,
    maxFeePerGas: parseGwei('30'),
    maxPriorityFeePerGas: parseGwei('1'),
    nonce: await anvil.client.getTransactionCount({ address: signer.address, blockTag: 'pending' }),
  })
const signedSolana = async (lamports: bigint): Promise<string> => {
  svm.svm.expireBlockhash()
  const lifetime = { blockhash: svm.svm.latestBlockhash(), lastValidBlockHeight: 250 }
  const call = transferSol(payer.address, addressFor('receiver'), lamports)
  return signedBy(payer, unsignedTransaction(payer.address, lifetime, [call]))
}

test('an EVM transaction goes to the protected endpoint alone, and its job follows it', async () => {
  for (const more of [{ options: { isAntiMev: true } }, { submitType: 'priority' }]) {
    const hex = await signedEvm()
    const { status, body } = await send('eth', hex, more)
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal(body.jobId, `job_${keccak256(hex).slice(2)}`)
    const job = await until(async () => {
      const found = await jobOf(body.jobId)
      return found.state === 'completed' && found
    }, 'the job ends')
    assert.equal((job.result as { submission?: string }).submission, 'protected')
  }
  assert.equal(sentOver(protectedBy.eth), 2)
  assert.equal(sentOver(nodes.eth), 0)
})

test('a Solana transaction that waits is sent again to no node', async () => {
  const signed = await signedSolana(2_000_001n)
  const name = getSignatureFromTransaction(
    getTransactionDecoder().decode(Buffer.from(signed, 'base64')),
  )
  protectedBy.sol.meddle = () => ({ result: name })
  const { status, body } = await send('sol', signed, { options: { isAntiMev: true } })
  assert.equal(status, 200, JSON.stringify(body))
  const looks = () =>
    nodes.sol.asked.filter(({ method }) => method === 'getSignatureStatuses').length
  const before = looks()
  await until(() => looks() >= before + 3, 'three looks at the node')
  assert.equal((await jobOf(body.jobId)).state, 'pending')
  assert.equal(sentOver(nodes.sol), 0)
  const taken = await fetch(svm.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'sendTransaction',
      params: [signed, {}],
    }),
  })
  assert.equal(((await taken.json()) as { result?: string }).result, name)
  await until(async () => (await jobOf(body.jobId)).state === 'completed', 'the job ends')
  assert.equal(sentOver(nodes.sol), 0)
})

test('what a protected endpoint refuses is refused with its reason', async () => {
  protectedBy.eth.meddle = ({ id }) => ({
    raw: JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message: 'nonce too low' } }),
  })
  const { status, body } = await send('eth', await signedEvm(), { submitType: 'priority' })
  assert.ok(status >= 400 && status < 500, JSON.stringify(body))
  assert.equal(sentOver(nodes.eth), 0)
})

test('a protected endpoint that takes no call, or names another transaction, is 502 and leaves no job', async () => {
  const [hex, signed] = [await signedEvm(), await signedSolana(3n)]
  const other = { eth: `0x${'11'.repeat(32)}`, sol: base58Encode(Buffer.alloc(64, 7)) }
  for (const [chain, text] of [
    ['eth', hex],
    ['sol', signed],
  ] as const) {
    for (const answer of ['hang', { result: other[chain] }, { raw: 'busy' }] as const) {
      protectedBy[chain].meddle = () => answer
      const { status, body } = await send(chain, text, { submitType: 'priority' })
      assert.deepEqual([status, body.code], [502, 50_031], JSON.stringify(answer))
    }
    assert.equal(sentOver(nodes[chain]), 0)
  }
  const { status } = await callApi(api, `/v2/job/job_${keccak256(hex).slice(2)}`)
  assert.equal(status, 404)
})

test('a waiting transaction that its owner sends again without protection goes to the nodes, again and again', async () => {
  const signed = await signedSolana(2_000_002n)
  const name = getSignatureFromTransaction(
    getTransactionDecoder().decode(Buffer.from(signed, 'base64')),
  )
  protectedBy.sol.meddle = () => ({ result: name })
  const first = await send('sol', signed, { options: { isAntiMev: true } })
  // The node takes it and does not put it into a block.
  nodes.sol.meddle = ({ method }) => (method === 'sendTransaction' ? { result: name } : undefined)
  try {
    const before = sentOver(nodes.sol)
    const second = await send('sol', signed, {})
    assert.deepEqual([second.status, second.body.jobId], [200, first.body.jobId])
    await until(() => sentOver(nodes.sol) >= before + 3, 'it is sent again by itself')
    assert.equal((await jobOf(first.body.jobId)).state, 'pending')
  } finally {
    nodes.sol.meddle = () => undefined
  }
})
