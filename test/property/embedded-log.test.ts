import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Bus, LogRecord, ProducerRecord, TopicSpec, Writer } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { readAll } from '../support/bus/suite.ts'

const HOUR_MS = 3_600_000
const MAP_BYTES = 67_108_864
const PARTITIONS = 2
/** Two topics that expire together, one later, one never, and one that is compacted. */
const TOPICS: readonly TopicSpec[] = [
  { topic: 'a', partitions: PARTITIONS, cleanup: 'delete', retentionMs: HOUR_MS },
  { topic: 'b', partitions: PARTITIONS, cleanup: 'delete', retentionMs: HOUR_MS },
  { topic: 'c', partitions: PARTITIONS, cleanup: 'delete', retentionMs: 2 * HOUR_MS },
  { topic: 'd', partitions: PARTITIONS, cleanup: 'delete', retentionMs: null },
  { topic: 'e', partitions: PARTITIONS, cleanup: 'compact', retentionMs: null },
]

type Step =
  | { readonly kind: 'commit'; readonly records: readonly ProducerRecord[]; readonly times: number }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'sweep' }
  | { readonly kind: 'restart' }

const anyRecord: fc.Arbitrary<ProducerRecord> = fc.record({
  topic: fc.constantFrom(...TOPICS.map(({ topic }) => topic)),
  partition: fc.nat(PARTITIONS - 1),
  key: fc.constantFrom('k1', 'k2', 'é'),
  headers: fc.constantFrom({}, { block: '7', op: 'apply' }),
  value: fc.option(fc.uint8Array({ maxLength: 60 }), { freq: 9 }),
})
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      records: fc.array(anyRecord, { maxLength: 12 }),
      // More than one row of the index holds.
      times: fc.constantFrom(1, 1, 3, 150),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(HOUR_MS) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'sweep' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
)

type Place = Pick<LogRecord, 'topic' | 'partition'>
const nameOf = ({ topic, partition }: Place): string => `${topic}/${partition}`
const plain = ({ topic, partition, offset, key, headers, value, timestampMs }: LogRecord) => ({
  topic,
  partition,
  offset,
  key,
  timestampMs,
  headers: { ...headers },
  value: value && Buffer.from(value).toString('hex'),
})

/** A log and, beside it, what it must hold. */
class Pair {
  readonly #path: string
  readonly #model = new Map<string, LogRecord[]>()
  #bus: Bus | undefined
  #writer: Writer | undefined
  #nowMs = Date.UTC(2026, 0, 1)

  constructor(path: string) {
    this.#path = path
  }

  async open(): Promise<void> {
    this.#bus = await openEmbeddedBus({
      path: this.#path,
      mapSizeBytes: MAP_BYTES,
      log: makeSilentLogger(),
      retention: 'contract',
      nowMs: () => this.#nowMs,
    })
    await this.#bus.createTopics(TOPICS)
    this.#writer = await this.#bus.writer('w')
  }

  get bus(): Bus {
    assert.ok(this.#bus)
    return this.#bus
  }

  async run(step: Step): Promise<void> {
    if (step.kind === 'pass') this.#nowMs += step.ms
    else if (step.kind === 'sweep') await this.bus.sweep(this.#nowMs)
    else if (step.kind === 'restart') {
      await this.bus.close()
      await this.open()
    } else {
      const { records, times } = step
      await Promise.all(Array.from({ length: times }, () => this.#commit(records)))
    }
  }

  async #commit(records: readonly ProducerRecord[]): Promise<void> {
    const timestampMs = this.#nowMs
    for (const { topic, partition = 0, key, headers = {}, value } of records) {
      const list = this.#model.get(nameOf({ topic, partition })) ?? []
      const offset = list.length
      list.push({ topic, partition, offset, key, headers, value, timestampMs })
      this.#model.set(nameOf({ topic, partition }), list)
    }
    await this.#writer?.commit({ records })
  }

  /** Every record is there from the partition's beginning on, and from any other place. */
  async check(): Promise<void> {
    for (const spec of TOPICS) {
      for (const { partition, low, end } of await this.bus.ends(spec.topic)) {
        const all = this.#model.get(nameOf({ topic: spec.topic, partition })) ?? []
        assert.equal(end, all.length)
        if (spec.cleanup === 'compact') continue
        const kept = all.filter(({ timestampMs }) => this.#isKept(spec, timestampMs))
        assert.ok(low <= end - kept.length, `${spec.topic}: what is young stays`)
        for (const from of new Set([low, Math.floor((low + end) / 2), Math.max(low, end - 1)])) {
          const found: LogRecord[] = []
          for await (const record of this.bus.read(spec.topic, partition, from)) found.push(record)
          assert.deepEqual(found.map(plain), all.slice(from).map(plain))
        }
      }
    }
  }

  /** After a sweep, what is too old is gone as well. */
  async checkSwept(): Promise<void> {
    await this.bus.sweep(this.#nowMs)
    for (const spec of TOPICS) {
      if (spec.cleanup === 'compact') continue
      const kept = [...this.#model.entries()]
        .filter(([name]) => name.startsWith(`${spec.topic}/`))
        .flatMap(([, all]) => all.filter(({ timestampMs }) => this.#isKept(spec, timestampMs)))
      assert.equal((await readAll(this.bus, spec.topic)).length, kept.length, spec.topic)
    }
  }

  #isKept({ retentionMs }: TopicSpec, timestampMs: number): boolean {
    return retentionMs === null || timestampMs >= this.#nowMs - retentionMs
  }

  /** Everything expires: nothing but the topic without an age limit may take room. */
  async checkEmptied(): Promise<void> {
    this.#nowMs += 3 * HOUR_MS
    await this.checkSwept()
  }
}

test('embedded log: after any commits, sweeps and restarts each partition returns its records from every offset', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), async (steps) => {
      const path = mkdtempSync(join(tmpdir(), 'sluice-log-'))
      const pair = new Pair(path)
      try {
        await pair.open()
        for (const step of steps) await pair.run(step)
        await pair.check()
        await pair.run({ kind: 'restart' })
        await pair.check()
        await pair.checkSwept()
        await pair.check()
        await pair.checkEmptied()
      } finally {
        await pair.bus.close()
        rmSync(path, { recursive: true, force: true })
      }
    }),
    { numRuns: 40 },
  )
})
