import type { Metrics } from './metrics.ts'

/** One check that decides readiness; `ok: false` carries the reason. */
export interface ReadinessCheck {
  readonly name: string
  readonly run: () => { readonly ok: boolean; readonly detail?: string }
}

/** Answers of `/health` (the process lives), `/ready` (every check holds) and `/metrics`; undefined for other paths. */
export const handleProbe = async (
  path: string,
  metrics: Metrics,
  checks: readonly ReadinessCheck[],
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
