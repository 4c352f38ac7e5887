import { packNumbers, unpackNumbers } from '../../../core/packed-numbers.ts'
import type { StoredAmounts } from '../../decode/contract.ts'

/** A wallet's position in one outcome token; base units. */
export interface OutcomePosition {
  /** By the moves of the token since the first block that was followed; never below zero. */
  readonly quantity: bigint
  /** Part of it whose cost is known, and that cost. What leaves takes from this part first. */
  readonly known: bigint
  readonly cost: bigint
  readonly bought: bigint
  readonly paid: bigint
  readonly sold: bigint
  readonly received: bigint
  readonly redeemed: bigint
  /** Collateral of its trades at their prices. */
  readonly volume: bigint
  readonly realized: bigint
  /** Purchases, and what the first of them cost. */
  readonly entries: bigint
  readonly firstPaid: bigint
  readonly changes: bigint
  readonly firstMs: bigint
  readonly lastMs: bigint
}

/** What a wallet did in all markets, ever or on one day. */
export interface OutcomeTotals {
  readonly realized: bigint
  readonly volume: bigint
  readonly changes: bigint
  readonly lastMs: bigint
}

const POSITION_FIELDS = [
  ...(['quantity', 'known', 'cost', 'bought', 'paid', 'sold', 'received', 'redeemed'] as const),
  ...(['volume', 'realized', 'entries', 'firstPaid', 'changes', 'firstMs', 'lastMs'] as const),
] as const satisfies readonly (keyof OutcomePosition)[]
const TOTAL_FIELDS = ['realized', 'volume', 'changes', 'lastMs'] as const

const named = <Field extends string>(fields: readonly Field[], values: readonly bigint[]) =>
  Object.fromEntries(fields.map((name, at) => [name, values[at] ?? 0n])) as Record<Field, bigint>

/** Before the first change. */
export const NO_POSITION: OutcomePosition = named(POSITION_FIELDS, [])
/** Before the first change. */
export const NO_TOTALS: OutcomeTotals = named(TOTAL_FIELDS, [])

/** Amounts that are kept from block to block. */
export interface AmountStore {
  readonly get: StoredAmounts
  readonly set: (key: string, value: bigint) => void
}

const positionKey = (wallet: string, tokenId: bigint): string => `position/${tokenId}/${wallet}`
const priceKey = (tokenId: bigint): string => `price/${tokenId}`
const totalsKey = (wallet: string): string => `trader/${wallet}`

/** undefined: the wallet never had the token. */
export const readPosition = (
  { get }: AmountStore,
  wallet: string,
  tokenId: bigint,
): OutcomePosition | undefined => {
  const packed = get(positionKey(wallet, tokenId))
  return packed === undefined
    ? undefined
    : named(POSITION_FIELDS, unpackNumbers(packed, POSITION_FIELDS.length))
}

/** Keeps a position. */
export const writePosition = (
  { set }: AmountStore,
  wallet: string,
  tokenId: bigint,
  position: OutcomePosition,
): void =>
  set(positionKey(wallet, tokenId), packNumbers(POSITION_FIELDS.map((name) => position[name])))

/** Last price of a token; null: it was never traded. */
export const readPrice = ({ get }: AmountStore, tokenId: bigint): bigint | null => {
  const kept = get(priceKey(tokenId))
  return kept === undefined ? null : kept - 1n
}

/** Keeps a price, one above it: zero is a price too. */
export const writePrice = ({ set }: AmountStore, tokenId: bigint, price: bigint): void =>
  set(priceKey(tokenId), price + 1n)

/** A wallet's totals of all time and of the last day on which it did something. */
export interface WalletTotals {
  readonly ever: OutcomeTotals
  /** Days since the epoch. */
  readonly dayNumber: bigint
  readonly day: OutcomeTotals
}

/** undefined: the wallet never did anything. */
export const readTotals = ({ get }: AmountStore, wallet: string): WalletTotals | undefined => {
  const packed = get(totalsKey(wallet))
  if (packed === undefined) return undefined
  const values = unpackNumbers(packed, 2 * TOTAL_FIELDS.length + 1)
  return {
    dayNumber: values[0] ?? 0n,
    ever: named(TOTAL_FIELDS, values.slice(1)),
    day: named(TOTAL_FIELDS, values.slice(1 + TOTAL_FIELDS.length)),
  }
}

/** Keeps a wallet's totals. */
export const writeTotals = (
  { set }: AmountStore,
  wallet: string,
  { dayNumber, ever, day }: WalletTotals,
): void => {
  const listed = (totals: OutcomeTotals) => TOTAL_FIELDS.map((name) => totals[name])
  set(totalsKey(wallet), packNumbers([dayNumber, ...listed(ever), ...listed(day)]))
}

/** The known part of what leaves a position, and its cost. */
export const knownPartOf = (
  { known: held, cost }: OutcomePosition,
  amountRaw: bigint,
): { readonly known: bigint; readonly cost: bigint } => {
  const known = amountRaw < held ? amountRaw : held
  return { known, cost: known === 0n ? 0n : (cost * known) / held }
}

const listedKey = (conditionId: string): string => `listed/${conditionId}`

/** True once an exchange has filled an order of the condition. */
export const isListedCondition = ({ get }: AmountStore, conditionId: string): boolean =>
  get(listedKey(conditionId)) !== undefined

/** Keeps that the condition is traded. */
export const listCondition = ({ set }: AmountStore, conditionId: string): void =>
  set(listedKey(conditionId), 1n)
