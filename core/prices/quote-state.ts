/** The table of quote-asset prices as data: immutable, kept as one JSON value per key of a lane's state. */

/** A price as its reference pool gave it: one whole `token` costs `price` whole `quote`. */
export interface PriceEntry {
  readonly token: string
  /** Quoting asset; `USD` for a configured price. */
  readonly quote: string
  readonly price: number
  readonly timeMs: number
}

/** Trades that ask for a step of more than the limit and agree with each other. */
export interface PendingStep {
  readonly price: number
  readonly trades: number
  readonly blocks: number
  readonly lastHeight: number
}

/** Volume of one verified pool in whole quote units by hour of block time (hours since the epoch). */
export interface PoolVolume {
  readonly pair: string
  readonly hours: readonly (readonly [hour: number, volume: number])[]
}

/** Everything that prices need: a function of the blocks folded so far. */
export interface QuoteState {
  /** Newest block folded in; null before the first. */
  readonly clock: { readonly height: number; readonly timeMs: number } | null
  /** By pair. */
  readonly entries: ReadonlyMap<string, PriceEntry>
  /** By pair. */
  readonly steps: ReadonlyMap<string, PendingStep>
  /** By pool. */
  readonly volumes: ReadonlyMap<string, PoolVolume>
  /** Stable to the block time since when its median is off. */
  readonly pegs: ReadonlyMap<string, number>
}

/** Quoting asset of prices that come from the configuration. */
export const USD = 'usd'

/** Nothing known. */
export const EMPTY_QUOTE_STATE: QuoteState = {
  clock: null,
  entries: new Map(),
  steps: new Map(),
  volumes: new Map(),
  pegs: new Map(),
}

/** Key of a price: the token, then what it is counted in. */
export const pairKey = (token: string, quote: string): string => `${token}/${quote}`

/** One stored value that differs; null removes it. */
export interface StoredChange {
  readonly key: string
  readonly json: string | null
}

/** Prefix of every key of the table in a lane's state. */
export const QUOTES_PREFIX = 'quotes/'

const STORED_MAPS = ['entries', 'steps', 'volumes', 'pegs'] as const

/** What must be stored so that a reader of `before` reads `after`. Swap the arguments for the undo of a block. */
export const diffQuoteStates = (before: QuoteState, after: QuoteState): readonly StoredChange[] => {
  const changes: StoredChange[] = []
  if (before.clock !== after.clock) {
    changes.push({ key: `${QUOTES_PREFIX}clock`, json: after.clock && JSON.stringify(after.clock) })
  }
  for (const name of STORED_MAPS) {
    for (const [key, value] of after[name]) {
      if (before[name].get(key) !== value) {
        changes.push({ key: `${QUOTES_PREFIX}${name}/${key}`, json: JSON.stringify(value) })
      }
    }
    for (const key of before[name].keys()) {
      if (!after[name].has(key)) {
        changes.push({ key: `${QUOTES_PREFIX}${name}/${key}`, json: null })
      }
    }
  }
  return changes
}

/** The state after stored changes; keys outside `QUOTES_PREFIX` are passed over. From `EMPTY_QUOTE_STATE`: reads it back. */
export const applyStoredChanges = (
  state: QuoteState,
  changes: Iterable<StoredChange>,
): QuoteState => {
  let clock = state.clock
  const maps = {
    entries: new Map(state.entries),
    steps: new Map(state.steps),
    volumes: new Map(state.volumes),
    pegs: new Map(state.pegs),
  }
  for (const { key, json } of changes) {
    const [prefix, name = '', ...rest] = key.split('/')
    if (`${prefix}/` !== QUOTES_PREFIX) continue
    const map = (maps as Readonly<Record<string, Map<string, unknown>>>)[name]
    const value: unknown = json === null ? null : JSON.parse(json)
    if (name === 'clock') clock = value as QuoteState['clock']
    else if (value === null) map?.delete(rest.join('/'))
    else map?.set(rest.join('/'), value)
  }
  return { clock, ...maps }
}
