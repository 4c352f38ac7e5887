import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import { makeMetrics } from '../../../core/ops/metrics.ts'
import { openRpcPool } from '../../../core/rpc/pool.ts'
import { createRandom, type Random } from '../../../simulator/node/random.ts'
import {
  mutateText,
  randomDeepJson,
  randomJson,
  randomObjectJson,
  randomText,
} from './random-values.ts'
import { FuzzFailure, type FuzzRunner, type FuzzSurface } from './surface.ts'

const CHAIN_ID = '0x1'
/** How long a call waits for a node that says nothing. */
const TIMEOUT_MS = 2_000

/** What a node says to one call: text for its transport, or `null` when its connection falls. */
const randomResponse = (random: Random, id: number, method: string): string | null => {
  const sound = `{"jsonrpc":"2.0","id":${id},"result":"${method === 'eth_chainId' ? CHAIN_ID : '0x10'}"}`
  switch (random.below(9)) {
    case 0:
      return mutateText(sound, random)
    case 1:
      return randomText(random)
    case 2:
      return randomJson(random)
    case 3:
      return `{"jsonrpc":"2.0","id":${id},"error":${randomJson(random)}}`
    case 4: {
      const error = randomObjectJson(random, [
        ['code', randomJson(random)],
        ['message', random.chance(0.5) ? randomDeepJson(random) : randomJson(random)],
        ['data', randomJson(random)],
      ])
      return `{"jsonrpc":"2.0","id":${id},"error":${error}}`
    }
    case 5:
      return `{"jsonrpc":"2.0","id":${randomJson(random)},"result":${randomJson(random)}}`
    case 6:
      return `{"jsonrpc":"2.0","method":${randomJson(random)},"params":${randomJson(random)}}`
    case 7:
      return null
    default:
      return sound
  }
}

const STATUSES = [200, 200, 200, 200, 204, 301, 400, 401, 429, 500, 503] as const

const sendHttp = (response: ServerResponse, text: string | null, random: Random): void => {
  const how = random.below(20)
  if (text === null || how === 0) response.destroy()
  else if (how === 1) {
    response.writeHead(200, { 'content-length': text.length + 50 }).write(text)
    response.destroy()
  } else if (how === 2) response.writeHead(200, { 'content-encoding': 'gzip' }).end(text)
  else response.writeHead(random.pick(STATUSES), { 'content-type': 'application/json' }).end(text)
}

interface Call {
  readonly id: number
  readonly method: string
}

/** A node that answers as the seed in its path says, over HTTP and WebSocket; `/sound` is one that is right. */
const startFuzzNode = async () => {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as Call
    if (request.url === '/sound') {
      const result = method === 'eth_chainId' ? CHAIN_ID : '0x10'
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      return
    }
    const random = createRandom(Number(request.url?.slice(1)), id)
    sendHttp(response, randomResponse(random, id, method), random)
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket, request) => {
    socket.on('error', () => socket.terminate())
    socket.on('message', (data) => {
      const { id, method } = JSON.parse(String(data)) as Call
      const text = randomResponse(createRandom(Number(request.url?.slice(1)), id), id, method)
      if (text === null) socket.terminate()
      else socket.send(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, port: (server.address() as AddressInfo).port }
}

/** Answers of JSON-RPC nodes over HTTP and WebSocket: with a sound node behind the hostile one, every question is answered. */
export const jsonNodes: FuzzSurface = {
  name: 'nodes-json',
  share: 2,
  needsTarget: false,
  open: async (): Promise<FuzzRunner> => {
    const { server, port } = await startFuzzNode()
    const metrics = makeMetrics()
    const log = makeSilentLogger()
    return {
      run: async (random) => {
        const path = random.uint32()
        const scheme = random.chance(0.5) ? 'http' : 'ws'
        const hostile = `${scheme}://127.0.0.1:${port}/${path}`
        const closing = new AbortController()
        const rpc = openRpcPool({
          role: 'ingest',
          chain: 'eth',
          urls: [hostile, `http://127.0.0.1:${port}/sound`],
          metrics,
          log,
          concurrency: 4,
          timeoutMs: TIMEOUT_MS,
          signal: closing.signal,
          identity: {
            call: { method: 'eth_chainId', params: [] },
            accepts: (answer) => answer === CHAIN_ID,
            name: 'chain id 1',
          },
        })
        const call = { method: 'eth_blockNumber', params: [] }
        try {
          const said = await rpc.attempt(async (ask) => ({ answer: await ask(call) }))
          if (said === undefined) throw new Error('no node knew')
        } catch (error) {
          throw new FuzzFailure(
            `no failover: ${String(error).slice(0, 200)} from ${scheme} seed ${path}`,
          )
        } finally {
          closing.abort()
          rpc.close()
        }
      },
      close: async () => {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      },
    }
  },
}
