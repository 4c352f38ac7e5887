import {
  formatDecimal,
  formatUnits,
  parseUnits,
  USD_DECIMALS,
  unitsToNumber,
} from '../core/amounts.ts'
import { localCodec } from '../core/codec/local-codec.ts'
import type { Operation } from '../processors/runtime/stage.ts'
import { TRADE_STATS } from '../processors/stats/stage.ts'
import type { TradeEvent } from '../schemas/wire.ts'
import { BLOCKS_PER_FLUSH, pricedWalletChain, rounded } from './fold-chain.ts'
import { KeptState } from './kept-state.ts'

/** One line of the bench: processor time of a trade in token statistics, and in a plain loop over the same trades. */
interface StatisticsLine {
  readonly bench: 'statistics'
  readonly node: string
  /** Blocks of one flush, and trades of one block. */
  readonly blocksPerFlush: number
  readonly tradesPerBlock: number
  /** User time of the processor per trade, records and state included. */
  readonly cpuMs: number
  readonly bytesPerTrade: number
  readonly stateBytesPerTrade: number
  readonly bareCpuMs: number
  /** Ours divided by bare: how many times as long. */
  readonly ratio: number
  readonly bare: string
}

interface Fold {
  step(operation: Operation): unknown
  flush(): void
  /** Bytes of records, and of state, since the start. */
  readonly bytes: readonly [records: number, state: number]
}

const statistics = (): Fold => {
  const state = new KeptState()
  const folding = TRADE_STATS.load(state)
  const codec = localCodec()
  const bytes: [number, number] = [0, 0]
  return {
    step: (operation) => folding.step(operation),
    bytes,
    flush: () => {
      const flushed = folding.flush()
      state.take(flushed)
      for (const { topic, value } of flushed.publications) {
        if (topic === 'tradeStats')
          bytes[0] += codec.encode('trade.stat.TradeStatEvents', value).length
      }
      for (const [key, text] of flushed.changes) bytes[1] += key.length + (text?.length ?? 0)
    },
  }
}

const WINDOW_SECONDS = [60, 300, 900, 1_800, 3_600, 14_400, 21_600, 86_400] as const

interface BareWindow {
  readonly startMs: number
  readonly prices: [open: number, high: number, low: number, close: number]
  readonly volumes: [buyRaw: bigint, sellRaw: bigint, buyUsdRaw: bigint, sellUsdRaw: bigint]
  trades: number
  readonly buyers: Set<string>
  readonly sellers: Set<string>
  readonly pools: Set<string>
}

const newWindow = (startMs: number, price: number): BareWindow => ({
  startMs,
  prices: [price, price, price, price],
  volumes: [0n, 0n, 0n, 0n],
  trades: 0,
  buyers: new Set(),
  sellers: new Set(),
  pools: new Set(),
})

const addTo = (
  window: BareWindow,
  trade: NonNullable<TradeEvent['trade']>,
  price: number,
): void => {
  const { prices, volumes } = window
  const side = trade.was_original_direction ? 1 : 0
  const units = unitsToNumber(BigInt(trade.user_b_amount), 6)
  prices[1] = Math.max(prices[1], price)
  prices[2] = Math.min(prices[2], price)
  prices[3] = price
  volumes[side] += BigInt(trade.user_a_amount)
  volumes[side === 0 ? 2 : 3] += parseUnits(units.toFixed(USD_DECIMALS), USD_DECIMALS)
  window.trades += 1
  window[side === 0 ? 'buyers' : 'sellers'].add(trade.user_a_account_owner_address)
  window.pools.add(trade.pool_address)
}

const printed = ({ prices, volumes, trades, buyers, sellers, pools }: BareWindow): unknown => ({
  prices: prices.map(formatDecimal),
  volumes: volumes.map((raw, at) => formatUnits(raw, at < 2 ? 9 : USD_DECIMALS)),
  trades,
  buyers: buyers.size,
  sellers: sellers.size,
  pools: pools.size,
})

/**
 * The least that windows take: those of fixed hours, which begin at nothing, of touched tokens as JSON. They do not roll, and have
 * neither the window before nor reorgs, finality and kept state.
 */
const bareWindows = (): Fold => {
  const tokens = new Map<string, BareWindow[]>()
  const touched = new Set<string>()
  const bytes: [number, number] = [0, 0]
  const add = ({ trade, trade_processed: processed }: TradeEvent, timeMs: number): void => {
    if (trade === null || processed === null) return
    const token = trade.token_a_address
    const price = Number(processed.token_a_price_in_usd)
    const windows = tokens.get(token) ?? []
    tokens.set(token, windows)
    touched.add(token)
    for (const [at, seconds] of WINDOW_SECONDS.entries()) {
      const startMs = timeMs - (timeMs % (seconds * 1_000))
      const open = windows[at]
      const window = open?.startMs === startMs ? open : newWindow(startMs, price)
      windows[at] = window
      addTo(window, trade, price)
    }
  }
  return {
    bytes,
    step: ({ block, records }) => {
      for (const { topic, value } of records) {
        if (topic !== 'tradesProcessed') continue
        for (const event of value.events) add(event, block.meta.block_time)
      }
    },
    flush: () => {
      for (const token of touched) {
        bytes[0] += JSON.stringify({ token, windows: tokens.get(token)?.map(printed) }).length
      }
      touched.clear()
    },
  }
}

const CPU_MS = 1_000

/** User milliseconds of the processor that a chain takes. */
const cpuMsOf = (fold: Fold, operations: readonly Operation[], blocksPerFlush: number): number => {
  const before = process.cpuUsage()
  let blocks = 0
  for (const operation of operations) {
    fold.step(operation)
    if (operation.block.meta.op === 'OP_APPLY') blocks += 1
    else if (blocks >= blocksPerFlush) {
      fold.flush()
      blocks = 0
    }
  }
  fold.flush()
  return process.cpuUsage(before).user / CPU_MS
}

const CHAINS = [
  { blocks: 1_800, tradesPerBlock: 4, blockMs: 2_000, blocksPerFlush: 1 },
  { blocks: 320, tradesPerBlock: 20, blockMs: 12_000, blocksPerFlush: 64 },
] as const

const compare = ({ blocksPerFlush, ...size }: (typeof CHAINS)[number]): StatisticsLine => {
  const operations = pricedWalletChain(size)
  const trades = size.blocks * size.tradesPerBlock
  let [ours, bare] = [0, 0]
  let bytes: Fold['bytes'] = [0, 0]
  // The first turn warms up.
  for (let turn = 0; turn < 3; turn += 1) {
    const folding = statistics()
    const [one, other] = [folding, bareWindows()].map((fold) =>
      cpuMsOf(fold, operations, blocksPerFlush),
    )
    if (turn > 0) [ours, bare] = [ours + (one ?? 0), bare + (other ?? 0)]
    bytes = folding.bytes
  }
  return {
    bench: 'statistics',
    node: process.version,
    blocksPerFlush,
    tradesPerBlock: size.tradesPerBlock,
    cpuMs: Math.round((ours / trades / 2) * 1_000) / 1_000,
    bytesPerTrade: Math.round(bytes[0] / trades),
    stateBytesPerTrade: Math.round(bytes[1] / trades),
    bareCpuMs: Math.round((bare / trades / 2) * 1_000) / 1_000,
    ratio: rounded(ours / bare),
    bare: 'a loop that adds every trade to eight windows of fixed hours and prints those of touched tokens',
  }
}

/** One line of the bench: processor time of a block by how many blocks before it are not final yet. */
interface DepthLine {
  readonly bench: 'statistics-depth'
  readonly node: string
  readonly tradesPerBlock: number
  readonly unfinalized: number
  /** User time of the processor per block, each with a flush, records and state of its own. */
  readonly cpuMs: number
  readonly bareUnfinalized: number
  readonly bareCpuMs: number
  /** The deep one divided by the shallow one: how many times as long. */
  readonly ratio: number
  readonly bare: string
}

const [SHALLOW, DEEP] = [32, 3_600]
const DEPTH_CHAIN = { blocks: 3_700, tradesPerBlock: 20, tokens: 20 }
const WARM_BLOCKS = 20
const MEASURED_BLOCKS = 60

/** User milliseconds of each of the newest blocks. */
const cpuMsOver = (unfinalized: number): number => {
  const fold = statistics()
  const measuredFrom = DEPTH_CHAIN.blocks - MEASURED_BLOCKS
  let applied = 0
  let before = process.cpuUsage()
  for (const operation of pricedWalletChain({ ...DEPTH_CHAIN, unfinalized })) {
    fold.step(operation)
    if (operation.block.meta.op !== 'OP_APPLY') continue
    applied += 1
    if (applied % BLOCKS_PER_FLUSH === 0 || applied > measuredFrom - WARM_BLOCKS) fold.flush()
    if (applied === measuredFrom) before = process.cpuUsage()
  }
  return process.cpuUsage(before).user / CPU_MS / MEASURED_BLOCKS
}

const compareDepths = (): DepthLine => {
  // The first turn warms up.
  const [, shallow = 0] = [cpuMsOver(SHALLOW), cpuMsOver(SHALLOW)]
  const deep = cpuMsOver(DEEP)
  return {
    bench: 'statistics-depth',
    node: process.version,
    tradesPerBlock: DEPTH_CHAIN.tradesPerBlock,
    unfinalized: DEEP,
    cpuMs: rounded(deep),
    bareUnfinalized: SHALLOW,
    bareCpuMs: rounded(shallow),
    ratio: rounded(deep / shallow),
    bare: 'the same blocks with finality close behind',
  }
}

/** Statistics of a lane (windows that roll with those before them, reorgs, finality, state) with their records. */
export const statisticsBench = (): void => {
  for (const chain of CHAINS) process.stdout.write(`${JSON.stringify(compare(chain))}\n`)
  process.stdout.write(`${JSON.stringify(compareDepths())}\n`)
}
