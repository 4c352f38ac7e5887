import { Outage } from '../../core/fault.ts'
import type { Logger } from '../../core/log.ts'
import { type Ask, type Rpc, RpcError } from '../../core/rpc.ts'
import type { Call } from '../../schemas/block-parts.ts'
import type { EvmBlock } from '../../schemas/events.ts'
import { callsOfFrames, callsOfTraces } from './calls.ts'

/** What the nodes say of a block's calls. `none`: no endpoint tells calls. */
export type TraceAnswer =
  | { readonly kind: 'calls'; readonly calls: readonly Call[] }
  | { readonly kind: 'none' }

/** How an endpoint tells calls; found out once. */
type Way = 'debug' | 'parity' | 'none'

/**
 * What a node says of a method that it does not have, or that its plan leaves out. Sources: JSON-RPC 2.0, EIP-1474.
 */
const REFUSED: ReadonlySet<number> = new Set([-32_601, -32_004, -32_600])

/** What was found out of the endpoints so far. */
interface Known {
  readonly ways: WeakMap<Ask, Way>
  /** One of them tells calls. */
  met: boolean
}

/**
 * Reads the calls of blocks: from the `callTracer` by the block's hash, else from `trace_block`, from the first endpoint that
 * has one of them. Throws `Outage` while an endpoint that tells calls does not answer, `Malformed` for an answer out of shape.
 */
export const traceReader = (rpc: Rpc, log: Logger): ((block: EvmBlock) => Promise<TraceAnswer>) => {
  const known: Known = { ways: new WeakMap(), met: false }
  let warned = false
  return async (block) => {
    if (block.transactions.length === 0) return { kind: 'calls', calls: [] }
    let refused = false
    const told = await rpc
      .attempt(async (ask) => {
        const found = await toldBy(ask, block, known)
        refused ||= found === 'none'
        return found === 'none' ? undefined : found
      })
      .catch((error: unknown) => {
        if (error instanceof Outage && refused && !known.met) return undefined
        if (!(error instanceof RpcError)) throw error
        throw new Outage('rpc', `no calls of block ${block.height}`, { cause: error })
      })
    if (told !== undefined) return { kind: 'calls', calls: told }
    if (known.met || !refused) throw new Outage('rpc', `the calls of ${block.height} are not there`)
    if (!warned) log.warn({ height: block.height }, 'no endpoint tells calls; blocks go without')
    warned = true
    return { kind: 'none' }
  }
}

/** Calls as one endpoint tells them; undefined while it does not know the block. */
const toldBy = async (
  ask: Ask,
  block: EvmBlock,
  known: Known,
): Promise<readonly Call[] | 'none' | undefined> => {
  const way = known.ways.get(ask) ?? (await wayOf(ask, block, known))
  if (way === 'none') return way
  if (way === 'debug') {
    const answer = await ask(frames(block))
    return answer === null ? undefined : callsOfFrames(block, answer)
  }
  const answer = await ask(traces(block))
  // By height only: it may be another block by now, which the follower will find out.
  return answer === null || isOfAnother(block, answer) ? undefined : callsOfTraces(block, answer)
}

const frames = ({ hash }: EvmBlock) => ({
  method: 'debug_traceBlockByHash',
  params: [hash, { tracer: 'callTracer' }],
})

const traces = ({ height }: EvmBlock) => ({
  method: 'trace_block',
  params: [`0x${height.toString(16)}`],
})

const isOfAnother = ({ hash }: EvmBlock, answer: unknown): boolean =>
  Array.isArray(answer) && answer[0]?.blockHash !== undefined && answer[0].blockHash !== hash

/** Asks an endpoint once for each way; what goes wrong otherwise says nothing about it. */
const wayOf = async (ask: Ask, block: EvmBlock, known: Known): Promise<Way> => {
  let way: Way = 'none'
  if (!(await isRefused(ask, frames(block)))) way = 'debug'
  else if (!(await isRefused(ask, traces(block)))) way = 'parity'
  known.ways.set(ask, way)
  known.met ||= way !== 'none'
  return way
}

const isRefused = async (ask: Ask, call: Parameters<Ask>[0]): Promise<boolean> => {
  try {
    await ask(call)
    return false
  } catch (error) {
    if (error instanceof RpcError && REFUSED.has(error.code)) return true
    throw error
  }
}
