/** Signed transactions, sent through the API to a real node, and what their jobs tell. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Hex, keccak256, parseEther, parseGwei } from 'viem'
import type { JobBody } from '../../schemas/api/job.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { until } from '../support/until.ts'

const TO = `0x${'22'.repeat(20)}` as const
const CONTRACT = `0x${'33'.repeat(20)}` as const
/** PUSH1 0, PUSH1 0, REVERT. */
const REVERTING = '0x60006000fd'
const signer = devAccount(2)

let anvil: Anvil
let api: TestApi
const folder = mkdtempSync(join(tmpdir(), 'sluice-send-'))
const start = (): Promise<TestApi> =>
  startApi({ folder, overrides: { chainRpcUrls: { eth: [anvil.httpUrl] } } })
before(async () => {
  anvil = await startAnvil()
  api = await start()
})
after(async () => {
  await api.stop()
  await anvil.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Body = Readonly<Record<string, unknown>>
const send = async (signedTx: unknown, more: object = {}, chain = 'eth') => {
  const answer = await callApi(api, `/v2/transaction/${chain}/send`, {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ signedTx, ...more }),
  })
  return { ...answer, body: answer.body as Body }
}
const refusal = async (signedTx: unknown, more: object = {}, chain?: string) => {
  const { status, body } = await send(signedTx, more, chain)
  return [status, body.code, (body.details as Body | undefined)?.reason]
}
const nonceOf = (): Promise<number> =>
  anvil.client.getTransactionCount({ address: signer.address, blockTag: 'pending' })
const sign = async (wanted: object = {}, by = signer): Promise<Hex> => {
  const fees = { maxFeePerGas: parseGwei('30'), maxPriorityFeePerGas: parseGwei('1') }
  const plain = { chainId: 1, gas: 50_000n, to: TO, value: 5n, ...fees }
  return by.signTransaction({ ...plain, nonce: await nonceOf(), ...wanted })
}
const base64 = (hex: Hex): string => Buffer.from(hex.slice(2), 'hex').toString('base64')
const jobIdOf = (hex: Hex): string => `job_${keccak256(hex).slice(2)}`
const job = async (hex: Hex): Promise<JobBody> =>
  (await callApi(api, `/v2/job/${jobIdOf(hex)}`)).body as JobBody
const ended = (hex: Hex): Promise<JobBody> =>
  until(
    async () => {
      const found = await job(hex)
      return found.state !== 'pending' && found
    },
    'the end of the job',
    30_000,
  )

test('a transaction is sent, mined, and its job has the block', async () => {
  const hex = await sign()
  const { status, body, headers } = await send(base64(hex))
  const hash = keccak256(hex)
  assert.equal(status, 200, JSON.stringify(body))
  const { elapsedTime, ...rest } = body
  assert.ok(Number(elapsedTime) >= 0)
  assert.deepEqual(rest, { signature: hash, jobId: jobIdOf(hex) })
  assert.equal(headers.get('x-cu-cost'), '5')
  const { state, result } = await ended(hex)
  const receipt = await anvil.client.getTransactionReceipt({ hash })
  assert.deepEqual(
    [state, result],
    [
      'completed',
      {
        chain: 'eth',
        state: 'confirmed',
        from: signer.address.toLowerCase(),
        nonce: 0,
        block: Number(receipt.blockNumber),
        gasUsed: '21000',
        effectiveGasPrice: receipt.effectiveGasPrice.toString(),
      },
    ],
  )
  assert.equal(await anvil.client.getBalance({ address: TO }), 5n)
  const stream = await callApi(api, `/v2/job/${jobIdOf(hex)}/streaming`)
  assert.match(stream.text, new RegExp(`"status":"completed","success":true,"hash":"${hash}"`))
})

test('a repeated send has the same job and the same transaction', async () => {
  const hex = await sign()
  const answers = await Promise.all([send(hex), send(hex), send(hex)])
  const first = await ended(hex)
  answers.push(await send(hex, { submitType: 'default', options: { isAntiMev: false } }))
  for (const { status, body } of answers) {
    assert.deepEqual([status, body.jobId], [200, jobIdOf(hex)], JSON.stringify(body))
  }
  assert.deepEqual(await job(hex), first)
  assert.equal(await anvil.client.getBalance({ address: TO }), 10n)
})

test('a transaction that is already in a block is followed like any other', async () => {
  const hex = await sign()
  await anvil.client.sendRawTransaction({ serializedTransaction: hex })
  assert.equal((await send(hex)).status, 200)
  assert.equal((await ended(hex)).state, 'completed')
})

test('a transaction that reverts ends its job as reverted', async () => {
  await anvil.client.setCode({ address: CONTRACT, bytecode: REVERTING })
  const hex = await sign({ to: CONTRACT })
  assert.equal((await send(hex)).status, 200)
  const { state, result } = await ended(hex)
  assert.deepEqual([state, result.state], ['failed', 'reverted'])
  const stream = await callApi(api, `/v2/job/${jobIdOf(hex)}/streaming`)
  assert.match(stream.text, /"success":false.*"error":"reverted"/)
})

test('invalid transactions are refused with their reason, and none reaches the node', async () => {
  const before = await nonceOf()
  assert.deepEqual(await refusal(await sign({ chainId: 56 })), [400, 40002, 'other_chain'])
  assert.deepEqual(await refusal('zz'), [400, 40002, 'encoding'])
  assert.deepEqual(await refusal('0x02c0'), [400, 40002, 'not_a_transaction'])
  const large = await sign({ data: `0x${'00'.repeat(131_072)}` })
  assert.deepEqual(await refusal(base64(large)), [422, 40039, undefined])
  const good = await sign()
  assert.deepEqual(await refusal(undefined), [400, 40004, undefined])
  assert.deepEqual(await refusal(7), [400, 40002, undefined])
  assert.deepEqual(await refusal(good, { submitType: 'fast' }), [400, 40002, undefined])
  assert.deepEqual(await refusal(good, { more: 1 }), [400, 40001, undefined])
  assert.deepEqual(await refusal(good, { submitType: 'priority' }), [
    ...[501, 40024, 'no protected endpoint of the chain is configured'],
  ])
  assert.deepEqual(await refusal(good, { options: { isAntiMev: true } }), [
    ...[501, 40024, 'no protected endpoint of the chain is configured'],
  ])
  assert.deepEqual(await refusal(good, {}, 'sui'), [501, 40024, undefined])
  assert.deepEqual(await refusal(good, {}, 'sol'), [400, 50008, undefined])
  assert.deepEqual(await refusal(good, {}, 'polygon'), [400, 50008, undefined])
  assert.deepEqual(await refusal(good, {}, 'nowhere'), [404, 40405, undefined])
  assert.equal(await nonceOf(), before)
})

test('a transaction that the node rejects leaves no job and no cooldown of the node', async () => {
  const poor = devAccount(40)
  await anvil.client.setBalance({ address: poor.address, value: 1n })
  const old = await sign({ nonce: 0, value: 99n })
  const costly = await sign({ nonce: 0, value: parseEther('1') }, poor)
  const cheap = await sign({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n })
  assert.deepEqual(await refusal(old), [422, 40010, 'nonce_too_low'])
  assert.deepEqual(await refusal(costly), [422, 50017, 'insufficient_funds'])
  assert.deepEqual(await refusal(cheap), [400, 40022, 'fees'])
  for (const hex of [old, costly, cheap]) {
    assert.equal((await callApi(api, `/v2/job/${jobIdOf(hex)}`)).status, 404)
  }
  assert.deepEqual(api.nodes.of('eth')?.unavailable(), [])
  await anvil.client.setBalance({ address: poor.address, value: parseEther('2') })
  assert.equal((await send(costly)).status, 200)
  assert.equal((await ended(costly)).state, 'completed')
})

test('a transaction whose nonce another one takes ends its job as replaced', async () => {
  await anvil.client.setAutomine(false)
  const hex = await sign()
  assert.equal((await send(hex)).status, 200)
  const fees = { maxFeePerGas: parseGwei('90'), maxPriorityFeePerGas: parseGwei('9') }
  const other = await sign({ ...fees, nonce: (await nonceOf()) - 1, value: 6n })
  await anvil.client.sendRawTransaction({ serializedTransaction: other })
  assert.equal((await job(hex)).state, 'pending')
  await anvil.client.mine({ blocks: 1 })
  // The block of the other one may be dropped yet.
  await sleep(4_000)
  assert.equal((await job(hex)).state, 'pending')
  await anvil.client.mine({ blocks: 5 })
  assert.equal((await ended(hex)).state, 'failed')
  const stream = await callApi(api, `/v2/job/${jobIdOf(hex)}/streaming`)
  assert.match(stream.text, /"error":"replaced"/)
})

test('an open job continues in the next process', async () => {
  const key = { orgId: ownOrg(), id: '' }
  const hex = await sign()
  key.id = jobIdOf(hex)
  assert.equal((await send(hex)).status, 200)
  await api.stop()
  await anvil.client.mine({ blocks: 1 })
  await anvil.client.setAutomine(true)
  api = await start()
  assert.equal(api.jobs.get(key)?.hash, keccak256(hex))
  await until(() => api.jobs.get(key)?.status === 'completed', 'the end of the job', 30_000)
  // The key of the new process is another organization's.
  assert.equal((await callApi(api, `/v2/job/${key.id}`)).status, 404)
})

/** The organization of the key, as the accounts know it. */
const ownOrg = (): string => {
  const known = api.organizations.guard.authenticate({ apiKey: api.apiKey })
  assert.ok(known !== undefined && 'orgId' in known)
  return known.orgId
}

test('sending is limited per organization: a burst of ten, then five per second', async () => {
  const hex = await sign()
  const answers = await Promise.all(Array.from({ length: 24 }, () => send(hex)))
  const refused = answers.filter(({ status }) => status === 429)
  assert.ok(refused.length >= 1 && refused.length <= 14, `${refused.length} were refused`)
  assert.equal(
    answers.length - refused.length,
    answers.filter(({ status }) => status === 200).length,
  )
  assert.equal(refused[0]?.body.code, 429)
  assert.ok(Number(refused[0]?.headers.get('retry-after')) >= 1)
})

test('what cannot be read counts for the rate, too: it takes as long as what can', async () => {
  const answers = await Promise.all(Array.from({ length: 60 }, () => refusal('0x02c0')))
  const limited = answers.filter(([status]) => status === 429)
  assert.ok(limited.length >= 1, 'all of them were read')
  assert.deepEqual(
    answers.filter(([status]) => status !== 429 && status !== 400),
    [],
  )
})

test('sending without a reachable node answers 503, and so does a chain without a configured node', async () => {
  const hex = await sign()
  await anvil.stop()
  await until(async () => (await refusal(hex))[1] === 50002, 'the outage')
  await api.stop()
  api = await startApi()
  assert.deepEqual(await refusal(hex), [503, 50018, undefined])
})
