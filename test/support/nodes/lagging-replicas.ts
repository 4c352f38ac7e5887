import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'

/** What one backend behind the address shows at the moment. */
export interface ReplicaView {
  readonly head: number
  readonly final: number
  /** Name of the branch of a height; blocks of another name have another hash. */
  readonly branchOf: (height: number) => string
  /** Added to the time of a block. */
  readonly shiftSeconds?: (height: number) => number
}

/** A node whose backends all answer at one address, each as far as it is. */
export interface ReplicaNode {
  readonly url: string
  /** The same over WebSocket, where heads can be subscribed to. */
  readonly wsUrl: string
  /** Methods that were asked, in order. */
  readonly asked: string[]
  /** The backend of the next call. */
  view: () => ReplicaView
  /** Height of the block that it makes up as its newest; undefined: it does not lie. */
  latest: number | undefined
  /** What contracts answer; undefined: every call is reverted. */
  call: ((params: readonly unknown[]) => string) | undefined
  /** Tells subscribers of heads the newest block of the backend. */
  push(): void
  stop(): Promise<void>
}

const START_SECONDS = 1_700_000_000
const hex = (value: number): string => `0x${value.toString(16)}`
const zeros = (bytes: number): string => `0x${'00'.repeat(bytes)}`

/** Hash of a block: its own name and height, those below it left out, so that tests can name any block. */
export const replicaHash = (branch: string, height: number): string =>
  `0x${createHash('sha256').update(`${branch} ${height}`).digest('hex')}`

const replicaBlock = ({ branchOf, shiftSeconds }: ReplicaView, height: number) => ({
  number: hex(height),
  hash: replicaHash(branchOf(height), height),
  parentHash: replicaHash(branchOf(height - 1), height - 1),
  timestamp: hex(START_SECONDS + height + (shiftSeconds?.(height) ?? 0)),
  transactions: [],
  logsBloom: zeros(256),
  miner: zeros(20),
  gasLimit: '0x1',
  gasUsed: '0x0',
  baseFeePerGas: '0x0',
  difficulty: '0x0',
  nonce: '0x0000000000000000',
  extraData: '0x',
  uncles: [],
})

const rpcResult = (
  view: ReplicaView,
  { method, params: [name] }: { readonly method: string; readonly params: readonly unknown[] },
): unknown => {
  const { head, final } = view
  if (method === 'eth_getBlockByNumber') {
    const height = name === 'latest' ? head : name === 'finalized' ? final : Number(name)
    return height <= head ? replicaBlock(view, height) : null
  }
  for (let height = head; height >= Math.max(0, head - 400); height -= 1) {
    const block = replicaBlock(view, height)
    if (block.hash === name) return method === 'eth_getBlockByHash' ? block : []
  }
  return null
}

/** Starts a node that shows `view`. */
export const startReplicaNode = async (
  chainId: number,
  view: () => ReplicaView,
): Promise<ReplicaNode> => {
  const asked: string[] = []
  const respond = (text: string): string => {
    const { id, ...call } = JSON.parse(text)
    asked.push(call.method)
    const answer = (): unknown => {
      if (call.method === 'eth_chainId') return hex(chainId)
      if (call.method === 'eth_subscribe') return '0x1'
      if (node.latest !== undefined && call.params[0] === 'latest') {
        return replicaBlock(node.view(), node.latest)
      }
      return call.method === 'eth_call' ? node.call?.(call.params) : rpcResult(node.view(), call)
    }
    const result = answer()
    const body =
      result === undefined ? { error: { code: 3, message: 'execution reverted' } } : { result }
    return JSON.stringify({ jsonrpc: '2.0', id, ...body })
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    response.end(respond(Buffer.concat(chunks).toString()))
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) =>
    socket.on('message', (data) => socket.send(respond(String(data)))),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const node: ReplicaNode = {
    url: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}`,
    asked,
    view,
    latest: undefined,
    call: undefined,
    push: () => {
      const view = node.view()
      const params = { subscription: '0x1', result: replicaBlock(view, view.head) }
      const notice = JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params })
      for (const socket of sockets.clients) socket.send(notice)
    },
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets.clients) socket.terminate()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return node
}
