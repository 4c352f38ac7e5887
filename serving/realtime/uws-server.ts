import type { HttpRequest, HttpResponse, us_listen_socket, WebSocket } from 'uWebSockets.js'
import { STATUS_CODES } from 'node:http'
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
import { verifyUwsBinary } from './uws-binary.ts'

/** The library. */
export type Uws = typeof import('uWebSockets.js')

interface UserData<Context> {
  readonly context: Context
  socket: UwsSocket<Context> | null
}

/** The library throws on a closed socket, so the wrapper forgets it first. */
class UwsSocket<Context> implements Socket {
  #ws: WebSocket<UserData<Context>> | null

  constructor(ws: WebSocket<UserData<Context>>) {
    this.#ws = ws
  }

  gone(): void {
    this.#ws = null
  }

  send(frame: Frame): void {
    this.#ws?.send(frame, typeof frame !== 'string')
  }

  ping(): void {
    this.#ws?.ping()
  }

  buffered(): number {
    return this.#ws?.getBufferedAmount() ?? 0
  }

  join(topic: string): void {
    this.#ws?.subscribe(topic)
  }

  leave(topic: string): void {
    this.#ws?.unsubscribe(topic)
  }

  close(code: number, reason: string): void {
    this.#ws?.end(code, reason)
  }

  drop(): void {
    this.#ws?.close()
  }
}

/** Loads the native library. Throws where no binary of it fits the platform: its processor, its C library, its Node. */
export const loadUws = async (): Promise<Uws> => {
  verifyUwsBinary()
  return (await import('uWebSockets.js')).default
}

/** Seconds of silence after which the library itself drops a socket: behind our own rule of 60 s. */
const IDLE_SECONDS = 120

/** Serves sockets with uWebSockets.js: one native topic per literal channel. */
export const serveUws = async <Context>(
  uws: Uws,
  options: SocketOptions,
  events: SocketEvents<Context>,
): Promise<SocketServer> => {
  const { boundary, tls } = options
  const app = tls
    ? uws.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile })
    : uws.App()
  let refusing = false
  const counted = countConnections(app, options)
  const handle = createSocketHandler(options, events)
  app.ws<UserData<Context>>('/*', {
    maxPayloadLength: options.maxInboundBytes,
    maxBackpressure: options.maxQueuedBytes,
    idleTimeout: IDLE_SECONDS,
    sendPingsAutomatically: false,
    upgrade: (response, request, context) => {
      if (refusing) response.close()
      else handleRequest({ response, request, context, events, boundary })
    },
    open: (ws) => {
      counted.upgraded()
      const data = ws.getUserData()
      data.socket = new UwsSocket(ws)
      handle(ws, 'open', (socket) => events.open(socket, data.context))
    },
    message: (ws, message) =>
      handle(ws, 'message', (socket) => events.message(socket, new Uint8Array(message))),
    ping: (ws) => handle(ws, 'control', (socket) => events.alive(socket)),
    pong: (ws) => handle(ws, 'control', (socket) => events.alive(socket)),
    dropped: (ws) => handle(ws, 'publish', (socket) => events.overflowed(socket)),
    close: (ws) => {
      counted.closed()
      handle(ws, 'close', (socket) => {
        socket.gone()
        events.closed(socket)
      })
    },
  })
  app.any('/*', (response, request) =>
    handleRequest({ response, request, context: null, events, boundary }),
  )
  const listening = await listenOn(app, options)
  return {
    transport: 'uws',
    port: uws.us_socket_local_port(listening),
    publish: (topic, frame) => {
      app.publish(topic, frame, typeof frame !== 'string')
    },
    refuse: () => {
      refusing = true
    },
    stop: async () => {
      app.close()
    },
  }
}

/** Runs what a callback of the library does with its socket; an error there ends that socket only. */
const createSocketHandler =
  <Context>({ boundary }: SocketOptions, events: SocketEvents<Context>) =>
  (
    ws: WebSocket<UserData<Context>>,
    kind: BoundaryReason,
    use: (socket: UwsSocket<Context>) => void,
  ): void => {
    const { socket } = ws.getUserData()
    if (socket === null) return
    boundary.run(
      kind,
      () => use(socket),
      () => events.failed(socket),
    )
  }

/** Closes TCP connections beyond the limit. The library counts a connection until it is closed or upgraded. */
const countConnections = (
  app: ReturnType<Uws['App']>,
  { maxConnections, boundary }: SocketOptions,
) => {
  let plain = 0
  let sockets = 0
  const changed = (response: HttpResponse, change: unknown): void =>
    boundary.run('listener', () => {
      plain += Number(change)
      if (Number(change) > 0 && plain + sockets > maxConnections) response.close()
    })
  app.filter(changed)
  return {
    upgraded: (): void => {
      plain -= 1
      sockets += 1
    },
    closed: (): void => {
      sockets -= 1
    },
  }
}

const listenOn = (
  app: ReturnType<Uws['App']>,
  { host, port }: SocketOptions,
): Promise<us_listen_socket> =>
  new Promise((resolve, reject) => {
    const done = (socket: us_listen_socket | false): void => {
      if (socket) resolve(socket)
      else reject(new Error(`cannot listen on ${host}:${port}`))
    }
    app.listen(host, port, done)
  })

const toUpgradeRequest = (request: HttpRequest, response: HttpResponse): UpgradeRequest => {
  const headers = new Map<string, string>()
  // A header that comes again continues its list, as Node reads it. Source: RFC 9110 5.2.
  request.forEach((name, value) => {
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  })
  return {
    method: request.getMethod(),
    path: request.getUrl(),
    query: request.getQuery(),
    ip: Buffer.from(response.getRemoteAddressAsText()).toString(),
    header: (name) => headers.get(name) ?? '',
  }
}

/** One request as it came; `context` is null where it is not an upgrade. */
interface RequestInProgress<Context> {
  readonly response: HttpResponse
  readonly request: HttpRequest
  readonly context: Parameters<HttpResponse['upgrade']>[4] | null
  readonly events: SocketEvents<Context>
  readonly boundary: ErrorBoundary
}

const handleRequest = <Context>(inProgress: RequestInProgress<Context>): void => {
  const { response, boundary } = inProgress
  let aborted = false
  response.onAborted(() => {
    aborted = true
  })
  const runGuarded = (work: () => void): void => {
    if (aborted) return
    boundary.run('upgrade', work, () => {
      if (!aborted) response.close()
    })
  }
  runGuarded(() => {
    const upgradeRequest = toUpgradeRequest(inProgress.request, response)
    inProgress.events.upgrade(upgradeRequest).then(
      (decision) => runGuarded(() => applyDecision(decision, upgradeRequest, inProgress)),
      (error: unknown) =>
        runGuarded(() => {
          throw error
        }),
    )
  })
}

const applyDecision = <Context>(
  decision: UpgradeDecision<Context>,
  upgradeRequest: UpgradeRequest,
  { response, context }: RequestInProgress<Context>,
): void => {
  if (!decision.accepted) {
    response.cork(() => writeResponse(response, decision))
    return
  }
  if (context === null) throw new Error('accepted a request that is not a WebSocket upgrade')
  const data: UserData<Context> = { context: decision.context, socket: null }
  const key = upgradeRequest.header('sec-websocket-key')
  // Not corked: when the cork ends, the library may take the new socket for the answered request and close it.
  response.upgrade(data, key, decision.protocol, '', context)
}

const writeResponse = <Context>(
  response: HttpResponse,
  { status, headers, body }: Extract<UpgradeDecision<Context>, { accepted: false }>,
): void => {
  response.writeStatus(`${status} ${STATUS_CODES[status] ?? ''}`)
  for (const [name, value] of Object.entries(headers)) response.writeHeader(name, value)
  response.end(body, true)
}
