/** Labels from logs of a real node: contracts at listed addresses and strangers log, blocks are reverted and become final, addresses are screened over REST. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { concat, type Hex } from 'viem'
import { updateChainLabels } from '../../processors/labels/chain-labels.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { type AnvilStack, startAnvilStack } from '../support/anvil-stack.ts'
import { buildEventLog } from '../support/builders/evm-event-log.ts'
import { type Anvil, startAnvil } from '../support/nodes/anvil.ts'
import { until } from '../support/until.ts'

const ORACLE = '0x40c57923924b5c5c5455c48d93317139addac8fb'
const USDT = '0xdac17f958d2ee523a2206206994597c13d831ec7'
const STRANGER = `0x${'0d'.repeat(20)}` as const
/** Logs what it is sent: the first word is the topic, the rest the data. */
const LOGGER_CODE = '0x602036038060205f375f35905fa100'
/** More blocks than finality lags on the node: two epochs of eight slots. */
const FINAL_AFTER = 20

const folder = mkdtempSync(join(tmpdir(), 'sluice-anvil-labels-'))
let anvil: Anvil
let stack: AnvilStack

const start = (): Promise<AnvilStack> =>
  startAnvilStack(anvil, {
    extra: { factories: [], quotes: [], referencePools: [], replace: false },
    overrides: { feeds: ['address-labels'] },
    folder,
  })

before(async () => {
  anvil = await startAnvil()
  for (const address of [ORACLE, USDT, STRANGER] as const)
    await anvil.client.setCode({ address, bytecode: LOGGER_CODE })
  stack = await start()
})
after(async () => {
  await stack.stop()
  await anvil.stop()
  rmSync(folder, { recursive: true, force: true })
})

const accountOf = (nth: number): string => `0x${nth.toString(16).padStart(40, 'a')}`

/** The contract logs the event, in a block of its own. */
const log = async (by: Hex, signature: string, args: readonly unknown[]) => {
  const { topics, data } = buildEventLog(by, signature, args)
  const hash = await anvil.client.sendTransaction({
    to: by,
    data: concat([topics[0] as Hex, data as Hex]),
    gas: 5_000_000n,
  })
  const { status, logs, blockNumber } = await anvil.client.waitForTransactionReceipt({ hash })
  assert.deepEqual([status, logs.length, logs[0]?.data], ['success', 1, data])
  return { hash, height: Number(blockNumber) }
}
const freeze = (nth: number, by: Hex = USDT) =>
  log(by, 'AddedBlackList(address _user)', [accountOf(nth)])
const list = (action: 'Added' | 'Removed', accounts: readonly string[], by: Hex = ORACLE) =>
  log(by, `SanctionedAddresses${action}(address[] addrs)`, [accounts])

const finalize = async (): Promise<void> => {
  await anvil.client.mine({ blocks: FINAL_AFTER })
  await stack.caughtUp()
}

interface Label {
  readonly address: string
  readonly category: string
  readonly chain: string
  readonly source: string
  readonly evidence_url: string
  readonly ended: number
}
const labels = async (): Promise<readonly Label[]> => {
  const { rows } = await stack.product.app.warehouse.query<Label>({
    sql: `SELECT address, category, chain, source, evidence_url, toUInt8(valid_to IS NOT NULL) AS ended
FROM address_labels FINAL ORDER BY address`,
  })
  return rows
}
const labelled = async (): Promise<readonly string[]> =>
  (await labels()).map(({ address, ended }) => (ended ? `${address} ended` : address))

/** The running product makes one version in some minutes; what it does is done here at once. */
const update = () =>
  updateChainLabels(
    { chain: 'eth', explorerUrl: CHAINS.eth.explorerUrl, warehouse: stack.product.app.warehouse },
    Date.now(),
  )

const riskOf = async (address: string, isDone: (risk: string) => boolean): Promise<string> => {
  const { app, apiKey } = stack.product
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const asked = { method: 'POST', headers, body: JSON.stringify({ address }) }
  const made = await fetch(`${app.baseUrl}/v2/kyt/address`, asked)
  assert.equal(made.status, 200)
  const path = `/v2/kyt/addresses/${address}/risk`
  let risk = ''
  await until(async () => {
    const body = await stack.product.rest<{ readonly status: string; readonly risk: string }>(path)
    risk = body.risk
    return body.status === 'COMPLETE' && isDone(risk)
  }, `${address} is screened`)
  return risk
}

test('a listed address is labelled when its block is final, by the running product, and screened as Severe or High', async () => {
  const listing = await list('Added', [accountOf(1), accountOf(2)])
  const freezing = await freeze(3)
  await freeze(4, STRANGER)
  await list('Added', [accountOf(4)], STRANGER)
  await list('Added', [accountOf(4)], USDT)
  await stack.caughtUp()
  await update()
  assert.deepEqual(await labels(), [], 'not final')
  await finalize()
  await until(async () => (await labels()).length === 3, 'the product writes the labels', 30_000)
  const evidence = ({ hash, height }: typeof listing) =>
    `https://etherscan.io/tx/${hash}#block=${height}`
  const sanction = {
    category: 'sanctions',
    chain: '',
    source: `chain:eth:chainalysis_oracle:${ORACLE}`,
    evidence_url: evidence(listing),
    ended: 0,
  }
  assert.deepEqual(await labels(), [
    { address: accountOf(1), ...sanction },
    { address: accountOf(2), ...sanction },
    {
      address: accountOf(3),
      category: 'issuer_frozen',
      chain: 'eth',
      source: `chain:eth:usdt_freezes:${USDT}`,
      evidence_url: evidence(freezing),
      ended: 0,
    },
  ])
  assert.equal(await riskOf(accountOf(1), () => true), 'Severe')
  assert.equal(await riskOf(accountOf(3), () => true), 'High')
  assert.equal(await riskOf(accountOf(4), () => true), 'Low')
})

test('a log that a reorg takes back labels no address', async () => {
  const before = await labelled()
  await freeze(5)
  await stack.caughtUp()
  await anvil.client.request({ method: 'anvil_reorg' as never, params: [1, []] as never })
  await finalize()
  const { rows } = await stack.product.app.warehouse.query({
    sql: 'SELECT address FROM eth_address_label_events FINAL WHERE address = {address:String}',
    params: { address: accountOf(5) },
  })
  assert.deepEqual(rows, [])
  await update()
  assert.deepEqual(await labelled(), before)
})

test('a removal ends the label once it is final, and what was screened is screened again', async () => {
  await list('Removed', [accountOf(1)])
  await stack.caughtUp()
  await update()
  assert.ok((await labelled()).includes(accountOf(1)), 'not final')
  await finalize()
  await update()
  assert.ok((await labelled()).includes(`${accountOf(1)} ended`))
  assert.equal(await riskOf(accountOf(1), (risk) => risk === 'Low'), 'Low')
})

test('after a restart the labels of before are there once, and those of the time between are added', async () => {
  const before = await labelled()
  await stack.stop()
  await freeze(7)
  await list('Removed', [accountOf(2)])
  await anvil.client.mine({ blocks: FINAL_AFTER })
  stack = await start()
  const expected = before.map((each) => (each === accountOf(2) ? `${each} ended` : each))
  await stack.caughtUp()
  await update()
  assert.deepEqual(await labelled(), [...expected, accountOf(7)].toSorted())
  const { rows } = await stack.product.app.warehouse.query({
    sql: 'SELECT address FROM eth_address_label_events FINAL GROUP BY address, action, block_hash HAVING count() > 1',
  })
  assert.deepEqual(rows, [])
})

test('ten thousand addresses in one log are a drop, and the chain continues', async () => {
  const before = await labelled()
  const accounts = Array.from({ length: 10_000 }, (_, at) => accountOf(100 + at))
  const { topics, data } = buildEventLog(ORACLE, 'SanctionedAddressesAdded(address[] addrs)', [
    accounts,
  ])
  const hash = await anvil.client.sendTransaction({
    to: ORACLE,
    data: concat([topics[0] as Hex, data as Hex]),
    gas: 16_000_000n,
  })
  const receipt = await anvil.client.waitForTransactionReceipt({ hash })
  assert.deepEqual([receipt.status, receipt.logs.length], ['success', 1])
  await freeze(6)
  await finalize()
  await update()
  assert.deepEqual(await labelled(), [...before, accountOf(6)].toSorted())
})
