import { WebSocket } from 'ws'
import { Outage } from '../errors.ts'
import type { Logger } from '../ops/logger.ts'
import { pause, retry } from '../retry.ts'
import { endpointLabel } from './endpoint.ts'

/** A socket that only talks: what hears it, and how long it may be silent. */
export interface WsStreamOptions {
  readonly url: string
  /** Limit of the handshake. */
  readonly timeoutMs: number
  /** Longest message that is read; a longer one ends the connection. */
  readonly maxBytes: number
  /** A connection that is silent for so long is taken for dead: it may be half open after the machine slept. */
  readonly idleMs?: number
  /** What it throws ends the connection. */
  readonly onFrame: (data: Buffer, isBinary: boolean) => void
  readonly log: Logger
  readonly signal: AbortSignal
}

const IDLE_TIMEOUT_MS = 30_000
const RECONNECT_DELAYS = { firstMs: 500, maxMs: 15_000 } as const

/** Hands over every message of the socket, again after it broke, until the signal aborts. Never rejects. */
export const followWsStream = async (options: WsStreamOptions): Promise<void> => {
  const { signal, log, url } = options
  const endpoint = endpointLabel(url)
  while (!signal.aborted) {
    try {
      const { ended } = await retry(() => connectStream(options), {
        ...RECONNECT_DELAYS,
        tries: Number.POSITIVE_INFINITY,
        signal,
        onRetry: (error) => log.warn({ err: error, endpoint }, 'stream connect failed, retrying'),
      })
      await ended
      if (!signal.aborted) log.warn({ endpoint }, 'stream disconnected')
      await pause(RECONNECT_DELAYS.firstMs, signal)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}

/** A connection that has said something; `ended` resolves when it is over. */
interface ActiveStream {
  readonly ended: Promise<void>
}

/** Connects. Throws `Outage` for a connection that ends before it has said anything. */
const connectStream = ({
  url,
  timeoutMs,
  maxBytes,
  idleMs = IDLE_TIMEOUT_MS,
  onFrame,
  log,
  signal,
}: WsStreamOptions): Promise<ActiveStream> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { maxPayload: maxBytes, handshakeTimeout: timeoutMs })
    const end = (): void => socket.terminate()
    const idle = setTimeout(end, idleMs)
    let cause: Error | undefined
    const ended = new Promise<void>((close) => {
      socket.once('close', () => {
        clearTimeout(idle)
        signal.removeEventListener('abort', end)
        reject(new Outage('rpc', 'the feed ended before its first message', { cause }))
        close()
      })
    })
    signal.addEventListener('abort', end, { once: true })
    socket.on('error', (error) => {
      cause = error
      end()
    })
    socket.on('message', (data, isBinary) => {
      idle.refresh()
      resolve({ ended })
      // Sockets here get whole messages in one buffer.
      try {
        if (!signal.aborted) onFrame(data as Buffer, isBinary)
      } catch (error) {
        log.error({ err: error }, 'invalid stream message')
        end()
      }
    })
  })
