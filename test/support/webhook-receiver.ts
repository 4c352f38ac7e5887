import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** One request as it came. */
export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly atMs: number
}

/** How a path answers its n-th request, from 1. */
export type Answer = (response: ServerResponse, request: IncomingMessage, nth: number) => void

/** A receiver of webhooks on loopback. */
export interface Receiver {
  readonly base: string
  /** Requests of a path, in order. */
  at(path: string): readonly Received[]
  /** Changes how a path answers; default 200. */
  answer(path: string, answer: Answer): void
  stop(): Promise<void>
}

const ok: Answer = (response) => response.writeHead(200).end('ok')

/** Starts a receiver on a free port. */
export const startReceiver = async (): Promise<Receiver> => {
  const received: Received[] = []
  const answers = new Map<string, Answer>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const path = request.url ?? ''
    received.push({
      path,
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(chunks).toString(),
      atMs: Date.now(),
    })
    const nth = received.filter((each) => each.path === path).length
    const answer = answers.get(path) ?? ok
    answer(response, request, nth)
  })
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
  return {
    base: `http://127.0.0.1:${port}`,
    at: (path) => received.filter((each) => each.path === path),
    answer: (path, answer) => answers.set(path, answer),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
