import { Outage } from '../../../core/errors.ts'
import type { Logger } from '../../../core/ops/logger.ts'
import type { RpcCall } from '../../../core/rpc/endpoint.ts'
import { type CallEndpoint, RpcError, type RpcPool } from '../../../core/rpc/pool.ts'
import type { EvmBlock } from '../../../schemas/events.ts'
import type { TraceRequest } from './traced-block.ts'

/** One way in which a node may tell something of a block beside its transactions and receipts. */
export interface Way<T> {
  readonly call: (block: EvmBlock) => RpcCall
  /** What the endpoint's answer says; undefined: it does not know the block. Throws `InvalidInput`. */
  readonly read: (block: EvmBlock, answer: unknown, reading: TraceAttempt) => Promise<T | undefined>
}

/** What an answer is read with: the endpoint that gave it, and what receives the transactions that are to be left out. */
export type TraceAttempt = Pick<TraceRequest, 'spare'> & { readonly ask: CallEndpoint }

/** What is traced, and by which methods, the preferred one first. */
export interface TracerOptions<T> {
  readonly rpc: RpcPool
  readonly log: Logger
  readonly ways: readonly Way<T>[]
  /** In words: `calls`. */
  readonly what: string
}

/**
 * What a node says of a method that it does not have, or that its plan leaves out. Sources: JSON-RPC 2.0, EIP-1474.
 */
const REFUSED: ReadonlySet<number> = new Set([-32_601, -32_004, -32_600])

/** Requests the traces of a block; with `spare` without transactions that are out of shape. */
export type Tracer<T> = (block: EvmBlock, spare?: TraceRequest['spare']) => Promise<T | undefined>

/** What was found out of the endpoints so far, each once. */
interface SupportedTracer<T> {
  /** null: it has none of the ways. */
  readonly ways: WeakMap<CallEndpoint, Way<T> | null>
  /** One of them has a way. */
  met: boolean
}

/**
 * Asks the first endpoint that has one of the ways; undefined where none has, which is said once. Throws `Outage` while an endpoint
 * that has one does not answer, `InvalidInput` for an answer out of shape.
 */
export const tracer = <T>(options: TracerOptions<T>): Tracer<T> => {
  const { rpc, log, what } = options
  const known: SupportedTracer<T> = { ways: new WeakMap(), met: false }
  let warned = false
  return async (block, spare) => {
    let rejected = false
    const reported = await rpc
      .attempt(async (ask) => {
        const held = known.ways.get(ask)
        const way = held === undefined ? await wayOf(ask, block, options, known) : held
        rejected ||= way === null
        if (way === null) return undefined
        const answer = await ask(way.call(block))
        const value =
          answer === null
            ? undefined
            : await way.read(block, answer, { ask, ...(spare && { spare }) })
        return value === undefined ? undefined : { value }
      })
      .catch((error: unknown) => {
        if (error instanceof Outage && rejected && !known.met) return undefined
        if (!(error instanceof RpcError)) throw error
        throw new Outage('rpc', `no endpoint returned the ${what} of block ${block.height}`, {
          cause: error,
        })
      })
    if (reported !== undefined) return reported.value
    if (known.met || !rejected) {
      throw new Outage('rpc', `no endpoint holds the ${what} of block ${block.height} yet`)
    }
    if (!warned)
      log.warn(
        { height: block.height, what },
        'no endpoint supports tracing, continuing without traces',
      )
    warned = true
    return undefined
  }
}

/** Asks an endpoint once for each way; what goes wrong otherwise says nothing about it. */
const wayOf = async <T>(
  ask: CallEndpoint,
  block: EvmBlock,
  { ways }: TracerOptions<T>,
  known: SupportedTracer<T>,
): Promise<Way<T> | null> => {
  let found: Way<T> | null = null
  for (const way of ways) {
    if (await isMethodRejected(ask, way.call(block))) continue
    found = way
    break
  }
  known.ways.set(ask, found)
  known.met ||= found !== null
  return found
}

const isMethodRejected = async (ask: CallEndpoint, call: RpcCall): Promise<boolean> => {
  try {
    await ask(call)
    return false
  } catch (error) {
    if (error instanceof RpcError && REFUSED.has(error.code)) return true
    throw error
  }
}
