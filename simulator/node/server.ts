import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'
import { isJsonObject } from '../../core/json.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { JsonRpcError, JsonText } from './rpc.ts'

/** Bounds of one request, as nodes have them. */
const MAX_BODY_BYTES = 1_048_576
const MAX_BATCH_CALLS = 1_000
/** A socket that is this far behind is closed. */
const MAX_BUFFERED_BYTES = 256 * 1_048_576

/** Answers a call; undefined = there is no such method. */
type CallHandler = (method: string, params: readonly unknown[]) => unknown

/** What one socket can do beyond plain calls. */
export interface SocketSession {
  readonly call: CallHandler
  close(): void
}

/** A node's side of the wire. */
export interface NodeEndpoint {
  readonly call: CallHandler
  /** A new socket; `send` takes text. */
  connect(send: (text: string) => void): SocketSession
  unknownMethod(method: string): JsonRpcError
}

/** A running JSON-RPC endpoint: HTTP and WebSocket on one port. */
export interface JsonRpcServer {
  readonly port: number
  stop(): Promise<void>
}

const errorBody = (id: unknown, error: JsonRpcError) => ({
  jsonrpc: '2.0',
  id,
  error: {
    code: error.code,
    message: error.message,
    ...(error.data !== undefined && { data: error.data }),
  },
})

const isId = (id: unknown): boolean =>
  typeof id === 'string' || typeof id === 'number' || id === null

const resultText = (id: unknown, result: unknown): string =>
  result instanceof JsonText
    ? `{"jsonrpc":"2.0","result":${result.text},"id":${JSON.stringify(id)}}`
    : JSON.stringify({ jsonrpc: '2.0', id, result })

const errorText = (id: unknown, error: JsonRpcError): string => JSON.stringify(errorBody(id, error))

/** Answers requests of one endpoint. */
const createRequestHandler = (endpoint: NodeEndpoint, log: Logger) => {
  const one = async (request: unknown, session: SocketSession | undefined): Promise<string> => {
    if (!isJsonObject(request) || typeof request.method !== 'string')
      return errorText(null, new JsonRpcError(-32600, 'invalid request'))
    const { id = null, method, params = [] } = request
    if (!isId(id)) return errorText(null, new JsonRpcError(-32600, 'invalid request'))
    try {
      if (!Array.isArray(params)) throw new JsonRpcError(-32602, 'non-array args')
      const result = await (endpoint.call(method, params) ?? session?.call(method, params))
      if (result === undefined) throw endpoint.unknownMethod(method.slice(0, 80))
      return resultText(id, result)
    } catch (error) {
      if (error instanceof JsonRpcError) return errorText(id, error)
      log.error({ err: error, method }, 'simulated RPC call failed')
      return errorText(id, new JsonRpcError(-32603, 'internal error'))
    }
  }
  return async (text: string, session?: SocketSession): Promise<string> => {
    let request: unknown
    try {
      request = JSON.parse(text)
    } catch {
      return errorText(null, new JsonRpcError(-32700, 'parse error'))
    }
    if (!Array.isArray(request)) return one(request, session)
    if (request.length === 0) return errorText(null, new JsonRpcError(-32600, 'empty batch'))
    if (request.length > MAX_BATCH_CALLS)
      return errorText(null, new JsonRpcError(-32600, 'batch too large'))
    const answers: string[] = []
    for (const item of request) answers.push(await one(item, session))
    return `[${answers.join()}]`
  }
}

type RequestHandler = ReturnType<typeof createRequestHandler>

const readBody = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const serveHttp = async (
  answer: RequestHandler,
  request: IncomingMessage,
  response: ServerResponse,
) => {
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
  send(200, await answer(body))
}

const serveSocket = (socket: WebSocket, answer: RequestHandler, endpoint: NodeEndpoint): void => {
  const send = (text: string): void => {
    if (socket.bufferedAmount > MAX_BUFFERED_BYTES) socket.terminate()
    else if (socket.readyState === socket.OPEN) socket.send(text)
  }
  const session = endpoint.connect(send)
  socket.on('message', (data, isBinary) => {
    const text = isBinary ? '' : data.toString()
    answer(text, session).then(send, () => socket.terminate())
  })
  socket.on('close', session.close)
  socket.on('error', () => socket.terminate())
}

const listen = (server: Server, host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })

/** Listens on `host:port`; port 0 takes a free one. */
export const startJsonRpcServer = async (
  endpoint: NodeEndpoint,
  { host, port, log }: { readonly host: string; readonly port: number; readonly log: Logger },
): Promise<JsonRpcServer> => {
  const answer = createRequestHandler(endpoint, log)
  const server = createServer((request, response) => {
    serveHttp(answer, request, response).catch(() => response.destroy())
  })
  const sockets = new WebSocketServer({ server, maxPayload: MAX_BODY_BYTES })
  sockets.on('connection', (socket) => serveSocket(socket, answer, endpoint))
  const bound = await listen(server, host, port)
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
