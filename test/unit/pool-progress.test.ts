import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChainMarket, requireFreshPools } from '../../serving/dex/chain-market.ts'
import { createPoolProgress, type PoolProgress } from '../../serving/dex/pool-progress.ts'

const at = (seq: number, records: number, height = seq) => ({
  seq,
  records,
  place: { height, slot: height * 10 },
})
const heightOf = ({ newest }: PoolProgress) => newest?.height
const NOW_MS = 1_000_000

test('pools are read up to the newest block whose records have all come, in whichever order', () => {
  const progress = createPoolProgress()
  assert.equal(heightOf(progress), undefined)
  progress.record(2)
  progress.block(at(1, 0))
  assert.equal(heightOf(progress), 1)
  progress.block(at(2, 2))
  assert.equal(heightOf(progress), 1)
  progress.block(at(3, 0))
  progress.record(2)
  assert.equal(heightOf(progress), 3)
  // Redelivered.
  progress.block(at(2, 5))
  progress.record(2)
  assert.equal(heightOf(progress), 3)
  progress.reset()
  assert.equal(heightOf(progress), undefined)
  progress.block(at(4, 1))
  progress.record(4)
  assert.equal(heightOf(progress), 4)
})

test('blocks without pool events carry the pools on, and a removed block takes them back', () => {
  const progress = createPoolProgress()
  for (let seq = 1; seq <= 5_000; seq += 1) progress.block(at(seq, 0))
  assert.equal(heightOf(progress), 5_000)
  progress.block(at(5_001, 1, 4_999))
  assert.equal(heightOf(progress), 5_000)
  progress.record(5_001)
  assert.equal(heightOf(progress), 4_999)
})

test('pools that are behind the head are refused beyond 3 blocks, on Solana 20 slots; the answer is of their block', async () => {
  for (const [id, maxLag, unit] of [
    ['eth', 3, 1],
    ['sol', 20, 10],
  ] as const) {
    const market = createChainMarket(id, undefined)
    assert.ok(market)
    const asked = (head: number) => {
      const fresh = { head, headTimeMs: NOW_MS - 2_000, since: 1, sinceTimeMs: 1 }
      return requireFreshPools(market, { of: async () => fresh }, NOW_MS)
    }
    await assert.rejects(asked(1_000 * unit), { faultName: 'CHAIN_SYNC_ERROR' })
    market.progress.block(at(9, 0, 1_000))
    const read = 1_000 * unit
    assert.equal(await asked(read + maxLag), read)
    assert.equal(await asked(read - 1), read)
    await assert.rejects(asked(read + maxLag + 1), {
      faultName: 'CHAIN_SYNC_ERROR',
      details: { lagBlocks: maxLag + 1, head: read + maxLag + 1 },
    })
  }
})
