import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assignLanes, type LaneMember } from '../../core/bus/lane-assignment.ts'

type Given = ReadonlyMap<string, readonly number[]>

/** A running process: its id changes with every start, its name does not. */
interface Process {
  readonly name: string
  readonly id: string
  readonly bornMs: number
}

/** A group over time: members say what they own, and what they have on disk from before. */
class Group {
  readonly lanes: number
  running: readonly Process[] = []
  readonly owned = new Map<string, readonly number[]>()
  /** By name, what was run last first: a copy is written when its lane is closed. */
  readonly kept = new Map<string, readonly number[]>()

  constructor(lanes: number) {
    this.lanes = lanes
  }

  member({ name, id, bornMs }: Process): LaneMember {
    return { id, name, bornMs, owned: this.owned.get(id) ?? [], kept: this.kept.get(name) ?? [] }
  }

  rebalance(running: readonly Process[]): Given {
    this.running = running
    const given = assignLanes(
      running.map((one) => this.member(one)),
      this.lanes,
    )
    for (const { id, name } of running) {
      const own = given.get(id) ?? []
      this.owned.set(id, own)
      const before = this.kept.get(name) ?? []
      this.kept.set(name, [...own, ...before.filter((lane) => !own.includes(lane))])
    }
    return given
  }
}

let starts = 0
const started = (name: string): Process => {
  starts += 1
  return { name, id: `${(starts * 7_919) % 100_003}-${starts}`, bornMs: starts }
}
const processes = (count: number): readonly Process[] =>
  Array.from({ length: count }, (_, index) => started(`p${index}`))

const checkWhole = (given: Given, lanes: number): void => {
  const all = [...given.values()].flat().toSorted((a, b) => a - b)
  assert.deepEqual(
    all,
    Array.from({ length: lanes }, (_, lane) => lane),
    'each lane has one owner',
  )
}
const checkEven = (given: Given): void => {
  const sizes = [...given.values()].map((own) => own.length)
  assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, sizes.join(' '))
}

const group = fc.record({
  count: fc.integer({ min: 2, max: 9 }),
  lanes: fc.integer({ min: 1, max: 64 }),
  who: fc.nat(),
})

test('a process that leaves and rejoins moves only its own lanes and gets them back', () => {
  fc.assert(
    fc.property(group, ({ count, lanes, who }) => {
      const all = processes(count)
      const state = new Group(lanes)
      const first = state.rebalance(all)
      checkWhole(first, lanes)
      checkEven(first)
      const leaver = all[who % count]
      const others = all.filter((one) => one !== leaver)
      const without = state.rebalance(others)
      checkWhole(without, lanes)
      checkEven(without)
      for (const { id } of others) {
        for (const lane of first.get(id) ?? []) assert.ok(without.get(id)?.includes(lane))
      }
      const back = started(leaver?.name ?? '')
      const again = state.rebalance([...others, back])
      checkWhole(again, lanes)
      checkEven(again)
      const own = new Set(first.get(leaver?.id ?? ''))
      for (const { id } of others) {
        const gone = (without.get(id) ?? []).filter((lane) => !again.get(id)?.includes(lane))
        assert.ok(gone.every((lane) => own.has(lane)))
      }
      for (const lane of again.get(back.id) ?? []) assert.ok(own.has(lane))
    }),
  )
})

test('a process that restarts before the group notices takes over its own lanes, and no other lane moves', () => {
  fc.assert(
    fc.property(group, ({ count, lanes, who }) => {
      const all = processes(count)
      const state = new Group(lanes)
      const first = state.rebalance(all)
      const killed = all[who % count]
      const back = started(killed?.name ?? '')
      const with_ = state.rebalance([...all, back])
      for (const { id } of all) {
        assert.deepEqual(with_.get(id), id === killed?.id ? [] : first.get(id))
      }
      assert.deepEqual(with_.get(back.id), first.get(killed?.id ?? ''))
    }),
  )
})

test('for any member claims each lane has one owner, lanes are even, and the order of members does not matter', () => {
  const lane = fc.integer({ min: -2, max: 40 })
  const member = fc.record({
    id: fc.string({ minLength: 1, maxLength: 4 }),
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    bornMs: fc.nat(5),
    owned: fc.array(lane),
    kept: fc.array(lane),
  })
  const members = fc.uniqueArray(member, { minLength: 1, maxLength: 8, selector: ({ id }) => id })
  fc.assert(
    fc.property(members, fc.integer({ min: 1, max: 32 }), (asking, lanes) => {
      const given = assignLanes(asking, lanes)
      checkWhole(given, lanes)
      const names = new Set(asking.map(({ name }) => name)).size
      const sizes = [...given.values()].map((own) => own.length).toSorted((a, b) => b - a)
      const live = sizes.slice(0, names)
      assert.ok(Math.max(...live) - Math.min(...live) <= 1)
      assert.deepEqual(
        assignLanes(asking.toReversed(), lanes).get(asking[0]?.id ?? ''),
        given.get(asking[0]?.id ?? ''),
      )
    }),
  )
})

test('eight processes and 48 lanes over many restarts: six lanes move each time, all of them its own', () => {
  const state = new Group(48)
  let running = processes(8)
  state.rebalance(running)
  for (let round = 0; round < 40; round += 1) {
    const leaver = running[(round * 5) % 8]
    assert.ok(leaver)
    const before = new Map(state.owned)
    state.rebalance(running.filter((one) => one !== leaver))
    const back = started(leaver.name)
    running = running.map((one) => (one === leaver ? back : one))
    const after = state.rebalance(running)
    for (const { id } of running) {
      assert.deepEqual(after.get(id), before.get(id === back.id ? leaver.id : id))
    }
  }
})
