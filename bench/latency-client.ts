import { parentPort, workerData } from 'node:worker_threads'
import { WebSocket } from 'ws'

/** What the thread of the client begins with. */
export interface LatencyClientData {
  readonly url: string
  readonly apiKey: string
  readonly channels: readonly string[]
}

/** A trade's frame: the time of its block, and when it was read, in milliseconds since 1970. */
export type SeenTrade = readonly [blockTimeMs: number, atMs: number]

const port = parentPort
if (port === null) throw new Error('this module is the beginning of a thread')
const { url, apiKey, channels }: LatencyClientData = workerData
const seen: SeenTrade[] = []
const socket = new WebSocket(url)
socket.on('open', () => {
  const commands = channels.map((channel, index) => ({ id: index + 2, subscribe: { channel } }))
  const connect = { id: 1, connect: { token: apiKey } }
  socket.send([connect, ...commands].map((command) => JSON.stringify(command)).join('\n'))
})
socket.on('message', (data) => {
  const atMs = performance.timeOrigin + performance.now()
  for (const text of String(data).split('\n')) {
    if (text === '') continue
    const line = JSON.parse(text) as { readonly push?: { pub?: { data: { t: number } } } }
    if (line.push?.pub) seen.push([line.push.pub.data.t, atMs])
    else if (Object.keys(line).length === 0) socket.send('{}')
  }
})
port.once('message', () => {
  port.postMessage(seen)
  socket.close()
  port.close()
})
