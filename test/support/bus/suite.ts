import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { tailTopic } from '../../../cli/app/tail-topic.ts'
import type {
  Bus,
  Lane,
  LogRecord,
  OffsetRange,
  ProducerRecord,
  TopicSpec,
} from '../../../core/bus/contract.ts'
import { partitionOf } from '../../../core/bus/partitioner.ts'
import { InvalidInput, Outage } from '../../../core/errors.ts'
import { until } from '../until.ts'
import { stateSuite } from './state-suite.ts'

/** A kind of bus as the suite drives it. */
export interface BusFixture {
  readonly bus: Bus
  /** A second bus on the same log where the kind allows one, else the same. */
  readonly other: Bus
  /** Ends both and opens them again on the same log. */
  restart(): Promise<void>
  /** Makes every record that is in the topic now unreadable, as retention does. */
  expire(topic: string): Promise<void>
  /** Lets compaction run over what the topic holds now. */
  compact(topic: string): Promise<void>
  /** Outages that the bus reported as halting. */
  readonly halts: readonly Outage[]
  close(): Promise<void>
}

const HOUR_MS = 3_600_000
const PARTITIONS = 3

const encodeText = (value: string): Uint8Array => Buffer.from(value)
const decodeText = (value: Uint8Array | null | undefined): string | null | undefined =>
  value && Buffer.from(value).toString()

/**
 * Every record of a topic, partition by partition; waits until there are `atLeast` so many: Kafka answers a commit before
 * every partition of it shows its records.
 */
export const readAll = async (bus: Bus, topic: string, atLeast = 0): Promise<LogRecord[]> => {
  const read = async (): Promise<LogRecord[]> => {
    const out: LogRecord[] = []
    for (const { partition, low } of await bus.ends(topic)) {
      for await (const record of bus.read(topic, partition, low)) out.push(record)
    }
    return out
  }
  return until(
    async () => {
      const records = await read()
      return records.length >= atLeast && records
    },
    `${topic} has ${atLeast} records`,
    30_000,
  )
}

const isOutage =
  ({ final }: { readonly final?: boolean } = {}) =>
  (error: unknown) => {
    assert.ok(error instanceof Outage, String(error))
    if (final !== undefined) assert.equal(error.final, final, error.message)
    return true
  }

/** What every bus must do; the same tests run on the embedded log and on real Kafka. */
export const busSuite = (kind: string, open: () => Promise<BusFixture>): void => {
  describe(`bus: ${kind}`, () => {
    let fixture: BusFixture
    let count = 0
    before(async () => {
      fixture = await open()
    })
    after(() => fixture.close())

    const name = (word: string): string => {
      count += 1
      return `${word}.${count}.${process.pid}`
    }
    const make = async (word: string, spec: Partial<TopicSpec> = {}): Promise<string> => {
      const topic = name(word)
      const defaults = { partitions: PARTITIONS, cleanup: 'delete', retentionMs: null } as const
      await fixture.bus.createTopics([{ ...defaults, ...spec, topic }])
      return topic
    }
    const numbered = (topic: string, from: number, amount: number): ProducerRecord[] =>
      Array.from({ length: amount }, (_, i) => ({
        topic,
        key: `key-${(from + i) % 10}`,
        value: encodeText(`${from + i}`),
      }))

    stateSuite({
      bus: () => fixture.bus,
      other: () => fixture.other,
      restart: () => fixture.restart(),
      name,
      topic: () => make('t', { partitions: 1 }),
      store: () => make('s', { partitions: 1, cleanup: 'compact' }),
    })

    test('topics are listed by the beginning of their names', async () => {
      const prefix = name('listed')
      const spec = { partitions: 1, cleanup: 'delete', retentionMs: null } as const
      const names = ['b', 'a', 'c.d'].map((word) => `${prefix}.${word}`)
      await fixture.bus.createTopics(names.map((topic) => ({ ...spec, topic })))
      assert.deepEqual(await fixture.other.topics(`${prefix}.`), names.toSorted())
      assert.deepEqual(await fixture.other.topics(`${prefix}.c`), [`${prefix}.c.d`])
      assert.deepEqual(await fixture.other.topics(`${prefix}.nothing`), [])
    })

    test('a commit writes records, final records, state and offsets together', async () => {
      const { bus } = fixture
      const [topic, blocks, store] = [
        await make('t'),
        await make('b', { partitions: 1 }),
        await make('s', { cleanup: 'compact' }),
      ]
      const group = name('group')
      const writer = await bus.writer(name('writer'))
      const records: ProducerRecord[] = [
        {
          topic,
          partition: 1,
          key: 'a',
          value: encodeText('1'),
          headers: { seq: '7', naïve: 'é' },
        },
        { topic, partition: 1, key: 'b', value: null },
        { topic, partition: 2, key: 'ключ', value: new Uint8Array([0, 255]) },
      ]
      let seen: readonly OffsetRange[] = []
      const spans = await writer.commit({
        records,
        finalRecords: (given) => {
          seen = given
          return [{ topic: blocks, key: 'eth', value: encodeText(JSON.stringify(given)) }]
        },
        state: [{ store, partition: 1, key: 'k', value: encodeText('v') }],
        offsets: { group, next: [{ topic, partition: 0, offset: 0, metadata: 'plan=5' }] },
      })
      assert.deepEqual(seen, [
        { topic, partition: 1, baseOffset: 0, records: 2 },
        { topic, partition: 2, baseOffset: 0, records: 1 },
      ])
      assert.deepEqual(spans, [...seen, { topic: blocks, partition: 0, baseOffset: 0, records: 1 }])
      const [a, b, c] = await readAll(bus, topic, 3)
      assert.deepEqual(a?.headers, { seq: '7', naïve: 'é' })
      assert.deepEqual([a?.key, decodeText(a?.value), a?.offset, a?.partition], ['a', '1', 0, 1])
      assert.deepEqual([b?.key, b?.value, b?.offset], ['b', null, 1])
      assert.deepEqual([c?.key, [...(c?.value ?? [])]], ['ключ', [0, 255]])
      assert.ok(Math.abs((a?.timestampMs ?? 0) - Date.now()) < 60_000)
      assert.equal((await readAll(bus, blocks, 1)).length, 1)
      await until(async () => {
        assert.deepEqual(await bus.offsets(group, [topic]), [
          { topic, partition: 0, offset: 0, metadata: 'plan=5' },
        ])
        return true
      })
      await writer.close()
    })

    test('a commit whose final records throw writes nothing, and the writer continues', async () => {
      const { bus } = fixture
      const [topic, store] = [await make('t'), await make('s', { cleanup: 'compact' })]
      const writer = await bus.writer(name('writer'))
      const refused = writer.commit({
        records: numbered(topic, 0, 20),
        finalRecords: () => {
          throw new InvalidInput('test', 'no final records')
        },
        state: [{ store, partition: 0, key: 'k', value: encodeText('v') }],
      })
      await assert.rejects(refused, InvalidInput)
      assert.deepEqual(await readAll(bus, topic), [])
      await writer.commit({ records: numbered(topic, 20, 5) })
      const values = (await readAll(bus, topic, 5)).map(({ value }) => Number(decodeText(value)))
      assert.deepEqual(
        values.sort((a, b) => a - b),
        [20, 21, 22, 23, 24],
      )
      await writer.close()
    })

    test('opening a writer id fences its previous holder', async () => {
      const topic = await make('t')
      const id = name('writer')
      const old = await fixture.bus.writer(id)
      await old.commit({ records: numbered(topic, 0, 3) })
      const young = await fixture.other.writer(id)
      await assert.rejects(
        old.commit({ records: numbered(topic, 100, 3) }),
        isOutage({ final: true }),
      )
      await assert.rejects(old.commit({ records: numbered(topic, 100, 3) }), isOutage())
      await young.commit({ records: numbered(topic, 3, 3) })
      const values = (await readAll(fixture.bus, topic, 6)).map(({ value }) =>
        Number(decodeText(value)),
      )
      assert.deepEqual(
        values.sort((a, b) => a - b),
        [0, 1, 2, 3, 4, 5],
      )
      await young.close()
    })

    test('records keep their order per partition and are in the partition of their key', async () => {
      const { bus } = fixture
      const topic = await make('t')
      const writer = await bus.writer(name('writer'))
      for (let block = 0; block < 30; block += 1) {
        await writer.commit({ records: numbered(topic, block * 10, 10) })
      }
      const all = await readAll(bus, topic, 300)
      assert.equal(all.length, 300)
      for (let partition = 0; partition < PARTITIONS; partition += 1) {
        const part = all.filter((record) => record.partition === partition)
        const numbers = part.map(({ value }) => Number(decodeText(value)))
        assert.deepEqual(
          numbers,
          [...numbers].sort((a, b) => a - b),
        )
        for (const { key } of part) assert.equal(partitionOf(key, PARTITIONS), partition)
        const offsets = part.map(({ offset }) => offset)
        assert.deepEqual(
          offsets,
          [...new Set(offsets)].sort((a, b) => a - b),
        )
      }
      await writer.close()
    })

    test('a topic has an id of its own, the same after a restart', async () => {
      const [one, two] = [await make('life'), await make('life')]
      const life = await fixture.bus.life(one)
      assert.notEqual(life, await fixture.bus.life(two))
      assert.equal(await fixture.other.life(one), life)
      await fixture.restart()
      assert.equal(await fixture.bus.life(one), life)
      await assert.rejects(fixture.bus.life(name('none')), isOutage())
    })

    test('a range of a partition can be read by its span', async () => {
      const { bus } = fixture
      const topic = await make('t', { partitions: 1 })
      const writer = await bus.writer(name('writer'))
      await writer.commit({ records: numbered(topic, 0, 5) })
      const [span] = await writer.commit({ records: numbered(topic, 5, 4) })
      await writer.commit({ records: numbered(topic, 9, 5) })
      await readAll(bus, topic, 14)
      assert.ok(span)
      const found: number[] = []
      const end = span.baseOffset + span.records
      for await (const { value } of bus.read(topic, 0, span.baseOffset, end)) {
        found.push(Number(decodeText(value)))
      }
      assert.deepEqual(found, [5, 6, 7, 8])
      await writer.close()
    })

    test('large records, and commits larger than one produce request, are written whole', async () => {
      const { bus } = fixture
      const topic = await make('t', { partitions: 1 })
      const writer = await bus.writer(name('writer'))
      const large = randomBytes(1_000_000)
      await writer.commit({ records: [{ topic, key: 'large', value: large }] })
      const records = Array.from({ length: 30 }, (_, i) => ({
        topic,
        key: `${i}`,
        value: randomBytes(100_000),
      }))
      const [span] = await writer.commit({ records })
      assert.equal(span?.records, 30)
      const all = await readAll(bus, topic, 31)
      assert.ok(large.equals(Buffer.from(all[0]?.value ?? [])))
      assert.deepEqual(
        all.slice(1).map(({ key }) => key),
        records.map(({ key }) => key),
      )
      assert.ok(
        all.slice(1).every(({ value }, i) => records[i]?.value.equals(value ?? encodeText(''))),
      )
      await writer.close()
    })

    test('concurrent writers of one partition never fail each other, however large their commits', async () => {
      const topic = await make('shared', { partitions: 1 })
      const rounds = 4
      const write = async (bus: Bus, who: string): Promise<readonly OffsetRange[]> => {
        const writer = await bus.writer(name(who))
        const spans: OffsetRange[] = []
        for (let round = 0; round < rounds; round += 1) {
          // More than one send holds: those of the others come between.
          const records = Array.from({ length: 6 }, (_, index) => ({
            topic,
            key: `${who}/${round}/${index}`,
            value: randomBytes(700_000),
          }))
          spans.push(...(await writer.commit({ records })))
        }
        await writer.close()
        return spans
      }
      const spans = await Promise.all([
        write(fixture.bus, 'one'),
        write(fixture.other, 'two'),
        write(fixture.bus, 'three'),
      ])
      for (const rows of spans)
        assert.deepEqual(new Set(rows.map((row) => row.records)), new Set([6]))
      await until(
        async () => (await readAll(fixture.bus, topic)).length === 3 * 6 * rounds,
        'all can be read',
      )
      const records = await readAll(fixture.bus, topic)
      for (const [index, who] of ['one', 'two', 'three'].entries()) {
        const own = records.filter(({ key }) => key.startsWith(`${who}/`))
        const keys = Array.from(
          { length: 6 * rounds },
          (_, n) => `${who}/${Math.floor(n / 6)}/${n % 6}`,
        )
        assert.deepEqual(
          own.map(({ key }) => key),
          keys,
        )
        for (const [round, { baseOffset }] of (spans[index] ?? []).entries()) {
          assert.equal(own[round * 6]?.offset, baseOffset)
        }
      }
    })

    test('an unknown topic or partition is an Outage, and so is another partition count', async () => {
      const { bus } = fixture
      const topic = await make('t')
      const spec = { topic, cleanup: 'delete', retentionMs: null } as const
      await bus.createTopics([{ ...spec, partitions: PARTITIONS }])
      await assert.rejects(
        bus.createTopics([{ ...spec, partitions: 5 }]),
        isOutage({ final: true }),
      )
      const writer = await bus.writer(name('writer'))
      const wrong = { topic, partition: PARTITIONS, key: 'k', value: null }
      await assert.rejects(writer.commit({ records: [wrong] }), isOutage())
      assert.equal(await bus.partitions(topic), PARTITIONS)
      await writer.close()
    })

    /** Adds up the numbers of a lane in its state, in one commit with the offsets. */
    const summing =
      (
        store: string,
        group: string,
        onBatch?: (lane: Lane, records: readonly LogRecord[]) => void,
      ) =>
      async (lane: Lane): Promise<void> => {
        const state = await lane.state(store)
        for (;;) {
          const records = await lane.take({ maxRecords: 7, maxWaitMs: 200 })
          if (records.length === 0) continue
          onBatch?.(lane, records)
          const sum = records.reduce((total, { value }) => total + Number(decodeText(value)), 0)
          const next = new Map(records.map(({ topic, offset }) => [topic, offset + 1]))
          await lane.writer.commit({
            state: [
              {
                store,
                partition: lane.partition,
                key: 'sum',
                value: encodeText(String(Number(decodeText(state.get('sum')) ?? 0) + sum)),
              },
            ],
            offsets: {
              group,
              next: [...next].map(([topic, offset]) => ({
                topic,
                partition: lane.partition,
                offset,
              })),
            },
          })
        }
      }
    const sums = async (store: string): Promise<number> => {
      const newest = new Map<number, number>()
      const group = name('reader')
      const running = await fixture.bus.subscribe({
        group,
        topics: [store],
        run: async (lane) => {
          newest.set(lane.partition, Number(decodeText((await lane.state(store)).get('sum')) ?? 0))
        },
      })
      await until(() => newest.size === PARTITIONS, 'every lane was read')
      await running.stop()
      return [...newest.values()].reduce((a, b) => a + b, 0)
    }

    test('a lane owns one partition of each topic and resumes with state and offsets', async () => {
      const { bus } = fixture
      const [left, right] = [await make('left'), await make('right')]
      const store = await make('s', { cleanup: 'compact' })
      const group = name('group')
      const writer = await bus.writer(name('writer'))
      await writer.commit({ records: [...numbered(left, 1, 50), ...numbered(right, 51, 50)] })
      let batches = 0
      const seats = new Set<string>()
      const running = await bus.subscribe({
        group,
        topics: [left, right],
        run: summing(store, group, (lane, records) => {
          for (const { topic, partition } of records) {
            assert.equal(partition, lane.partition)
            seats.add(`${topic}/${partition}`)
          }
          batches += 1
          if (batches % 5 === 0) throw new Error('the lane must start again')
        }),
      })
      const isBehind = async (topic: string): Promise<boolean> => {
        const places = await bus.offsets(group, [topic])
        const place = (at: number) => places.find(({ partition }) => partition === at)?.offset ?? 0
        return (await readAll(bus, topic)).every(
          ({ partition, offset }) => offset < place(partition),
        )
      }
      await until(
        async () => (await isBehind(left)) && (await isBehind(right)),
        'all 100 records were summed',
        30_000,
      )
      await running.stop()
      assert.equal(await sums(store), 5_050)
      assert.equal(seats.size, 2 * PARTITIONS)
      await writer.close()
    })

    test('a lane that needs the whole log commits its first offset before its first record; another lane does not', async () => {
      const { bus } = fixture
      const topic = await make('whole')
      const placesOf = async (needsWholeLog: boolean): Promise<readonly number[]> => {
        const group = name(needsWholeLog ? 'whole' : 'part')
        const opened = new Set<number>()
        const run = async ({ partition, committed }: Lane): Promise<void> => {
          if (needsWholeLog) assert.deepEqual(committed, [{ topic, partition, offset: 0 }])
          opened.add(partition)
        }
        const running = await bus.subscribe({ group, topics: [topic], needsWholeLog, run })
        await until(() => opened.size === PARTITIONS, 'every lane is open', 30_000)
        await running.stop()
        return (await bus.offsets(group, [topic])).map(({ offset }) => offset)
      }
      assert.deepEqual(
        await placesOf(true),
        Array.from({ length: PARTITIONS }, () => 0),
      )
      assert.deepEqual(await placesOf(false), [])
    })

    test('two members share the lanes; lanes of a stopped member move to the other, each record once', async () => {
      const topic = await make('t')
      const store = await make('s', { cleanup: 'compact' })
      const group = name('group')
      const writer = await fixture.bus.writer(name('writer'))
      const seats = [new Set<number>(), new Set<number>()]
      const member = (bus: Bus, index: number) =>
        bus.subscribe({
          group,
          topics: [topic],
          run: summing(store, group, ({ partition }) => seats[index]?.add(partition)),
        })
      let sent = 0
      const send = async (): Promise<void> => {
        await writer.commit({ records: numbered(topic, sent + 1, 10) })
        sent += 10
      }
      const reach = (index: number, lanes: number, what: string) =>
        until(
          async () => {
            await send()
            return (seats[index]?.size ?? 0) >= lanes
          },
          what,
          30_000,
        )
      const first = await member(fixture.bus, 0)
      await reach(0, PARTITIONS, 'one has all')
      const second = await member(fixture.other, 1)
      await reach(1, 1, 'two has some')
      await first.stop()
      seats[1]?.clear()
      await reach(1, PARTITIONS, 'two has all')
      const total = (await fixture.bus.ends(topic)).map(({ end }) => end)
      await until(
        async () => {
          const places = await fixture.bus.offsets(group, [topic])
          const last = await readAll(fixture.bus, topic)
          return total.every((_, p) => {
            const newest = last.filter(({ partition }) => partition === p).at(-1)?.offset ?? -1
            return (places.find(({ partition }) => partition === p)?.offset ?? 0) > newest
          })
        },
        'everything was summed',
        30_000,
      )
      await second.stop()
      assert.equal(await sums(store), (sent * (sent + 1)) / 2)
      await writer.close()
    })

    test('every lane reads a broadcast topic whole, from the offset of its own state', async () => {
      const { bus } = fixture
      const [topic, blocks] = [await make('t'), await make('b', { partitions: 1 })]
      const writer = await bus.writer(name('writer'))
      await writer.commit({ records: numbered(blocks, 0, 5) })
      const seen = new Map<number, string[]>()
      const running = await bus.subscribe({
        group: name('group'),
        topics: [topic],
        broadcast: [blocks],
        broadcastFrom: async ({ partition }) => partition,
        run: async (lane) => {
          const mine: string[] = []
          seen.set(lane.partition, mine)
          for (;;) {
            const records = await lane.take({ maxRecords: 100, maxWaitMs: 1_000 })
            mine.push(...records.map(({ value }) => decodeText(value) ?? ''))
          }
        },
      })
      await until(() => seen.size === PARTITIONS, 'every lane runs')
      await writer.commit({ records: numbered(blocks, 5, 3) })
      const whole = ['0', '1', '2', '3', '4', '5', '6', '7']
      await until(() => {
        for (const [partition, values] of seen) assert.deepEqual(values, whole.slice(partition))
        return true
      }, 'every lane read it whole')
      await running.stop()
      await writer.close()
    })

    test('a lane that has ended delays no other, however much the others still read', async () => {
      const { bus } = fixture
      const [topic, blocks] = [await make('t'), await make('b', { partitions: 1 })]
      const writer = await bus.writer(name('writer'))
      const taken = new Map<number, number>()
      const running = await bus.subscribe({
        group: name('group'),
        topics: [topic],
        broadcast: [blocks],
        run: async (lane) => {
          taken.set(lane.partition, 0)
          while (lane.partition > 0) {
            const records = await lane.take({ maxRecords: 100, maxWaitMs: 1_000 })
            taken.set(lane.partition, (taken.get(lane.partition) ?? 0) + records.length)
          }
        },
      })
      await until(() => taken.size === PARTITIONS, 'every lane runs')
      for (let block = 0; block < 12; block += 1) {
        const value = randomBytes(1_000_000)
        await writer.commit({ records: [{ topic: blocks, key: 'eth', value }] })
      }
      const whole = () => [1, 2].every((partition) => taken.get(partition) === 12)
      await until(whole, 'the others read it whole', 30_000)
      assert.equal(taken.get(0), 0)
      await running.stop()
      await writer.close()
    })

    test('a lane can exclude a topic from a read', async () => {
      const { bus } = fixture
      const [left, right] = [
        await make('left', { partitions: 1 }),
        await make('right', { partitions: 1 }),
      ]
      const writer = await bus.writer(name('writer'))
      await writer.commit({ records: [...numbered(left, 0, 3), ...numbered(right, 3, 3)] })
      const order: string[] = []
      const running = await bus.subscribe({
        group: name('group'),
        topics: [left, right],
        run: async (lane) => {
          for (;;) {
            const without = order.length < 3 ? new Set([left]) : undefined
            const options = { maxRecords: 2, maxWaitMs: 100 }
            const records = await lane.take(without ? { ...options, without } : options)
            order.push(...records.map(({ value }) => decodeText(value) ?? ''))
          }
        },
      })
      await until(() => order.length === 6, 'all six came')
      assert.deepEqual(order, ['3', '4', '5', '0', '1', '2'])
      await running.stop()
      await writer.close()
    })

    test('a tail starts at the earliest or at the latest record and reports when it has caught up', async () => {
      const { bus } = fixture
      const topic = await make('t')
      const writer = await bus.writer(name('writer'))
      await writer.commit({ records: numbered(topic, 0, 20) })
      await until(async () => (await readAll(bus, topic)).length === 20, 'the records are seen')
      const heard = { early: [] as number[], late: [] as number[] }
      let caughtUpAt: number | undefined
      const early = await bus.tail({
        topics: [topic],
        from: 'earliest',
        onRecords: (records) => {
          heard.early.push(...records.map(({ value }) => Number(decodeText(value))))
        },
        onCaughtUp: () => {
          caughtUpAt = heard.early.length
        },
      })
      let lateCaughtUp = false
      const late = await bus.tail({
        topics: [topic],
        from: 'latest',
        onRecords: (records) => {
          heard.late.push(...records.map(({ value }) => Number(decodeText(value))))
        },
        onCaughtUp: () => {
          lateCaughtUp = true
        },
      })
      await until(() => lateCaughtUp && caughtUpAt === 20, 'both caught up')
      await writer.commit({ records: numbered(topic, 20, 10) })
      await until(() => heard.early.length >= 30 && heard.late.length >= 10, 'the new ones came')
      assert.deepEqual(
        [...heard.early].sort((a, b) => a - b),
        Array.from({ length: 30 }, (_, i) => i),
      )
      assert.deepEqual(
        [...heard.late].sort((a, b) => a - b),
        Array.from({ length: 10 }, (_, i) => 20 + i),
      )
      await early.stop()
      await late.stop()
      await writer.close()
    })

    test('following a topic starts at the last records of each partition', async () => {
      const { bus } = fixture
      const topic = await make('t')
      const writer = await bus.writer(name('writer'))
      for (let i = 0; i < 20; i += 1) {
        const record = { topic, partition: i % 2, key: 'k', value: encodeText(String(i)) }
        await writer.commit({ records: [record] })
      }
      const stopped = new AbortController()
      const heard: number[] = []
      const following = (async () => {
        for await (const { value } of tailTopic(bus, topic, 3, stopped.signal)) {
          heard.push(Number(decodeText(value)))
        }
      })()
      await until(() => heard.length === 6, 'the last three of both came')
      await writer.commit({ records: numbered(topic, 20, 10) })
      await until(() => heard.length === 16, 'the new ones came')
      const sorted = heard.toSorted((a, b) => a - b)
      assert.deepEqual(
        sorted,
        Array.from({ length: 16 }, (_, i) => 14 + i),
      )
      stopped.abort()
      await following
      await writer.close()
    })

    test('records, state and offsets survive a restart', async () => {
      const topic = await make('t')
      const store = await make('s', { cleanup: 'compact' })
      const group = name('group')
      const writer = await fixture.bus.writer(name('writer'))
      await writer.commit({
        records: numbered(topic, 0, 10),
        state: [
          { store, partition: 0, key: 'b', value: encodeText('2') },
          { store, partition: 0, key: 'a', value: encodeText('1') },
          { store, partition: 0, key: 'gone', value: encodeText('3') },
        ],
        offsets: { group, next: [{ topic, partition: 1, offset: 1, metadata: 'm' }] },
      })
      await writer.commit({ state: [{ store, partition: 0, key: 'gone', value: null }] })
      await fixture.restart()
      assert.equal((await readAll(fixture.bus, topic, 10)).length, 10)
      assert.deepEqual(await fixture.bus.offsets(group, [topic]), [
        { topic, partition: 1, offset: 1, metadata: 'm' },
      ])
      const entries: string[] = []
      const running = await fixture.bus.subscribe({
        group: name('group'),
        topics: [topic],
        run: async (lane) => {
          if (lane.partition !== 0) return
          const state = await lane.state(store)
          entries.push(...[...state.entries()].map(([key, value]) => `${key}=${decodeText(value)}`))
          entries.push(...[...state.entries('b')].map(([key]) => key), String(state.get('gone')))
        },
      })
      await until(() => entries.length >= 4, 'the state was read')
      assert.deepEqual(entries, ['a=1', 'b=2', 'b', 'undefined'])
      await running.stop()
    })

    test('a lane whose offset has expired halts, is reported, and continues from a chosen offset', async () => {
      const topic = await make('t', { partitions: 1, retentionMs: HOUR_MS })
      const group = name('group')
      const writer = await fixture.bus.writer(name('writer'))
      await writer.commit({
        records: numbered(topic, 0, 10),
        offsets: { group, next: [{ topic, partition: 0, offset: 2 }] },
      })
      await until(async () => (await readAll(fixture.bus, topic)).length === 10, 'all can be read')
      await fixture.expire(topic)
      await until(async () => (await fixture.bus.ends(topic))[0]?.low !== 0, 'the start moved')
      await assert.rejects(async () => {
        for await (const _ of fixture.bus.read(topic, 0, 2)) assert.fail('read an expired record')
        await writer.commit({ records: numbered(topic, 10, 1) })
        for await (const _ of fixture.bus.read(topic, 0, 2)) assert.fail('read an expired record')
      }, isOutage())
      const before = fixture.halts.length
      const taken: LogRecord[] = []
      const running = await fixture.bus.subscribe({
        group,
        topics: [topic],
        run: async (lane) => {
          taken.push(...(await lane.take({ maxRecords: 10, maxWaitMs: 1_000 })))
        },
      })
      const resting = () => fixture.bus.halted().find((lane) => lane.group === group)
      await until(() => resting() !== undefined, 'the lane rests', 30_000)
      const [{ low = 0, end = 0 } = {}] = await fixture.bus.ends(topic)
      const at = { group, lane: 0, topic, partition: 0, position: 2 }
      assert.deepEqual(resting(), { ...at, low: resting()?.low, end: resting()?.end })
      assert.ok((resting()?.low ?? 0) > 2)
      assert.deepEqual(taken, [])
      // No other lane and no process ends for it.
      assert.equal(fixture.halts.length, before)
      const mover = await fixture.bus.writer(`${group}.lane0`)
      await mover.commit({ offsets: { group, next: [{ topic, partition: 0, offset: low }] } })
      await mover.close()
      await writer.commit({ records: numbered(topic, 11, 1) })
      await until(() => taken.length > 0, `the lane continues at ${low} of ${end}`, 30_000)
      assert.deepEqual(
        taken.map(({ value }) => decodeText(value)),
        (await readAll(fixture.bus, topic))
          .slice(0, taken.length)
          .map(({ value }) => decodeText(value)),
      )
      assert.equal(resting(), undefined)
      await running.stop()
      await writer.close()
    })

    test('compaction keeps the newest record of each key, and tombstones', async () => {
      const { bus } = fixture
      const topic = await make('t', { partitions: 1, cleanup: 'compact' })
      const writer = await bus.writer(name('writer'))
      for (let round = 0; round < 20; round += 1) {
        await writer.commit({ records: numbered(topic, round * 10, 10) })
      }
      await writer.commit({ records: [{ topic, key: 'key-3', value: null }] })
      await fixture.compact(topic)
      await until(async () => (await readAll(bus, topic)).length < 50, 'it shrank', 60_000)
      const newest = new Map(
        (await readAll(bus, topic)).map(({ key, value }) => [key, decodeText(value)]),
      )
      assert.equal(newest.get('key-3'), null)
      assert.equal(newest.get('key-4'), '194')
      const heard: LogRecord[] = []
      let caughtUp = false
      const tail = await bus.tail({
        topics: [topic],
        from: 'earliest',
        onRecords: (records) => {
          heard.push(...records)
        },
        onCaughtUp: () => {
          caughtUp = true
        },
      })
      await until(() => caughtUp, 'a tail over the holes caught up')
      assert.equal(
        new Map(heard.map(({ key, value }) => [key, decodeText(value)])).get('key-9'),
        '199',
      )
      await tail.stop()
      await writer.close()
    })
  })
}
