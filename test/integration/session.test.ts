import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { changelogSpec, topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { makeQuoteAssets } from '../../core/prices/quote-assets.ts'
import { makeDeferred } from '../../core/runtime/deferred.ts'
import { readTableMetadata } from '../../ingestors/decode/metadata-reader.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { openSession, type Session, type SessionOptions } from '../../ingestors/publish/session.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { stateTopic, topicName } from '../../schemas/topics.ts'
import { blockRef, buildEvmBlock, POOLS, TOKENS, wethSwap } from '../support/builders/evm-block.ts'
import { readBlockEvents } from '../support/read-ingest-topics.ts'

const CHAIN = CHAINS.eth
const codec = localCodec()
const store = stateTopic('ingest', CHAIN.id)

test('an operation that throws is thrown after everything that was taken before it is committed', async (t) => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-session-'))
  const log = makeSilentLogger()
  const bus = await openEmbeddedBus({ path, mapSizeBytes: 67_108_864, log, retention: 'off' })
  const plan = { chains: [CHAIN.id], partitions: 3, retention: 'off' } as const
  await bus.createTopics([...topicSpecs(plan), changelogSpec(store, 1)])
  const options: SessionOptions = {
    bus,
    chainContext: {
      chain: CHAIN,
      quoteAssets: makeQuoteAssets(CHAIN),
      codec,
      partitions: () => plan.partitions,
      store,
      nowMs: () => 0,
      commitment: 'processed',
    },
    // Nothing but a flush commits what this test takes.
    limits: { operations: 100, records: 100_000, bytes: 1_000_000_000, waitMs: 600_000 },
    protocols: protocolRegistry(CHAIN.id),
    metadataReader: {
      ...readTableMetadata(TOKENS, POOLS),
      metadataSource: 'node',
      verification: 'facts',
    },
    seedPrices: async () => [],
    metrics: makeMetrics(),
  }
  const opened = makeDeferred<Session>()
  const over = makeDeferred<void>()
  const running = await bus.subscribe({
    group: 'ingest',
    topics: [topicName('blocks', CHAIN.id)],
    run: async (lane) => {
      opened.resolve(await openSession(options, lane, () => undefined))
      await over.promise
    },
  })
  t.after(async () => {
    over.resolve()
    await running.stop()
    await bus.close()
    rmSync(path, { recursive: true, force: true })
  })
  const session = await opened.promise
  const { signal } = new AbortController()
  const first = buildEvmBlock({ height: 100 }, [wethSwap(2_000)])
  const second = buildEvmBlock({ height: 101, parentHash: first.hash }, [wethSwap(2_001)])
  for (const block of [first, second]) await session.take({ op: 'apply', block }, signal)
  assert.equal(session.head().seq, 0)
  const stranger = { ...blockRef(second), hash: '0xbad' }
  await assert.rejects(session.take({ op: 'revert', ref: stranger }, signal), /not the current tip/)
  assert.deepEqual([session.head().seq, session.pending()], [2, undefined])
  const heights = (await readBlockEvents(bus, codec)).map(({ meta }) => meta.height)
  assert.deepEqual(heights, [100, 101])
})
