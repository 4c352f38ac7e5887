import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { formatUnits } from '../../core/amounts.ts'
import type { Bus, Writer } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { openWarehouse, type Warehouse } from '../../core/clickhouse/client.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { processorTopics, type RunningProcessors, startProcessors } from '../../processors/start.ts'
import { bruteHoldings, bruteOwners } from '../support/brute-force/holders.ts'
import { type BrutePnlTrade, brutePnl } from '../support/brute-force/pnl.ts'
import { publishWalletTape } from '../support/builders/publish-tape.ts'
import {
  buildWalletTape,
  type WalletStep,
  walletStepsArbitrary,
} from '../support/builders/wallet-tape.ts'
import { isDrained } from '../support/is-drained.ts'
import { until } from '../support/until.ts'

const CONFIG = { partitions: 3, retention: 'off' } as const
const codec = localCodec()
const log = makeSilentLogger()
let folder = ''
let bus: Bus
let warehouse: Warehouse
let writer: Writer

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-wallets-'))
  bus = await openEmbeddedBus({
    path: join(folder, 'log'),
    mapSizeBytes: 1_073_741_824,
    log,
    retention: 'off',
  })
  warehouse = await openWarehouse({ kind: 'embedded', path: join(folder, 'warehouse') })
  await bus.createTopics([
    ...topicSpecs({ chains: ['eth'], ...CONFIG }),
    ...processorTopics(['eth'], CONFIG),
  ])
  writer = await bus.writer('ingest.eth')
})

after(async () => {
  await bus.close()
  await warehouse.close()
  await rm(folder, { recursive: true, force: true })
})

/** Courses that a seed decides, one after the other, and a reorg of 60 blocks at the end. */
const steps = fc.sample(walletStepsArbitrary, { seed: 11, numRuns: 8 }).flat()
const blocks = steps.filter((move) => move.kind === 'apply').slice(0, 60)
const tape = buildWalletTape([
  ...steps,
  ...blocks,
  ...blocks.map((): WalletStep => ({ kind: 'revert' })),
  ...blocks.toReversed(),
])

const trades: readonly BrutePnlTrade[] = tape.blocks.flatMap(({ acts, timeMs }) =>
  acts.flatMap((act) =>
    act.kind !== 'trade' || act.failed
      ? []
      : [
          {
            wallet: act.wallet,
            token: act.token,
            buy: act.buy,
            timeMs,
            raw: act.baseRaw,
            usd: act.quoteRaw * 1_000_000n,
          },
        ],
  ),
)

const start = (): Promise<RunningProcessors> =>
  startProcessors({
    chains: ['eth'],
    bus,
    codec,
    warehouse,
    config: CONFIG,
    metrics: makeMetrics(),
    log,
  })

const rowsOf = async (sql: string): Promise<readonly string[]> => {
  const { rows } = await warehouse.query<{ row: string }>({ sql })
  return rows.map(({ row }) => row).toSorted()
}

const text = (parts: readonly unknown[]): string => parts.map(String).join(' ')
const units = (raw: bigint): string => formatUnits(raw, 6)
const usd = (raw: bigint): string => formatUnits(raw, 12)

test('wallet tables hold what a brute force gives: through reorgs and an interruption', async () => {
  const first = await start()
  const half = Math.floor(tape.ops.length / 2)
  await publishWalletTape({ bus, codec, writer }, tape, 0, half)
  await until(
    () => first.status().groups['process.eth']?.some(({ seq }) => (seq ?? 0) > half / 2),
    'the first half is under way',
    30_000,
  )
  await first.stop()
  await publishWalletTape({ bus, codec, writer }, tape, half)
  const second = await start()
  await until(() => isDrained(bus, second, tape.ops.length), 'everything is stored', 60_000)
  await second.stop()
})

test('balances by token and by wallet are those of the canonical blocks', async () => {
  const owners = bruteOwners(tape.blocks)
  const expected = [...owners].map(([key, { raw, firstMs, lastMs }]) =>
    text([key, raw, firstMs, lastMs]),
  )
  assert.ok(expected.length > 15)
  for (const table of ['eth_token_holders', 'eth_wallet_balances']) {
    const rows =
      await rowsOf(`SELECT concat(holder, '|', token_address, ' ', toString(balance), ' ',
      toString(toUnixTimestamp64Milli(first_seen)), ' ', toString(toUnixTimestamp64Milli(last_seen))) AS row FROM ${table} FINAL`)
    assert.deepEqual(rows, expected.toSorted(), table)
  }
  const changes = tape.blocks.flatMap(({ hash, acts }) =>
    acts.flatMap((act) =>
      act.kind === 'balance' ? [text([hash, act.token, act.account, act.postRaw])] : [],
    ),
  )
  const rows = await rowsOf(`SELECT concat(block_hash, ' ', token_address, ' ', token_account, ' ',
    toString(post_balance)) AS row FROM eth_balance_updates FINAL`)
  assert.deepEqual(rows, changes.toSorted())
})

test('holders by hour are those of the canonical blocks', async () => {
  const expected = [...bruteHoldings(tape.blocks)]
    .filter(([, { holders }]) => holders > 0)
    .map(([key, { holders, top, groups }]) =>
      text([
        ...[key, holders, top[10].owners, top[10].raw, top[100].raw],
        ...[groups.sniper.owners, groups.sniper.raw, groups.dev.raw, groups.bundle.owners],
      ]),
    )
  assert.ok(expected.length > 5)
  const rows =
    await rowsOf(`SELECT concat(token_address, '|', toString(intDiv(toUnixTimestamp(hour), 3600)), ' ',
    toString(holders), ' ', toString(top10_holders), ' ', toString(top10_amount), ' ', toString(top100_amount), ' ',
    toString(groups['sniper'].count), ' ', toString(groups['sniper'].amount), ' ', toString(groups['dev'].amount), ' ',
    toString(groups['bundle'].count)) AS row FROM eth_token_holdings FINAL`)
  assert.deepEqual(rows, expected.toSorted())
})

test('profit and loss is that of the canonical trades, by position and by trade', async () => {
  const { positions, rows } = brutePnl(trades)
  assert.ok(positions.size > 5)
  const held = [...positions].map(([key, at]) =>
    text([
      ...[key, at.buys, units(at.boughtRaw), usd(at.boughtUsd), at.sells, usd(at.soldUsd)],
      ...[usd(at.realized), usd(at.total), units(at.held), usd(at.cost), at.wins, at.losses],
      ...[at.openMs, at.closeMs, at.firstMs, at.lastMs],
    ]),
  )
  const time = (column: string) => `toString(toUnixTimestamp64Milli(${column}))`
  const columns = [
    ...["concat(token_address, '|', wallet)", 'buys', 'buy_amount', 'buy_amount_usd', 'sells'],
    ...['sell_amount_usd', 'realized_usd', 'total_realized_usd', 'position_amount'],
    ...['position_cost_usd', 'wins', 'losses', time('open_time'), time('close_time')],
    ...[time('first_time'), time('last_time')],
  ]
  const joined = (list: readonly string[]): string =>
    `concatWithSeparator(' ', ${list.map((column) => `toString(${column})`).join(', ')})`
  assert.deepEqual(
    await rowsOf(`SELECT ${joined(columns)} AS row FROM eth_wallet_token_pnl FINAL`),
    held.toSorted(),
  )
  const told = rows.map(({ trade, realized, cost, unknown }) =>
    text([
      ...[trade.wallet, trade.token, trade.buy ? 'BUY' : 'SELL', trade.timeMs],
      ...[units(trade.raw), usd(trade.usd ?? 0n), usd(realized), usd(cost), units(unknown)],
    ]),
  )
  const trade = [
    ...['wallet', 'token_address', 'side', time('block_time'), 'amount', 'amount_usd'],
    ...['realized_usd', 'cost_usd', 'unknown_amount'],
  ]
  assert.deepEqual(
    await rowsOf(`SELECT ${joined(trade)} AS row FROM eth_wallet_pnl_trades FINAL`),
    told.toSorted(),
  )
})
