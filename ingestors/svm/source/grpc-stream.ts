import type { Logger } from '../../../core/ops/logger.ts'
import {
  type GrpcEndpoint,
  grpcEndpoint,
  keepStreaming,
  loadGrpcServices,
  type StreamControl,
} from '../../../core/rpc/grpc.ts'
import { RpcError, type RpcPool } from '../../../core/rpc/pool.ts'
import { fieldsOf } from '../../input/json.ts'
import { parseUint } from '../layout/json.ts'
import { normalizeHeader } from '../normalize/block.ts'
import { type BlockSubscription, skipInvalidNotices } from './block-subscription.ts'
import { type Commitment, fetchHeader } from './node-queries.ts'
import { grpcBlockFields, grpcTransactionFields } from './yellowstone.ts'

const SUBSCRIBE_METHOD = 'geyser.Geyser/Subscribe'

/** Whether an address is that of a Yellowstone stream and not of calls. */
export const isGrpcUrl = (url: string): boolean => /^grpcs?:/.test(url)

/** What streams are opened with. */
export interface StreamOptions {
  readonly chain: string
  /** `grpc` or `grpcs` addresses, best first. */
  readonly urls: readonly string[]
  readonly commitment: Commitment
  readonly timeoutMs: number
  readonly log: Logger
  readonly signal: AbortSignal
}

/** One endpoint to stream from. */
interface StreamEndpoint {
  readonly endpoint: GrpcEndpoint
  /** Its blocks are not those of the nodes that are asked: never used again. */
  isWrongChain: boolean
}

/** What was heard over all streams. */
interface StreamState {
  newestSlot: number
  /** An endpoint refused to begin at a slot: the next one is not asked to. */
  fromSlotRejected: boolean
}

/**
 * Streams blocks and slots over Yellowstone gRPC from one endpoint after the other, again from the slot behind the newest when
 * one broke; what was missed is asked for. A stream names no chain, so its first block is compared with that of the nodes that
 * are asked before its head counts.
 */
export const streamBlocks = (
  rpc: RpcPool,
  subscription: BlockSubscription,
  options: StreamOptions,
): void => {
  const { urls, timeoutMs, signal, log } = options
  if (urls.length === 0) return
  const services = loadGrpcServices('geyser.proto')
  const endpoints = urls.map(
    (url): StreamEndpoint => ({
      endpoint: grpcEndpoint(url, { services, timeoutMs }),
      isWrongChain: false,
    }),
  )
  const close = (): void => {
    for (const { endpoint } of endpoints) endpoint.close()
  }
  signal.addEventListener('abort', close, { once: true })
  const state: StreamState = { newestSlot: -1, fromSlotRejected: false }
  let turn = 0
  keepStreaming(async (stop) => {
    const usable = endpoints.filter(({ isWrongChain: foreign }) => !foreign)
    const endpoint = usable[turn % usable.length]
    if (endpoint === undefined) return null
    turn += 1
    const request = subscribeRequest(
      options.commitment,
      state.fromSlotRejected ? -1 : state.newestSlot,
    )
    state.fromSlotRejected = false
    try {
      const reader = createMessageHandler({
        rpc,
        subscription,
        state,
        streamEndpoint: endpoint,
        options,
      })
      const onMessage = skipInvalidNotices(reader, log)
      return await endpoint.endpoint.stream({ method: SUBSCRIBE_METHOD, request, onMessage }, stop)
    } catch (error) {
      state.fromSlotRejected = error instanceof RpcError
      if (!stop.aborted)
        log.warn({ err: error, endpoint: endpoint.endpoint.label }, 'stream disconnected')
      throw error
    }
  }, signal)
}

/** Every transaction of every block, and slots as they reach the commitment. */
const subscribeRequest = (commitment: Commitment, newestSlot: number): object => ({
  blocks: { blocks: { includeTransactions: true, includeAccounts: false, includeEntries: false } },
  slots: { slots: { filterByCommitment: true } },
  commitment: commitment.toUpperCase(),
  ...(newestSlot >= 0 && { fromSlot: newestSlot + 1 }),
})

interface MessageHandlerDeps {
  readonly rpc: RpcPool
  readonly subscription: BlockSubscription
  readonly state: StreamState
  readonly streamEndpoint: StreamEndpoint
  readonly options: StreamOptions
}

/** Reads what one stream says. */
const createMessageHandler = ({
  rpc,
  subscription,
  state,
  streamEndpoint,
  options,
}: MessageHandlerDeps) => {
  const { chain, commitment, log } = options
  let proof: 'none' | 'asked' | 'ours' = 'none'
  /** Compares a block with that of the nodes that are asked; they may not have it yet. */
  const verifyBlockhash = async (
    slot: number,
    hash: string,
    stream: StreamControl,
  ): Promise<void> => {
    proof = 'asked'
    const header = await fetchHeader(rpc, { chain, slot }, commitment).catch(() => undefined)
    proof = 'none'
    if (header === undefined || header === 'skipped') return
    if (header.hash === hash) {
      proof = 'ours'
      return
    }
    streamEndpoint.isWrongChain = true
    log.error(
      { endpoint: streamEndpoint.endpoint.label, slot },
      'stream serves another chain, not used',
    )
    stream.end()
  }
  const onBlock = (value: unknown, stream: StreamControl): void => {
    const raw = grpcBlockFields(value)
    const slot = parseUint(raw.slot, 'block.slot')
    const isOurs = proof === 'ours'
    subscription.block({ slot, rawBlock: raw, toGetBlockFields: grpcTransactionFields }, isOurs)
    if (isOurs) state.newestSlot = Math.max(state.newestSlot, slot)
    if (proof === 'none')
      void verifyBlockhash(slot, normalizeHeader(raw, { chain, slot }).hash, stream)
  }
  return (message: unknown, stream: StreamControl): void => {
    const { block, slot, ping } = fieldsOf(message, 'update')
    if (ping !== undefined) stream.send({ ping: { id: 1 } })
    else if (block !== undefined) onBlock(block, stream)
    else if (slot !== undefined && proof === 'ours') {
      subscription.onSlot(parseUint(fieldsOf(slot, 'slot').slot, 'slot.slot'))
    }
  }
}
