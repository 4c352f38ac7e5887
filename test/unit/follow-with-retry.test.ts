import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidInput } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import type { ChainOp, Source } from '../../ingestors/follow/contract.ts'
import { followWithRetry } from '../../ingestors/follow/follow-with-retry.ts'

const FINALIZE = { op: 'finalize', ref: { height: 1, hash: '0x1' } } as unknown as ChainOp

/** A source that in each round gives so many operations, then says that the chain left ours; the last round ends well. */
const haltingSource = (rounds: readonly number[]): Source => {
  let round = 0
  return {
    node: {},
    async *operations() {
      const count = rounds[round] ?? 0
      round += 1
      for (let index = 0; index < count; index += 1) yield FINALIZE
      if (round < rounds.length) throw new InvalidInput('reorg-below-finality', 'another branch')
    },
  } as unknown as Source
}

const reportsOf = async (rounds: readonly number[]): Promise<readonly string[]> => {
  const reports: string[] = []
  await followWithRetry(
    {
      source: haltingSource(rounds),
      position: () => null,
      take: async () => false,
      onStill: async ({ reason }) => {
        reports.push(reason)
      },
      log: makeSilentLogger(),
    },
    new AbortController().signal,
  )
  return reports
}

test('a halt is reported once while it lasts, and again after the chain has moved', async () => {
  assert.deepEqual(await reportsOf([0, 0, 1]), ['reorg-below-finality'])
  assert.deepEqual(await reportsOf([0, 1, 1]), ['reorg-below-finality', 'reorg-below-finality'])
})
