import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** One request as it came. */
export interface ReceivedRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly atMs: number
}

/** How a path answers its n-th request, from 1. */
export type RespondTo = (response: ServerResponse, request: IncomingMessage, nth: number) => void

/** A receiver of webhooks on loopback. */
export interface WebhookReceiver {
  readonly base: string
  /** Requests of a path, in order. */
  at(path: string): readonly ReceivedRequest[]
  /** Changes how a path answers; default 200. */
  answer(path: string, answer: RespondTo): void
  stop(): Promise<void>
}

const respondOk: RespondTo = (response) => response.writeHead(200).end('ok')

/** Starts a receiver on a free port. */
export const startWebhookReceiver = async (): Promise<WebhookReceiver> => {
  const received: ReceivedRequest[] = []
  const answers = new Map<string, RespondTo>()
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
    const answer = answers.get(path) ?? respondOk
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
