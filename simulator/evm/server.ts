import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Logger } from '../../core/log.ts'
import { headerJson } from './blocks.ts'
import type { Chain } from './chain.ts'
import { METHODS, RpcError } from './methods.ts'

/** Bounds of one request, as nodes have them. */
const BODY_BYTES = 1_048_576
const BATCH_CALLS = 1_000
const SUBSCRIPTIONS = 128
/** A socket that is this far behind is closed. */
const BUFFERED_BYTES = 256 * 1_048_576

interface Caller {
  /** Handles what only a socket can; undefined = not such a method. */
  readonly socketMethod?: (method: string, params: readonly unknown[]) => unknown
}

/** A running JSON-RPC endpoint: HTTP and WebSocket on one port. */
export interface RpcServer {
  readonly port: number
  stop(): Promise<void>
}

const errorBody = (id: unknown, error: RpcError) => ({
  jsonrpc: '2.0',
  id,
  error: {
    code: error.code,
    message: error.message,
    ...(error.data !== undefined && { data: error.data }),
  },
})

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isId = (id: unknown): boolean =>
  typeof id === 'string' || typeof id === 'number' || id === null

/** Answers requests of one endpoint. */
const makeAnswer = (chain: Chain, log: Logger) => {
  const one = async (request: unknown, caller: Caller): Promise<unknown> => {
    if (!isObject(request) || typeof request.method !== 'string')
      return errorBody(null, new RpcError(-32600, 'invalid request'))
    const { id = null, method, params = [] } = request
    if (!isId(id)) return errorBody(null, new RpcError(-32600, 'invalid request'))
    try {
      if (!Array.isArray(params)) throw new RpcError(-32602, 'non-array args')
      const handler = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined
      const result = await (handler?.(chain, params) ?? caller.socketMethod?.(method, params))
      if (result === undefined)
        throw new RpcError(
          -32601,
          `the method ${method.slice(0, 80)} does not exist/is not available`,
        )
      return { jsonrpc: '2.0', id, result }
    } catch (error) {
      if (error instanceof RpcError) return errorBody(id, error)
      log.error({ err: error, method }, 'call failed')
      return errorBody(id, new RpcError(-32603, 'internal error'))
    }
  }
  return async (text: string, caller: Caller): Promise<string> => {
    let request: unknown
    try {
      request = JSON.parse(text)
    } catch {
      return JSON.stringify(errorBody(null, new RpcError(-32700, 'parse error')))
    }
    if (!Array.isArray(request)) return JSON.stringify(await one(request, caller))
    if (request.length === 0)
      return JSON.stringify(errorBody(null, new RpcError(-32600, 'empty batch')))
    if (request.length > BATCH_CALLS)
      return JSON.stringify(errorBody(null, new RpcError(-32600, 'batch too large')))
    const answers: string[] = []
    for (const item of request) answers.push(JSON.stringify(await one(item, caller)))
    return `[${answers.join()}]`
  }
}

type Answer = ReturnType<typeof makeAnswer>

const readBody = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const serveHttp = async (answer: Answer, request: IncomingMessage, response: ServerResponse) => {
  const send = (status: number, body: string, type = 'application/json'): void => {
    response.writeHead(status, { 'content-type': type }).end(body)
  }
  if (request.method === 'GET') return send(200, '', 'text/plain')
  if (request.method !== 'POST') return send(405, 'method not allowed', 'text/plain')
  const body = await readBody(request)
  if (body === undefined) {
    send(413, 'request body too large', 'text/plain')
    request.destroy()
    return
  }
  send(200, await answer(body, {}))
}

/** Subscriptions of one socket. */
const serveSocket = (socket: WebSocket, answer: Answer, chain: Chain): void => {
  const subscriptions = new Set<string>()
  const send = (text: string): void => {
    if (socket.bufferedAmount > BUFFERED_BYTES) socket.terminate()
    else if (socket.readyState === socket.OPEN) socket.send(text)
  }
  const stopHeads = chain.onHead((block) => {
    const result = subscriptions.size > 0 ? headerJson(block) : undefined
    for (const subscription of subscriptions)
      send(
        JSON.stringify({
          jsonrpc: '2.0',
          method: 'eth_subscription',
          params: { subscription, result },
        }),
      )
  })
  const caller: Caller = {
    socketMethod: (method, [first]) => {
      if (method === 'eth_subscribe') {
        if (first !== 'newHeads')
          throw new RpcError(
            -32602,
            `no "${String(first).slice(0, 40)}" subscription in eth namespace`,
          )
        if (subscriptions.size >= SUBSCRIPTIONS)
          throw new RpcError(-32005, 'too many subscriptions')
        const id = `0x${randomBytes(16).toString('hex')}`
        subscriptions.add(id)
        return id
      }
      if (method === 'eth_unsubscribe') {
        if (typeof first !== 'string' || !subscriptions.delete(first))
          throw new RpcError(-32000, 'subscription not found')
        return true
      }
      return undefined
    },
  }
  socket.on('message', (data, isBinary) => {
    const text = isBinary ? '' : data.toString()
    answer(text, caller).then(send, () => socket.terminate())
  })
  socket.on('close', stopHeads)
  socket.on('error', () => socket.terminate())
}

const listening = (server: Server, host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })

/** Listens on `host:port`; port 0 takes a free one. */
export const serveRpc = async (
  chain: Chain,
  { host, port, log }: { readonly host: string; readonly port: number; readonly log: Logger },
): Promise<RpcServer> => {
  const answer = makeAnswer(chain, log)
  const server = createServer((request, response) => {
    serveHttp(answer, request, response).catch(() => response.destroy())
  })
  const sockets = new WebSocketServer({ server, maxPayload: BODY_BYTES })
  sockets.on('connection', (socket) => serveSocket(socket, answer, chain))
  const bound = await listening(server, host, port)
  return {
    port: bound,
    stop: async () => {
      for (const socket of sockets.clients) socket.terminate()
      sockets.close()
      server.closeAllConnections()
      await new Promise<void>((done) => server.close(() => done()))
    },
  }
}
