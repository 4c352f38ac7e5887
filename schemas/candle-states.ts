/**
 * The states that candles are merged from: columns of the tables `{chain}_ohlc_*`, and the same of trades that are not in them yet. How
 * they are read is written once; which tables a statement unites, and which names it gives them, is its own.
 */

/** Where an event stands in its chain: orders the trades of a bucket. */
const EVENT_POSITION = 'bitShiftLeft(block_slot, 24) + event_index'
const USD_PRICE = 'assumeNotNull(price_usd)'
const NATIVE_PRICE = 'ifNull(price_native, 0)'
const MAX_POSITION = '18446744073709551615'
/** Of trades whose native price is known; a bucket without any has a price of 0, and a low of infinity. */
const nativePosition = (unknown: string): string =>
  `if(price_native > 0, ${EVENT_POSITION}, ${unknown})`

/** The trades that candles are made of. */
export const CANDLE_TRADES_SQL = 'is_suspect = 0 AND price_usd > 0'

/** A state: what it is of the trades of a bucket, and the aggregate function that merges the states of several rows. */
interface StateRow {
  readonly trades: string
  readonly merge: 'argMinMerge' | 'argMaxMerge' | 'max' | 'min' | 'sum'
}

/** By the column of the tables. */
const STATES = {
  open: { trades: `argMinState(${USD_PRICE}, ${EVENT_POSITION})`, merge: 'argMinMerge' },
  close: { trades: `argMaxState(${USD_PRICE}, ${EVENT_POSITION})`, merge: 'argMaxMerge' },
  high: { trades: `max(${USD_PRICE})`, merge: 'max' },
  low: { trades: `min(${USD_PRICE})`, merge: 'min' },
  open_native: {
    trades: `argMinState(${NATIVE_PRICE}, ${nativePosition(MAX_POSITION)})`,
    merge: 'argMinMerge',
  },
  close_native: {
    trades: `argMaxState(${NATIVE_PRICE}, ${nativePosition('0')})`,
    merge: 'argMaxMerge',
  },
  high_native: { trades: `max(${NATIVE_PRICE})`, merge: 'max' },
  low_native: {
    trades: 'min(if(price_native > 0, assumeNotNull(price_native), inf))',
    merge: 'min',
  },
  volume: { trades: 'sum(amount)', merge: 'sum' },
  volume_usd: { trades: 'sum(assumeNotNull(amount_usd))', merge: 'sum' },
  volume_native: { trades: 'sum(ifNull(amount_native, 0))', merge: 'sum' },
  trades: { trades: 'count()', merge: 'sum' },
  buys: { trades: `countIf(side = 'BUY')`, merge: 'sum' },
  sells: { trades: `countIf(side = 'SELL')`, merge: 'sum' },
} as const satisfies Readonly<Record<string, StateRow>>

/** A state of a candle, by its column. */
export type CandleState = keyof typeof STATES

/** What a statement calls the states that it reads; others are left out. */
export type StateNames = Readonly<Partial<Record<CandleState, string>>>

const statesOf = (names: StateNames, sql: (state: CandleState) => string): readonly string[] =>
  (Object.keys(STATES) as CandleState[]).flatMap((state) =>
    names[state] === undefined ? [] : [`${sql(state)} AS ${names[state]}`],
  )

/** Columns of a statement over a stored table. */
export const storedStates = (names: StateNames): readonly string[] =>
  statesOf(names, (state) => state)

/** Columns of a statement that groups trades by bucket. */
export const tradeStates = (names: StateNames): readonly string[] =>
  statesOf(names, (state) => STATES[state].trades)

/** The value of a state over several rows, from its name in the statement. */
export const mergedState = (state: CandleState, name: string): string =>
  `${STATES[state].merge}(${name})`

/** Columns in lines of so many each. */
export const inLines = (
  columns: readonly string[],
  counts: readonly number[],
  indent: string,
): string => {
  const starts = counts.map((_, line) =>
    counts.slice(0, line).reduce((sum, count) => sum + count, 0),
  )
  return starts
    .map((start, line) => columns.slice(start, starts[line + 1]).join(', '))
    .join(`,\n${indent}`)
}
