import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { findExamples } from '../../cli/standalone/welcome.ts'
import { openWarehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { CHAINS } from '../../schemas/chains.ts'
import {
  buildTrades,
  POOLS,
  type StoredTrade,
  storeTrades,
  TOKENS,
  WALLETS,
} from '../support/builders/stored-trades.ts'

const [TOKEN = '', QUOTE = ''] = TOKENS
const [DRAINED = '', DEEP = '', UNKNOWN = ''] = POOLS
const [HOLDER = '', OTHER = ''] = WALLETS

const folder = mkdtempSync(join(tmpdir(), 'sluice-examples-'))
const warehouse = await openWarehouse({ kind: 'embedded', path: folder })
after(async () => {
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
})

/** One trade of the token per place, oldest first. */
const TRADES: readonly (readonly [pool: string, wallet: string])[] = [
  [DEEP, OTHER],
  [DEEP, HOLDER],
  [UNKNOWN, HOLDER],
  [DRAINED, HOLDER],
  [DRAINED, OTHER],
]

test('the example of a chain is the newest trade in a pool with liquidity, of a wallet that holds the token', async () => {
  await migrate(warehouse, ['eth'])
  const [model] = buildTrades(1, Date.UTC(2026, 2, 2))
  assert.ok(model)
  const trades = TRADES.map(
    ([pool, owner], index): StoredTrade => ({
      ...model,
      slot: model.slot + index,
      timeMs: model.timeMs + index * 12_000,
      buyToken: TOKEN,
      sellToken: QUOTE,
      buyPrice: 1,
      sellPrice: 1,
      usd: '1',
      suspect: false,
      pool,
      owner,
    }),
  )
  await storeTrades(warehouse, 'eth', trades)
  const pools = { token_a: TOKEN, token_b: QUOTE, last_updated: '2026-03-02T00:00:00Z' }
  const store = (deepUsd: string | null, version: number) =>
    warehouse.insert('eth_dex_pools', [
      { ...pools, pool_address: DRAINED, liquidity_usd: '0', _ver: version },
      { ...pools, pool_address: DEEP, liquidity_usd: deepUsd, _ver: version },
      { ...pools, pool_address: UNKNOWN, liquidity_usd: null, _ver: version },
    ])
  await store('5', 1)
  await warehouse.insert(
    'eth_wallet_token_pnl',
    [HOLDER, OTHER].map((wallet) => ({ wallet, token_address: TOKEN, _ver: 1 })),
  )
  await warehouse.insert('eth_wallet_balances', [
    { token_address: TOKEN, holder: HOLDER, balance: '7', _ver: 1 },
  ])
  const found = async () => {
    const { token, quote, pool, wallet } =
      (await findExamples(warehouse, CHAINS.eth, undefined)) ?? {}
    return [token, quote, pool, wallet]
  }
  assert.deepEqual(await found(), [TOKEN, QUOTE, DEEP, HOLDER])
  await store(null, 2)
  assert.deepEqual(await found(), [TOKEN, QUOTE, DRAINED, HOLDER], 'no pool has any: the newest')
})
