import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'

const FROM = devAccount(0).address
const TO = `0x${'22'.repeat(20)}`
const CONTRACT = `0x${'33'.repeat(20)}` as const
/** PUSH1 0, PUSH1 0, REVERT. */
const REVERTING = '0x60006000fd'

let anvil: Anvil
let api: TestApi
before(async () => {
  anvil = await startAnvil()
  api = await startApi({ overrides: { chainRpcUrls: { eth: [anvil.httpUrl] } } })
})
after(async () => {
  await api.stop()
  await anvil.stop()
})

type Body = Readonly<Record<string, unknown>>
const estimate = async (body: unknown, chain = 'eth') => {
  const answer = await callApi(api, `/v2/transaction/${chain}/estimate-gas-limit`, {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { ...answer, body: answer.body as Body }
}
const codeOf = async (body: unknown, chain?: string) => {
  const answer = await estimate(body, chain)
  return [answer.status, answer.body.code]
}
const plain = { from: FROM, to: TO, data: '0x' }

test('a gas estimate equals eth_estimateGas of the node of its chain', async () => {
  const { status, body, headers } = await estimate(
    { ...plain, value: '0x00de0b6b3a7640000' },
    'ethereum',
  )
  assert.deepEqual([status, body], [200, { gasLimit: '0x5208', chain: 'ethereum' }])
  assert.equal(headers.get('x-cu-cost'), '0.25')
  const data = `0x${'ff'.repeat(100)}`
  const more = await estimate({ ...plain, data })
  const { client } = anvil
  const wanted = await client.estimateGas({
    account: FROM,
    to: TO as `0x${string}`,
    data: data as `0x${string}`,
  })
  assert.equal(BigInt(String(more.body.gasLimit)), wanted)
  assert.ok(wanted > 21_000n)
})

test('a transaction that would fail is rejected, and leaves the node in use', async () => {
  await anvil.client.setCode({ address: CONTRACT, bytecode: REVERTING })
  const reverted = await estimate({ ...plain, to: CONTRACT, data: '0x00' })
  assert.deepEqual([reverted.status, reverted.body.code], [422, 40010])
  assert.match(String((reverted.body.details as Body).reason), /revert/i)
  assert.equal((await estimate(plain)).status, 200)
  assert.deepEqual(api.nodes.of('eth')?.unavailable(), [])
})

test('a gas estimate rejects invalid input with its code, and chains without one', async () => {
  for (const [wrong, code] of [
    [{ ...plain, from: 'x' }, 40005],
    [{ ...plain, from: [FROM] }, 40002],
    [{ ...plain, to: 5 }, 40002],
    [{ ...plain, to: 'So11111111111111111111111111111111111111112' }, 40005],
    [{ ...plain, data: '0x1' }, 40002],
    [{ ...plain, data: 'ff' }, 40002],
    [{ ...plain, value: '12' }, 40002],
    [{ ...plain, value: `0x${'0'.repeat(65)}` }, 40002],
    [{ ...plain, gas: '0x1' }, 40001],
    [{ from: FROM, to: TO }, 40004],
  ] as const)
    assert.deepEqual(await codeOf(wrong), [400, code], JSON.stringify(wrong))
  assert.deepEqual(await codeOf(plain, 'sol'), [400, 50008])
  assert.deepEqual(await codeOf(plain, 'polygon'), [400, 50008])
  assert.deepEqual(await codeOf(plain, 'nowhere'), [404, 40405])
})

test('a gas estimate without a running node answers 503', async () => {
  await anvil.stop()
  assert.deepEqual(await codeOf(plain), [503, 50002])
})
