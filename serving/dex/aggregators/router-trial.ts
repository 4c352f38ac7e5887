import { Fault } from '../../../core/errors.ts'
import {
  type AccountCall,
  type CallAnswer,
  nativeBalanceCall,
  revertMessage,
} from '../call-runner.ts'
import type { EvmAccountReader } from '../evm-account.ts'
import { answeredNumber, balanceData } from '../evm-calls.ts'
import { revertReason } from '../revert-reason.ts'
import { trialApprovals } from '../trial-swap.ts'

/** A call of an aggregator's router as its owner would make it. */
interface RouterTrial {
  readonly owner: string
  readonly recipient: string
  readonly tokenIn: string
  readonly tokenOut: string
  readonly sellsNativeToken: boolean
  readonly buysNativeToken: boolean
  readonly amountRaw: bigint
  readonly minOutRaw: bigint
  readonly call: AccountCall
}

/** Longest part of a revert message that an answer shows. */
const MAX_MESSAGE_LENGTH = 200

/**
 * Tries a call of a router at the newest block as its owner, approvals included; false: the node does not run code of the caller's, and nothing
 * was tried. Throws `Fault` DEX_SWAP_SIMULATED_FAILED where it reverts, or gives the recipient less than its least, of a token or of the native
 * token. Throws `Fault` CHAIN_CONNECTION_ERROR as the reader.
 */
export const isTriedRouterCall = async (
  reader: Pick<EvmAccountReader, 'trial'>,
  { owner, recipient, tokenIn, tokenOut, amountRaw, minOutRaw, call, ...native }: RouterTrial,
): Promise<boolean> => {
  const approvals = native.sellsNativeToken ? [] : trialApprovals(tokenIn, call.to, amountRaw)
  const balance = native.buysNativeToken
    ? nativeBalanceCall(recipient)
    : { to: tokenOut, data: balanceData(recipient) }
  const calls = [...approvals, balance, call, balance]
  const answers = await reader.trial([owner, recipient], calls)
  const [before, swapped, after] = answers?.slice(approvals.length) ?? []
  if (!before || !swapped || !after) return false
  if (!swapped.ok) {
    const message = revertMessage(swapped.returned) ?? swapped.returned
    const logs = [message.slice(0, MAX_MESSAGE_LENGTH)]
    throw failed({ reason: revertReason(message), logs })
  }
  const received = gainOf(before, after)
  if (received >= minOutRaw) return true
  const amounts = { least: minOutRaw.toString(), received: received.toString() }
  throw failed({ reason: 'price_moved', ...amounts })
}

/** By how much a balance grew; nothing where it was not told before or after. */
const gainOf = (before: CallAnswer, after: CallAnswer): bigint => {
  const [held, holds] = [before, after].map(({ ok, returned }) =>
    ok ? answeredNumber(returned) : undefined,
  )
  return held === undefined || holds === undefined ? 0n : holds - held
}

const failed = (details: Readonly<Record<string, unknown>>): Fault =>
  new Fault('DEX_SWAP_SIMULATED_FAILED', undefined, details)
