import type { HttpRequest, HttpResponse, us_listen_socket, WebSocket } from 'uWebSockets.js'
import { STATUS_CODES } from 'node:http'
import { isIPv6 } from 'node:net'
import { Outage } from '../../core/fault.ts'
import type {
  Socket,
  SocketEvents,
  SocketOptions,
  SocketServer,
  UpgradeAnswer,
  UpgradeRequest,
} from './socket.ts'

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

  send(text: string): void {
    this.#ws?.send(text)
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
export const loadUws = async (): Promise<Uws> => (await import('uWebSockets.js')).default

/** Seconds of silence after which the library itself drops a socket: behind our own rule of 60 s. */
const IDLE_SECONDS = 120

/** Serves sockets with uWebSockets.js: one native topic per literal channel. */
export const serveUws = async <Context>(
  uws: Uws,
  options: SocketOptions,
  events: SocketEvents<Context>,
): Promise<SocketServer> => {
  const { tls } = options
  const app = tls
    ? uws.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile })
    : uws.App()
  let refusing = false
  app.ws<UserData<Context>>('/*', {
    maxPayloadLength: options.maxInboundBytes,
    maxBackpressure: options.maxQueuedBytes,
    idleTimeout: IDLE_SECONDS,
    sendPingsAutomatically: false,
    upgrade: (response, request, context) => {
      if (refusing) response.close()
      else upgrade({ response, request, context, events })
    },
    open: (ws) => {
      const data = ws.getUserData()
      data.socket = new UwsSocket(ws)
      events.open(data.socket, data.context)
    },
    message: (ws, message) =>
      withSocket(ws, (socket) => events.message(socket, Buffer.from(message).toString())),
    ping: (ws) => withSocket(ws, (socket) => events.alive(socket)),
    pong: (ws) => withSocket(ws, (socket) => events.alive(socket)),
    dropped: (ws) => withSocket(ws, (socket) => events.overflowed(socket)),
    close: (ws) =>
      withSocket(ws, (socket) => {
        socket.gone()
        events.closed(socket)
      }),
  })
  app.any('/*', (response, request) => answerPlain(response, request, events))
  const listening = await listen(app, options)
  return {
    transport: 'uws',
    port: uws.us_socket_local_port(listening),
    publish: (topic, text) => {
      app.publish(topic, text)
    },
    refuse: () => {
      refusing = true
    },
    stop: async () => {
      app.close()
    },
  }
}

const withSocket = <Context>(
  ws: WebSocket<UserData<Context>>,
  use: (socket: UwsSocket<Context>) => void,
): void => {
  const { socket } = ws.getUserData()
  if (socket !== null) use(socket)
}

const listen = (
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

const requestOf = (request: HttpRequest, response: HttpResponse): UpgradeRequest => {
  const headers = new Map<string, string>()
  request.forEach((name, value) => {
    headers.set(name, value)
  })
  return {
    method: request.getMethod(),
    path: request.getUrl(),
    query: request.getQuery(),
    ip: plainIp(Buffer.from(response.getRemoteAddressAsText()).toString()),
    header: (name) => headers.get(name) ?? '',
  }
}

const plainIp = (text: string): string => {
  const mapped = /(?:0000:){5}ffff:([0-9a-f]{2})([0-9a-f]{2}):([0-9a-f]{2})([0-9a-f]{2})$/.exec(
    text,
  )
  if (!isIPv6(text) || mapped === null) return text
  return mapped
    .slice(1)
    .map((byte) => Number.parseInt(byte, 16))
    .join('.')
}

const upgrade = <Context>(ask: {
  readonly response: HttpResponse
  readonly request: HttpRequest
  readonly context: Parameters<HttpResponse['upgrade']>[4]
  readonly events: SocketEvents<Context>
}): void => {
  const { response, request, context, events } = ask
  const facts = requestOf(request, response)
  const key = facts.header('sec-websocket-key')
  let aborted = false
  response.onAborted(() => {
    aborted = true
  })
  events.upgrade(facts).then((answer) => {
    if (aborted) return
    if (!answer.accepted) {
      response.cork(() => writeAnswer(response, answer))
      return
    }
    const data: UserData<Context> = { context: answer.context, socket: null }
    // Not corked: when the cork ends, the library may take the new socket for the answered request and close it.
    response.upgrade(data, key, answer.protocol, '', context)
  })
}

const answerPlain = <Context>(
  response: HttpResponse,
  request: HttpRequest,
  events: SocketEvents<Context>,
): void => {
  const facts = requestOf(request, response)
  let aborted = false
  response.onAborted(() => {
    aborted = true
  })
  events.upgrade(facts).then((answer) => {
    if (aborted) return
    if (answer.accepted) throw new Outage('bus', 'a plain request was taken for an upgrade')
    response.cork(() => writeAnswer(response, answer))
  })
}

const writeAnswer = <Context>(
  response: HttpResponse,
  answer: Extract<UpgradeAnswer<Context>, { accepted: false }>,
): void => {
  response.writeStatus(`${answer.status} ${STATUS_CODES[answer.status] ?? ''}`)
  for (const [name, value] of Object.entries(answer.headers)) response.writeHeader(name, value)
  response.end(answer.body, true)
}
