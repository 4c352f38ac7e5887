import { connect } from 'node:net'
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

/** Another process answers on the port. */
class PortInUse extends Error {}

/** Listens with the asked library. Throws where its binary is missing, or where the port is taken. */
export const startSocketServer = async <Context>(
  deps: { readonly transport: Transport | undefined; readonly log: Logger },
  options: SocketOptions,
  events: SocketEvents<Context>,
): Promise<SocketServer> => {
  const { transport, log } = deps
  const uws = transport === 'ws' ? undefined : await loadUwsIfAvailable(transport, log)
  if (uws === undefined) return serveWs(options, events)
  const serve = async (): Promise<SocketServer> => {
    try {
      return await serveUws(uws, options, events)
    } catch (error) {
      const { host, port } = options
      if (await isPortOpen(host, port)) {
        throw new PortInUse(`another process listens on ${host}:${port}`, { cause: error })
      }
      throw error
    }
  }
  return retry(serve, {
    firstMs: PORT_RETRY_INTERVAL_MS,
    maxMs: PORT_RETRY_INTERVAL_MS,
    tries: PORT_RETRY_MS / PORT_RETRY_INTERVAL_MS,
    again: (error) => !(error instanceof PortInUse),
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
