import { connect } from 'node:net'
import { withTimeout } from './until.ts'

/** Sends bytes over a TCP connection of its own and reads until the other side closes, or the head of an answer is there. */
export const sendRawRequest = (port: number, bytes: string | Buffer): Promise<string> => {
  const socket = connect(port, '127.0.0.1')
  const answer = new Promise<string>((resolve) => {
    let text = ''
    const done = (): void => {
      socket.destroy()
      resolve(text)
    }
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (text.includes('\r\n\r\n')) done()
    })
    socket.on('error', done)
    socket.on('close', done)
    socket.on('connect', () => socket.end(bytes))
  })
  return withTimeout(answer, 'the answer to a raw request', 15_000)
}

/** Sends the start of a request and then a byte each second; resolves once the other side has closed the connection. */
export const sendSlowRequest = (port: number, start: string): Promise<void> => {
  const socket = connect(port, '127.0.0.1')
  const drip = setInterval(() => start !== '' && socket.write('x'), 1_000)
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => undefined)
    socket.on('data', () => undefined)
    socket.on('close', () => resolve())
    socket.on('connect', () => socket.write(start))
  })
  return withTimeout(closed, 'the close of a request that never ends', 25_000).finally(() => {
    clearInterval(drip)
    socket.destroy()
  })
}

/** An upgrade request; a header given as undefined is left out. */
export const buildUpgradeRequest = (
  headers: Readonly<Record<string, string | undefined>> = {},
  line = 'GET /connection/websocket HTTP/1.1',
): string => {
  const all: Readonly<Record<string, string | undefined>> = {
    host: 'localhost',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  }
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}\r\n`],
  )
  return `${line}\r\n${lines.join('')}\r\n`
}

/** What a listener said to bytes that were sent to it, until it or the caller closed the connection. */
export interface RawResponse {
  readonly text: string
  /** Status of the first answer; 0 where there was none. */
  readonly status: number
}

/** How a raw request ends. */
export interface RawRequestOptions {
  /** Our side is closed once all is sent. Default: true. */
  readonly half?: boolean
  /** Given up after so long without an end. */
  readonly limitMs?: number
}

/** Sends bytes to a port of this machine as they are and collects the answer. Never rejects. */
export const exchangeRawBytes = (
  port: number,
  bytes: string | Uint8Array,
  { half = true, limitMs = 1_000 }: RawRequestOptions = {},
): Promise<RawResponse> =>
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
