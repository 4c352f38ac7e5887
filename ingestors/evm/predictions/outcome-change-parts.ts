import type { OutcomeAmount, OutcomeChange } from '../../../schemas/outcome-changes.ts'
import {
  type AmountStore,
  knownPartOf,
  NO_POSITION,
  readPosition,
} from './outcome-position-state.ts'
import type { Outcomes } from './outcome-tokens.ts'

/** What one token of a change cost, coming, or brought, leaving; null: not known. */
export interface ChangePart extends OutcomeAmount {
  readonly collateralRaw: bigint | null
}

/** Cuts a sum into parts by their weights; what division leaves goes to the last that has one. */
const shareOut = (sum: bigint, weights: readonly bigint[]): readonly bigint[] => {
  const whole = weights.reduce((all, weight) => all + weight, 0n)
  if (whole === 0n) return weights.map(() => 0n)
  const shares = weights.map((weight) => (sum * weight) / whole)
  const rest = sum - shares.reduce((all, share) => all + share, 0n)
  const last = weights.findLastIndex((weight) => weight > 0n)
  return shares.map((share, at) => (at === last ? share + rest : share))
}

const absolute = ({ amountRaw }: OutcomeAmount): bigint => (amountRaw < 0n ? -amountRaw : amountRaw)

/** What redeemed tokens weigh in their payout: as it was decided, where that and the places of all of them are known. */
const redemptionWeights = (
  outcomes: Outcomes,
  { parts, conditionId }: OutcomeChange,
): readonly bigint[] => {
  const payouts = conditionId === null ? undefined : outcomes.payouts(conditionId)
  const weights = parts.flatMap((part) => {
    const index = outcomes.outcome(part.tokenId)?.index
    const share = index === undefined || index === null ? undefined : payouts?.[index]
    return share === undefined ? [] : [share * absolute(part)]
  })
  return weights.length === parts.length && weights.some((weight) => weight > 0n)
    ? weights
    : parts.map(absolute)
}

const withoutValue = (parts: readonly OutcomeAmount[]): readonly ChangePart[] =>
  parts.map((part) => ({ ...part, collateralRaw: null }))

const withValues = (
  parts: readonly OutcomeAmount[],
  values: readonly bigint[],
): readonly ChangePart[] => parts.map((part, at) => ({ ...part, collateralRaw: values[at] ?? 0n }))

/**
 * A conversion realizes nothing but what its collateral exceeds the cost of what was given up: the rest of the cost stays in what
 * came. Where some of that cost is not known, neither is that of what came.
 */
const convertedParts = (
  store: AmountStore,
  { parts, wallet, collateralRaw }: OutcomeChange,
): readonly ChangePart[] => {
  const gone = parts.filter(({ amountRaw }) => amountRaw < 0n)
  const came = parts.filter(({ amountRaw }) => amountRaw > 0n)
  const costs = gone.flatMap((part) => {
    const position = readPosition(store, wallet, part.tokenId) ?? NO_POSITION
    const { known, cost } = knownPartOf(position, absolute(part))
    return known === absolute(part) ? [cost] : []
  })
  if (collateralRaw === null || gone.length === 0 || costs.length < gone.length)
    return withoutValue(parts)
  const cost = costs.reduce((sum, one) => sum + one, 0n)
  const carried = came.length > 0 && cost > collateralRaw ? cost - collateralRaw : 0n
  const weights = cost === 0n ? costs.map(() => 1n) : costs
  return [
    ...withValues(gone, shareOut(collateralRaw + carried, weights)),
    ...withValues(came, shareOut(carried, came.map(absolute))),
  ]
}

/** The tokens of a change, each with its part of the collateral. */
export const changeParts = (
  store: AmountStore,
  outcomes: Outcomes,
  change: OutcomeChange,
): readonly ChangePart[] => {
  const { type, parts, collateralRaw } = change
  if (type === 'convert') return convertedParts(store, change)
  if (collateralRaw === null) return withoutValue(parts)
  const weights = type === 'redeem' ? redemptionWeights(outcomes, change) : parts.map(absolute)
  return withValues(parts, shareOut(collateralRaw, weights))
}
