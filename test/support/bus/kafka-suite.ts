import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Admin } from 'kafkajs'
import type { Bus, ProducerRecord, Writer } from '../../../core/bus/contract.ts'
import { type LaneStore, openLaneStore } from '../../../core/bus/kafka/lane-store.ts'
import { NAMES_FOLDER } from '../../../core/bus/kafka/process-name.ts'
import { changelogSpec } from '../../../core/bus/topic-specs.ts'
import { until } from '../until.ts'
import { joinAsMember, type MemberLog } from './kafka-member.ts'
import { stateEntries, withLane } from './state-suite.ts'
import { readAll } from './suite.ts'

/** What the Kafka-only tests of lane state work with. */
export interface KafkaSuite {
  readonly broker: string
  readonly admin: Admin
  /** Opens a bus whose local state lies in `path`. */
  readonly open: (path: string, sessionTimeoutMs?: number) => Promise<Bus>
  /** Scratch folder. */
  readonly folder: string
}

const PARTITIONS = 3
const MAP_BYTES = 67_108_864
const bytes = (value: string | number): Uint8Array => Buffer.from(String(value))

/** The local copies of lanes' state, and lanes that move between processes. */
export const kafkaStateSuite = ({ broker, admin, open, folder }: KafkaSuite): void => {
  let count = 0
  const name = (word: string): string => {
    count += 1
    return `${word}.k${count}.${process.pid}`
  }
  const makeStore = async (bus: Bus, store: string): Promise<void> =>
    bus.createTopics([changelogSpec(store, 1)])

  describe('local copies of lane state', () => {
    const path = join(folder, 'copies')
    const [input, store, group] = [name('t'), name('s'), name('g')]
    const change = (key: string, value: string | null) => ({
      store,
      partition: 0,
      key,
      value: value === null ? null : bytes(value),
    })
    /** One process that owns the lane, commits and ends. */
    const life = async (at: string, changes: readonly ReturnType<typeof change>[]) => {
      const bus = await open(at)
      try {
        await makeStore(bus, store)
        await bus.createTopics([
          { topic: input, partitions: 1, cleanup: 'delete', retentionMs: null },
        ])
        return await withLane(bus, group, input, async ({ state, writer }) => {
          const view = await state(store)
          const found = stateEntries(view)
          await writer.commit({ state: changes })
          return found
        })
      } finally {
        await bus.close()
      }
    }
    const spoil = async (work: (copy: LaneStore) => void): Promise<void> => {
      const { clusterId } = await admin.describeCluster()
      const log = `${clusterId}/${store}/0`
      // The one process that was here so far.
      const [own = ''] = readdirSync(path).filter((entry) => entry !== NAMES_FOLDER)
      const copy = openLaneStore({
        path: join(path, own, group, store, '0'),
        mapSizeBytes: MAP_BYTES,
        log,
      })
      work(copy)
      await copy.close()
    }
    const witness = [{ key: 'witness', value: bytes('local') }]

    test('a lane that returns continues from its local state store', async () => {
      assert.deepEqual(await life(path, [change('a', '1'), change('b', '1')]), [])
      await spoil((copy) => copy.apply(witness, copy.mark()))
      assert.deepEqual(await life(path, []), ['a=1', 'b=1', 'witness=local'])
      await life(join(folder, 'elsewhere'), [change('a', null), change('c', '1')])
      assert.deepEqual(await life(path, []), ['b=1', 'c=1', 'witness=local'])
    })

    test('a state entry may be larger than a published record', async () => {
      const large = Buffer.alloc(9_000_000, 'undo').toString()
      const elsewhere = join(folder, 'large')
      await life(elsewhere, [change('large', large)])
      rmSync(elsewhere, { recursive: true })
      const found = await life(elsewhere, [change('large', null)])
      assert.ok(found.includes(`large=${large}`), 'as it was')
      assert.deepEqual(await life(path, []), ['b=1', 'c=1', 'witness=local'])
    })

    test('a local state store that is ahead, of another time or lost is rebuilt', async () => {
      const ahead = (copy: LaneStore): void => {
        copy.apply(witness, { timestampMs: Date.now(), offset: 1_000_000 })
      }
      const foreign = (copy: LaneStore): void => {
        const mark = copy.mark()
        assert.ok(mark)
        copy.apply(witness, { ...mark, timestampMs: mark.timestampMs - 1 })
      }
      for (const work of [ahead, foreign]) {
        await spoil(work)
        assert.deepEqual(await life(path, []), ['b=1', 'c=1'])
      }
      rmSync(path, { recursive: true })
      assert.deepEqual(await life(path, []), ['b=1', 'c=1'])
    })

    test('a local state store is rebuilt after its changelog was deleted and created again', async () => {
      await admin.deleteTopics({ topics: [store] })
      await until(async () => !(await admin.listTopics()).includes(store), 'the topic is gone')
      const changes = ['x', 'y', 'z', 'x', 'y', 'z'].map((key) => change(key, '2'))
      await life(join(folder, 'third'), changes)
      assert.deepEqual(await life(path, []), ['x=2', 'y=2', 'z=2'])
    })
  })

  test('a process that leaves and rejoins moves only its own lanes and gets them back', async () => {
    const [topic, store, group] = [name('t'), name('s'), name('g')]
    const [first, ...others] = await Promise.all(
      ['one', 'two', 'three'].map((word) => open(join(folder, name(word)))),
    )
    assert.ok(first)
    const spec = { partitions: 12, retentionMs: null } as const
    await first.createTopics([
      { ...spec, topic, cleanup: 'delete' },
      { ...spec, topic: store, cleanup: 'compact' },
    ])
    /** Lanes of each member, and how often each lane was begun. */
    const owners = new Map<number, string>()
    const begun: number[] = []
    const joined = (bus: Bus, who: string) =>
      bus.subscribe({
        group,
        topics: [topic],
        run: async (lane) => {
          await lane.state(store)
          owners.set(lane.partition, who)
          begun[lane.partition] = (begun[lane.partition] ?? 0) + 1
          while (!lane.signal.aborted) await lane.take({ maxRecords: 1, maxWaitMs: 1_000 })
        },
      })
    const lanesOf = (who: string): readonly number[] =>
      [...owners].flatMap(([lane, owner]) => (owner === who ? [lane] : []))
    const isEven = (members: readonly string[]) => (): boolean =>
      members.every((who) => lanesOf(who).length === 12 / members.length)
    const path = join(folder, name('leaver'))
    const leaver = await open(path)
    const names = ['first', 'second', 'leaver']
    const running = [await joined(first, 'first')]
    for (const [index, bus] of [others[0], leaver].entries()) {
      if (bus) running.push(await joined(bus, names[index + 1] ?? ''))
    }
    await until(isEven(names), 'each has four lanes', 60_000)
    const own = lanesOf('leaver').toSorted()
    const before = [...begun]
    await leaver.close()
    await until(isEven(['first', 'second']), 'the others have six each', 60_000)
    const came = await open(path)
    const back = await joined(came, 'leaver')
    await until(isEven(names), 'each has four lanes again', 60_000)
    assert.deepEqual(lanesOf('leaver').toSorted(), own)
    const more = begun.map((count, lane) => count - (before[lane] ?? 0))
    assert.deepEqual(
      more,
      more.map((_, lane) => (own.includes(lane) ? 2 : 0)),
    )
    await Promise.all([back, ...running.slice(0, 2)].map((each) => each.stop()))
    await Promise.all([first, ...others, came].map((bus) => bus.close()))
  })

  describe('lanes move between processes', () => {
    const KILLS = [
      ['in the middle of a transaction', 6, 'own'],
      ['from outside, with its state in the same folder', 0, 'shared'],
    ] as const
    for (const [how, killAt, place] of KILLS) {
      test(`a process is killed ${how}: its lanes continue elsewhere, each record once`, async () => {
        const path = join(folder, name('member'))
        const bus = await open(path, 2_000)
        const log = await createMemberLog(bus, name)
        const writer = await bus.writer(name('w'))
        const sending = createSender(writer, log.input)
        const owned = new Set<number>()
        const ours = await joinAsMember(bus, log, {
          onCommit: ({ partition }) => owned.add(partition),
        })
        const ownAll = async (): Promise<boolean> => {
          await sending.send()
          return owned.size === PARTITIONS
        }
        await until(ownAll, 'we own all lanes', 30_000)
        const own = place === 'shared' ? path : join(folder, name('child'))
        const child = startChild([broker, own, String(killAt), JSON.stringify(log)])
        const killed = async (): Promise<boolean> => {
          await sending.send()
          if (killAt === 0 && child.commits() >= 6) child.kill()
          return child.signal() !== undefined
        }
        await until(killed, 'the child was killed at work', 40_000)
        assert.equal(child.signal(), 'SIGKILL')
        assert.ok(child.commits() > 0, 'the child had committed before')
        owned.clear()
        await until(ownAll, 'we own all lanes again', 30_000)
        const sent = sending.sent()
        let handedOn = 0
        const tail = await bus.tail({
          topics: [log.output],
          from: 'earliest',
          onRecords: (records) => {
            handedOn += records.length
          },
        })
        await until(() => handedOn >= sent, 'all are handed on', 30_000)
        await tail.stop()
        const whole = Array.from({ length: sent }, (_, i) => i)
        assert.deepEqual(await readNumbers(bus, log.output), whole)
        await ours.stop()
        assert.equal(await readSum(bus, log, name('g')), (sent * (sent - 1)) / 2)
        await writer.close()
        await bus.close()
      })
    }
  })
}

const createMemberLog = async (bus: Bus, name: (word: string) => string): Promise<MemberLog> => {
  const log = { group: name('g'), input: name('in'), output: name('out'), store: name('s') }
  const spec = { partitions: PARTITIONS, cleanup: 'delete', retentionMs: null } as const
  await bus.createTopics([log.input, log.output].map((topic) => ({ ...spec, topic })))
  await bus.createTopics([{ ...spec, topic: log.store, cleanup: 'compact' }])
  return log
}

/** Sends 0, 1, 2... over all lanes. */
const createSender = (writer: Writer, topic: string) => {
  let sent = 0
  return {
    sent: () => sent,
    send: async (): Promise<void> => {
      const records: readonly ProducerRecord[] = Array.from({ length: 15 }, (_, i) => ({
        topic,
        partition: (sent + i) % PARTITIONS,
        key: String(sent + i),
        value: bytes(sent + i),
      }))
      await writer.commit({ records })
      sent += records.length
    },
  }
}

/** A member in a process of its own. */
const startChild = (words: readonly string[]) => {
  const script = join(import.meta.dirname, 'kafka-member-child.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  let ended: NodeJS.Signals | null | undefined
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.once('close', (_, signal) => {
    ended = signal
  })
  return {
    commits: () => output.split('\n').length - 1,
    /** undefined while it lives. */
    signal: () => ended,
    kill: () => child.kill('SIGKILL'),
  }
}

const readNumbers = async (bus: Bus, topic: string): Promise<readonly number[]> =>
  (await readAll(bus, topic))
    .map(({ value }) => Number(Buffer.from(value ?? []).toString()))
    .toSorted((a, b) => a - b)

const readSum = async (bus: Bus, { input, store }: MemberLog, group: string): Promise<number> => {
  const sums: number[] = []
  const reading = await bus.subscribe({
    group,
    topics: [input],
    run: async (lane) => {
      const sum = (await lane.state(store)).get('sum')
      sums[lane.partition] = Number(Buffer.from(sum ?? []).toString())
    },
  })
  await until(() => Object.keys(sums).length === PARTITIONS, 'the sums were read')
  await reading.stop()
  return sums.reduce((a, b) => a + b, 0)
}
