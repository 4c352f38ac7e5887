import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EMPTY_QUOTE_STATE } from '../../core/prices/quote-state.ts'
import { openLedger } from '../../ingestors/publish/metadata-store.ts'
import type { PoolMetadata } from '../../schemas/events.ts'

const POOL: PoolMetadata = {
  address: '0xaa',
  tokenA: '0x01',
  tokenB: '0x02',
  protocol: 'uniswap_v2',
  factory: '0xff',
  feePips: null,
  verified: true,
}

const poolFrom = (stored: object): PoolMetadata | undefined => {
  const state = new Map([[`pool/${POOL.address}`, Buffer.from(JSON.stringify(stored))]])
  return openLedger({ get: (key) => state.get(key), entries: () => state }).pool(POOL.address)
}

test('a pool stored by an earlier version keeps its verification', () => {
  const { verified, ...former } = POOL
  assert.deepEqual(poolFrom({ ...former, proven: verified }), POOL)
  assert.deepEqual(poolFrom({ ...former, proven: false }), { ...POOL, verified: false })
  assert.deepEqual(poolFrom(POOL), POOL)
})

test('an entry that has changed again since a commit is not read from the state of that commit', () => {
  const state = new Map<string, Uint8Array>()
  // One entry of a kind in memory: asking for another one reads the first again.
  const ledger = openLedger({ get: (key) => state.get(key), entries: () => state }, 1)
  const change = (seq: number, raw: bigint) => {
    const pending = ledger.apply({
      seq,
      quotes: EMPTY_QUOTE_STATE,
      metadata: { tokens: [], pools: [] },
      amounts: new Map([['supply', raw]]),
      expired: [],
    })
    ledger.take(pending)
    return pending
  }
  const supply = (): bigint | undefined => {
    ledger.amount('another')
    return ledger.amount('supply')
  }
  const first = change(1, 1n)
  const second = change(2, 2n)
  for (const { key, json } of first.changes) state.set(key, Buffer.from(json ?? ''))
  ledger.markCommitted(first)
  assert.equal(supply(), 2n)
  for (const { key, json } of second.changes) state.set(key, Buffer.from(json ?? ''))
  ledger.markCommitted(second)
  assert.equal(supply(), 2n)
})
