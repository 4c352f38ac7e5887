import { WebSocket } from 'ws'
import { Outage } from '../../core/errors.ts'

/** What `sluice listen` is asked. */
export interface ListenRequest {
  readonly url: string
  readonly apiKey: string
  readonly channels: readonly string[]
  /** Ends after that many publications; Infinity = until the signal. */
  readonly limit: number
  readonly write: (line: string) => void
  readonly signal: AbortSignal
}

interface Frame {
  readonly error?: { readonly code: number; readonly message: string }
  readonly push?: { readonly channel: string; readonly pub?: { readonly data: unknown } }
}

/** Subscribes over a plain socket and prints every publication as a JSON line; a refusal is an `Outage`. */
export const listen = (request: ListenRequest): Promise<number> =>
  new Promise((resolve, reject) => {
    const { url, apiKey, channels, write, signal } = request
    const socket = new WebSocket(url)
    let left = request.limit
    const end = (): void => {
      socket.close()
      resolve(0)
    }
    signal.addEventListener('abort', end, { once: true })
    socket.on('error', (cause) => reject(new Outage('bus', `${url} did not answer`, { cause })))
    socket.on('close', (code, reason) => {
      if (signal.aborted || left <= 0) return
      reject(new Outage('bus', `the stream was closed: ${code} ${String(reason)}`))
    })
    socket.on('open', () => {
      const subscribes = channels.map((channel, index) => ({
        id: index + 2,
        subscribe: { channel },
      }))
      const commands = [{ id: 1, connect: { token: apiKey } }, ...subscribes]
      socket.send(commands.map((command) => JSON.stringify(command)).join('\n'))
    })
    socket.on('message', (data) => {
      const text = String(data)
      for (const line of text.split('\n').filter((part) => part.trim() !== '')) {
        if (line === '{}') {
          socket.send('{}')
          continue
        }
        const { error, push } = JSON.parse(line) as Frame
        if (error) reject(new Outage('bus', `refused: ${error.code} ${error.message}`))
        if (!push?.pub || left <= 0) continue
        write(JSON.stringify({ channel: push.channel, data: push.pub.data }))
        left -= 1
        if (left <= 0) end()
      }
    })
  })
