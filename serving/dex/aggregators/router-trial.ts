import { Fault } from '../../../core/errors.ts'
import { type AccountCall, revertMessage } from '../call-runner.ts'
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
 * Tries a call of a router at the newest block as its owner, approvals included. Throws `Fault` DEX_SWAP_SIMULATED_FAILED where it reverts, or
 * gives the recipient less of a token than its least; nothing where the node does not run code of the caller's. Throws `Fault`
 * CHAIN_CONNECTION_ERROR as the reader.
 */
export const requireRouterTrial = async (
  reader: Pick<EvmAccountReader, 'trial'>,
  { owner, recipient, tokenIn, tokenOut, amountRaw, minOutRaw, call, ...native }: RouterTrial,
): Promise<void> => {
  const approvals = native.sellsNativeToken ? [] : trialApprovals(tokenIn, call.to, amountRaw)
  const balance = { to: tokenOut, data: balanceData(recipient) }
  const calls = [...approvals, balance, call, balance]
  const answers = await reader.trial([owner, recipient], calls)
  const [before, swapped, after] = answers?.slice(approvals.length) ?? []
  if (!before || !swapped || !after) return
  if (!swapped.ok) {
    const message = revertMessage(swapped.returned) ?? swapped.returned
    const logs = [message.slice(0, MAX_MESSAGE_LENGTH)]
    throw failed({ reason: revertReason(message), logs })
  }
  if (native.buysNativeToken) return
  const held = [before, after].map(({ returned }) => answeredNumber(returned) ?? 0n)
  const received = (held[1] ?? 0n) - (held[0] ?? 0n)
  if (received >= minOutRaw) return
  const amounts = { least: minOutRaw.toString(), received: received.toString() }
  throw failed({ reason: 'price_moved', ...amounts })
}

const failed = (details: Readonly<Record<string, unknown>>): Fault =>
  new Fault('DEX_SWAP_SIMULATED_FAILED', undefined, details)
