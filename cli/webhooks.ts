import type { Family } from '../serving/http/routing.ts'
import { webhookLogRoutes } from '../serving/http/webhook-log.ts'
import { webhookRoutes } from '../serving/http/webhooks.ts'
import { openWebhookGround } from '../serving/webhooks/ground.ts'
import { startWebhooks } from '../serving/webhooks/service.ts'
import type { Parts } from './parts.ts'
import type { PieceDeps } from './pieces.ts'

/** Webhook endpoints over REST and the delivery behind them; the topics and tables must exist. */
export const startWebhookPiece = async (
  deps: Pick<PieceDeps, 'config' | 'chains' | 'metrics' | 'log' | 'lifecycle' | 'checks'>,
  parts: Parts,
): Promise<readonly Family[]> => {
  const { lifecycle, checks } = deps
  const nowMs = Date.now
  const ground = await openWebhookGround({ ...deps, ...parts, nowMs })
  lifecycle.add({ name: 'webhook endpoints', stop: () => ground.stop() })
  checks.push(ground.store.check)
  const webhooks = await startWebhooks({ ...deps, ...parts, ground, nowMs })
  lifecycle.add({ name: 'webhooks', stop: () => webhooks.stop() })
  return [webhookRoutes(ground.resource), webhookLogRoutes({ ...ground, ...parts, nowMs })]
}
