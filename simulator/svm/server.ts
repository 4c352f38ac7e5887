import { RpcError } from '../node/rpc.ts'
import type { Endpoint, Session } from '../node/server.ts'
import { type BlockOptions, unknownVersion } from './block-text.ts'
import type { SealedBlock } from './blocks.ts'
import { type Chain, newestHeight } from './chain.ts'
import { METHODS, makeNode, type Node } from './methods.ts'
import { blockCommitment, blockOptions, configParam, invalid, textParam } from './params.ts'

const SUBSCRIPTIONS = 128
/** Blocks that wait to be sent to one socket; a socket further behind loses its block subscriptions. */
const WAITING = 1_024

interface BlockSubscription {
  readonly options: BlockOptions
  readonly isFinal: boolean
}

const notice = (method: string, subscription: number, result: string): string =>
  `{"jsonrpc":"2.0","method":"${method}","params":{"result":${result},"subscription":${subscription}}}`

const blockNotice = async ({ texts }: Node, block: SealedBlock, options: BlockOptions) => {
  const { slot } = block
  const version = unknownVersion(block, options)
  const [err, text] =
    version === undefined
      ? ['null', await texts.text(block, options)]
      : [`"UnsupportedTransactionVersion(${version})"`, 'null']
  return `{"context":{"slot":${slot}},"value":{"block":${text},"err":${err},"slot":${slot}}}`
}

const mentionsOf = (filter: unknown): string | undefined => {
  if (filter === 'all') return undefined
  const { mentionsAccountOrProgram } = configParam([filter], 0)
  return textParam([mentionsAccountOrProgram], 0)
}

/** Subscriptions of one socket; blocks are sent in the order in which they came. */
const connect = (node: Node, send: (text: string) => void): Session => {
  const { chain } = node
  const slots = new Set<number>()
  const blocks = new Map<number, BlockSubscription>()
  let last = 0
  let lastFinal = newestHeight(chain, 'finalized')
  let waiting = 0
  let sending: Promise<void> = Promise.resolve()

  const publish = async (isFinal: boolean, block: SealedBlock): Promise<void> => {
    for (const [id, { options, isFinal: wantsFinal }] of blocks) {
      if (wantsFinal !== isFinal) continue
      const result = await blockNotice(node, block, options)
      if (blocks.has(id)) send(notice('blockNotification', id, result))
    }
  }
  const publishFinal = async (): Promise<void> => {
    for (const newest = newestHeight(chain, 'finalized'); lastFinal < newest; ) {
      lastFinal += 1
      const block = blocks.size > 0 ? await chain.block(lastFinal) : undefined
      if (block !== undefined) await publish(true, block)
    }
  }
  const close = chain.onHead((block) => {
    const root = newestHeight(chain, 'finalized')
    for (const id of slots) {
      const result = JSON.stringify({ parent: block.parentSlot, root, slot: block.slot })
      send(notice('slotNotification', id, result))
    }
    if (waiting >= WAITING) blocks.clear()
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
    if (slots.size + blocks.size >= SUBSCRIPTIONS)
      throw new RpcError(-32603, 'Internal error: too many subscriptions')
    last += 1
    add(last)
    return last
  }
  const unsubscribe = (from: Set<number> | Map<number, BlockSubscription>, id: unknown): true => {
    if (typeof id === 'number' && from.delete(id)) return true
    throw invalid('Invalid subscription id.')
  }
  const calls: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
    slotSubscribe: () => subscribe((id) => slots.add(id)),
    slotUnsubscribe: ([id]) => unsubscribe(slots, id),
    blockSubscribe: (params) => {
      const config = configParam(params, 1)
      const isFinal = blockCommitment(config) === 'finalized'
      const mentions = mentionsOf(params[0])
      const options = { ...blockOptions(config, 'showRewards'), mentions }
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
export const svmEndpoint = (chain: Chain): Endpoint => {
  const node = makeNode(chain)
  return {
    call: (method, params) =>
      Object.hasOwn(METHODS, method) ? METHODS[method]?.(node, params) : undefined,
    connect: (send) => connect(node, send),
    unknownMethod: () => new RpcError(-32601, 'Method not found'),
  }
}
