import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PRICES } from '../../processors/prices/stage.ts'
import { createBlockAligner } from '../../processors/runtime/block-aligner.ts'
import type { Operation, OperationRecord, StageProcessor } from '../../processors/runtime/stage.ts'
import type { TradeEvent } from '../../schemas/wire.ts'
import {
  buildTape,
  type ChainStep,
  chainStepsArbitrary,
  type Tape,
  tapeBlockEvent,
  tapeOperation,
} from '../support/builders/trade-tape.ts'
import { createStageState } from '../support/stage-harness.ts'

interface Output {
  readonly op: string
  readonly seq: number
  readonly part: number
  readonly key: string
  readonly events: readonly TradeEvent[]
}

const operations = ({ ops }: Tape): readonly Operation[] =>
  ops.map((op) => tapeOperation(op, 'trades'))

/** All outputs in order, with a flush after every so many operations and a restart from state where asked. */
const run = (
  ops: readonly Operation[],
  sizes: readonly number[] = [1],
  restarts: readonly boolean[] = [false],
): { readonly outputs: readonly Output[]; readonly state: ReadonlyMap<string, string> } => {
  const state = new Map<string, string>()
  const outputs: Output[] = []
  let folding: StageProcessor = PRICES.load(createStageState(state))
  let at = 0
  for (let round = 0; at < ops.length; round += 1) {
    const size = sizes[round % sizes.length] ?? 1
    const published = ops.slice(at, at + size).flatMap((operation) => folding.step(operation))
    at += size
    const { publications, changes } = folding.flush()
    for (const { topic, key, value } of [...published, ...publications]) {
      assert.equal(topic, 'tradesProcessed')
      if (topic !== 'tradesProcessed' || value.meta === null) continue
      const { op, seq, part } = value.meta
      outputs.push({ op, seq, part, key, events: value.events })
    }
    for (const [key, text] of changes) {
      if (text === null) state.delete(key)
      else state.set(key, text)
    }
    if (restarts[round % restarts.length]) folding = PRICES.load(createStageState(state))
  }
  return { outputs, state }
}

const courses = chainStepsArbitrary.map((moves) => buildTape(moves))
const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 })
const restarts = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })

test('the price stage has one output per input: same key, part and events, but for the added prices', () => {
  fc.assert(
    fc.property(courses, (tape) => {
      const ops = operations(tape)
      const inputs = ops.flatMap(({ block, records }) =>
        records.map(({ key, part, value }) => ({
          op: block.meta.op,
          seq: block.meta.seq,
          part,
          key,
          events: value.events,
        })),
      )
      const outputs = run(ops).outputs.map((output) => ({
        ...output,
        events: output.events.map((event) => ({ ...event, trade_processed: null })),
      }))
      assert.deepEqual(outputs, inputs)
    }),
  )
})

test('batch boundaries and restarts change neither the priced trades nor the state', () => {
  fc.assert(
    fc.property(courses, sizes, restarts, (tape, flushes, stops) => {
      const ops = operations(tape)
      const [one, other] = [run(ops), run(ops, flushes, stops)]
      assert.deepEqual(other.outputs, one.outputs)
      assert.deepEqual([...other.state].toSorted(), [...one.state].toSorted())
    }),
  )
})

test('a reverted block publishes the same priced trades as its apply', () => {
  fc.assert(
    fc.property(courses, (tape) => {
      const said = new Map<string, TradeEvent>()
      const idOf = (event: TradeEvent): string =>
        `${event.block?.hash}/${event.instruction?.event_index}`
      for (const { op, events } of run(operations(tape)).outputs) {
        for (const event of events) {
          if (op === 'OP_APPLY') said.set(idOf(event), event)
          else assert.deepEqual(event, said.get(idOf(event)))
        }
      }
    }),
  )
})

test('a block that is applied and reverted changes no later price', () => {
  const applied = (moves: readonly ChainStep[]) => moves.filter(({ kind }) => kind === 'apply')
  fc.assert(
    fc.property(
      chainStepsArbitrary,
      chainStepsArbitrary,
      chainStepsArbitrary,
      (before, gone, later) => {
        const detour = applied(gone).slice(0, 5)
        const back = detour.map((): ChainStep => ({ kind: 'revert' }))
        const rest = applied(later)
        const answers = (moves: readonly ChainStep[]) =>
          run(operations(buildTape(moves)))
            .outputs.flatMap(({ events }) => events.map(({ trade_processed }) => trade_processed))
            .slice(-rest.flatMap((move) => (move.kind === 'apply' ? move.trades : [])).length)
        const count = rest.flatMap((move) => (move.kind === 'apply' ? move.trades : [])).length
        if (count === 0) return
        assert.deepEqual(
          answers([...before, ...detour, ...back, ...rest]),
          answers([...before, ...rest]),
        )
      },
    ),
  )
})

test('redelivered records, in any mixture of topics, change nothing', () => {
  interface Piece {
    readonly record?: OperationRecord
    readonly seq: number
    readonly offset: number
  }
  const again = fc.array(fc.tuple(fc.nat({ max: 60 }), fc.integer({ min: 1, max: 20 })), {
    maxLength: 6,
  })
  const delivered = (pieces: readonly Piece[], repeats: readonly (readonly [number, number])[]) => {
    const list = [...pieces]
    for (const [from, count] of repeats) {
      const start = Math.min(from, list.length)
      list.splice(start + count, 0, ...list.slice(start, start + count))
    }
    return list
  }
  fc.assert(
    fc.property(courses, again, again, (tape, repeats, blockRepeats) => {
      const ops = operations(tape)
      const aligner = createBlockAligner<OperationRecord>({
        blocksTopic: 'eth.blocks',
        partition: 0,
        inputs: [{ topic: 'eth.dex.trades', spansOf: 'eth.dex.trades' }],
        progress: { seq: null, blocksNext: 0 },
      })
      const records = ops.flatMap(({ block, records: list }) =>
        list.map((record): Piece => ({ record, seq: block.meta.seq, offset: 0 })),
      )
      for (const [offset, { record, seq }] of delivered(records, repeats).entries()) {
        if (record === undefined) continue
        aligner.push({ topic: 'eth.dex.trades', offset, seq, part: record.part, value: record })
      }
      const blocks = tape.ops.map((op, offset): Piece => ({ seq: op.seq, offset }))
      for (const { seq } of delivered(blocks, blockRepeats)) {
        const op = tape.ops[seq - 1]
        const count = ops[seq - 1]?.records.length ?? 0
        if (op === undefined) continue
        const span = { topic: 'eth.dex.trades', partition: 0, base_offset: 0, events: count }
        aligner.pushBlock(seq, tapeBlockEvent(op, [{ ...span, records: count }]))
      }
      const aligned: Operation[] = []
      for (let next = aligner.next(); next !== undefined; next = aligner.next()) {
        aligned.push({ block: next.block, records: next.arrivals.map(({ value }) => value) })
      }
      assert.deepEqual(run(aligned).outputs, run(ops).outputs)
    }),
  )
})
