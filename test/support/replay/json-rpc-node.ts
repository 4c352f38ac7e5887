import { setMaxListeners } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type WebSocket, WebSocketServer } from 'ws'
import type { ReplayCall, ReplayChain, ReplayView } from './contract.ts'
import { noFaults } from './fault-plans.ts'
import type { FaultPlan, ReplayFault } from './faults.ts'

/** A node that speaks JSON-RPC over HTTP and WebSocket at one port, from recorded blocks. */
export interface ReplayNode {
  readonly chain: string
  readonly url: string
  readonly wsUrl: string
  readonly head: () => number
  /** When a height became the head, epoch milliseconds. */
  readonly producedMs: ReadonlyMap<number, number>
  /** Faults that were done, by kind. */
  readonly done: ReadonlyMap<ReplayFault, number>
  faults: FaultPlan
  /** The chain grows by that many heights; subscribers are told. */
  produce(count?: number): void
  stop(): Promise<void>
}

/** What a node is started with. */
export interface ReplayNodeOptions {
  readonly chain: ReplayChain
  /** Height that is the head at the start. */
  readonly head: number
  /** Blocks between the head and the newest final one. */
  readonly finalityDepth: number
  /** How long an answer that comes late takes: longer than the caller waits. */
  readonly lateMs: number
  readonly faults?: FaultPlan
}

/** How an answer leaves: as text, as a refusal of the transport, or not at all because the connection falls. */
type FaultedResponse = { readonly text: string } | 'too-many' | 'fall'

interface Subscriber {
  readonly socket: WebSocket
  readonly call: ReplayCall
  /** A notice that is sent after the next one. */
  held: string | undefined
}

/** How long an answer is kept back so that later ones overtake it. */
const REORDER_DELAY_MS = 50

/** Starts a node on a free port. */
export const startReplayNode = async (options: ReplayNodeOptions): Promise<ReplayNode> => {
  const { chain, finalityDepth } = options
  const subscribers = new Map<number, Subscriber>()
  const stopping = new AbortController()
  // Every answer that is late listens to it.
  setMaxListeners(0, stopping.signal)
  const producedMs = new Map<number, number>([[options.head, Date.now()]])
  const done = new Map<ReplayFault, number>()
  let head = options.head
  let lastId = 0
  const view = (): ReplayView => ({ head, final: Math.max(head - finalityDepth, 0) })
  const faultOf = (method: string): ReplayFault | undefined => {
    const fault = node.faults(method)
    if (fault !== undefined) done.set(fault, (done.get(fault) ?? 0) + 1)
    return fault
  }
  const deliver = async (id: unknown, call: ReplayCall): Promise<FaultedResponse> => {
    const fault = faultOf(call.method)
    if (fault === 'late') await sleepUnlessAborted(options.lateMs, stopping.signal)
    if (fault === 'out-of-order') await sleepUnlessAborted(REORDER_DELAY_MS, stopping.signal)
    if (fault === 'disconnect' || stopping.signal.aborted) return 'fall'
    if (fault === 'rate-limited') return 'too-many'
    const isForeign = fault === 'wrong-chain' && chain.identity.includes(call.method)
    const body =
      fault === 'wrong' || isForeign
        ? { result: isForeign ? chain.foreign() : chain.wrong(call, view()) }
        : chain.answer(call, view())
    const text = JSON.stringify({ jsonrpc: '2.0', id, ...body })
    return { text: fault === 'truncated' ? text.slice(0, text.length / 2) : text }
  }
  const { server, sockets } = createListener(deliver, (socket, id, call) => {
    lastId += 1
    subscribers.set(lastId, { socket, call, held: undefined })
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: subscriptionId(lastId, call) }))
  })
  sockets.on('connection', (socket) => {
    socket.on('close', () => {
      for (const [id, each] of subscribers) if (each.socket === socket) subscribers.delete(id)
    })
  })
  const tell = (height: number): void => {
    for (const [id, subscriber] of subscribers) {
      const notice = chain.notice(subscriber.call, height, view())
      if (notice === undefined) continue
      const { method, result } = notice
      const params = { subscription: subscriptionId(id, subscriber.call), result }
      send(subscriber, JSON.stringify({ jsonrpc: '2.0', method, params }), faultOf(method))
    }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const node: ReplayNode = {
    chain: chain.id,
    url: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}`,
    head: () => head,
    producedMs,
    done,
    faults: options.faults ?? noFaults,
    produce: (count = 1) => {
      for (let at = 0; at < count; at += 1) {
        head += 1
        producedMs.set(head, Date.now())
        tell(head)
      }
    },
    stop: async () => {
      stopping.abort()
      for (const socket of sockets.clients) socket.terminate()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  return node
}

/** Names of subscriptions: texts on EVM chains, numbers on Solana. */
const subscriptionId = (id: number, { method }: ReplayCall): string | number =>
  method === 'eth_subscribe' ? `0x${id.toString(16)}` : id

const sleepUnlessAborted = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined)

/** Sends a notice as the fault has it: after the next one, cut, or not at all with its connection. */
const send = (subscriber: Subscriber, text: string, fault: ReplayFault | undefined): void => {
  const { socket, held } = subscriber
  if (fault === 'disconnect') {
    socket.terminate()
    return
  }
  if (fault === 'out-of-order' && held === undefined) {
    subscriber.held = text
    return
  }
  socket.send(fault === 'truncated' ? text.slice(0, text.length / 2) : text)
  if (held !== undefined) socket.send(held)
  subscriber.held = undefined
}

type Deliver = (id: unknown, call: ReplayCall) => Promise<FaultedResponse>
type Subscribe = (socket: WebSocket, id: unknown, call: ReplayCall) => void

const createListener = (deliver: Deliver, subscribe: Subscribe) => {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { id, ...call } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as RpcRequest
    writeHttpResponse(response, await deliver(id, call))
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) => {
    socket.on('message', async (data) => {
      const { id, ...call } = JSON.parse(String(data)) as RpcRequest
      if (call.method.endsWith('ubscribe')) subscribe(socket, id, call)
      else writeSocketResponse(socket, id, await deliver(id, call))
    })
  })
  return { server, sockets }
}

type RpcRequest = ReplayCall & { readonly id: unknown }

const writeHttpResponse = (response: ServerResponse, delivery: FaultedResponse): void => {
  if (delivery === 'fall') response.destroy()
  else if (delivery === 'too-many') response.writeHead(429).end('Too Many Requests')
  else response.setHeader('content-type', 'application/json').end(delivery.text)
}

const writeSocketResponse = (socket: WebSocket, id: unknown, delivery: FaultedResponse): void => {
  const error = { code: -32_005, message: 'limit exceeded' }
  if (delivery === 'fall') socket.terminate()
  else if (delivery !== 'too-many') socket.send(delivery.text)
  else socket.send(JSON.stringify({ jsonrpc: '2.0', id, error }))
}
