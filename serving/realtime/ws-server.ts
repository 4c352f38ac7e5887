import { createServer, type IncomingMessage, STATUS_CODES } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { type RawData, WebSocket, WebSocketServer } from 'ws'
import type { BoundaryReason, ErrorBoundary } from '../../core/ops/error-boundary.ts'
import type { Frame } from './frame-codec.ts'
import type {
  Socket,
  SocketEvents,
  SocketOptions,
  SocketServer,
  UpgradeDecision,
  UpgradeRequest,
} from './socket.ts'

type RejectedUpgrade = Extract<UpgradeDecision<never>, { accepted: false }>

/** The library answers a message that is too long with 1009, which ends stock clients for good; it is dropped instead. */
class TerminatingWebSocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    if (code === 1009) this.terminate()
    else super.close(code, reason)
  }
}

type TopicMembers = Map<string, Set<WsSocket>>

class WsSocket implements Socket {
  readonly #ws: WebSocket
  readonly #topics: TopicMembers
  readonly #topicNames = new Set<string>()

  constructor(ws: WebSocket, topics: TopicMembers) {
    this.#ws = ws
    this.#topics = topics
  }

  send(frame: Frame): void {
    if (this.#ws.readyState === WebSocket.OPEN) this.#ws.send(frame)
  }

  ping(): void {
    if (this.#ws.readyState === WebSocket.OPEN) this.#ws.ping()
  }

  buffered(): number {
    return this.#ws.bufferedAmount
  }

  join(topic: string): void {
    const members = this.#topics.get(topic) ?? new Set()
    this.#topics.set(topic, members.add(this))
    this.#topicNames.add(topic)
  }

  leave(topic: string): void {
    const members = this.#topics.get(topic)
    members?.delete(this)
    if (members?.size === 0) this.#topics.delete(topic)
    this.#topicNames.delete(topic)
  }

  leaveAll(): void {
    for (const topic of this.#topicNames) this.leave(topic)
  }

  close(code: number, reason: string): void {
    this.#ws.close(code, reason)
  }

  drop(): void {
    this.#ws.terminate()
  }
}

/** How long a client may take to send its request. */
const REQUEST_TIMEOUT_MS = 10_000
const TIMEOUT_CHECK_INTERVAL_MS = 2_000

/** Serves sockets with `ws`, where uWebSockets.js has no binary. */
export const serveWs = async <Context>(
  options: SocketOptions,
  events: SocketEvents<Context>,
): Promise<SocketServer> => {
  const { boundary, tls } = options
  const limits = {
    headersTimeout: REQUEST_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
  }
  const http = tls
    ? createTlsServer({ ...limits, cert: tls.cert, key: tls.key })
    : createServer(limits)
  http.maxConnections = options.maxConnections
  const topics: TopicMembers = new Map()
  const protocols = new WeakMap<IncomingMessage, string>()
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: options.maxInboundBytes,
    perMessageDeflate: false,
    autoPong: false,
    WebSocket: TerminatingWebSocket,
    handleProtocols: (_, request) => protocols.get(request) || false,
  })
  const decide = createRequestHandler(boundary, events)
  http.on('request', (request, response) => {
    decide(request, response, (decision) => {
      const refusal = decision.accepted ? { status: 400, headers: {}, body: '' } : decision
      response.writeHead(refusal.status, { ...refusal.headers, connection: 'close' })
      response.end(refusal.body)
    })
  })
  http.on('upgrade', (request, duplex, head) => {
    duplex.on('error', () => duplex.destroy())
    // centrifuge-python offers an empty list, which the library refuses.
    if (request.headers['sec-websocket-protocol'] === '') {
      delete request.headers['sec-websocket-protocol']
    }
    decide(request, duplex, (decision) => {
      if (!decision.accepted) return writeRejection(duplex, decision)
      protocols.set(request, decision.protocol)
      server.handleUpgrade(request, duplex, head, (ws) =>
        attachSocket(ws, new WsSocket(ws, topics), { context: decision.context, events, options }),
      )
    })
  })
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject)
    http.listen(options.port, options.host, resolve)
  })
  // A connection that cannot be accepted, for want of file descriptors for example.
  http.on('error', (error) => boundary.failed('listener', error))
  const address = http.address()
  const closed = new Promise<void>((resolve) => http.once('close', resolve))
  return {
    transport: 'ws',
    port: typeof address === 'object' && address ? address.port : options.port,
    publish: (topic, frame) => {
      for (const socket of topics.get(topic) ?? []) {
        boundary.run(
          'publish',
          () => {
            if (socket.buffered() > options.maxQueuedBytes) events.overflowed(socket)
            else socket.send(frame)
          },
          () => events.failed(socket),
        )
      }
    },
    refuse: () => {
      http.close()
    },
    stop: async () => {
      http.close()
      for (const ws of server.clients) ws.terminate()
      http.closeAllConnections()
      await closed
    },
  }
}

/** Decides about a request and carries that out; where either fails, its connection is closed. */
const createRequestHandler =
  <Context>(boundary: ErrorBoundary, events: SocketEvents<Context>) =>
  (
    request: IncomingMessage,
    connection: { destroy(): void },
    respond: (decision: UpgradeDecision<Context>) => void,
  ): void => {
    const run = (work: () => void): void =>
      boundary.run('upgrade', work, () => connection.destroy())
    run(() => {
      events.upgrade(toUpgradeRequest(request)).then(
        (decision) => run(() => respond(decision)),
        (error: unknown) =>
          run(() => {
            throw error
          }),
      )
    })
  }

const toUpgradeRequest = (request: IncomingMessage): UpgradeRequest => {
  const [path = '/', ...query] = (request.url ?? '/').split('?')
  return {
    method: (request.method ?? 'GET').toLowerCase(),
    path,
    query: query.join('?'),
    ip: request.socket.remoteAddress ?? '',
    header: (name) => {
      const value = request.headers[name]
      return Array.isArray(value) ? value.join(', ') : (value ?? '')
    },
  }
}

const writeRejection = (duplex: Duplex, { status, headers, body }: RejectedUpgrade): void => {
  const lines = Object.entries({
    ...headers,
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  // The client may keep its side open for ever.
  duplex.once('finish', () => duplex.destroy())
  duplex.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`)
}

/** Frames of a client that were on their way when it was closed. */
const MAX_FRAMES_AFTER_CLOSE = 1_000

const attachSocket = <Context>(
  ws: WebSocket,
  socket: WsSocket,
  handlers: {
    readonly context: Context
    readonly events: SocketEvents<Context>
    readonly options: SocketOptions
  },
): void => {
  const { context, events, options } = handlers
  const run = (kind: BoundaryReason, work: () => void): void =>
    options.boundary.run(kind, work, () => events.failed(socket))
  let ignored = 0
  /** The library reads on until the close is answered: what comes by then is not handled, and much of it ends the connection. */
  const receive = (kind: BoundaryReason, work: () => void): void => {
    if (ws.readyState === WebSocket.OPEN) run(kind, work)
    else {
      ignored += 1
      if (ignored > MAX_FRAMES_AFTER_CLOSE) ws.terminate()
    }
  }
  ws.on('message', (data) => receive('message', () => events.message(socket, messageBytes(data))))
  ws.on('ping', (data) =>
    receive('control', () => {
      events.alive(socket)
      // A client that pings and never reads must not fill the memory with pongs.
      if (socket.buffered() <= options.maxQueuedBytes) ws.pong(data)
    }),
  )
  ws.on('pong', () => receive('control', () => events.alive(socket)))
  ws.on('error', () => ws.terminate())
  ws.on('close', () =>
    run('close', () => {
      socket.leaveAll()
      events.closed(socket)
    }),
  )
  run('open', () => events.open(socket, context))
}

const messageBytes = (data: RawData): Uint8Array => {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data
}
