import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bus, Commit, RunningTask, Writer } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import type { Codec, DeepPartial } from '../../core/codec/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import type { Config } from '../../core/config/settings.ts'
import type { ResolveHost } from '../../core/http/guarded-client.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type Metrics, makeMetrics } from '../../core/ops/metrics.ts'
import type { CreateWebhook } from '../../schemas/api/webhook.ts'
import { globalTopic, type Topic, topicName } from '../../schemas/topics.ts'
import { channelChain, channelKind, kindRow, type WebhookChannel } from '../../schemas/webhooks.ts'
import type {
  Attempt,
  Messages,
  Op,
  TokenEvent,
  TokenEvents,
  WebhookEndpoint,
} from '../../schemas/wire.ts'
import type { BacklogLimits } from '../../serving/webhooks/backlog-limits.ts'
import { createWebhookContext, type WebhookContext } from '../../serving/webhooks/context.ts'
import type { FindOrg } from '../../serving/webhooks/delivery-eligibility.ts'
import type { Owner } from '../../serving/webhooks/endpoint-api.ts'
import type { EndpointStore } from '../../serving/webhooks/endpoint-store.ts'
import { createWebhookClient } from '../../serving/webhooks/http-client.ts'
import { startMatcher } from '../../serving/webhooks/matcher.ts'
import { startSender } from '../../serving/webhooks/sender.ts'

/** The organization of the tests. */
export const TEST_OWNER: Owner = { orgId: 'org_1', appId: 'app_1', plan: 'free' }

/** Pauses between attempts in tests, milliseconds. */
export const FAST_RETRY_SCHEDULE_MS = [0, 20, 20, 20, 20]

/** How a webhook stack differs from the usual one. */
export interface WebhookStackOptions {
  readonly config?: Partial<Record<keyof Config, unknown>>
  readonly scheduleMs?: readonly number[]
  readonly backlogLimits?: BacklogLimits
  readonly nowMs?: () => number
  readonly resolve?: ResolveHost
  /** False: commits are not kept, so that a long run does not fill the memory. Default true. */
  readonly keepCommits?: boolean
  /** Default: every organization is there and not suspended. */
  readonly orgOf?: FindOrg
}

/** Endpoints, matcher and sender on an embedded log in a folder of their own. */
export interface WebhookStack {
  readonly bus: Bus
  readonly codec: Codec
  readonly config: Config
  readonly webhookContext: WebhookContext
  readonly metrics: Metrics
  /** What matcher and sender committed so far. */
  commits(): readonly Commit[]
  /** Makes an endpoint of `OWNER`. */
  endpoint(body: CreateWebhook): Promise<WebhookEndpoint>
  /** Publishes a record of token events as the launch tracker does. */
  publish(channel: WebhookChannel, record: DeepPartial<TokenEvents>): Promise<void>
  /** Publishes a record of any topic of Solana. */
  publishTo<Name extends keyof Messages>(
    topic: Topic,
    message: Name,
    record: { readonly key: string; readonly value: DeepPartial<Messages[Name]> },
  ): Promise<void>
  startMatcher(): Promise<RunningTask>
  /** `store`: what this sender knows of the endpoints; default: all. `commit`: in place of the writer's own; default: as it is. */
  startSender(
    store?: EndpointStore,
    commit?: (own: Writer['commit'], given: Commit) => ReturnType<Writer['commit']>,
  ): Promise<RunningTask & { backlog(): number }>
  attempts(): Promise<readonly Attempt[]>
  /** Types of the operational events so far. */
  operations(): Promise<readonly string[]>
  /** Closes the log and opens it again, as a process that was killed and started does. */
  stop(): Promise<void>
}

/** Opens one; everything it started is stopped with it. */
export const startWebhookStack = async (
  options: WebhookStackOptions = {},
): Promise<WebhookStack> => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-webhooks-'))
  const log = makeSilentLogger()
  const codec = localCodec()
  const metrics = makeMetrics()
  const nowMs = options.nowMs ?? Date.now
  const config = loadConfig(
    {},
    { keyPepper: 'pepper', webhookAllow: ['127.0.0.0/8'], ...options.config },
  )
  const bus = await openEmbeddedBus({
    path: join(folder, 'log'),
    mapSizeBytes: 256 << 20,
    log,
    retention: 'off',
  })
  await bus.createTopics(topicSpecs({ chains: ['sol'], partitions: 3, retention: 'off' }))
  const webhookContext = await createWebhookContext({
    bus,
    codec,
    config,
    nowMs,
    log,
    metrics,
    ...(options.resolve && { resolve: options.resolve }),
  })
  const started: RunningTask[] = []
  const held = <R extends RunningTask>(running: R): R => {
    started.push(running)
    return running
  }
  const client = createWebhookClient({
    rulesOf: webhookContext.rulesOf,
    resolve: webhookContext.resolve,
    nowMs,
  })
  const orgOf = options.orgOf ?? (() => ({ suspended: false }))
  const commits: Commit[] = []
  const shared = {
    bus: options.keepCommits === false ? bus : withRecordedCommits(bus, commits),
    codec,
    store: webhookContext.store,
    orgOf,
    metrics,
    log,
    nowMs,
  }
  let creating: Promise<unknown> = Promise.resolve()
  let writer: Writer | undefined
  const write = async (topic: string, key: string, value: Uint8Array): Promise<void> => {
    writer ??= await bus.writer('test-tokens')
    await writer.commit({ records: [{ topic, key, value }] })
  }
  return {
    bus,
    codec,
    config,
    webhookContext,
    metrics,
    commits: () => commits,
    endpoint: (body) => {
      // One after the other: an organization may have few writes waiting.
      const created = creating.then(async () => {
        const made = await webhookContext.endpoints.create(TEST_OWNER, body)
        return webhookContext.endpoints.read(TEST_OWNER, made.body.id)
      })
      creating = created.catch(() => undefined)
      return created
    },
    publish: async (channel, record) => {
      const [topic] = kindRow(channelKind(channel)).topics
      const key = record.events?.[0]?.token?.address ?? ''
      const value = codec.encode('token.TokenEvents', record)
      await write(topicName(topic ?? 'tokensCreated', channelChain(channel)), key, value)
    },
    publishTo: (topic, message, { key, value }) =>
      write(topicName(topic, 'sol'), key, codec.encode(message, value)),
    startMatcher: async () => held(await startMatcher({ ...shared, config }, ['sol'])),
    startSender: async (store = webhookContext.store, commit = (own, given) => own(given)) =>
      held(
        await startSender({
          ...shared,
          bus: withCommit(shared.bus, commit),
          store,
          config,
          client,
          random: Math.random,
          cipher: webhookContext.cipher,
          scheduleMs: options.scheduleMs ?? FAST_RETRY_SCHEDULE_MS,
          ...(options.backlogLimits && { backlogLimits: options.backlogLimits }),
        }),
      ),
    attempts: async () =>
      (await topicValues(bus, 'webhookAttempts')).map((bytes) =>
        codec.decode('webhook.Attempt', bytes),
      ),
    operations: async () =>
      (await topicValues(bus, 'webhookOps')).map(
        (bytes) => codec.decode('webhook.Operation', bytes).type,
      ),
    stop: async () => {
      for (const running of started.toReversed()) await running.stop()
      await client.close()
      await webhookContext.stop()
      await bus.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The bus with every commit of its lanes noted. */
const withRecordedCommits = (bus: Bus, commits: Commit[]): Bus =>
  withCommit(bus, (own, given) => {
    commits.push(given)
    return own(given)
  })

/** The bus with another way to commit in its lanes. */
const withCommit = (
  bus: Bus,
  commit: (own: Writer['commit'], given: Commit) => ReturnType<Writer['commit']>,
): Bus => ({
  ...bus,
  subscribe: (subscription) =>
    bus.subscribe({
      ...subscription,
      run: ({ writer, ...lane }) =>
        subscription.run({
          ...lane,
          writer: { ...writer, commit: (given) => commit(writer.commit, given) },
        }),
    }),
})

const topicValues = async (
  bus: Bus,
  topic: 'webhookAttempts' | 'webhookOps' | 'webhookOutbox' | 'webhookMessages',
): Promise<readonly Uint8Array[]> => {
  const name = globalTopic(topic)
  const values: Uint8Array[] = []
  for (let partition = 0; partition < (await bus.partitions(name)); partition += 1) {
    for await (const { value } of bus.read(name, partition, 0)) if (value) values.push(value)
  }
  return values
}

const PUMP_LAUNCH = {
  program_address: '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P',
  protocol_family: 'pump_fun',
  protocol_name: 'Pump.fun',
}

/** A token event of a synthetic mint, as the launch tracker writes it. */
export const buildTokenEvent = (
  mint: string,
  change: DeepPartial<TokenEvent> = {},
): DeepPartial<TokenEvent> => ({
  type: 'EVENT_TYPE_CREATED',
  instruction: { index: 2, is_inner_instruction: true, inner_instruction_index: 1 },
  transaction: { signature: `tx-${mint}` },
  token: { address: mint, name: `Name ${mint}`, symbol: 'SYM', decimals: 6 },
  launch_from: PUMP_LAUNCH,
  created_at: 1_763_640_000_000,
  ...change,
})

/** A record of token events at a block. */
export const buildTokenRecord = (
  events: readonly DeepPartial<TokenEvent>[],
  {
    op = 'OP_APPLY',
    seq = 1,
    timeMs = Date.now(),
  }: {
    readonly op?: Op
    readonly seq?: number
    readonly timeMs?: number
  } = {},
): DeepPartial<TokenEvents> => ({
  meta: {
    chain: 'sol',
    op,
    seq,
    commitment: 'COMMITMENT_CONFIRMED',
    slot: 100 + seq,
    height: 100 + seq,
    hash: `h${seq}`,
    block_time: timeMs,
    part: 0,
    parts: 1,
  },
  events,
})
