import type { RoutePlugin } from '../../serving/http/routing.ts'
import { webhookAttemptRoutes } from '../../serving/http/webhook-attempts.ts'
import { webhookStatsRoutes } from '../../serving/http/webhook-stats.ts'
import { webhookTaskRoutes } from '../../serving/http/webhook-tasks.ts'
import { webhookRoutes } from '../../serving/http/webhooks.ts'
import { countRejectedReads } from '../../serving/queries/limited-reads.ts'
import type { QueryReader } from '../../serving/queries/query-limiter.ts'
import { createWebhookContext } from '../../serving/webhooks/context.ts'
import type { FindOrg } from '../../serving/webhooks/delivery-eligibility.ts'
import type { EndpointStore } from '../../serving/webhooks/endpoint-store.ts'
import { startWebhooks } from '../../serving/webhooks/start.ts'
import type { Infra } from './infra.ts'
import type { ServiceDeps } from './services.ts'

/** What the other pieces use of webhooks. */
export interface WebhookService {
  readonly families: readonly RoutePlugin[]
  readonly endpoints: EndpointStore
}

/** Webhook endpoints over REST and the delivery behind them; the topics and tables must exist. */
export const startWebhookService = async (
  deps: Pick<
    ServiceDeps,
    'config' | 'chains' | 'metrics' | 'log' | 'lifecycle' | 'checks' | 'ownPorts'
  > & { readonly reader: QueryReader; readonly demoOrgId?: string },
  parts: Infra,
  orgOf: FindOrg,
): Promise<WebhookService> => {
  const { lifecycle, checks, reader } = deps
  const nowMs = Date.now
  const webhookContext = await createWebhookContext({ ...deps, ...parts, nowMs })
  lifecycle.add({ name: 'webhook endpoints', stop: () => webhookContext.stop() })
  checks.push(webhookContext.store.check)
  const warehouse = countRejectedReads(parts.warehouse, deps.metrics, 'webhooks')
  const webhooks = await startWebhooks({
    ...deps,
    ...parts,
    warehouse,
    webhookContext,
    orgOf,
    nowMs,
  })
  lifecycle.add({ name: 'webhooks', stop: () => webhooks.stop() })
  const families = [
    webhookRoutes(webhookContext.endpoints),
    webhookAttemptRoutes({ ...webhookContext, ...parts, reader, nowMs }),
    webhookTaskRoutes({ ...webhookContext, ...parts, nowMs }),
    webhookStatsRoutes({
      ...webhookContext,
      reader,
      activityOf: webhooks.activity,
      nowMs,
    }),
  ]
  return { families, endpoints: webhookContext.store }
}
