/** Signed Solana transactions, sent through the API to the runtime of Solana behind a node's methods, and what their jobs tell. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  type Blockhash,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  getTransactionDecoder,
  type KeyPairSigner,
  lamports,
  signTransaction,
} from '@solana/kit'
import type { JobBody } from '../../schemas/api/job.ts'
import { dataOf, SYSTEM_PROGRAM } from '../../serving/dex/solana-calls.ts'
import { type SolanaInstruction, unsignedTransaction } from '../../serving/dex/solana-message.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import { fundedWallet, type LocalSvm, signedBy, startLocalSvm } from '../support/nodes/local-svm.ts'
import { until } from '../support/until.ts'

const SOL = 1_000_000_000n
const TO = addressFor('receiver')

let node: LocalSvm
let api: TestApi
let payer: KeyPairSigner
const folder = mkdtempSync(join(tmpdir(), 'sluice-solana-send-'))
const start = (): Promise<TestApi> =>
  startApi({
    folder,
    chains: ['eth', 'sol'],
    overrides: { chainRpcUrls: { sol: [node.url] }, rpcTimeoutMs: 1_000 },
  })
before(async () => {
  node = await startLocalSvm()
  payer = await fundedWallet(node, 1, 50n * SOL)
  api = await start()
})
after(async () => {
  await api.stop()
  await node.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Body = Readonly<Record<string, unknown>>
const send = async (signedTx: unknown, more: object = {}) => {
  const answer = await callApi(api, '/v2/transaction/sol/send', {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ signedTx, ...more }),
  })
  return { ...answer, body: answer.body as Body }
}
const refusal = async (signedTx: unknown, more: object = {}) => {
  const { status, body } = await send(signedTx, more)
  return [status, body.code, (body.details as Body | undefined)?.reason]
}
const transfer = (amount: bigint, from: string = payer.address): SolanaInstruction => ({
  program: SYSTEM_PROGRAM,
  accounts: [
    [from, 'sign'],
    [TO, 'write'],
  ],
  data: dataOf('02000000', amount),
})
const unsigned = (
  amount: bigint,
  { from = payer, blockhash = node.svm.latestBlockhash() as string } = {},
): string =>
  unsignedTransaction(from.address, { blockhash, lastValidBlockHeight: 250 }, [
    transfer(amount, from.address),
  ])
const sign = (amount: bigint): Promise<string> => signedBy(payer, unsigned(amount))
const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64')
const received = (): bigint => node.svm.getBalance(TO as KeyPairSigner['address']) ?? 0n

const jobOf = async (signature: unknown): Promise<JobBody> =>
  (await callApi(api, `/v2/job/job_${signature}`)).body as JobBody
const ended = (signature: unknown): Promise<JobBody> =>
  until(
    async () => {
      const found = await jobOf(signature)
      return found.state !== 'pending' && found
    },
    'the end of the job',
    30_000,
  )

test('a transaction is sent, executed, and its job has the slot', async () => {
  const signed = await sign(SOL)
  const { status, body } = await send(signed)
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.jobId, `job_${body.signature}`)
  const { state, result } = await ended(body.signature)
  const slot = Number(node.svm.getClock().slot)
  const wanted = { chain: 'sol', state: 'confirmed', from: payer.address, slot }
  assert.deepEqual(
    [state, result],
    ['completed', { ...wanted, blockhash: node.svm.latestBlockhash() }],
  )
  assert.equal(received(), SOL)
  const again = await send(signed)
  assert.deepEqual([again.status, again.body.jobId], [200, body.jobId])
  assert.equal(received(), SOL)
})

test('a transaction that the chain already has is followed like any other', async () => {
  const signed = await sign(2n * SOL)
  node.svm.sendTransaction(getTransactionDecoder().decode(bytesOf(signed)))
  const { status, body } = await send(signed)
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal((await ended(body.signature)).state, 'completed')
})

test('a transaction that a node dropped is sent again until it is in a block, also after a restart', async () => {
  const signed = await sign(3n * SOL)
  const before = received()
  const { signature } = await dropped(signed)
  assert.equal(received(), before)
  const known = api.organizations.guard.authenticate({ apiKey: api.apiKey })
  assert.ok(known !== undefined && 'orgId' in known)
  const key = { orgId: known.orgId, id: `job_${signature}` }
  await api.stop()
  api = await start()
  assert.equal(api.jobs.get(key)?.status, 'pending')
  node.answers.delete('sendTransaction')
  await until(() => api.jobs.get(key)?.status === 'completed', 'the end of the job', 30_000)
  assert.equal(received(), before + 3n * SOL)
})

/** Sends to a node that names the transaction and forgets it. */
const dropped = async (signed: string): Promise<{ readonly signature: string }> => {
  const signature = getSignatureFromTransaction(getTransactionDecoder().decode(bytesOf(signed)))
  node.answers.set('sendTransaction', signature)
  const { status, body } = await send(signed)
  assert.deepEqual([status, body.signature], [200, signature], JSON.stringify(body))
  return { signature }
}

test('a transaction whose blockhash expires ends its job as expired and is not sent again', async () => {
  const before = received()
  const { signature } = await dropped(await sign(SOL / 2n))
  node.svm.expireBlockhash()
  const { state, result } = await ended(signature)
  assert.deepEqual([state, result.state, result.transaction], ['failed', 'expired', undefined])
  node.answers.delete('sendTransaction')
  assert.equal(received(), before)
  const stream = await callApi(api, `/v2/job/job_${signature}/streaming`)
  assert.match(stream.text, /"success":false.*"error":"expired"/)
})

test('a transaction that fails in its block ends its job as reverted', async () => {
  const poor = await fundedWallet(node, 2, 3n * SOL)
  const spend = (amount: bigint): Promise<string> =>
    signedBy(poor, unsigned(amount, { from: poor }))
  const { signature } = await dropped(await spend(2n * SOL))
  node.svm.sendTransaction(getTransactionDecoder().decode(bytesOf(await spend(2n * SOL + 1n))))
  node.answers.delete('sendTransaction')
  const { state, result } = await ended(signature)
  assert.deepEqual([state, result.state], ['failed', 'reverted'])
  assert.match(String(result.cause), /InstructionError/)
})

test('a transaction that the node rejects leaves no job, and the node stays in use', async () => {
  const stale = await signedBy(
    payer,
    unsigned(SOL, { blockhash: addressFor('old blockhash') as Blockhash }),
  )
  assert.deepEqual(await refusal(stale), [422, 40010, 'blockhash_expired'])
  assert.deepEqual(await refusal(await sign(1_000n * SOL)), [422, 40010, 'refused'])
  const empty = await fundedWallet(node, 3, 1n)
  node.svm.setAccount({
    address: empty.address,
    lamports: lamports(0n),
    data: new Uint8Array(),
    executable: false,
    programAddress: SYSTEM_PROGRAM as typeof empty.address,
    space: 0n,
  })
  const unpaid = await signedBy(empty, unsigned(1n, { from: empty }))
  assert.deepEqual(await refusal(unpaid), [422, 50017, 'insufficient_funds'])
  const { status } = await send(await sign(5n))
  assert.equal(status, 200)
})

test('invalid transactions are refused with their reason, and none reaches the chain', async () => {
  const before = received()
  const text = unsigned(7n)
  assert.deepEqual(await refusal(text), [400, 40025, undefined])
  const other = await fundedWallet(node, 4, SOL)
  const transaction = getTransactionDecoder().decode(bytesOf(text))
  const wrong = await signTransaction(
    [other.keyPair],
    getTransactionDecoder().decode(bytesOf(unsigned(7n, { from: other }))),
  )
  const [foreign = null] = Object.values(wrong.signatures)
  const forged = { ...transaction, signatures: { [payer.address]: foreign } }
  const encoded = getBase64EncodedWireTransaction(forged as typeof transaction)
  assert.deepEqual(await refusal(encoded), [400, 40026, undefined])
  const good = await sign(7n)
  const longer = Buffer.concat([bytesOf(good), Buffer.from([0])]).toString('base64')
  assert.deepEqual(await refusal(longer), [400, 40026, undefined])
  assert.deepEqual(await refusal(bytesOf(good).subarray(0, 80).toString('base64')), [
    ...[400, 40002, 'not_a_transaction'],
  ])
  assert.deepEqual(await refusal(`${good}!`), [400, 40002, 'encoding'])
  assert.deepEqual(await refusal('0x02c0'), [400, 40002, 'encoding'])
  assert.deepEqual(await refusal(Buffer.alloc(1_233, 1).toString('base64')), [
    422,
    40039,
    undefined,
  ])
  assert.deepEqual(await refusal(good, { submitType: 'priority' }), [
    ...[501, 40024, 'no protected endpoint of the chain is configured'],
  ])
  assert.equal(received(), before)
})

test('an invalid response of the node to a send answers 502 or 503 and leaves no job', async () => {
  const signed = await sign(9n)
  for (const answer of [null, 7, { error: 1 }, addressFor('another')]) {
    node.answers.set('sendTransaction', answer)
    const { status, body } = await send(signed)
    assert.ok(status === 502 || status === 503, JSON.stringify(body))
    const signature = getSignatureFromTransaction(getTransactionDecoder().decode(bytesOf(signed)))
    assert.equal((await callApi(api, `/v2/job/job_${signature}`)).status, 404)
  }
  node.answers.delete('sendTransaction')
})
