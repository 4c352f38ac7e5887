import { Fault } from '../../core/errors.ts'
import {
  type AccountCall,
  type CallAnswer,
  readRun,
  revertMessage,
  runData,
} from './call-runner.ts'
import type { EvmAccountReader } from './evm-account.ts'
import { answeredNumber, approveData, balanceData, transferData } from './evm-calls.ts'
import type { SwapQuote } from './quote.ts'
import { revertReason, type TrialReason } from './revert-reason.ts'

/** A swap as its owner would make it, with the approvals that it needs. */
export interface SwapTrial {
  readonly quote: SwapQuote
  readonly owner: string
  readonly recipient: string
  readonly sellsNativeToken: boolean
  readonly buysNativeToken: boolean
  /** Calls by which the owner lets the router take what is sold. */
  readonly approvals: readonly AccountCall[]
  /** The call of the router for `trialQuote`, without a permit. */
  readonly swap: AccountCall
}

/** The quote that a trial swaps with: an exact input takes whatever it gives, so that the trial shows where the rest stays. */
export const trialQuote = (quote: SwapQuote): SwapQuote =>
  quote.request.mode === 'exact_in' ? { ...quote, minOutRaw: 0n } : quote

/** Longest part of a revert message that an answer shows. */
const MAX_MESSAGE_LENGTH = 200
/** Base units that a transfer may lose to rounding: tokens that count in shares do so. */
const ROUNDING = 2n

/** Approval of a token whose allowance some tokens only change from 0. */
export const trialApprovals = (
  token: string,
  spender: string,
  amountRaw: bigint,
): readonly AccountCall[] => [
  { to: token, data: approveData(spender, 0n) },
  { to: token, data: approveData(spender, amountRaw) },
]

/**
 * Tries a swap at the newest block as its owner, approvals included, and sells back what was bought. Throws `Fault` DEX_SWAP_SIMULATED_FAILED
 * with a `reason` where it fails, where a token keeps a part of a transfer, and where what is bought could not be sold again; nothing where the
 * node does not run code of the caller's. Throws `Fault` CHAIN_CONNECTION_ERROR as the reader.
 */
export const requireFairSwap = async (
  reader: Pick<EvmAccountReader, 'trial'>,
  swap: SwapTrial,
): Promise<void> => {
  const plan = planOf(swap)
  const answers = await reader.trial([swap.owner, swap.recipient], plan.calls)
  if (answers?.length !== plan.calls.length) return
  const found = findingOf(swap, readTrial(plan, answers))
  if (found) throw new Fault('DEX_SWAP_SIMULATED_FAILED', undefined, found)
}

interface Holding {
  readonly token: string
  readonly holder: string
}

interface TrialPlan {
  readonly calls: readonly AccountCall[]
  readonly watched: readonly Holding[]
  /** Place of the swap among the calls; the balances are read right before and right after it. */
  readonly swapAt: number
}

/** The pools that what is sold goes to, and those that what is bought comes from, of one path after the other. */
const endsOf = ({ route }: SwapQuote) => ({
  first: route.paths.flatMap(({ hops }) => hops.slice(0, 1)),
  last: route.paths.flatMap(({ hops }) => hops.slice(-1)),
})

const planOf = (trial: SwapTrial): TrialPlan => {
  const { quote, owner, recipient, approvals, swap } = trial
  const { tokenIn, tokenOut } = quote.request
  const { first, last } = endsOf(quote)
  const hops = quote.route.paths.flatMap((path) => path.hops)
  const watched: readonly Holding[] = [
    { token: tokenIn, holder: owner },
    { token: tokenOut, holder: recipient },
    ...first.map(({ pool }) => ({ token: tokenIn, holder: pool.address })),
    ...hops.map(({ pool, tokenOut: token }) => ({ token, holder: pool.address })),
  ]
  const balances = watched.map(({ token, holder }) => ({ to: token, data: balanceData(holder) }))
  const sale = { token: tokenIn, pool: first[0]?.pool.address ?? '' }
  const resale = { token: tokenOut, pool: last[0]?.pool.address ?? '' }
  const calls = [
    ...[...approvals, ...balances, swap, ...balances],
    transferTest(recipient, resale, quote.minOutRaw),
    transferTest(owner, sale, first[0]?.amountInRaw ?? 0n),
  ]
  return { calls, watched, swapAt: approvals.length + balances.length }
}

/** A plain transfer to a pool, between two looks at what the pool holds. */
const transferTest = (
  from: string,
  { token, pool }: { readonly token: string; readonly pool: string },
  amountRaw: bigint,
): AccountCall => {
  const balance = { to: token, data: balanceData(pool) }
  const data = transferData(pool, amountRaw)
  return { to: from, data: runData([balance, { to: token, data }, balance]) }
}

interface Transferred {
  readonly ok: boolean
  readonly arrivedRaw: bigint
}

/** What a trial came to. */
interface TrialOutcome {
  readonly swapped: CallAnswer
  heldBefore(token: string, holder: string): bigint
  /** By how much the swap changed what an address holds. */
  change(token: string, holder: string): bigint
  readonly resale: Transferred | undefined
  readonly sale: Transferred | undefined
}

const readTrial = (plan: TrialPlan, answers: readonly CallAnswer[]): TrialOutcome => {
  const { watched, swapAt } = plan
  const indexOf = (token: string, holder: string): number =>
    watched.findIndex((each) => each.token === token && each.holder === holder)
  const numberAt = (index: number): bigint => answeredNumber(answers[index]?.returned) ?? 0n
  const before = (index: number): bigint => numberAt(swapAt - watched.length + index)
  return {
    swapped: answers[swapAt] ?? { ok: false, returned: '0x' },
    heldBefore: (token, holder) => before(indexOf(token, holder)),
    change: (token, holder) => {
      const index = indexOf(token, holder)
      return numberAt(swapAt + 1 + index) - before(index)
    },
    resale: readTransfer(answers.at(-2)),
    sale: readTransfer(answers.at(-1)),
  }
}

const readTransfer = (answer: CallAnswer | undefined): Transferred | undefined => {
  const [before, moved, after] = (answer?.ok && readRun(answer.returned)) || []
  if (!before || !moved || !after) return undefined
  const isTrue = moved.returned === '0x' || answeredNumber(moved.returned) !== 0n
  const arrivedRaw =
    (answeredNumber(after.returned) ?? 0n) - (answeredNumber(before.returned) ?? 0n)
  return { ok: moved.ok && isTrue, arrivedRaw }
}

type Details = { readonly reason: TrialReason } & Readonly<Record<string, unknown>>

const findingOf = (trial: SwapTrial, outcome: TrialOutcome): Details | undefined =>
  outcome.swapped.ok ? swappedFinding(trial, outcome) : revertedFinding(trial, outcome)

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, each) => all + each, 0n)

/** A token that keeps a part of what is sent, more than rounding does. */
const keptPart = (token: string, sentRaw: bigint, arrivedRaw: bigint): Details | undefined =>
  sentRaw - arrivedRaw > ROUNDING
    ? {
        reason: 'transfer_fee',
        token,
        sent: sentRaw.toString(),
        arrived: arrivedRaw.toString(),
      }
    : undefined

/** The first pool of a route that holds less than it is to give. */
const drainedPool = ({ quote }: SwapTrial, { heldBefore }: TrialOutcome): Details | undefined => {
  const drained = quote.route.paths
    .flatMap(({ hops }) => hops)
    .find(({ pool, tokenOut, amountOutRaw }) => heldBefore(tokenOut, pool.address) < amountOutRaw)
  return drained && { reason: 'pool_drained', pool: drained.pool.address }
}

const swappedFinding = (trial: SwapTrial, outcome: TrialOutcome): Details | undefined => {
  const { quote, owner, recipient, sellsNativeToken, buysNativeToken } = trial
  const { tokenIn, tokenOut } = quote.request
  const { first, last } = endsOf(quote)
  const { change } = outcome
  const drained = drainedPool(trial, outcome)
  if (drained) return drained
  const gained = sum(first.map(({ pool }) => change(tokenIn, pool.address)))
  const kept = sellsNativeToken ? undefined : keptPart(tokenIn, -change(tokenIn, owner), gained)
  if (kept) return kept
  const sent = sum(last.map(({ pool }) => -change(tokenOut, pool.address)))
  const received = buysNativeToken ? sent : change(tokenOut, recipient)
  const short = keptPart(tokenOut, sent, received)
  if (short) return short
  if (received < quote.minOutRaw) {
    const amounts = { least: quote.minOutRaw.toString(), received: received.toString() }
    return { reason: 'price_moved', ...amounts }
  }
  return buysNativeToken ? undefined : blockedResale(trial, outcome)
}

/** What is bought cannot be sold again, or most of it would not arrive. */
const blockedResale = ({ quote }: SwapTrial, { resale }: TrialOutcome): Details | undefined => {
  const sent = quote.minOutRaw
  if (sent === 0n || resale === undefined) return undefined
  if (resale.ok && resale.arrivedRaw * 2n >= sent) return undefined
  const arrived = resale.ok ? resale.arrivedRaw : 0n
  return {
    reason: 'sale_blocked',
    token: quote.request.tokenOut,
    sent: sent.toString(),
    arrived: arrived.toString(),
  }
}

const revertedFinding = (trial: SwapTrial, outcome: TrialOutcome): Details => {
  const { quote, sellsNativeToken } = trial
  const { sale, swapped } = outcome
  const token = quote.request.tokenIn
  const [sold] = endsOf(quote).first
  const message = revertMessage(swapped.returned) ?? swapped.returned
  const logs = [message.slice(0, MAX_MESSAGE_LENGTH)]
  if (sale && sold && !sellsNativeToken) {
    if (!sale.ok) return { reason: 'sale_blocked', token, logs }
    const kept = keptPart(token, sold.amountInRaw, sale.arrivedRaw)
    if (kept) return { ...kept, logs }
  }
  const drained = drainedPool(trial, outcome)
  if (drained) return { ...drained, logs }
  return { reason: revertReason(message), logs }
}
