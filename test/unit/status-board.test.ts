import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { Source } from '../../ingestors/follow/contract.ts'
import { stallMsOf, statusBoard } from '../../ingestors/status-board.ts'
import { CHAINS } from '../../schemas/chains.ts'

const boardOf = (isNode = true) => {
  const metrics = makeMetrics()
  const clock = { nowMs: 1_000_000 }
  const source = {
    node: isNode ? {} : null,
    head: () => ({ height: 9, hash: null }),
  } as unknown as Source
  const board = statusBoard({ chain: CHAINS.sol, source, metrics, nowMs: () => clock.nowMs })
  const take = (height: number, seq: number): void => {
    const tip = { height, hash: `hash ${height}`, parentHash: '', timeMs: 0 }
    board.committed({ seq, tip })
  }
  const idleSeconds = async (): Promise<number | undefined> => {
    const text = await metrics.registry.getSingleMetricAsString('sluice_ingest_idle_seconds')
    const [, value] = /\{chain="sol"\} (\S+)/.exec(text) ?? []
    return value === undefined ? undefined : Number(value)
  }
  return { board, clock, take, idleSeconds }
}

describe('chain readiness', () => {
  test('a chain without a new block for the stated time is not ready, until one comes', async () => {
    const { board, clock, take, idleSeconds } = boardOf()
    board.enter('starting')
    take(7, 1)
    clock.nowMs += 59_999
    assert.deepEqual(board.readiness(), { ok: true })
    // Finality alone does not count.
    take(7, 2)
    clock.nowMs += 1
    assert.deepEqual(board.readiness(), { ok: false, detail: 'sol: no block above 7 for 60 s' })
    assert.equal(await idleSeconds(), 60)
    take(8, 3)
    assert.deepEqual(board.readiness(), { ok: true })
    assert.equal(await idleSeconds(), 0)
  })

  test('a chain whose nodes never answered is not ready after the stated time either', () => {
    const { board, clock } = boardOf()
    board.enter('starting')
    clock.nowMs += 40_000
    board.enter('starting')
    clock.nowMs += 20_000
    assert.deepEqual(board.readiness(), { ok: false, detail: 'sol: no block for 60 s' })
  })

  test('a recording, an ended chain and a chain of another process never count as stalled', async () => {
    const recorded = boardOf(false)
    const ended = boardOf()
    const left = boardOf()
    const unowned = boardOf()
    for (const { board, take } of [recorded, ended, left]) {
      board.enter('starting')
      take(7, 1)
    }
    ended.board.enter('done')
    left.board.leave()
    for (const { board, clock, idleSeconds } of [recorded, ended, left, unowned]) {
      clock.nowMs += 3_600_000
      assert.deepEqual(board.readiness(), { ok: true })
      assert.equal(await idleSeconds(), undefined)
    }
  })

  test('the stall time of a slow chain is ten blocks', () => {
    assert.equal(stallMsOf({ blockTimeMs: 250 }), 60_000)
    assert.equal(stallMsOf({ blockTimeMs: 12_000 }), 120_000)
  })
})
