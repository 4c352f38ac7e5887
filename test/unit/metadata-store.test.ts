import assert from 'node:assert/strict'
import { test } from 'node:test'
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
