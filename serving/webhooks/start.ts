import type { Bus, RunningTask } from '../../core/bus/contract.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { WebhookContext } from './context.ts'
import type { FindOrg } from './delivery-eligibility.ts'
import { startDeliveryLog } from './delivery-log.ts'
import { createWebhookClient, type WebhookClient } from './http-client.ts'
import { type FilterCounts, startMatcher } from './matcher.ts'
import { startSender } from './sender.ts'
import { startTaskRunner } from './task-runner.ts'

/** What webhook delivery works with. Topics and tables must exist. */
export interface WebhooksDeps {
  readonly chains: readonly string[]
  readonly bus: Bus
  readonly codec: Codec
  readonly warehouse: Warehouse
  readonly webhookContext: WebhookContext
  readonly orgOf: FindOrg
  readonly config: Config
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
  /** Default Math.random. */
  readonly random?: () => number
  /** Default: over the network, guarded. */
  readonly client?: WebhookClient
  /** Overrides the configured pauses between attempts, milliseconds. */
  readonly scheduleMs?: readonly number[]
}

/** How delivery stands in this process. */
interface WebhooksStatus {
  /** Messages that wait or are on their way. */
  readonly backlog: number
}

/** What this process does for an endpoint. */
export interface EndpointActivity extends FilterCounts {
  /** Messages on their way. */
  readonly sending: number
}

/** Running delivery: events are matched, sent and recorded. */
export interface RunningWebhooks extends RunningTask {
  status(): WebhooksStatus
  activity(endpointId: string): EndpointActivity
}

/** Starts matcher, sender and log; several processes share their lanes. */
export const startWebhooks = async (deps: WebhooksDeps): Promise<RunningWebhooks> => {
  const { webhookContext, nowMs, random = Math.random, chains } = deps
  const { store, cipher, rulesOf, resolve } = webhookContext
  const log = deps.log.child({ role: 'webhooks' })
  const client = deps.client ?? createWebhookClient({ rulesOf, resolve, nowMs })
  const recorder = await startDeliveryLog({ ...deps, log })
  const sender = await startSender({ ...deps, log, store, cipher, client, random })
  const matcher = await startMatcher({ ...deps, log, store }, chains)
  const tasks = await startTaskRunner({ ...deps, log, store })
  return {
    status: () => ({ backlog: sender.backlog() }),
    activity: (endpointId) => ({
      ...matcher.counts(endpointId),
      sending: sender.sending(endpointId),
    }),
    stop: async () => {
      await tasks.stop()
      await matcher.stop()
      await sender.stop()
      await recorder.stop()
      await client.close()
    },
  }
}
