import { connect } from 'node:net'

/** What a listener said to bytes that were sent to it, until it or the caller closed the connection. */
export interface RawAnswer {
  readonly text: string
  /** Status of the first answer; 0 where there was none. */
  readonly status: number
}

/** How a raw request ends. */
export interface RawEnd {
  /** Our side is closed once all is sent. Default: true. */
  readonly half?: boolean
  /** Given up after so long without an end. */
  readonly limitMs?: number
}

/** Sends bytes to a port of this machine as they are and collects the answer. Never rejects. */
export const rawHttp = (
  port: number,
  bytes: string | Uint8Array,
  { half = true, limitMs = 1_000 }: RawEnd = {},
): Promise<RawAnswer> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect({ port, host: '127.0.0.1' })
    socket.setTimeout(limitMs, () => socket.destroy())
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('latin1')
      resolve({ text, status: Number(/^HTTP\/1\.\d (\d{3})/.exec(text)?.[1] ?? 0) })
    })
    socket.on('connect', () => {
      if (half) socket.end(bytes)
      else socket.write(bytes)
    })
  })
