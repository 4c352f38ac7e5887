import type { BinChange, BinState, DexPoolEvent } from '../../schemas/wire.ts'
import {
  accumulatedVolatility,
  feeTermsOf,
  reducedVolatility,
  referencesAt,
  type VolatilityState,
} from './bin-math.ts'

/** What an event says of a pool of Liquidity Book. */
type BinEvent = Pick<DexPoolEvent, 'type' | 'bins'>

const UNKNOWN: BinState = {
  token_x: '',
  bin_step: null,
  active_bin: null,
  fee_terms: [],
  volatility: 0,
  volatility_reference: 0,
  bin_reference: null,
  updated_at: 0,
  amount_x: '0',
  amount_y: '0',
  is_complete: false,
  depth_in_usd: '',
}

/**
 * A pool of Liquidity Book after an event, from what it was before it; null where nothing is known of its bins. `is_complete`: followed
 * since it opened, and every event since was as the one before had left the pool. `amount_x` and `amount_y` are the sums over all bins.
 * `timeMs` is that of the event's block. The depth is the caller's to fill. Source: traderjoe-xyz/joe-v2 LBPair.sol.
 */
export const binsAfter = (
  { type, bins: change }: BinEvent,
  before: BinState | null,
  timeMs: number,
): BinState | null => {
  if (!change) return before
  const held = withTerms(type, change, before)
  const timeS = Math.floor(timeMs / 1_000)
  return { ...held, ...sumsAfter(held, change), ...volatilityAfter(held, change, timeS) }
}

/** A pool states what its fee is made of in the transaction in which its factory says that it opens: in V2.1 before that, in V2.2 after it. */
const withTerms = (
  type: DexPoolEvent['type'],
  { bin_step, fee_terms, token_x }: BinChange,
  before: BinState | null,
): BinState => {
  const opens = type === 'DEX_POOL_EVENT_TYPE_INITIALIZE' && bin_step !== null
  const held = opens
    ? { ...UNKNOWN, fee_terms: before?.fee_terms ?? [], bin_step, is_complete: true }
    : (before ?? UNKNOWN)
  return { ...held, token_x, ...(fee_terms.length > 0 && { fee_terms }) }
}

const sumsAfter = (held: BinState, { moves }: BinChange) => ({
  amount_x: String(moves.reduce((sum, move) => sum + BigInt(move.amount_x), BigInt(held.amount_x))),
  amount_y: String(moves.reduce((sum, move) => sum + BigInt(move.amount_y), BigInt(held.amount_y))),
})

/** Where the volatility of a pool stands, by the names of the mathematics. */
export const volatilityOf = (state: BinState): VolatilityState => ({
  activeBin: state.active_bin,
  volatility: state.volatility,
  volatilityReference: state.volatility_reference,
  binReference: state.bin_reference,
  updatedAtS: state.updated_at,
})

type VolatilityChange = Partial<
  Pick<
    BinState,
    | 'active_bin'
    | 'volatility'
    | 'volatility_reference'
    | 'bin_reference'
    | 'updated_at'
    | 'is_complete'
  >
>

const volatilityAfter = (held: BinState, change: BinChange, timeS: number): VolatilityChange => {
  if (change.volatility !== null) return swapped(held, change, change.volatility, timeS)
  const { active_bin } = change
  const isMoved = active_bin !== null && held.active_bin !== null && active_bin !== held.active_bin
  // A bin that trades although no event has led there.
  const doubt = isMoved ? { is_complete: false } : {}
  const proven = active_bin === null ? held : { ...held, active_bin }
  switch (change.references) {
    case 'BIN_REFERENCES_BY_TIME':
      return { ...renewed(proven, timeS), ...doubt }
    case 'BIN_REFERENCES_FORCED': {
      const terms = feeTermsOf(held.fee_terms)
      return {
        bin_reference: held.active_bin,
        volatility_reference: terms ? reducedVolatility(held.volatility, terms) : 0,
      }
    }
    case 'BIN_REFERENCES_UNSPECIFIED':
      return active_bin === null ? {} : { active_bin, ...doubt }
  }
}

/** A deposit that is charged as a swap counts the volatility of the active bin anew. */
const renewed = (state: BinState, timeS: number): VolatilityChange => {
  const { active_bin } = state
  const terms = feeTermsOf(state.fee_terms)
  const references = terms && referencesAt(volatilityOf(state), terms, timeS)
  const { binReference = null, volatilityReference = 0 } = references ?? {}
  if (active_bin === null || terms === undefined || binReference === null)
    return { active_bin, updated_at: timeS, is_complete: false }
  return {
    active_bin,
    volatility: accumulatedVolatility(active_bin, { volatilityReference, binReference }, terms),
    volatility_reference: volatilityReference,
    bin_reference: binReference,
    updated_at: timeS,
  }
}

/**
 * A swap tells the volatility that it left, which must follow from the references. Events do not tell the bin that a pool opens at: the
 * first swap does, by how much volatility it has accumulated on its way.
 */
const swapped = (
  held: BinState,
  { active_bin, moves }: BinChange,
  volatility: number,
  timeS: number,
): VolatilityChange => {
  const terms = feeTermsOf(held.fee_terms)
  const after = { active_bin, volatility, updated_at: timeS }
  if (active_bin === null || terms === undefined) return { ...after, is_complete: false }
  const { volatilityReference, binReference } = referencesAt(volatilityOf(held), terms, timeS)
  const passed = (volatility - volatilityReference) / 10_000
  const sellsX = BigInt(moves[0]?.amount_x ?? '0') > 0n
  const begun = active_bin + (sellsX ? passed : -passed)
  const isStated = volatility < terms.maxVolatility || passed === 0
  const counted = binReference ?? (isStated ? begun : null)
  const references = { volatility_reference: volatilityReference, bin_reference: counted }
  const isExplained =
    counted === null ||
    accumulatedVolatility(active_bin, { volatilityReference, binReference: counted }, terms) ===
      volatility
  return { ...after, ...references, ...(!isExplained && { is_complete: false }) }
}
