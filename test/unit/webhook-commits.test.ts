import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Commit, Writer } from '../../core/bus/contract.ts'
import { type CommitPart, createGroupCommit } from '../../serving/webhooks/group-commit.ts'
import { until } from '../support/until.ts'

const part = (key: string, rest: CommitPart = {}): CommitPart => ({
  state: [{ store: 'due', partition: 0, key, value: null }],
  ...rest,
})

/** A writer whose commits end when the test lets them. */
const heldWriter = () => {
  const commits: Commit[] = []
  const ends: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = []
  const writer: Writer = {
    id: 'lane0',
    commit: (commit) => {
      commits.push(commit)
      return new Promise((resolve, reject) => ends.push({ resolve: () => resolve([]), reject }))
    },
    close: async () => undefined,
  }
  const keys = () => commits.map(({ state = [] }) => state.map(({ key }) => key))
  return {
    writer,
    commits,
    keys,
    end: () => ends.shift()?.resolve(),
    fail: (error: Error) => ends.shift()?.reject(error),
  }
}

test('group commit: an urgent part is committed at once together with all waiting parts, and resolves when durable', async () => {
  const { writer, commits, keys, end } = heldWriter()
  const group = createGroupCommit(writer, 'webhooks.sender')
  const durable: string[] = []
  const add = (key: string, rest?: CommitPart): void => {
    group.add(part(key, rest)).then(() => durable.push(key))
  }
  add('a')
  add('b')
  assert.deepEqual(keys(), [])
  add('c', { isUrgent: true, next: [{ topic: 'outbox', partition: 0, offset: 7 }] })
  assert.deepEqual(keys(), [['a', 'b', 'c']])
  assert.deepEqual(commits[0]?.offsets, {
    group: 'webhooks.sender',
    next: [{ topic: 'outbox', partition: 0, offset: 7 }],
  })
  add('d', { isUrgent: true })
  add('e')
  await nextTurn()
  assert.deepEqual([keys().length, durable], [1, []], 'one commit at a time')
  end()
  await until(() => durable.length === 3)
  assert.deepEqual(
    [keys()[1], durable],
    [
      ['d', 'e'],
      ['a', 'b', 'c'],
    ],
  )
  end()
  await until(() => durable.length === 5)
  add('f')
  await until(() => keys().length === 3, 'a part that is alone does not wait for ever')
  assert.deepEqual(keys()[2], ['f'])
})

test('a full group is committed at once, and every part rejects when the commit fails', async () => {
  const { writer, keys, fail } = heldWriter()
  const group = createGroupCommit(writer, 'webhooks.sender')
  const all = Array.from({ length: 130 }, (_, index) => group.add(part(`key${index}`)))
  const outcomes = Promise.allSettled(all.slice(0, 128))
  assert.deepEqual([keys().length, keys()[0]?.length], [1, 128])
  fail(new Error('fenced'))
  assert.ok((await outcomes).every(({ status }) => status === 'rejected'))
  await until(() => keys()[1]?.length === 2)
})
