import { CANDLES } from '../processors/candles/stage.ts'
import type { Operation } from '../processors/runtime/stage.ts'
import {
  BareFold,
  BLOCKS_PER_FLUSH,
  pricedChain,
  rounded,
  sumOf,
  TRADES_PER_BLOCK,
  timesOf,
} from './fold-chain.ts'
import { KeptState } from './kept-state.ts'
import { quantile } from './quantile.ts'

/** One line of the bench: trades per second of the candle stage, and of a plain loop over the same trades. */
export interface FoldLine {
  readonly bench: 'fold'
  readonly node: string
  readonly perSecond: number
  /** Time of one flush of 64 blocks. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly barePerSecond: number
  /** Ours divided by bare. */
  readonly ratio: number
  readonly bare: string
}

const keptCandles = () => {
  const state = new KeptState()
  const folding = CANDLES.load(state)
  return {
    step: (operation: Operation): unknown => folding.step(operation),
    flush: (): unknown => state.take(folding.flush()),
  }
}

/**
 * Candle stage (reorgs, finality, state to be kept, 18 resolutions of three dimensions) against a loop that can do
 * none of that, over the same trades; both print every touched candle. They take turns, the first turn warms up.
 */
export const foldBench = async (): Promise<void> => {
  const operations = pricedChain()
  const ours: number[] = []
  const bare: number[] = []
  for (let turn = 0; turn < 3; turn += 1) {
    const [one, other] = [timesOf(keptCandles(), operations), timesOf(new BareFold(), operations)]
    if (turn > 0) {
      ours.push(...one)
      bare.push(...other)
    }
  }
  const trades = TRADES_PER_BLOCK * BLOCKS_PER_FLUSH
  const perSecond = (trades * ours.length * 1_000) / sumOf(ours)
  const barePerSecond = (trades * bare.length * 1_000) / sumOf(bare)
  const line: FoldLine = {
    bench: 'fold',
    node: process.version,
    perSecond: Math.round(perSecond),
    p50Ms: rounded(quantile(ours, 0.5)),
    p99Ms: rounded(quantile(ours, 0.99)),
    barePerSecond: Math.round(barePerSecond),
    ratio: rounded(perSecond / barePerSecond),
    bare: 'a loop that folds every trade into three seconds and rolls up what closes',
  }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
