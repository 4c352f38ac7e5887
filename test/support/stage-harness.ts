import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import type {
  Operation,
  OperationRecord,
  Publication,
  Stage,
  StageProcessor,
  StageState,
} from '../../processors/runtime/stage.ts'
import { type TapeOp, tapeBlockEvent } from './builders/trade-tape.ts'

/** A stage's state as earlier flushes wrote it; a map is read as it then stands. */
export const createStageState = (
  entries: Iterable<readonly [string, string]> = [],
): StageState & { readonly size: number } => {
  const map = entries instanceof Map ? entries : new Map(entries)
  return {
    get size() {
      return map.size
    },
    get: (key) => map.get(key),
    *entries(prefix) {
      const found = [...map].filter(([key]) => key.startsWith(prefix))
      yield* found.sort(([one], [other]) => (one < other ? -1 : 1))
    },
  }
}

const emptyBlock = (height: number) => ({
  height,
  hash: `0xb${height}`,
  parent: `0xb${height - 1}`,
  timeMs: 1_700_000_000_000 + height * 1_000,
  trades: [],
})

/** An operation on a block that holds nothing of its own. */
export const emptyBlockOp = (op: TapeOp['op'], seq: number, height: number): TapeOp => ({
  op,
  seq,
  block: emptyBlock(height),
  finalHeight: op === 'finalize' ? height : 0,
})

/** The operation with the records given. */
export const buildOperation = (
  op: TapeOp,
  records: readonly OperationRecord[] = [],
): Operation => ({
  block: tapeBlockEvent(op),
  records,
})

/** A stage over a state of its own, in which each flush is kept as a commit would. */
export const createTestProcessor = (stage: Stage, book?: QuoteAssets): StageProcessor => {
  const kept = new Map<string, string>()
  const folding = stage.load(createStageState(kept), book)
  return {
    step: folding.step,
    flush: () => {
      const flushed = folding.flush()
      for (const [key, text] of flushed.changes) {
        if (text === null) kept.delete(key)
        else kept.set(key, text)
      }
      return flushed
    },
  }
}

/** All that one operation makes a stage publish. */
export const stepPublications = (
  folding: StageProcessor,
  next: Operation,
): readonly Publication[] => {
  const published = folding.step(next)
  return [...published, ...folding.flush().publications]
}
