/** EVM transactions that are sent again after their job has ended: what is in no block goes out again, and its job continues. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type Hex, parseGwei } from 'viem'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { type Sending, startSending } from '../support/sending.ts'

const TO = `0x${'22'.repeat(20)}` as const
const SIX_HOURS_MS = 21_600_000
const signer = devAccount(2)

let anvil: Anvil
let sending: Sending
/** Added to the clock of the jobs. */
let laterMs = 0
before(async () => {
  anvil = await startAnvil()
  sending = await startSending({ eth: [anvil.httpUrl] }, () => Date.now() + laterMs)
})
afterEach(async () => {
  await anvil.client.setAutomine(true)
})
after(async () => {
  await sending.stop()
  await anvil.stop()
})

const sign = async (value: bigint): Promise<Hex> => {
  const nonce = await anvil.client.getTransactionCount({ address: signer.address })
  const fees = { maxFeePerGas: parseGwei('30'), maxPriorityFeePerGas: parseGwei('1') }
  return signer.signTransaction({ chainId: 1, gas: 50_000n, to: TO, value, nonce, ...fees })
}
const received = (): Promise<bigint> => anvil.client.getBalance({ address: TO })

test('a transaction is followed for six hours; sent again after them it goes out again and ends as mined', async () => {
  await anvil.client.setAutomine(false)
  const hex = await sign(5n)
  const id = await sending.send('eth', hex)
  laterMs += SIX_HOURS_MS - 60_000
  await anvil.client.mine({ blocks: 1 })
  await sending.becomes(id, 'completed')

  const other = await sign(7n)
  const late = await sending.send('eth', other)
  await anvil.client.dropTransaction({ hash: sending.job(late)?.hash as Hex })
  laterMs += SIX_HOURS_MS - 60_000
  // Two looks: the first after the pause of a young transaction.
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  assert.equal(sending.job(late)?.status, 'pending')
  laterMs += 120_000
  assert.equal((await sending.becomes(late, 'failed')).error, 'expired')
  const before = await received()
  assert.equal(await sending.send('eth', other), late)
  assert.equal(sending.job(late)?.status, 'pending')
  await anvil.client.mine({ blocks: 1 })
  const { error, message, result } = await sending.becomes(late, 'completed')
  assert.deepEqual([error, message, result.state], ['', '', 'confirmed'])
  assert.equal(await received(), before + 7n)
})

test('a transaction that a reorg took out of its block goes out again, one in a block does not', async () => {
  const snapshot = await anvil.client.snapshot()
  const before = await received()
  const hex = await sign(11n)
  const id = await sending.send('eth', hex)
  const first = await sending.becomes(id, 'completed')
  assert.equal(await sending.send('eth', hex), id)
  assert.deepEqual(sending.job(id), first)
  await anvil.client.revert({ id: snapshot })
  assert.equal(await received(), before)
  await anvil.client.mine({ blocks: 2 })
  assert.equal(await sending.send('eth', hex), id)
  const { result, revision } = await sending.becomes(id, 'completed')
  assert.equal(result.block, Number(first.result.block) + 2)
  assert.ok(revision > first.revision)
  assert.equal(await received(), before + 11n)
})

test('a transaction whose nonce is used stays replaced when it is sent again', async () => {
  await anvil.client.setAutomine(false)
  const [hex, other] = [await sign(13n), await sign(17n)]
  const id = await sending.send('eth', hex)
  await anvil.client.dropTransaction({ hash: sending.job(id)?.hash as Hex })
  await anvil.client.sendRawTransaction({ serializedTransaction: other })
  // A minute of blocks above that of the other.
  await anvil.client.mine({ blocks: 6 })
  const ended = await sending.becomes(id, 'failed')
  assert.equal(ended.error, 'replaced')
  await assert.rejects(sending.send('eth', hex), { faultName: 'TRANSACTION_FAILED' })
  assert.deepEqual(sending.job(id), ended)
})
