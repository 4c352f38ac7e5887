import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Bus, Writer } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { InvalidInput, Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { type MetadataReader, readTableMetadata } from '../../ingestors/decode/metadata-reader.ts'
import { evmNodeQueries } from '../../ingestors/evm/metadata/node-queries.ts'
import { type Ingestor, type IngestorOptions, startIngestor } from '../../ingestors/start.ts'
import { CHAINS, maxReorgBlocks } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import { topicName } from '../../schemas/topics.ts'
import type { BlockEvent, TradeEvent } from '../../schemas/wire.ts'
import {
  blockRef,
  buildEvmBlock,
  createScriptedSource,
  POOLS,
  type ScriptedSource,
  TOKEN,
  TOKENS,
  tokenSwap,
  USDC,
  WETH,
  wethSwap,
} from '../support/builders/evm-block.ts'
import { type DataRecord, readBlockEvents, readDataRecords } from '../support/read-ingest-topics.ts'
import { until } from '../support/until.ts'

const codec = localCodec()

/** A bus on a folder; closed with the test, so that a failing one ends. */
const openBus = async (t: TestContext, path: string): Promise<Bus> => {
  const bus = await openEmbeddedBus({
    path,
    mapSizeBytes: 64 << 20,
    log: makeSilentLogger(),
    retention: 'off',
  })
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    closed ??= bus.close()
    return closed
  }
  t.after(close)
  await bus.createTopics(topicSpecs({ chains: ['eth'], partitions: 3, retention: 'off' }))
  return { ...bus, close }
}

const folder = (t: TestContext): string => {
  const path = mkdtempSync(join(tmpdir(), 'ingest-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Facts as a node gives them: every pool proven, every token answered. */
const nodeLike = (): MetadataReader => ({
  ...readTableMetadata(TOKENS, POOLS),
  metadataSource: 'node',
  verification: 'facts',
})

const start = (
  bus: Bus,
  source: ScriptedSource,
  more: Partial<IngestorOptions> = {},
): Promise<Ingestor> =>
  startIngestor({
    chain: CHAINS.eth,
    source,
    bus,
    codec,
    config: { retention: 'off', pricesStatic: {} },
    metadata: nodeLike(),
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    ...more,
  })

const atSeq = (ingestor: Ingestor, seq: number): Promise<unknown> =>
  until(() => ingestor.status().seq >= seq, `operation ${seq}`)

/** A chain of blocks with a WETH and a coin trade each. */
const chainOf = (from: number, count: number, fork = 'a', parentHash?: string): Block[] => {
  const blocks: Block[] = []
  for (let height = from; height < from + count; height += 1) {
    const parent = blocks.at(-1)?.hash ?? parentHash
    const swaps = [wethSwap(2_000 + (height % 7)), tokenSwap(100n + BigInt(height % 5))]
    blocks.push(buildEvmBlock({ height, ...(parent && { parentHash: parent }) }, swaps, fork))
  }
  return blocks
}

const apply = (blocks: readonly Block[]) => blocks.map((block) => ({ op: 'apply', block }) as const)
const revert = (blocks: readonly Block[]) =>
  blocks.toReversed().map((block) => ({ op: 'revert', ref: blockRef(block) }) as const)

/** Data records of one operation without its place in time. */
const bodies = (records: readonly DataRecord[], seq: number) =>
  records
    .filter(({ meta }) => meta.seq === seq)
    .map(({ family, partition, key, events }) => ({ family, partition, key, events }))

const tradesOf = (records: readonly DataRecord[], seq: number): TradeEvent[] =>
  records
    .filter(({ family, meta }) => family === 'trades' && meta.seq === seq)
    .flatMap(({ events }) => events as TradeEvent[])

const checkSpans = (blocks: readonly BlockEvent[], records: readonly DataRecord[]): void => {
  for (const block of blocks) {
    const held = records.filter(({ meta }) => meta.seq === block.meta.seq)
    const events = held.reduce((sum, record) => sum + record.events.length, 0)
    assert.equal(
      block.spans.reduce((sum, span) => sum + span.records, 0),
      held.length,
    )
    assert.equal(
      block.spans.reduce((sum, span) => sum + span.events, 0),
      events,
    )
    assert.equal(
      Object.values(block.counts).reduce((sum, count) => sum + count, 0),
      events,
    )
    for (const span of block.spans) {
      const first = held.find(
        ({ partition, family, offset }) =>
          partition === span.partition &&
          offset === span.base_offset &&
          span.topic === topicName(family, 'eth'),
      )
      assert.equal(first?.meta.part, 0, `${span.topic}/${span.partition}`)
    }
  }
}

test('each block is committed as one operation, with token metadata, trades and the prices of the block before', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = createScriptedSource()
  const ingestor = await start(bus, source)
  source.push(...apply(chainOf(100, 3)))
  await atSeq(ingestor, 3)
  const blocks = await readBlockEvents(bus, codec)
  const records = await readDataRecords(bus, codec)
  assert.deepEqual(
    blocks.map(({ meta }) => [meta.seq, meta.op, meta.height]),
    [
      [1, 'OP_APPLY', 100],
      [2, 'OP_APPLY', 101],
      [3, 'OP_APPLY', 102],
    ],
  )
  checkSpans(blocks, records)
  const first = tradesOf(records, 1).find(({ trade }) => trade?.token_a_address === TOKEN)
  assert.equal(first?.quote_price_in_usd, '', 'a start without primes knows no price')
  const second = tradesOf(records, 2).find(({ trade }) => trade?.token_a_address === TOKEN)
  assert.equal(second?.quote_price_in_usd, String(2_000 + (100 % 7)))
  assert.equal(second?.quote_price_in_native, '1')
  assert.equal(second?.trade?.token_a_decimals, 9)
  const facts = records.filter(({ family }) => family === 'tokenMetadata')
  assert.deepEqual(facts.map(({ key, meta }) => [key, meta.seq]).sort(), [
    [TOKEN, 1],
    [USDC, 1],
    [WETH, 1],
  ])
  assert.equal(ingestor.status().height, 102)
  await ingestor.stop()
})

test('a restart in the middle continues with the next operation and the same prices', async (t) => {
  const path = folder(t)
  const script = apply(chainOf(100, 6))
  const whole = await openBus(t, join(path, 'whole'))
  const uncut = createScriptedSource()
  const one = await start(whole, uncut, { nowMs: () => 7 })
  uncut.push(...script)
  await atSeq(one, 6)
  const cut = createScriptedSource()
  for (const [index, part] of [script.slice(0, 3), script.slice(3)].entries()) {
    const bus = await openBus(t, join(path, 'cut'))
    const ingestor = await start(bus, cut, { nowMs: () => 7 })
    cut.push(...part)
    await atSeq(ingestor, 3 * (index + 1))
    await ingestor.stop()
    await bus.close()
  }
  const again = await openBus(t, join(path, 'cut'))
  assert.deepEqual(await readBlockEvents(again, codec), await readBlockEvents(whole, codec))
  assert.deepEqual(await readDataRecords(again, codec), await readDataRecords(whole, codec))
  assert.equal(cut.positions[1]?.stack.at(-1)?.height, 102)
  await one.stop()
})

/** Per partition the bodies of one operation as a reader meets them. */
const perPartition = (records: readonly DataRecord[], seq: number) => {
  const places = new Map<string, unknown[]>()
  for (const { family, partition, key, events } of bodies(records, seq)) {
    const place = `${family}/${partition}`
    places.set(place, [...(places.get(place) ?? []), ...events.map((event) => ({ key, event }))])
  }
  return places
}

/** Operation `undone` holds exactly what `seq` published, newest first. */
const checkUndone = (records: readonly DataRecord[], seq: number, undone: number): void => {
  const then = perPartition(records, seq)
  const back = perPartition(records, undone)
  assert.ok(then.size > 0)
  assert.deepEqual([...back.keys()].sort(), [...then.keys()].sort())
  for (const [place, events] of then) assert.deepEqual(back.get(place), events.toReversed(), place)
}

/** What a reader holds after netting retractions: applied bodies that were not taken back, by block hash. */
const settled = (records: readonly DataRecord[]) => {
  const blocks = new Map<string, unknown[]>()
  for (const { meta, family, partition, key, events } of records) {
    if (meta.op === 'OP_REVERT') blocks.delete(meta.hash)
    else {
      const held = blocks.get(meta.hash) ?? []
      blocks.set(meta.hash, [...held, { family, partition, key, part: meta.part, events }])
    }
  }
  return blocks
}

for (const depth of [1, 5]) {
  test(`a reorg of depth ${depth} takes back what was published and leaves no trace in prices and facts`, async (t) => {
    const path = folder(t)
    const before = chainOf(100, 8 - depth)
    const fork = before.at(-1)?.hash ?? ''
    const orphans = chainOf(108 - depth, depth, 'a', fork)
    const branch = chainOf(108 - depth, depth + 1, 'b', fork)
    const bus = await openBus(t, join(path, 'reorg'))
    const source = createScriptedSource()
    const ingestor = await start(bus, source, { nowMs: () => 7 })
    source.push(...apply([...before, ...orphans]), ...revert(orphans), ...apply(branch))
    await atSeq(ingestor, 8 + depth + depth + 1)
    const blocks = await readBlockEvents(bus, codec)
    const records = await readDataRecords(bus, codec)
    checkSpans(blocks, records)
    for (let step = 0; step < depth; step += 1) {
      checkUndone(records, 8 - step, 9 + step)
      const priced = (seq: number) => blocks.find(({ meta }) => meta.seq === seq)?.quote_prices
      assert.deepEqual(priced(9 + step), priced(7 - step), 'prices of the block below')
    }
    const straight = await openBus(t, join(path, 'straight'))
    const uncut = createScriptedSource()
    const other = await start(straight, uncut, { nowMs: () => 7 })
    uncut.push(...apply([...before, ...branch]))
    await atSeq(other, before.length + branch.length)
    assert.deepEqual(settled(records), settled(await readDataRecords(straight, codec)))
    assert.deepEqual(
      blocks.at(-1)?.quote_prices,
      (await readBlockEvents(straight, codec)).at(-1)?.quote_prices,
    )
    for (const part of [ingestor, other]) await part.stop()
  })
}

test('metadata from an orphaned block is fetched again for its replacement', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = createScriptedSource()
  const ingestor = await start(bus, source)
  const first = buildEvmBlock({ height: 100 }, [wethSwap(2_000)])
  const orphan = buildEvmBlock({ height: 101 }, [tokenSwap(7n)])
  const other = buildEvmBlock({ height: 101 }, [tokenSwap(8n)], 'b')
  source.push(...apply([first, orphan]), ...revert([orphan]), ...apply([other]))
  await atSeq(ingestor, 4)
  const coin = (await readDataRecords(bus, codec)).filter(
    ({ family, key }) => family === 'tokenMetadata' && key === TOKEN,
  )
  assert.deepEqual(
    coin.map(({ meta }) => [meta.seq, meta.op]),
    [
      [2, 'OP_APPLY'],
      [3, 'OP_REVERT'],
      [4, 'OP_APPLY'],
    ],
  )
  await ingestor.stop()
})

test('a revert after a restart reads the record bodies from their stored spans', async (t) => {
  const path = folder(t)
  const chain = chainOf(100, 4)
  const source = createScriptedSource()
  let bus = await openBus(t, path)
  let ingestor = await start(bus, source)
  source.push(...apply(chain))
  await atSeq(ingestor, 4)
  await ingestor.stop()
  await bus.close()
  bus = await openBus(t, path)
  ingestor = await start(bus, source)
  source.push(...revert(chain.slice(2)))
  await atSeq(ingestor, 6)
  const records = await readDataRecords(bus, codec)
  const blocks = await readBlockEvents(bus, codec)
  checkUndone(records, 4, 5)
  checkUndone(records, 3, 6)
  checkSpans(blocks, records)
  assert.deepEqual(blocks.at(-1)?.quote_prices, blocks[1]?.quote_prices)
  assert.equal(blocks.at(-1)?.tx_count, blocks[2]?.tx_count)
  await ingestor.stop()
})

test('an ingestor restarted after a reorg continues from the canonical branch', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = createScriptedSource()
  const chain = chainOf(100, 4)
  const branch = chainOf(102, 1, 'b', chain[1]?.hash)
  const ingestor = await start(bus, source)
  source.push(...apply(chain), ...revert(chain.slice(2)), ...apply(branch))
  await atSeq(ingestor, 7)
  await ingestor.stop()
  const again = await start(bus, source)
  await until(() => source.positions.length === 2)
  assert.deepEqual(
    source.positions[1]?.stack.map(({ hash }) => hash),
    [chain[0]?.hash, chain[1]?.hash, branch[0]?.hash],
  )
  await again.stop()
})

test('FINALIZE is a block record alone, and deletes the undo state of final blocks', async (t) => {
  const path = folder(t)
  const chain = chainOf(100, 5)
  const bus = await openBus(t, path)
  const source = createScriptedSource()
  const ingestor = await start(bus, source)
  const [, , third] = chain
  assert.ok(third)
  source.push(...apply(chain), { op: 'finalize', ref: blockRef(third) })
  await atSeq(ingestor, 6)
  const last = (await readBlockEvents(bus, codec)).at(-1)
  assert.deepEqual(
    [last?.meta.op, last?.meta.hash, last?.final_height, last?.final_seq, last?.spans],
    ['OP_FINALIZE', third.hash, 102, 3, []],
  )
  assert.equal(bodies(await readDataRecords(bus, codec), 6).length, 0)
  await ingestor.stop()
  const undo = await storedUndo(bus)
  assert.deepEqual(undo, ['undo/4', 'undo/5'])
  const again = await start(bus, source)
  await until(() => source.positions.length === 2)
  assert.deepEqual(
    source.positions[1]?.stack.map(({ height }) => height),
    [102, 103, 104],
  )
  assert.equal(source.positions[1]?.final?.hash, third.hash)
  await again.stop()
})

/** Keys of the undo entries that the ingestor's state holds. */
const storedUndo = async (bus: Bus): Promise<string[]> => {
  let keys: string[] | undefined
  const reader = await bus.subscribe({
    group: 'test.undo',
    topics: ['eth.blocks'],
    run: async (lane) => {
      const state = await lane.state('_state.ingest.eth')
      keys = [...state.entries('undo/')].map(([key]) => key)
    },
  })
  const found = await until(() => keys)
  await reader.stop()
  return found
}

test('across a gap every price is unknown until the next trade', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = createScriptedSource(true, true)
  source.push(...apply([...chainOf(100, 2), ...chainOf(500, 2)]))
  const ingestor = await start(bus, source)
  await ingestor.done
  const records = await readDataRecords(bus, codec)
  const stamps = [1, 2, 3, 4].map(
    (seq) =>
      tradesOf(records, seq).find(({ trade }) => trade?.token_a_address === TOKEN)
        ?.quote_price_in_usd,
  )
  assert.deepEqual(stamps, ['', '2002', '', '2003'])
  assert.equal(ingestor.status().state, 'done')
  await ingestor.stop()
})

test('a start in the middle of a chain takes first prices from the reference pools at the parent block', async (t) => {
  const bus = await openBus(t, folder(t))
  const asked: string[] = []
  const [block] = chainOf(100, 1)
  assert.ok(block)
  const source: ScriptedSource = {
    ...createScriptedSource(true),
    node: evmNodeQueries({
      calls: async (calls, blockHash) => {
        asked.push(blockHash)
        return calls.map(({ data }) =>
          // USDC is the first token of the V2 pool: 4,400,000 USDC against 2,000 WETH.
          data === '0x0902f1ac'
            ? {
                kind: 'value' as const,
                data: `0x${[4_400_000_000_000n, 2_000n * 10n ** 18n, 1n]
                  .map((value) => value.toString(16).padStart(64, '0'))
                  .join('')}`,
              }
            : { kind: 'reverted' as const },
        )
      },
    }),
  }
  source.push(...apply([block]))
  const ingestor = await start(bus, source)
  await ingestor.done
  const coin = tradesOf(await readDataRecords(bus, codec), 1).find(
    ({ trade }) => trade?.token_a_address === TOKEN,
  )
  assert.equal(Number(coin?.quote_price_in_usd).toFixed(6), '2200.000000')
  assert.deepEqual(asked, [block.parentHash])
  await ingestor.stop()
})

test('configured prices prime the table of a recording, also behind a gap', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = createScriptedSource(true, true)
  const only = (height: number) => buildEvmBlock({ height }, [tokenSwap(5n)])
  source.push(...apply([only(100), only(900)]))
  const config = { retention: 'off', pricesStatic: { [WETH]: 1_800 } } as const
  const ingestor = await start(bus, source, { config })
  await ingestor.done
  const records = await readDataRecords(bus, codec)
  for (const seq of [1, 2]) assert.equal(tradesOf(records, seq)[0]?.quote_price_in_usd, '1800')
  await ingestor.stop()
})

test('a fenced writer is replaced, and nothing is lost or doubled', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = createScriptedSource()
  const ingestor = await start(bus, source)
  const chain = chainOf(100, 4)
  source.push(...apply(chain.slice(0, 2)))
  await atSeq(ingestor, 2)
  await bus.writer('ingest.eth.lane0')
  source.push(...apply(chain.slice(2)))
  await atSeq(ingestor, 4)
  const blocks = await readBlockEvents(bus, codec)
  assert.deepEqual(
    blocks.map(({ meta }) => [meta.seq, meta.height]),
    chain.map(({ height }, index) => [index + 1, height]),
  )
  await ingestor.stop()
})

/** The bus with every lane's commits going through `commit`. */
const withCommits = (bus: Bus, commit: (writer: Writer) => Writer['commit']): Bus => ({
  ...bus,
  subscribe: (subscription) =>
    bus.subscribe({
      ...subscription,
      run: (lane) =>
        subscription.run({ ...lane, writer: { ...lane.writer, commit: commit(lane.writer) } }),
    }),
})

/** A bus whose first commit happens, but is not answered. */
const withLostAnswer = (bus: Bus): Bus => {
  let lost = 1
  return withCommits(bus, (writer) => async (commit) => {
    const spans = await writer.commit(commit)
    if (lost > 0) {
      lost -= 1
      throw new Outage('bus', 'no answer')
    }
    return spans
  })
}

test('a commit whose response was lost is read back, not written again', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = createScriptedSource()
  const ingestor = await start(withLostAnswer(bus), source)
  const chain = chainOf(100, 3)
  source.push(...apply(chain))
  await atSeq(ingestor, 3)
  const blocks = await readBlockEvents(bus, codec)
  assert.deepEqual(
    blocks.map(({ meta }) => [meta.seq, meta.height]),
    chain.map(({ height }, index) => [index + 1, height]),
  )
  await ingestor.stop()
})

/** A script of a node whose head is at this height. */
const scriptBelow = (height: number): ScriptedSource => ({
  ...createScriptedSource(),
  head: () => ({ height, hash: null }),
})

test('blocks far below the head share commits, the newest have their own', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = scriptBelow(119)
  const sizes: number[] = []
  const counting = withCommits(bus, (writer) => (commit) => {
    const seqs = (commit.records ?? []).map(({ headers }) => headers?.seq)
    sizes.push(new Set(seqs).size)
    return writer.commit(commit)
  })
  source.push(...apply(chainOf(100, 20)))
  const ingestor = await start(counting, source, { catchUp: { operations: 10, waitMs: 60_000 } })
  await atSeq(ingestor, 20)
  assert.deepEqual(sizes, [10, 8, 1, 1])
  assert.equal(ingestor.status().state, 'live')
  const blocks = await readBlockEvents(bus, codec)
  const records = await readDataRecords(bus, codec)
  assert.deepEqual(
    blocks.map(({ meta }) => meta.height),
    Array.from({ length: 20 }, (_, at) => 100 + at),
  )
  checkSpans(blocks, records)
  await ingestor.stop()
})

test('a lost response of a shared commit is detected while the node has no further block', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = scriptBelow(1_000)
  source.push(...apply(chainOf(100, 3)))
  const ingestor = await start(withLostAnswer(bus), source, { catchUp: { waitMs: 20 } })
  await atSeq(ingestor, 3)
  await until(() => source.positions.length === 2, 'a new reader came')
  assert.deepEqual(
    source.positions.map((position) => position?.stack.length),
    [undefined, 3],
  )
  assert.equal((await readBlockEvents(bus, codec)).length, 3)
  await ingestor.stop()
})

test('stopping the ingestor commits the blocks that it has received', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = scriptBelow(1_000)
  source.push(...apply(chainOf(100, 3)))
  const ingestor = await start(bus, source, { catchUp: { waitMs: 60_000 } })
  await until(() => source.given() === 3, 'three blocks are taken')
  await ingestor.stop()
  assert.equal((await readBlockEvents(bus, codec)).length, 3)
})

test('a block that is too large to be held is taken back while its commit is on its way', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = scriptBelow(1_000)
  const [first] = chainOf(100, 1) as [Block]
  const swaps = Array.from({ length: 5_200 }, (_, at) => tokenSwap(100n + BigInt(at)))
  const large = buildEvmBlock({ height: 101, parentHash: first.hash }, swaps, 'l')
  const after = chainOf(101, 1, 'b', first.hash)
  source.push(...apply([first, large]), ...revert([large]), ...apply(after))
  const ingestor = await start(bus, source, { catchUp: { waitMs: 20 } })
  await atSeq(ingestor, 4)
  const records = await readDataRecords(bus, codec)
  const held = records.filter(({ meta }) => meta.seq === 2)
  assert.ok(held.reduce((sum, { events }) => sum + events.length, 0) > 20_000)
  const byPartition = (seq: number, partition: number) =>
    bodies(records, seq).filter((body) => body.family === 'trades' && body.partition === partition)
  for (const partition of [0, 1, 2]) {
    const back = byPartition(3, partition).map((body) => ({
      ...body,
      events: body.events.toReversed(),
    }))
    assert.deepEqual(back.toReversed(), byPartition(2, partition))
  }
  checkSpans(await readBlockEvents(bus, codec), records)
  await ingestor.stop()
})

test('a block that no endpoint gives in shape halts the chain with a dead letter', async (t) => {
  const bus = await openBus(t, folder(t))
  const chain = chainOf(100, 2)
  const source: ScriptedSource = {
    ...createScriptedSource(),
    async *operations() {
      yield* apply(chain)
      throw new InvalidInput('bad-hex', 'block.gasUsed is "0xzz"')
    },
  }
  const ingestor = await start(bus, source)
  await until(() => ingestor.status().state === 'halted')
  assert.equal(ingestor.status().reason, 'bad-hex')
  assert.equal(ingestor.status().height, 101)
  const letters = await lettersOf(bus)
  assert.equal(letters.length, 1)
  assert.equal(letters[0]?.['dlq.error.class'], 'InvalidInput bad-hex')
  await ingestor.stop()
  assert.equal(ingestor.status().state, 'halted')
})

test('an error that is not an outage is reported as fatal', async (t) => {
  const bus = await openBus(t, folder(t))
  const told: unknown[] = []
  const source: ScriptedSource = {
    ...createScriptedSource(),
    async *operations() {
      yield* apply(chainOf(100, 1))
      throw new TypeError('a bug')
    },
  }
  const ingestor = await start(bus, source, { onFatal: (error) => told.push(error) })
  await until(() => told.length > 0)
  assert.ok(told[0] instanceof TypeError)
  assert.equal(ingestor.status().state, 'halted')
  await ingestor.stop()
})

const lettersOf = async (bus: Bus) => {
  const found: Readonly<Record<string, string>>[] = []
  for (let partition = 0; partition < (await bus.partitions('dlq.ingest.eth')); partition += 1) {
    for await (const { headers } of bus.read('dlq.ingest.eth', partition, 0)) found.push(headers)
  }
  return found
}

test('every forged swap is counted, and one dead letter per reason and block is published', async (t) => {
  const bus = await openBus(t, folder(t))
  const metrics = makeMetrics()
  const source = createScriptedSource(true)
  const forged = { ...tokenSwap(5n), pool: '0x00000000000000000000000000000000000000f0' }
  source.push(...apply([buildEvmBlock({ height: 100 }, [forged, forged, wethSwap(2_000)])]))
  const ingestor = await start(bus, source, { metrics })
  await ingestor.done
  const records = await readDataRecords(bus, codec)
  assert.equal(tradesOf(records, 1).length, 1)
  const dropped = await metrics.eventsDropped.get()
  assert.equal(
    dropped.values.reduce((sum, { value }) => sum + value, 0),
    2,
  )
  assert.equal((await lettersOf(bus)).length, 1)
  await ingestor.stop()
})

test('the `until` option ends the ingestor behind the block that reaches it, at once when it is reached already', async (t) => {
  const bus = await openBus(t, folder(t))
  const chain = chainOf(100, 5)
  const source = createScriptedSource()
  source.push(...apply(chain))
  const until102 = chain[2]?.timeMs ?? 0
  for (const _run of [1, 2]) {
    const ingestor = await start(bus, source, { until: until102 })
    await ingestor.done
    assert.equal(ingestor.status().height, 102)
    await ingestor.stop()
  }
  assert.equal((await readBlockEvents(bus, codec)).length, 3)
})

test('undo state of blocks beyond the reorg window is deleted without a FINALIZE', async (t) => {
  const bus = await openBus(t, folder(t))
  const source = createScriptedSource(true)
  source.push(...apply(chainOf(100, 12)))
  const chain = { ...CHAINS.eth, reorgWindow: 1 }
  assert.equal(maxReorgBlocks(chain), 4)
  const ingestor = await start(bus, source, { chain })
  await ingestor.done
  await ingestor.stop()
  const undo = await storedUndo(bus)
  assert.deepEqual(undo.toSorted(), ['undo/10', 'undo/11', 'undo/12', 'undo/9'])
})
