import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { base58Encode } from '../../../core/base58.ts'

/** A JSON-RPC call as it came. */
export interface SvmRpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/** What a test does to a call: undefined lets the node answer. */
export type InterceptSvmCall = (
  asked: SvmRpcCall,
) =>
  | undefined
  | 'hang'
  | { readonly error: { readonly code: number; readonly message: string } }
  | { readonly result: unknown }

/** A block as `getBlock` gives it. */
export interface RpcBlock {
  readonly blockhash: string
  readonly previousBlockhash: string
  readonly parentSlot: number
  readonly blockTime: number
  readonly blockHeight: number
  readonly transactions: readonly unknown[]
  readonly rewards: readonly unknown[]
}

/** A Solana node over blocks made by hand: it checks the options of every call as a real one does. */
export interface SvmNode {
  readonly url: string
  readonly asked: SvmRpcCall[]
  readonly blocks: Map<number, RpcBlock>
  readonly accounts: Map<string, { readonly owner: string; readonly data: Uint8Array }>
  meddle: InterceptSvmCall
  finalized: number
  /** Adds a block at a slot above the newest and tells subscribers. */
  produce(slot: number, transactions?: readonly unknown[]): RpcBlock
  /** Forgets every block above a slot: what comes next is another branch. */
  rewind(slot: number): void
  stop(): Promise<void>
}

const GENESIS = 'GH7ome3EiwEr7tu9JuTh2dpYWBJK3z69Xm1ZE3MEE6JC'
const START_SECONDS = 1_760_000_000

/** Starts a node at slot 0; with `pushesBlocks` it offers `blockSubscribe`. */
export const startSvmNode = async (
  options: { readonly pushesBlocks?: boolean; readonly genesis?: string } = {},
): Promise<SvmNode> => {
  const subscribers = new Map<number, { socket: WebSocket; kind: 'slot' | 'block' }>()
  let branch = 0
  let lastId = 0
  const newest = (): number => Math.max(...node.blocks.keys())
  const tell = (slot: number, block: RpcBlock): void => {
    for (const [subscription, { socket, kind }] of subscribers) {
      const result =
        kind === 'slot'
          ? { slot, parent: block.parentSlot, root: node.finalized }
          : { context: { slot }, value: { slot, err: null, block } }
      const params = { subscription, result }
      socket.send(JSON.stringify({ jsonrpc: '2.0', method: `${kind}Notification`, params }))
    }
  }
  const reply = (asked: SvmRpcCall): object => {
    node.asked.push(asked)
    const error = rpcRefusal(asked)
    if (error !== undefined) return { error }
    return rpcResult(node, newest, { asked, genesis: options.genesis ?? GENESIS })
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { id, ...asked } = JSON.parse(Buffer.concat(chunks).toString()) as SvmRpcCall & {
      id: number
    }
    const meddled = node.meddle(asked)
    if (meddled === 'hang') return
    const body = meddled === undefined ? reply(asked) : meddled
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) => {
    socket.on('message', (data) => {
      const { id, method } = JSON.parse(String(data)) as { id: number; method: string }
      if (method === 'blockSubscribe' && !options.pushesBlocks) {
        const error = { code: -32_601, message: 'Method not found' }
        return socket.send(JSON.stringify({ jsonrpc: '2.0', id, error }))
      }
      lastId += 1
      subscribers.set(lastId, { socket, kind: method === 'blockSubscribe' ? 'block' : 'slot' })
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: lastId }))
    })
    socket.on('close', () => {
      for (const [id, held] of subscribers) if (held.socket === socket) subscribers.delete(id)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const node: SvmNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    blocks: new Map(),
    accounts: new Map(),
    meddle: () => undefined,
    finalized: 0,
    produce: (slot, transactions = []) => {
      const parentSlot = node.blocks.size === 0 ? 0 : newest()
      const parent = node.blocks.get(parentSlot)
      const block: RpcBlock = {
        blockhash: base58Hash(`${branch} ${slot} ${parent?.blockhash}`),
        previousBlockhash: parent?.blockhash ?? base58Hash('nothing'),
        parentSlot,
        blockTime: START_SECONDS + Math.floor(slot * 0.4),
        blockHeight: (parent?.blockHeight ?? -1) + 1,
        transactions,
        rewards: [],
      }
      node.blocks.set(slot, block)
      tell(slot, block)
      return block
    },
    rewind: (slot) => {
      branch += 1
      for (const each of node.blocks.keys()) if (each > slot) node.blocks.delete(each)
    },
    stop: async () => {
      for (const socket of sockets.clients) socket.terminate()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  node.produce(0)
  return node
}

const base58Hash = (text: string): string =>
  base58Encode(createHash('sha256').update(text).digest())

/** What a node refuses: a commitment that it does not know, and blocks for readers who did not say which versions they know. */
const rpcRefusal = ({ method, params }: SvmRpcCall): object | undefined => {
  const options = params.findLast((each) => typeof each === 'object' && each !== null) as
    | { commitment?: string; maxSupportedTransactionVersion?: number }
    | undefined
  if (
    method !== 'getGenesisHash' &&
    !['confirmed', 'finalized'].includes(options?.commitment ?? '')
  ) {
    return { code: -32_602, message: `Invalid params: commitment ${options?.commitment}` }
  }
  if (method === 'getBlock' && options?.maxSupportedTransactionVersion === undefined) {
    return { code: -32_015, message: 'Transaction version (0) is not supported' }
  }
  return undefined
}

const rpcResult = (
  node: SvmNode,
  newest: () => number,
  { asked, genesis }: { readonly asked: SvmRpcCall; readonly genesis: string },
): object => {
  const { method, params } = asked
  const head = newest()
  const options = (params.at(-1) ?? {}) as { commitment?: string; transactionDetails?: string }
  const top = options.commitment === 'finalized' ? node.finalized : head
  const [first, second] = params as readonly [number, number]
  switch (method) {
    case 'getGenesisHash':
      return { result: genesis }
    case 'getSlot':
      return { result: top }
    case 'getBlocks': {
      const slots = [...node.blocks.keys()].filter(
        (slot) => slot >= first && slot <= Math.min(second, top),
      )
      return { result: slots.sort((a, b) => a - b) }
    }
    case 'getBlock': {
      const block = node.blocks.get(first)
      if (first > top)
        return { error: { code: -32_004, message: `Block not available for slot ${first}` } }
      if (block === undefined) {
        return { error: { code: -32_007, message: `Slot ${first} was skipped` } }
      }
      const { transactions, ...header } = block
      return {
        result: options.transactionDetails === 'none' ? header : { ...header, transactions },
      }
    }
    case 'getMultipleAccounts': {
      const value = (params[0] as readonly string[]).map((address) => {
        const account = node.accounts.get(address)
        if (account === undefined) return null
        return {
          owner: account.owner,
          lamports: 1,
          data: [Buffer.from(account.data).toString('base64'), 'base64'],
        }
      })
      return { result: { context: { slot: head }, value } }
    }
    default:
      return { error: { code: -32_601, message: 'Method not found' } }
  }
}
