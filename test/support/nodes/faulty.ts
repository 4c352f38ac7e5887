import { createServer } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'

/** A JSON-RPC request as it came. */
export interface RpcRequest {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

/** What to do with a call: undefined passes it on; `hang` never answers; a string is sent as it stands. */
export type InterceptCall = (
  asked: RpcRequest,
) => undefined | 'hang' | { readonly raw: string } | { readonly result: unknown }

/** A node in front of a real node that misbehaves as told. */
export interface FaultyNode {
  readonly httpUrl: string
  readonly wsUrl: string
  readonly asked: RpcRequest[]
  meddle: InterceptCall
  /** Sockets stay open and say nothing any more, as after a sleep of the machine. */
  muteSockets(): void
  stop(): Promise<void>
}

const forward = async (url: string, body: string): Promise<string> => {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  return answer.text()
}

/** Starts a proxy for `upstream` (HTTP) on free ports; `newHeads` come from polling the upstream. */
export const startFaultyNode = async (upstream: string): Promise<FaultyNode> => {
  const asked: RpcRequest[] = []
  const muted = new WeakSet<WebSocket>()
  const answer = async (text: string): Promise<string | undefined> => {
    const call = JSON.parse(text) as RpcRequest
    asked.push(call)
    const injected = node.meddle(call)
    if (injected === undefined) return forward(upstream, text)
    if (injected === 'hang') return undefined
    if ('raw' in injected) return injected.raw
    return JSON.stringify({ jsonrpc: '2.0', id: call.id, result: injected.result })
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = await answer(Buffer.concat(chunks).toString('utf8'))
    if (text !== undefined) response.end(text)
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) => {
    socket.on('message', async (data) => {
      if (muted.has(socket)) return
      const call = JSON.parse(String(data)) as RpcRequest
      if (call.method === 'eth_subscribe') {
        socket.send(JSON.stringify({ jsonrpc: '2.0', id: call.id, result: '0x1' }))
        return watch(socket)
      }
      const text = await answer(String(data))
      if (text !== undefined && !muted.has(socket)) socket.send(text)
    })
  })
  const watch = (socket: WebSocket): void => {
    let last = ''
    const timer = setInterval(async () => {
      const body = {
        jsonrpc: '2.0',
        id: 1,
        method: 'eth_getBlockByNumber',
        params: ['latest', false],
      }
      const { result } = JSON.parse(await forward(upstream, JSON.stringify(body)).catch(() => '{}'))
      if (!result || result.hash === last || muted.has(socket)) return
      last = result.hash
      const params = { subscription: '0x1', result }
      socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }))
    }, 20)
    socket.on('close', () => clearInterval(timer))
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const node: FaultyNode = {
    httpUrl: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}`,
    asked,
    meddle: () => undefined,
    muteSockets: () => {
      for (const socket of sockets.clients) muted.add(socket)
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
