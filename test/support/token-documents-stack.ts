import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bus, RunningTask, Writer } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { type ConfigOverrides, loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { documentsGroup, startDocuments } from '../../ingestors/metadata/worker.ts'
import { topicName } from '../../schemas/topics.ts'
import type { Op, TokenEvent } from '../../schemas/wire.ts'
import { buildTokenEvent, buildTokenRecord } from './webhook-stack.ts'

/** The document worker on an embedded log in a folder of its own. */
export interface TokenDocumentsStack {
  readonly bus: Bus
  /** Publishes the birth of a token as the launch tracker does. */
  born(mint: string, uri: string, op?: Op): Promise<void>
  start(): Promise<RunningTask>
  /** What was published, in order, by partition. */
  documents(): Promise<readonly TokenEvent[]>
  /** Documents that were not had, by reason. */
  dropped(): Promise<Readonly<Record<string, number>>>
  /** True when the offsets of every birth are committed. */
  isDone(): Promise<boolean>
  stop(): Promise<void>
}

/** Opens one; what it started is stopped with it. */
export const startTokenDocumentsStack = async (
  overrides: ConfigOverrides,
  partitions = 3,
): Promise<TokenDocumentsStack> => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-documents-'))
  const log = makeSilentLogger()
  const codec = localCodec()
  const metrics = makeMetrics()
  const config = loadConfig({}, { partitions, ...overrides })
  const bus = await openEmbeddedBus({
    path: join(folder, 'log'),
    mapSizeBytes: 64 << 20,
    log,
    retention: 'off',
  })
  await bus.createTopics(topicSpecs({ chains: ['sol'], partitions, retention: 'off' }))
  const births = topicName('tokensCreated', 'sol')
  const started: RunningTask[] = []
  let writer: Writer | undefined
  let seq = 0
  return {
    bus,
    born: async (mint, uri, op = 'OP_APPLY') => {
      writer ??= await bus.writer('test-tokens')
      seq += 1
      const token = { address: mint, name: `Name ${mint}`, symbol: 'SYM', decimals: 6, uri }
      const record = buildTokenRecord([buildTokenEvent(mint, { token })], { op, seq })
      const value = codec.encode('token.TokenEvents', record)
      await writer.commit({ records: [{ topic: births, key: mint, value }] })
    },
    start: async () => {
      const running = await startDocuments({ chains: ['sol'], bus, codec, config, metrics, log })
      started.push(running)
      return running
    },
    documents: async () => {
      const topic = topicName('tokenDocuments', 'sol')
      const events: TokenEvent[] = []
      for (const { partition, low, end } of await bus.ends(topic)) {
        for await (const { value } of bus.read(topic, partition, low, end)) {
          if (value) events.push(...codec.decode('token.TokenEvents', value).events)
        }
      }
      return events
    },
    dropped: async () => {
      const { values } = await metrics.eventsDropped.get()
      return Object.fromEntries(values.map(({ labels, value }) => [String(labels.reason), value]))
    },
    isDone: async () => {
      const places = await bus.offsets(documentsGroup('sol'), [births])
      const ends = await bus.ends(births)
      return ends.every(({ partition, low, end }) => {
        const place = places.find((each) => each.partition === partition)?.offset ?? low
        return place >= end
      })
    },
    stop: async () => {
      for (const running of started) await running.stop()
      await bus.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
