import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Bus, Lane, LaneState, StateChange } from '../../../core/bus/contract.ts'
import { InvalidInput } from '../../../core/errors.ts'
import { until } from '../until.ts'

/** What the suite gives its part about lane state. */
export interface StateSuite {
  readonly bus: () => Bus
  readonly other: () => Bus
  readonly restart: () => Promise<void>
  readonly name: (word: string) => string
  readonly topic: () => Promise<string>
  readonly store: () => Promise<string>
}

const text = (value: string): Uint8Array => Buffer.from(value)
const str = (value: Uint8Array): string => Buffer.from(value).toString()

/** Every entry of a state, as text. */
export const stateEntries = (state: LaneState, prefix?: string): readonly string[] =>
  [...state.entries(prefix)].map(([key, value]) => `${key}=${str(value)}`)

/** Joins a group, gives lane 0 to `work` once and leaves again. */
export const withLane = async <T>(
  bus: Bus,
  group: string,
  topic: string,
  work: (lane: Lane) => Promise<T>,
): Promise<T> => {
  let outcome: { readonly value: T } | undefined
  let failed: unknown
  const running = await bus.subscribe({
    group,
    topics: [topic],
    run: async (lane) => {
      if (lane.partition !== 0 || outcome) return
      try {
        outcome = { value: await work(lane) }
      } catch (error) {
        failed = error
      }
    },
  })
  try {
    return await until(
      () => {
        if (failed) throw failed
        return outcome
      },
      'the lane has run',
      60_000,
    ).then(({ value }) => value)
  } finally {
    await running.stop()
  }
}

const KEYS = 50_000
const VALUE_BYTES = 1_000
/** What a loaded store may cost in memory: far less than the 50 MB that it holds. */
const MEMORY_BYTES = 25_000_000
/** Tenths of a second in which memory may settle. */
const MAX_GC_WAITS = 50

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const heldBytes = (): number => {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** State of lanes: seen at once, outlives restarts, moves with its lane, is not held in memory. */
export const stateSuite = ({ bus, other, restart, name, topic, store }: StateSuite): void => {
  const changer =
    (to: string) =>
    (key: string, value: string | null): StateChange => ({
      store: to,
      partition: 0,
      key,
      value: value === null ? null : text(value),
    })

  test('lane state is visible as soon as it is committed, in key order, without removed keys', async () => {
    const [input, to, group] = [await topic(), await store(), name('group')]
    const change = changer(to)
    const seen = await withLane(bus(), group, input, async ({ writer, state }) => {
      const view = await state(to)
      const first = ['b/1', 'a', 'b/ü', 'b/\u{10ffff}', 'b/2', 'c', 'ключ', '𝄞']
      await writer.commit({ state: first.map((key) => change(key, key)) })
      const before = stateEntries(view, 'b/')
      const walking = view.entries()[Symbol.iterator]()
      walking.next()
      await writer.commit({
        state: [change('b/1', null), change('a', 'new'), change('a', 'newest')],
      })
      while (!walking.next().done);
      return { before, after: stateEntries(view), get: [view.get('a'), view.get('b/1')] }
    })
    assert.deepEqual(seen.before, ['b/1=b/1', 'b/2=b/2', 'b/ü=b/ü', 'b/\u{10ffff}=b/\u{10ffff}'])
    const all = ['a', 'b/2', 'b/ü', 'b/\u{10ffff}', 'c', 'ключ', '𝄞']
    assert.deepEqual(
      seen.after,
      all.map((key) => `${key}=${key === 'a' ? 'newest' : key}`),
    )
    assert.deepEqual(seen.get, [text('newest'), undefined])
  })

  test('a state key that is too long is rejected, and the writer continues', async () => {
    const [input, to, group] = [await topic(), await store(), name('group')]
    const change = changer(to)
    const left = await withLane(bus(), group, input, async ({ writer, state }) => {
      const view = await state(to)
      const long = writer.commit({ state: [change('ok', '1'), change('k'.repeat(1_025), '2')] })
      await assert.rejects(long, InvalidInput)
      await writer.commit({ state: [change('k'.repeat(1_024), '3')] })
      return stateEntries(view)
    })
    assert.deepEqual(left, [`${'k'.repeat(1_024)}=3`])
  })

  test('lane state moves with its lane: to another member, back again, and over a restart', async () => {
    const [input, to, group] = [await topic(), await store(), name('group')]
    const change = changer(to)
    const step = (on: Bus, changes: readonly StateChange[]) =>
      withLane(on, group, input, async ({ writer, state }) => {
        const view = await state(to)
        const before = stateEntries(view)
        await writer.commit({ state: changes })
        return before
      })
    await step(bus(), [change('a', '1'), change('b', '1'), change('c', '1')])
    assert.deepEqual(await step(other(), [change('b', null), change('c', '2')]), [
      ...['a=1', 'b=1', 'c=1'],
    ])
    assert.deepEqual(await step(bus(), [change('d', '3')]), ['a=1', 'c=2'])
    await restart()
    assert.deepEqual(await step(bus(), [change('a', null)]), ['a=1', 'c=2', 'd=3'])
    assert.deepEqual(await step(other(), []), ['c=2', 'd=3'])
  })

  test(`${KEYS} keys of lane state load within seconds and are not held in memory`, async () => {
    const [input, to, group] = [await topic(), await store(), name('group')]
    const change = changer(to)
    const writer = await bus().writer(name('writer'))
    const value = 'x'.repeat(VALUE_BYTES)
    for (let first = 0; first < KEYS; first += 2_500) {
      const keys = Array.from({ length: 2_500 }, (_, i) => String(first + i).padStart(6, '0'))
      await writer.commit({ state: keys.map((key) => change(key, `${key}${value}`)) })
    }
    await writer.close()
    const startMs = Date.now()
    const before = heldBytes()
    const found = await withLane(other(), group, input, async ({ state }) => {
      const view = await state(to)
      const ms = Date.now() - startMs
      let memory = heldBytes() - before
      // What a broker sent last may be on its way through for a moment.
      for (let tries = 0; memory >= MEMORY_BYTES && tries < MAX_GC_WAITS; tries += 1) {
        await sleep(100)
        memory = heldBytes() - before
      }
      let count = 0
      for (const [key, bytes] of view.entries()) {
        assert.ok(str(bytes.subarray(0, 6)) === key)
        count += 1
      }
      return { count, memory, ms }
    })
    assert.equal(found.count, KEYS)
    assert.ok(found.memory < MEMORY_BYTES, `${found.memory} bytes are held`)
    console.log(`# ${KEYS} keys after ${found.ms} ms, ${found.memory} bytes more in memory`)
  })
}
