/** Sent Solana transactions behind nodes of which some are behind the chain: what a node does not know yet is not too old. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyPairSigner } from '@solana/kit'
import { dataOf, SYSTEM_PROGRAM } from '../../serving/dex/solana-calls.ts'
import { unsignedTransaction } from '../../serving/dex/solana-message.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import { type FaultyNode, type InterceptCall, startFaultyNode } from '../support/nodes/faulty.ts'
import { fundedWallet, type LocalSvm, signedBy, startLocalSvm } from '../support/nodes/local-svm.ts'
import { type Sending, startSending } from '../support/sending.ts'

const TO = addressFor('receiver')
const HEAD = 1_000n
/** Longer than three looks at a young transaction. */
const SOME_LOOKS_MS = 6_000

let node: LocalSvm
let other: FaultyNode
let payer: KeyPairSigner
const running: Sending[] = []
before(async () => {
  node = await startLocalSvm()
  other = await startFaultyNode(node.url)
  payer = await fundedWallet(node, 1, 50_000_000_000n)
  node.svm.warpToSlot(HEAD)
})
afterEach(async () => {
  other.meddle = () => undefined
  node.answers.clear()
  for (const sending of running.splice(0)) await sending.stop()
})
after(async () => {
  await other.stop()
  await node.stop()
})

const started = async (...urls: readonly string[]): Promise<Sending> => {
  const sending = await startSending({ sol: urls })
  running.push(sending)
  return sending
}
/** What a node at a slot says that knows neither the transaction nor its blockhash. */
const knowingNothingAt =
  (slot: number): InterceptCall =>
  ({ id, method, params }) => {
    const context = { slot }
    if (method === 'getSignatureStatuses') return { result: { context, value: [null] } }
    if (method !== 'isBlockhashValid') return undefined
    const { minContextSlot = 0 } = Object(params[1])
    if (minContextSlot <= slot) return { result: { context, value: false } }
    const error = { code: -32_016, message: 'Minimum context slot has not been reached' }
    return { raw: JSON.stringify({ jsonrpc: '2.0', id, error }) }
  }
let amount = 5_000_000n
const sign = (): Promise<string> => {
  amount += 1n
  const lifetime = { blockhash: node.svm.latestBlockhash() as string, lastValidBlockHeight: 250 }
  const transfer = {
    program: SYSTEM_PROGRAM,
    accounts: [
      [payer.address, 'sign'],
      [TO, 'write'],
    ] as const,
    data: dataOf('02000000', amount),
  }
  return signedBy(payer, unsignedTransaction(payer.address, lifetime, [transfer]))
}
test('a node behind the chain does not end a transaction; its job ends when the node has caught up', async () => {
  const sending = await started(other.httpUrl)
  const id = await sending.send('sol', await sign())
  other.meddle = knowingNothingAt(Number(HEAD) - 12)
  await sleep(SOME_LOOKS_MS)
  assert.equal(sending.job(id)?.status, 'pending')
  other.meddle = () => undefined
  await sending.becomes(id, 'completed')
})

test('a node that was behind when it took the transaction ends it no sooner', async () => {
  const sending = await started(other.httpUrl)
  other.meddle = knowingNothingAt(Number(HEAD) - 12)
  const id = await sending.send('sol', await sign())
  await sleep(SOME_LOOKS_MS)
  other.meddle = knowingNothingAt(Number(HEAD) + 12)
  await sleep(SOME_LOOKS_MS)
  assert.equal(sending.job(id)?.status, 'pending')
  // No node is so far behind: now it is too old, and not unknown.
  other.meddle = knowingNothingAt(Number(HEAD) + 400)
  await sending.becomes(id, 'failed')
})

test('another node is asked where the first is behind, and none is rested for it', async () => {
  const sending = await started(other.httpUrl, node.url)
  const id = await sending.send('sol', await sign())
  other.meddle = knowingNothingAt(Number(HEAD) - 12)
  await sending.becomes(id, 'completed')
  assert.deepEqual(sending.nodes.of('sol')?.unavailable(), [])
})

test('one node that has the transaction decides against one that finds it too old', async () => {
  const sending = await started(other.httpUrl, node.url)
  const id = await sending.send('sol', await sign())
  other.meddle = knowingNothingAt(Number(HEAD) + 200)
  await sending.becomes(id, 'completed')
})

test('a node that does not know a new blockhash yet leaves the transaction to the others', async () => {
  const sending = await started(other.httpUrl, node.url)
  other.meddle = ({ id, method }) => {
    if (method !== 'sendTransaction')
      return knowingNothingAt(Number(HEAD) - 12)({ id, method, params: [] })
    const error = { code: -32_002, message: 'Transaction simulation failed: Blockhash not found' }
    return { raw: JSON.stringify({ jsonrpc: '2.0', id, error }) }
  }
  const id = await sending.send('sol', await sign())
  await sending.becomes(id, 'completed')
  assert.deepEqual(sending.nodes.of('sol')?.unavailable(), [])
})

test('a transaction that was called expired and is in a block completes its job when it is sent again', async () => {
  const sending = await started(other.httpUrl)
  const signedTx = await sign()
  const id = await sending.send('sol', signedTx)
  other.meddle = knowingNothingAt(Number(HEAD) + 200)
  await sending.becomes(id, 'failed')
  other.meddle = () => undefined
  assert.equal(await sending.send('sol', signedTx), id)
  await sending.becomes(id, 'completed')
  const before = sending.job(id)
  assert.equal(await sending.send('sol', signedTx), id)
  assert.deepEqual(sending.job(id), before)
})
