import { connect } from 'node:net'
import { ListenError, listenAt } from '../../core/http/listening.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { retry } from '../../core/retry.ts'
import type { SocketEvents, SocketOptions, SocketServer } from './socket.ts'
import { loadUws, serveUws, type Uws } from './uws-server.ts'
import { serveWs } from './ws-server.ts'

/** Which library carries the sockets; absent: uWebSockets.js where its binary loads, else `ws`. */
export type Transport = 'uws' | 'ws'

/** The kernel holds a port for a minute after its last connections, and uWebSockets.js does not bind over that. */
const PORT_RETRY_MS = 65_000
const PORT_RETRY_INTERVAL_MS = 500
const PORT_IN_USE = 'another server answers there; choose another port'

/** Listens with the asked library. Throws where its binary is missing, `ListenError` where the port is taken. */
export const startSocketServer = async <Context>(
  deps: { readonly transport: Transport | undefined; readonly log: Logger },
  options: SocketOptions,
  events: SocketEvents<Context>,
): Promise<SocketServer> => {
  const { transport, log } = deps
  const uws = transport === 'ws' ? undefined : await loadUwsIfAvailable(transport, log)
  const { host, port } = options
  const place = { setting: 'streams, one above PORT', host, port }
  if (uws === undefined) return listenAt(place, () => serveWs(options, events))
  const serve = async (): Promise<SocketServer> => {
    // Listening would succeed beside another server of the library: the kernel then spreads connections over both.
    if (port !== 0 && (await isPortOpen(host, port)))
      throw new ListenError(place, undefined, PORT_IN_USE)
    return serveUws(uws, options, events)
  }
  return retry(serve, {
    firstMs: PORT_RETRY_INTERVAL_MS,
    maxMs: PORT_RETRY_INTERVAL_MS,
    tries: PORT_RETRY_MS / PORT_RETRY_INTERVAL_MS,
    again: (error) => !(error instanceof ListenError),
    onRetry: (error, attempt) => {
      if (attempt === 1) log.warn({ err: error }, 'WebSocket port in use, retrying for one minute')
    },
  })
}

/** undefined where no binary fits and none was demanded. */
const loadUwsIfAvailable = async (
  required: 'uws' | undefined,
  log: Logger,
): Promise<Uws | undefined> => {
  try {
    return await loadUws()
  } catch (error) {
    if (required) throw error
    log.warn({ err: error }, 'uWebSockets.js has no binary for this platform, using ws')
    return undefined
  }
}

const isPortOpen = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, host)
    const done = (open: boolean): void => {
      socket.destroy()
      resolve(open)
    }
    socket.once('connect', () => done(true))
    socket.once('error', () => done(false))
  })
