import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Deferred, makeDeferred } from '../../core/runtime/deferred.ts'
import { type GroupLimits, makeCommitGroups } from '../../ingestors/publish/commit-groups.ts'
import { until } from '../support/until.ts'

const LIMITS: GroupLimits = { operations: 3, records: 100, bytes: 1_000, waitMs: 60_000 }

interface Item {
  readonly name: string
  readonly records: number
  readonly bytes: number
}

const item = (name: string, records = 1, bytes = 1): Item => ({ name, records, bytes })

/** Groups whose commits wait until a test ends them. */
const heldGroups = (limits: Partial<GroupLimits> = {}) => {
  const commits: { readonly names: string; readonly outcome: Deferred<void> }[] = []
  let running = 0
  const groups = makeCommitGroups<Item>({
    limits: { ...LIMITS, ...limits },
    sizeOf: ({ records, bytes }) => ({ records, bytes }),
    commit: async (items) => {
      running += 1
      assert.equal(running, 1, 'one commit at a time')
      const outcome = makeDeferred<void>()
      commits.push({ names: items.map(({ name }) => name).join(''), outcome })
      await outcome.promise.finally(() => {
        running -= 1
      })
    },
  })
  return { groups, commits, names: () => commits.map(({ names }) => names) }
}

test('a full group is committed while the next one fills, and a third waits', async () => {
  const { groups, commits, names } = heldGroups()
  for (const name of 'abcde') await groups.add(item(name))
  assert.deepEqual(names(), ['abc'])
  let isAdded = false
  const sixth = groups.add(item('f')).then(() => {
    isAdded = true
  })
  await turn()
  assert.equal(isAdded, false)
  commits[0]?.outcome.resolve()
  await sixth
  assert.deepEqual(names(), ['abc', 'def'])
  commits[1]?.outcome.resolve()
  await groups.flush()
  assert.equal(groups.pending(), undefined)
})

test('groups are bounded by records and bytes; a larger operation gets a group of its own', async () => {
  const { groups, commits, names } = heldGroups({ operations: 100 })
  const settled = (async () => {
    for (let at = 0; at < 4; at += 1) {
      await until(() => commits.length > at, `commit ${at}`)
      commits[at]?.outcome.resolve()
    }
  })()
  await groups.add(item('a', 60))
  await groups.add(item('b', 60))
  await groups.add(item('c', 1, 900))
  await groups.add(item('d', 1, 900))
  await groups.add(item('e', 500, 5_000))
  await groups.flush()
  await settled
  assert.deepEqual(names(), ['a', 'bc', 'd', 'e'])
})

test('a flush commits the open group and waits for it', async () => {
  const { groups, commits, names } = heldGroups()
  await groups.add(item('a'))
  let isSettled = false
  const flushing = groups.flush().then(() => {
    isSettled = true
  })
  await turn()
  assert.deepEqual([names(), isSettled], [['a'], false])
  commits[0]?.outcome.resolve()
  await flushing
  await groups.flush()
  assert.deepEqual(names(), ['a'])
})

test('an operation waits for others for a bounded time', async () => {
  const { groups, commits, names } = heldGroups({ waitMs: 20 })
  await groups.add(item('a'))
  await groups.add(item('b'))
  await until(() => commits.length === 1, 'the group is committed')
  await groups.add(item('c'))
  commits[0]?.outcome.resolve()
  await until(() => commits.length === 2, 'the next one is committed')
  commits[1]?.outcome.resolve()
  await groups.flush()
  assert.deepEqual(names(), ['ab', 'c'])
})

test('after a failed commit no further group is committed, and every call rejects with its error', async () => {
  const { groups, commits, names } = heldGroups()
  const lost = new Error('no answer')
  for (const name of 'abcd') await groups.add(item(name))
  const outcome = groups.pending()
  commits[0]?.outcome.reject(lost)
  await assert.rejects(async () => outcome, lost)
  await assert.rejects(() => groups.flush(), lost)
  await assert.rejects(() => groups.add(item('e')), lost)
  assert.deepEqual([names(), groups.pending()], [['abc'], undefined])
})
