import type { Bus, RunningTask } from '../../core/bus/contract.ts'
import { deadLetterSpec } from '../../core/bus/topic-specs.ts'
import type { Config } from '../../core/config/settings.ts'
import type { SecretCipher } from '../../core/security/encryption.ts'
import { deadLetterTopic, globalTopic } from '../../schemas/topics.ts'
import { BACKLOG_LIMITS, type BacklogLimits, queueLimits } from './backlog-limits.ts'
import { createConcurrencyLimiter } from './concurrency-limiter.ts'
import { createCredentialCache } from './endpoint-credentials.ts'
import type { SenderDeps } from './sender-deps.ts'
import { SenderLane } from './sender-lane.ts'
import { SENDER_GROUP } from './topics.ts'

/** What a sender is started with. */
export interface SenderOptions
  extends Omit<
    SenderDeps,
    | 'style'
    | 'scheduleMs'
    | 'inFlight'
    | 'concurrency'
    | 'credentialsOf'
    | 'backlogLimits'
    | 'queueLimits'
  > {
  readonly cipher: SecretCipher
  readonly bus: Bus
  readonly config: Pick<
    Config,
    | 'webhookTimeoutMs'
    | 'webhookRetrySeconds'
    | 'webhookInFlight'
    | 'webhookLegacySignature'
    | 'webhookSvixHeaders'
    | 'retention'
  >
  /** Overrides the configured pauses, milliseconds. */
  readonly scheduleMs?: readonly number[]
  /** Default: `BACKLOG_LIMITS`. */
  readonly backlogLimits?: BacklogLimits
}

/** A running sender. */
export interface Sender extends RunningTask {
  /** Messages that are queued or in flight in this process. */
  backlog(): number
  /** Messages of an endpoint that are in flight in this process. */
  sending(endpointId: string): number
}

/** Update interval of the backlog metric. */
const BACKLOG_METRIC_INTERVAL_MS = 2_000

/** Sends the deliveries of the outbox; the lanes are balanced over all processes that do so. */
export const startSender = async (options: SenderOptions): Promise<Sender> => {
  const { bus, config, metrics } = options
  await bus.createTopics([deadLetterSpec(deadLetterTopic(SENDER_GROUP), config.retention)])
  const lanes = new Set<SenderLane>()
  const backlogLimits = options.backlogLimits ?? BACKLOG_LIMITS
  const deps: SenderDeps = {
    ...options,
    backlogLimits,
    queueLimits: () => {
      const sizes = [...lanes].flatMap((lane) => lane.queueSizes())
      return queueLimits(sizes, backlogLimits)
    },
    concurrency: createConcurrencyLimiter(),
    credentialsOf: createCredentialCache(options.cipher),
    inFlight: config.webhookInFlight,
    scheduleMs:
      options.scheduleMs ?? config.webhookRetrySeconds.map((seconds) => Number(seconds) * 1_000),
    style: {
      legacy: config.webhookLegacySignature,
      svix: config.webhookSvixHeaders,
      timeoutMs: config.webhookTimeoutMs,
    },
  }
  const running = await bus.subscribe({
    group: SENDER_GROUP,
    topics: [globalTopic('webhookOutbox')],
    run: async (lane) => {
      const work = new SenderLane(deps, lane)
      lanes.add(work)
      try {
        await work.run()
      } finally {
        lanes.delete(work)
      }
    },
  })
  const backlog = (): number => [...lanes].reduce((sum, lane) => sum + lane.backlog, 0)
  const shown = setInterval(() => metrics.webhookBacklog.set(backlog()), BACKLOG_METRIC_INTERVAL_MS)
  return {
    backlog,
    sending: (endpointId) => [...lanes].reduce((sum, lane) => sum + lane.sending(endpointId), 0),
    stop: async () => {
      clearInterval(shown)
      await running.stop()
    },
  }
}
