import { createServer } from 'node:http'
import type { Metrics } from './metrics.ts'

/** One question that decides readiness; `ok: false` carries the reason. */
export interface Check {
  readonly name: string
  readonly run: () => { readonly ok: boolean; readonly detail?: string }
}

/** The ops port of a role: `/health` (the process lives), `/ready` (every check holds), `/metrics`. */
export interface Ops {
  readonly port: number
  stop(): Promise<void>
}

/** Answers of the ops paths; shared by the ops port and the API port. */
export const opsAnswer = async (
  path: string,
  metrics: Metrics,
  checks: readonly Check[],
): Promise<
  { readonly status: number; readonly type: string; readonly body: string } | undefined
> => {
  if (path === '/health') return { status: 200, type: 'application/json', body: '{"status":"ok"}' }
  if (path === '/metrics') {
    const { registry } = metrics
    return { status: 200, type: registry.contentType, body: await registry.metrics() }
  }
  if (path !== '/ready') return undefined
  const results = checks.map(({ name, run }) => ({ name, ...run() }))
  const ready = results.every(({ ok }) => ok)
  return {
    status: ready ? 200 : 503,
    type: 'application/json',
    body: JSON.stringify({ status: ready ? 'ready' : 'not ready', checks: results }),
  }
}

/** Serves the ops paths on their own port; port 0 takes a free one. */
export const serveOps = async (
  host: string,
  port: number,
  metrics: Metrics,
  checks: readonly Check[],
): Promise<Ops> => {
  const server = createServer(async (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/'
    const answer = await opsAnswer(path, metrics, checks)
    response.writeHead(answer?.status ?? 404, { 'content-type': answer?.type ?? 'text/plain' })
    response.end(answer?.body ?? 'not found')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
