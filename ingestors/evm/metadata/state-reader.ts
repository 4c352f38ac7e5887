import { InvalidInput, Outage } from '../../../core/errors.ts'
import type { Logger } from '../../../core/ops/logger.ts'
import { retry } from '../../../core/retry.ts'
import { type CallEndpoint, RpcError, type RpcPool } from '../../../core/rpc/pool.ts'
import type { Call, CallAnswer, StateReader } from '../abi/call.ts'

/** JSON-RPC error code of a revert, and words that nodes use for it. */
const REVERT_CODE = 3
const REVERT_WORDS = /revert|invalid opcode|out of gas|stack underflow|invalid jump/i
/** Words for "that block's state is not here": pruned, or not an archive node. */
const NO_STATE_WORDS =
  /missing trie node|state .*(not available|unavailable|pruned)|(header|block) not found|unknown block|old data not available|resource not found|historical state/i

const toCallAnswer = (value: unknown): CallAnswer => {
  if (typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value))
    return { kind: 'value', data: value }
  throw new Outage('rpc', 'eth_call returned no hex data')
}

/** A refusal is an answer where the chain itself gave it. */
const toRejectedCall = (error: unknown): CallAnswer => {
  if (!(error instanceof RpcError)) throw error
  if (error.code === REVERT_CODE || REVERT_WORDS.test(error.message)) return { kind: 'reverted' }
  if (NO_STATE_WORDS.test(error.message)) return { kind: 'no-state' }
  throw new Outage('rpc', `eth_call refused: ${error.message}`, { cause: error })
}

const callAt = (ask: CallEndpoint, { to, data }: Call, blockHash: string): Promise<CallAnswer> =>
  ask({ method: 'eth_call', params: [{ to, data }, { blockHash }] }).then(
    toCallAnswer,
    toRejectedCall,
  )

/** State of contracts at a block's own hash, repeated until an endpoint answers. */
export const stateReader = (rpc: RpcPool, log: Logger): StateReader => {
  /** An endpoint without that state is passed over; only when none has it the answer is `no-state`. */
  const one = async (call: Call, blockHash: string): Promise<CallAnswer> => {
    const found = await rpc.attempt(async (ask) => {
      const answer = await callAt(ask, call, blockHash)
      return answer.kind === 'no-state' ? undefined : answer
    })
    return found ?? { kind: 'no-state' }
  }
  const answered = (call: Call, blockHash: string, signal: AbortSignal): Promise<CallAnswer> =>
    retry(() => one(call, blockHash), {
      firstMs: 200,
      maxMs: 10_000,
      tries: Number.POSITIVE_INFINITY,
      signal,
      again: (error) => error instanceof InvalidInput || (error instanceof Outage && !error.final),
      onRetry: (error, attempt) =>
        log.warn({ err: error, attempt, blockHash }, 'metadata lookup failed, retrying'),
    })
  return {
    calls: (calls, blockHash, signal) =>
      Promise.all(calls.map((call) => answered(call, blockHash, signal))),
  }
}
