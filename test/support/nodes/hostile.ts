import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Random } from '../../../simulator/node/random.ts'

/** A JSON-RPC call as it came. */
interface RpcCall {
  readonly id: unknown
  readonly method: string
}

/** A node in front of a real one that answers out of all bounds. */
export interface HostileNode {
  readonly url: string
  readonly wsUrl: string
  /** Answers that were bent. */
  readonly bent: () => number
  stop(): Promise<void>
}

const nestedArray = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const nestedObject = (depth: number): string => `${'{"a":'.repeat(depth)}null${'}'.repeat(depth)}`

/** Values as JSON text that no field of an answer is made of. */
const VALUES: readonly string[] = [
  'null',
  'true',
  '-1',
  '1e308',
  '1.5',
  '9007199254740993',
  '""',
  '"0x"',
  '"0xzz"',
  `"0x${'f'.repeat(300)}"`,
  `"${'A'.repeat(70_000)}"`,
  '"\\ud800\\u0000"',
  '[]',
  '{}',
  '[null]',
  '[[[[1]]]]',
  '{"toString":1,"valueOf":2}',
  '{"__proto__":{"length":3},"constructor":1}',
  nestedArray(60),
  nestedArray(2_000),
  nestedArray(50_000),
  nestedObject(50_000),
]

/** Texts in place of a whole message. */
const messages = (id: unknown): readonly string[] => [
  '',
  'null',
  '[]',
  '{"jsonrpc":"2.0","id":',
  nestedArray(100_000),
  ...VALUES.map(
    (value) =>
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":${value},"message":${value},"data":${value}}}`,
  ),
  ...VALUES.map((value) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${value}}`),
  ...VALUES.map((value) => `{"jsonrpc":"2.0","id":${value},"result":null}`),
  ...VALUES.map((value) => `{"jsonrpc":"2.0","method":${value},"params":${value}}`),
  ...VALUES.map(
    (value) =>
      `{"jsonrpc":"2.0","method":"m","params":{"subscription":${value},"result":${value}}}`,
  ),
]

const POSITION_MARKER = '"\\u0001place\\u0001"'

/** The text with one value of the result replaced, each with the same chance at every level that is passed. */
export const mutateResult = (text: string, random: Random): string => {
  const message = JSON.parse(text) as Record<string, unknown>
  let holder: Record<string, unknown> = message
  let key = 'result' in message ? 'result' : 'error'
  for (;;) {
    const value = holder[key]
    if (typeof value !== 'object' || value === null || random.below(5) === 0) break
    const keys = Object.keys(value)
    if (keys.length === 0) break
    holder = value as Record<string, unknown>
    key = keys[random.below(keys.length)] ?? ''
  }
  holder[key] = '\u0001place\u0001'
  return JSON.stringify(message).replace(
    POSITION_MARKER,
    () => VALUES[random.below(VALUES.length)] ?? '{}',
  )
}

const messageText = (text: string, id: unknown, random: Random): string => {
  if (random.below(3) > 0) return mutateResult(text, random)
  const all = messages(id)
  return all[random.below(all.length)] ?? ''
}

/** A body out of shape below JSON. */
const transportFault = (response: ServerResponse, random: Random): void => {
  switch (random.below(6)) {
    case 0:
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
      return
    case 1:
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(GZIP_BOMB)
      return
    case 2:
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip')
      return
    case 3:
      // A body that never ends.
      response.writeHead(200).write('{"jsonrpc":"2.0"')
      return
    case 4:
      response.writeHead(500).end(`<html>${'x'.repeat(100_000)}</html>`)
      return
    default:
      response.socket?.destroy()
  }
}

/** More than any answer may be, in a few hundred kilobytes. */
const GZIP_BOMB = gzipSync(Buffer.alloc(160 * 1_024 * 1_024, 0x20), { level: 1 })

/** What a hostile node is started with. */
export interface HostileOptions {
  /** Address of the real node. */
  readonly upstream: string
  readonly random: Random
  /** Whether the answer to a method is bent. */
  readonly bends: (method: string) => boolean
}

/** Starts it on a free port. Subscriptions are granted, and get hostile notices only. */
export const startHostileNode = async ({
  upstream,
  random,
  bends,
}: HostileOptions): Promise<HostileNode> => {
  let count = 0
  const isBent = (method: string): boolean => {
    if (!bends(method)) return false
    count += 1
    return true
  }
  const right = async (body: string): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(upstream, { method: 'POST', headers, body })).text()
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const { id, method } = JSON.parse(text) as RpcCall
    const said = await right(text)
    if (!isBent(method)) response.end(said)
    else if (random.below(5) === 0) transportFault(response, random)
    else response.end(messageText(said, id, random))
  })
  const sockets = new WebSocketServer({ server, perMessageDeflate: true })
  const onMessage = async (socket: WebSocket, text: string): Promise<void> => {
    const { id, method } = JSON.parse(text) as RpcCall
    if (/subscribe/i.test(method)) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: 1 }))
      for (const value of VALUES) {
        socket.send(`{"jsonrpc":"2.0","method":"n","params":{"subscription":1,"result":${value}}}`)
      }
      count += 1
      return
    }
    const said = await right(text)
    socket.send(isBent(method) ? messageText(said, id, random) : said)
  }
  sockets.on('connection', (socket) => {
    socket.on('error', () => undefined)
    socket.on('message', (data) => {
      onMessage(socket, String(data)).catch(() => socket.terminate())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}`,
    bent: () => count,
    stop: () =>
      new Promise((resolve) => {
        // No connection is taken any more before those that are open, some of which never end, are closed.
        server.close(() => resolve())
        for (const socket of sockets.clients) socket.terminate()
        server.closeAllConnections()
      }),
  }
}
