import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidInput } from '../../core/errors.ts'
import {
  type BlockAligner,
  createBlockAligner,
  type LaneProgress,
  type PendingRecord,
} from '../../processors/runtime/block-aligner.ts'
import type { BlockEvent } from '../../schemas/wire.ts'
import { type TapeOp, tapeBlockEvent } from '../support/builders/trade-tape.ts'

const RAW = 'eth.dex.trades'
const FACTS = 'eth.token-metadata'

const block = (seq: number, records: Readonly<Record<string, number>> = {}): BlockEvent => {
  const op: TapeOp = {
    op: 'apply',
    seq,
    block: { height: seq, hash: `0x${seq}`, parent: '', timeMs: seq, trades: [] },
    finalHeight: 0,
  }
  const spans = Object.entries(records).flatMap(([topic, count]) =>
    [0, 1].map((partition) => ({
      topic,
      partition,
      base_offset: 0,
      // The other partition always has one more: it must not be looked at.
      records: partition === 1 ? count : count + 1,
      events: count,
    })),
  )
  return tapeBlockEvent(op, spans)
}

const aligner = (progress: LaneProgress = { seq: null, blocksNext: 0 }): BlockAligner<string> =>
  createBlockAligner({
    blocksTopic: 'eth.blocks',
    partition: 1,
    inputs: [
      { topic: FACTS, spansOf: FACTS },
      { topic: 'eth.dex.trades.processed', spansOf: RAW },
    ],
    progress,
  })

const record = (
  seq: number | null,
  part: number | null,
  offset: number,
  topic = 'eth.dex.trades.processed',
): PendingRecord<string> => ({ topic, offset, seq, part, value: `${seq}.${part}` })

const reasonOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    return error instanceof InvalidInput ? error.reason : String(error)
  }
  return 'nothing was thrown'
}

test('an operation waits until every input has the records of its spans for this partition', () => {
  const lane = aligner()
  lane.pushBlock(0, block(1, { [RAW]: 2, [FACTS]: 1 }))
  lane.push(record(1, 0, 5))
  assert.equal(lane.next(), undefined)
  lane.push(record(1, 1, 6))
  assert.equal(lane.next(), undefined)
  lane.push(record(1, 0, 9, FACTS))
  const operation = lane.next()
  assert.deepEqual(
    operation?.arrivals.map(({ topic, value }) => `${topic} ${value}`),
    [`${FACTS} 1.0`, 'eth.dex.trades.processed 1.0', 'eth.dex.trades.processed 1.1'],
  )
  assert.deepEqual(lane.position().progress, { seq: 1, blocksNext: 1 })
  assert.deepEqual(
    [...lane.position().offsets],
    [
      [FACTS, 10],
      ['eth.dex.trades.processed', 7],
    ],
  )
})

test('records may arrive before their block, and blocks without records complete at once', () => {
  const lane = aligner()
  lane.push(record(2, 0, 0))
  lane.pushBlock(7, block(1))
  lane.pushBlock(8, block(2, { [RAW]: 1 }))
  assert.deepEqual(lane.next()?.arrivals, [])
  assert.equal(lane.next()?.arrivals.length, 1)
  assert.deepEqual(lane.position().progress, { seq: 2, blocksNext: 9 })
})

test('operations and records that were processed before are dropped, within a run and after a restart', () => {
  const lane = aligner({ seq: 4, blocksNext: 4 })
  assert.equal(lane.pushBlock(3, block(4)), false)
  assert.equal(lane.push(record(4, 9, 0)), false)
  assert.equal(lane.push(record(5, 0, 1)), true)
  assert.equal(lane.push(record(5, 0, 2)), false)
  assert.equal(lane.push(record(5, 1, 3)), true)
  lane.pushBlock(4, block(5, { [RAW]: 2 }))
  assert.deepEqual(
    lane.next()?.arrivals.map(({ value }) => value),
    ['5.0', '5.1'],
  )
})

test('an undecodable record takes the place of its part', () => {
  const lane = aligner()
  lane.pushBlock(0, block(1, { [RAW]: 3 }))
  for (const arrival of [record(1, 0, 0), record(null, null, 1), record(1, 2, 2)])
    lane.push(arrival)
  assert.equal(lane.next()?.arrivals.length, 3)
})

test('a missing operation and inconsistent spans halt with a reason', () => {
  const gap = aligner({ seq: 4, blocksNext: 4 })
  assert.equal(
    reasonOf(() => gap.pushBlock(5, block(6))),
    'gap',
  )
  const tooMany = aligner()
  tooMany.pushBlock(0, block(1, { [RAW]: 1 }))
  tooMany.push(record(1, 0, 0))
  tooMany.push(record(1, 1, 1))
  tooMany.next()
  tooMany.pushBlock(1, block(2, { [RAW]: 1 }))
  assert.equal(
    reasonOf(() => tooMany.next()),
    'spans',
  )
  const tooFew = aligner()
  tooFew.pushBlock(0, block(1, { [RAW]: 2 }))
  tooFew.push(record(1, 0, 0))
  tooFew.push(record(2, 0, 1))
  assert.equal(
    reasonOf(() => tooFew.next()),
    'spans',
  )
  assert.equal(
    reasonOf(() => aligner().push(record(1, 0, 0, 'eth.other'))),
    'spans',
  )
})

test('a topic that ran ahead is reported, unless the next operation waits for it', () => {
  const lane = aligner()
  for (let part = 0; part < 3; part += 1) lane.push(record(1, part, part))
  assert.deepEqual([...lane.ahead(3)], ['eth.dex.trades.processed'])
  lane.pushBlock(0, block(1, { [RAW]: 5 }))
  assert.deepEqual([...lane.ahead(3)], [])
  for (let seq = 2; seq < 6; seq += 1) lane.pushBlock(seq, block(seq))
  assert.deepEqual([...lane.ahead(3)], ['eth.blocks'])
})
