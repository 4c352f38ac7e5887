import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openWarehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { holdingEvent } from '../../processors/holders/holding-event.ts'
import { pnlEvent, tradePnlEvent } from '../../processors/pnl/events.ts'
import { applyTrade, NO_POSITION, type PositionTrade } from '../../processors/pnl/position.ts'
import {
  holderRows,
  holdingRows,
  pnlRows,
  pnlTradeRows,
} from '../../processors/sinks/wallet-rows.ts'
import type { BalanceEvents } from '../../schemas/wire.ts'
import { type TapeBlock, tapeMeta } from '../support/builders/trade-tape.ts'

const BLOCK: TapeBlock = {
  height: 5,
  hash: '0xb',
  parent: '0xa',
  timeMs: 1_700_000_000_000,
  trades: [],
}
const META = tapeMeta({ op: 'apply', seq: 9, block: BLOCK, finalHeight: 0 })
const LARGEST = 2n ** 256n - 1n
const WHO = { wallet: '0xw', token: '0xt' }

/** A token whose contract says what it likes: no place after the point, or hundreds, and all the money of the world. */
const lies = (decimals: number) => {
  const deal: PositionTrade = {
    buy: true,
    amountRaw: LARGEST,
    timeMs: BLOCK.timeMs,
    decimals,
    priceUsd: '',
    usd: 10n ** 38n,
  }
  const outcome = applyTrade({ ...NO_POSITION, boughtUsd: 10n ** 45n }, deal)
  return {
    meta: META,
    events: [pnlEvent(WHO, outcome.position, 9)],
    trades: [tradePnlEvent(WHO, deal, outcome, { tx: '0xtx', eventIndex: decimals })],
  }
}

const holder = (
  pre: string,
  post: string,
  op: 'apply' | 'revert',
  preMs: number,
): BalanceEvents => ({
  meta: tapeMeta({ op, seq: op === 'apply' ? 9 : 10, block: BLOCK, finalHeight: 0 }),
  events: [
    {
      instruction: null,
      block: null,
      transaction: null,
      d_app: null,
      balance: {
        token_account_address: 'a',
        account_owner_address: 'o',
        token_address: 't',
        pre_amount: '0',
        post_amount: post,
        decimals: null,
        lifecycle: 'ACCOUNT_LIFECYCLE_NEW',
      },
      balance_processed: {
        pre_amount_in_native: '',
        pre_amount_in_usd: '',
        post_amount_in_native: '',
        post_amount_in_usd: '',
        token_price_in_usd: '',
        owner_post_amount: post,
        owner_pre_amount: pre,
        owner_first_time: 7,
        owner_pre_time: preMs,
      },
    },
  ],
})

test('a retraction writes the owner as it was, or removes one that was never seen before', () => {
  const [row] = holderRows(holder('3', '8', 'revert', 12))
  assert.deepEqual(
    [row?.balance, row?.first_seen, row?.last_seen, row?._del],
    ['3', '1970-01-01T00:00:00.007Z', '1970-01-01T00:00:00.012Z', 0],
  )
  const [gone] = holderRows(holder('0', '8', 'revert', 0))
  assert.equal(gone?._del, 1)
  const [applied] = holderRows(holder('0', '8', 'apply', 0))
  assert.deepEqual([applied?.balance, applied?._del], ['8', 0])
  assert.ok(BigInt(String(gone?._ver)) > BigInt(String(applied?._ver)))
})

test('a value beyond its column is stored as null or as the limit of the column; holdings without holders have no row', async () => {
  const path = await mkdtemp(join(tmpdir(), 'sluice-rows-'))
  const warehouse = await openWarehouse({ kind: 'embedded', path })
  try {
    await migrate(warehouse, ['eth'])
    for (const decimals of [0, 18, 255]) {
      await warehouse.insert('eth_wallet_token_pnl', pnlRows(lies(decimals)))
      await warehouse.insert('eth_wallet_pnl_trades', pnlTradeRows(lies(decimals)))
    }
    const { rows } = await warehouse.query({
      sql: 'SELECT event_index AS e, toString(amount) AS amount, toString(amount_usd) AS usd FROM eth_wallet_pnl_trades FINAL ORDER BY e',
    })
    assert.deepEqual(rows, [
      { e: 0, amount: null, usd: null },
      { e: 18, amount: null, usd: null },
      { e: 255, amount: '0', usd: null },
    ])
    const place = { chain: 'eth', token: '0xt', timeMs: BLOCK.timeMs, version: 1 }
    const held = {
      holders: 3,
      supply: String(LARGEST * 3n),
      groups: {
        creators: [0, '0'] as const,
        dev: [1, String(LARGEST * 2n)] as const,
        sniper: [1, '-5'] as const,
        bundle: [0, '0'] as const,
      },
    }
    const events = [
      holdingEvent(place, held, [LARGEST, LARGEST, LARGEST]),
      holdingEvent({ ...place, token: '0xgone' }),
    ]
    await warehouse.insert('eth_token_holdings', holdingRows({ meta: META, events }))
    const stored = await warehouse.query({
      sql: `SELECT token_address AS t, toString(top10_amount) AS top, toString(groups['dev'].amount) AS dev,
        toString(groups['sniper'].amount) AS sniper FROM eth_token_holdings FINAL`,
    })
    const most = String(LARGEST)
    assert.deepEqual(stored.rows, [{ t: '0xt', top: most, dev: most, sniper: '0' }])
  } finally {
    await warehouse.close()
    await rm(path, { recursive: true, force: true })
  }
})
