import { DAY_MS } from '../../../core/time.ts'
import type { OutcomeChange } from '../../../schemas/outcome-changes.ts'
import type { StoredAmounts } from '../../decode/contract.ts'
import { type ChangePart, changeParts } from './outcome-change-parts.ts'
import {
  type AmountStore,
  isListedCondition,
  knownPartOf,
  listCondition,
  NO_POSITION,
  NO_TOTALS,
  type OutcomePosition,
  type OutcomeTotals,
  readPosition,
  readPrice,
  readTotals,
  writePosition,
  writePrice,
  writeTotals,
} from './outcome-position-state.ts'
import type { Outcomes } from './outcome-tokens.ts'

/** Something before and after a change; undefined: it was not there. */
interface Changed<State> {
  readonly before: State | undefined
  readonly after: State
}

/** One token's part of a change, with everything that it changed. */
export interface PositionChange {
  readonly change: OutcomeChange
  readonly tokenId: bigint
  readonly quantityRaw: bigint
  /** What it cost, coming, or brought, leaving; null: not known. */
  readonly collateralRaw: bigint | null
  /** Cost put in; below zero: taken out. */
  readonly costRaw: bigint
  readonly realizedRaw: bigint
  /** Collateral of a million base units at the last trade of the token; null: there was none. */
  readonly price: { readonly before: bigint | null; readonly after: bigint | null }
  readonly position: Changed<OutcomePosition>
  readonly wallet: Changed<OutcomeTotals>
  /** Of the block's day, UTC. */
  readonly day: Changed<OutcomeTotals>
}

/** What a block did to positions, and the amounts to keep. */
export interface OutcomePositions {
  readonly changes: readonly PositionChange[]
  readonly amounts: ReadonlyMap<string, bigint>
}

const PRICE_UNIT = 1_000_000n

/** Folds one part by moving average cost, in whole base units; divisions are cut towards zero. */
const movedPosition = (
  before: OutcomePosition,
  { amountRaw, collateralRaw }: ChangePart,
): {
  readonly position: OutcomePosition
  readonly costRaw: bigint
  readonly realizedRaw: bigint
} => {
  if (amountRaw >= 0n) {
    const costRaw = collateralRaw ?? 0n
    const known = collateralRaw === null ? 0n : amountRaw
    const position = {
      ...before,
      quantity: before.quantity + amountRaw,
      known: before.known + known,
      cost: before.cost + costRaw,
    }
    return { position, costRaw, realizedRaw: 0n }
  }
  const gone = -amountRaw
  const { known, cost } = knownPartOf(before, gone)
  const realizedRaw = collateralRaw === null ? 0n : (collateralRaw * known) / gone - cost
  const position = {
    ...before,
    quantity: before.quantity > gone ? before.quantity - gone : 0n,
    known: before.known - known,
    cost: before.cost - cost,
    realized: before.realized + realizedRaw,
  }
  return { position, costRaw: -cost, realizedRaw }
}

/** What a position counts of trades and redemptions. */
const countedFields = (
  position: OutcomePosition,
  { type, traded }: OutcomeChange,
  { amountRaw, collateralRaw }: ChangePart,
): Partial<OutcomePosition> => {
  const collateral = collateralRaw ?? 0n
  const volume = position.volume + (traded?.collateralRaw ?? 0n)
  if (type === 'buy')
    return {
      volume,
      bought: position.bought + amountRaw,
      paid: position.paid + collateral,
      entries: position.entries + 1n,
      firstPaid: position.entries === 0n ? collateral : position.firstPaid,
    }
  if (type === 'sell')
    return {
      volume,
      sold: position.sold - amountRaw,
      received: position.received + collateral,
    }
  return type === 'redeem' ? { redeemed: position.redeemed + collateral } : {}
}

const updateTotals = (
  store: AmountStore,
  wallet: string,
  added: Pick<OutcomeTotals, 'realized' | 'volume'>,
  timeMs: number,
): Pick<PositionChange, 'wallet' | 'day'> => {
  const dayNumber = BigInt(Math.floor(timeMs / DAY_MS))
  const kept = readTotals(store, wallet)
  const updated = (before: OutcomeTotals | undefined): Changed<OutcomeTotals> => {
    const { realized, volume, changes } = before ?? NO_TOTALS
    const after = {
      realized: realized + added.realized,
      volume: volume + added.volume,
      changes: changes + 1n,
      lastMs: BigInt(timeMs),
    }
    return { before, after }
  }
  const ever = updated(kept?.ever)
  const day = updated(kept?.dayNumber === dayNumber ? kept.day : undefined)
  writeTotals(store, wallet, { dayNumber, ever: ever.after, day: day.after })
  return { wallet: ever, day }
}

const updatePrice = (
  store: AmountStore,
  { traded }: OutcomeChange,
  tokenId: bigint,
): PositionChange['price'] => {
  const before = readPrice(store, tokenId)
  if (!traded?.isOrder || traded.sharesRaw === 0n) return { before, after: before }
  const after = (traded.collateralRaw * PRICE_UNIT) / traded.sharesRaw
  writePrice(store, tokenId, after)
  return { before, after }
}

/** True for tokens that an order was filled of, and those beside them in their condition; keeps which conditions these are. */
const isListed = (
  store: AmountStore,
  outcomes: Outcomes,
  tokenId: bigint,
  { after }: PositionChange['price'],
): boolean => {
  const conditionId = outcomes.outcome(tokenId)?.conditionId
  if (conditionId === undefined) return after !== null
  if (after !== null && !isListedCondition(store, conditionId)) listCondition(store, conditionId)
  return isListedCondition(store, conditionId)
}

interface FoldContext {
  readonly store: AmountStore
  readonly outcomes: Outcomes
  readonly timeMs: number
}

const foldPart = (
  { store, outcomes, timeMs }: FoldContext,
  change: OutcomeChange,
  part: ChangePart,
): PositionChange => {
  const { wallet, traded } = change
  const { tokenId, amountRaw: quantityRaw, collateralRaw } = part
  const before = readPosition(store, wallet, tokenId)
  const from = before ?? NO_POSITION
  const { position, costRaw, realizedRaw } = movedPosition(from, part)
  const after = {
    ...position,
    ...countedFields(position, change, part),
    changes: from.changes + 1n,
    firstMs: before === undefined ? BigInt(timeMs) : from.firstMs,
    lastMs: BigInt(timeMs),
  }
  writePosition(store, wallet, tokenId, after)
  const price = updatePrice(store, change, tokenId)
  // Anyone can make a condition and decide it: a wallet's totals are of those that an exchange trades.
  const added = isListed(store, outcomes, tokenId, price)
    ? { realized: realizedRaw, volume: traded?.collateralRaw ?? 0n }
    : { realized: 0n, volume: 0n }
  return {
    change,
    tokenId,
    quantityRaw,
    collateralRaw,
    costRaw,
    realizedRaw,
    price,
    position: { before, after },
    ...updateTotals(store, wallet, added, timeMs),
  }
}

/**
 * Folds what a block did to positions in outcome tokens: quantities by the moves of the tokens, cost and profit by what trades and
 * settlements paid for them. Pure: the same block and amounts, the same answer.
 */
export const trackPositions = (
  changes: readonly OutcomeChange[],
  outcomes: Outcomes,
  timeMs: number,
  kept: StoredAmounts,
): OutcomePositions => {
  const amounts = new Map<string, bigint>()
  const store: AmountStore = {
    get: (key) => amounts.get(key) ?? kept(key),
    set: (key, value) => amounts.set(key, value),
  }
  const context = { store, outcomes, timeMs }
  const folded = changes.flatMap((change) =>
    changeParts(store, outcomes, change).map((part) => foldPart(context, change, part)),
  )
  return { changes: folded, amounts }
}
