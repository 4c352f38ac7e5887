import { type ClientOptions, WebSocket } from 'ws'
import { until } from './until.ts'

/** A WebSocket client that remembers everything: for transcripts and hostile frames. */
export interface RawWebSocket {
  readonly ws: WebSocket
  /** Text messages as they came, one entry per WebSocket message. */
  readonly frames: string[]
  send(text: string | Buffer): void
  /** The first message from index `from` on that contains `part`. */
  frame(part: string, from?: number): Promise<string>
  /** Close code and reason once the connection is gone. */
  closed(): Promise<{ readonly code: number; readonly reason: string }>
}

/** Options of a connection; a header may have several lines. */
interface RawWebSocketOptions extends Omit<ClientOptions, 'headers'> {
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly protocols?: string[]
}

/** Node's request takes lists; the library's type does not say so. */
const clientOptions = ({ protocols: _, ...options }: RawWebSocketOptions): ClientOptions =>
  options as ClientOptions

/** Opens a raw connection; throws with the status when the upgrade is refused. */
export const openRawWebSocket = async (
  url: string,
  options: RawWebSocketOptions = {},
): Promise<RawWebSocket> => {
  const ws = new WebSocket(url, options.protocols ?? [], clientOptions(options))
  const frames: string[] = []
  let end: { code: number; reason: string } | undefined
  ws.on('message', (data) => frames.push(String(data)))
  ws.on('close', (code, reason) => {
    end = { code, reason: String(reason) }
  })
  await new Promise<void>((resolve, reject) => {
    ws.once('open', resolve)
    ws.once('error', reject)
  })
  ws.on('error', () => undefined)
  return {
    ws,
    frames,
    send: (text) => ws.send(text),
    frame: (part, from = 0) =>
      until(() => frames.slice(from).find((text) => text.includes(part)), `frame ${part}`),
    closed: () => until(() => end, 'the close'),
  }
}

/** Status, headers and body of a refused upgrade. */
export const readRefusedUpgrade = (
  url: string,
  options: RawWebSocketOptions = {},
): Promise<{
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}> =>
  new Promise((resolve, reject) => {
    const ws = new WebSocket(url, options.protocols ?? [], clientOptions(options))
    ws.once('open', () => reject(new Error('the upgrade was accepted')))
    ws.once('error', reject)
    ws.once('unexpected-response', (_, response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      )
    })
  })
