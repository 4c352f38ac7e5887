import { JsonRpcError } from '../node/rpc.ts'
import type { NodeEndpoint, SocketSession } from '../node/server.ts'
import { type BlockOptions, unsupportedVersion } from './block-json.ts'
import type { SealedBlock } from './blocks.ts'
import { heightAtCommitment, type SolanaChain } from './chain.ts'
import { createNode, RPC_METHODS, type SimulatedNode } from './rpc-methods.ts'
import {
  invalidParams,
  optionsParam,
  parseBlockCommitment,
  parseBlockOptions,
  textParam,
} from './rpc-params.ts'

const MAX_SUBSCRIPTIONS = 128
/** Blocks that wait to be sent to one socket; a socket further behind loses its block subscriptions. */
const MAX_QUEUED_BLOCKS = 1_024

interface BlockSubscription {
  readonly options: BlockOptions
  readonly isFinal: boolean
}

const notificationText = (method: string, subscription: number, result: string): string =>
  `{"jsonrpc":"2.0","method":"${method}","params":{"result":${result},"subscription":${subscription}}}`

const blockNotification = async (
  { blockJson }: SimulatedNode,
  block: SealedBlock,
  options: BlockOptions,
) => {
  const { slot } = block
  const version = unsupportedVersion(block, options)
  const [err, text] =
    version === undefined
      ? ['null', await blockJson.blockJson(block, options)]
      : [`"UnsupportedTransactionVersion(${version})"`, 'null']
  return `{"context":{"slot":${slot}},"value":{"block":${text},"err":${err},"slot":${slot}}}`
}

const mentionedAccount = (filter: unknown): string | undefined => {
  if (filter === 'all') return undefined
  const { mentionsAccountOrProgram } = optionsParam([filter], 0)
  return textParam([mentionsAccountOrProgram], 0)
}

/** Subscriptions of one socket; blocks are sent in the order in which they came. */
const openSession = (node: SimulatedNode, send: (text: string) => void): SocketSession => {
  const { chain } = node
  const slots = new Set<number>()
  const blocks = new Map<number, BlockSubscription>()
  let last = 0
  let lastFinal = heightAtCommitment(chain, 'finalized')
  let waiting = 0
  let sending: Promise<void> = Promise.resolve()

  const publish = async (isFinal: boolean, block: SealedBlock): Promise<void> => {
    for (const [id, { options, isFinal: wantsFinal }] of blocks) {
      if (wantsFinal !== isFinal) continue
      const result = await blockNotification(node, block, options)
      if (blocks.has(id)) send(notificationText('blockNotification', id, result))
    }
  }
  const publishFinal = async (): Promise<void> => {
    for (const newest = heightAtCommitment(chain, 'finalized'); lastFinal < newest; ) {
      lastFinal += 1
      const block = blocks.size > 0 ? await chain.block(lastFinal) : undefined
      if (block !== undefined) await publish(true, block)
    }
  }
  const close = chain.onHead((block) => {
    const root = heightAtCommitment(chain, 'finalized')
    for (const id of slots) {
      const result = JSON.stringify({ parent: block.parentSlot, root, slot: block.slot })
      send(notificationText('slotNotification', id, result))
    }
    if (waiting >= MAX_QUEUED_BLOCKS) blocks.clear()
    if (blocks.size === 0) {
      lastFinal = root
      return
    }
    waiting += 1
    sending = sending
      .then(() => publish(false, block))
      .then(publishFinal)
      .catch(() => blocks.clear())
      .finally(() => {
        waiting -= 1
      })
  })
  const subscribe = (add: (id: number) => void): number => {
    if (slots.size + blocks.size >= MAX_SUBSCRIPTIONS)
      throw new JsonRpcError(-32603, 'Internal error: too many subscriptions')
    last += 1
    add(last)
    return last
  }
  const unsubscribe = (from: Set<number> | Map<number, BlockSubscription>, id: unknown): true => {
    if (typeof id === 'number' && from.delete(id)) return true
    throw invalidParams('Invalid subscription id.')
  }
  const calls: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
    slotSubscribe: () => subscribe((id) => slots.add(id)),
    slotUnsubscribe: ([id]) => unsubscribe(slots, id),
    blockSubscribe: (params) => {
      const config = optionsParam(params, 1)
      const isFinal = parseBlockCommitment(config) === 'finalized'
      const mentions = mentionedAccount(params[0])
      const options = { ...parseBlockOptions(config, 'showRewards'), mentions }
      return subscribe((id) => blocks.set(id, { options, isFinal }))
    },
    blockUnsubscribe: ([id]) => unsubscribe(blocks, id),
  }
  return {
    close,
    call: (method, params) => (Object.hasOwn(calls, method) ? calls[method]?.(params) : undefined),
  }
}

/** The node of a Solana chain. */
export const svmEndpoint = (chain: SolanaChain): NodeEndpoint => {
  const node = createNode(chain)
  return {
    call: (method, params) =>
      Object.hasOwn(RPC_METHODS, method) ? RPC_METHODS[method]?.(node, params) : undefined,
    connect: (send) => openSession(node, send),
    unknownMethod: () => new JsonRpcError(-32601, 'Method not found'),
  }
}
