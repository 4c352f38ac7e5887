import type { Family } from '../../serving/http/routing.ts'
import { webhookLogRoutes } from '../../serving/http/webhook-log.ts'
import { webhookRoutes } from '../../serving/http/webhooks.ts'
import { openWebhookGround } from '../../serving/webhooks/context.ts'
import type { OrgOf } from '../../serving/webhooks/delivery.ts'
import type { EndpointStore } from '../../serving/webhooks/endpoints.ts'
import { startWebhooks } from '../../serving/webhooks/service.ts'
import type { Infra } from './infra.ts'
import type { ServiceDeps } from './services.ts'

/** What the other pieces use of webhooks. */
export interface WebhookService {
  readonly families: readonly Family[]
  readonly endpoints: EndpointStore
}

/** Webhook endpoints over REST and the delivery behind them; the topics and tables must exist. */
export const startWebhookService = async (
  deps: Pick<
    ServiceDeps,
    'config' | 'chains' | 'metrics' | 'log' | 'lifecycle' | 'checks' | 'ownPorts'
  > & { readonly demoOrgId?: string },
  parts: Infra,
  orgOf: OrgOf,
): Promise<WebhookService> => {
  const { lifecycle, checks } = deps
  const nowMs = Date.now
  const ground = await openWebhookGround({ ...deps, ...parts, nowMs })
  lifecycle.add({ name: 'webhook endpoints', stop: () => ground.stop() })
  checks.push(ground.store.check)
  const webhooks = await startWebhooks({ ...deps, ...parts, ground, orgOf, nowMs })
  lifecycle.add({ name: 'webhooks', stop: () => webhooks.stop() })
  const families = [
    webhookRoutes(ground.resource),
    webhookLogRoutes({ ...ground, ...parts, metrics: deps.metrics, nowMs }),
  ]
  return { families, endpoints: ground.store }
}
