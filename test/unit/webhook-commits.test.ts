import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Commit, Writer } from '../../core/bus/contract.ts'
import { Outage } from '../../core/errors.ts'
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

test('group commit: one commit at a time takes all waiting parts and what its source has by then; an empty one is not written', async () => {
  const { writer, commits, keys, end } = heldWriter()
  let more: CommitPart = {}
  let durableCommits = 0
  const group = createGroupCommit(writer, 'webhooks.sender', {
    part: () => more,
    durable: () => {
      durableCommits += 1
    },
  })
  const durable: string[] = []
  const add = (key: string): void => {
    group.add(part(key)).then(() => durable.push(key))
  }
  add('a')
  add('b')
  assert.deepEqual(keys(), [], 'parts wait for others')
  more = part('source', { next: [{ topic: 'outbox', partition: 0, offset: 7 }] })
  await until(() => keys().length === 1)
  assert.deepEqual(keys(), [['a', 'b', 'source']])
  assert.deepEqual(commits[0]?.offsets, {
    group: 'webhooks.sender',
    next: [{ topic: 'outbox', partition: 0, offset: 7 }],
  })
  more = {}
  add('c')
  await sleep(100)
  assert.deepEqual([keys().length, durable, durableCommits], [1, [], 0], 'one commit at a time')
  end()
  await until(() => keys().length === 2)
  assert.deepEqual([keys()[1], durable, durableCommits], [['c'], ['a', 'b'], 1])
  end()
  await until(() => durable.length === 3)
  await group.add({})
  assert.deepEqual([commits.length, durableCommits], [2, 3], 'there was nothing to write')
})

test('a full group is committed at once, and every part rejects when the commit fails', async () => {
  const { writer, keys, fail } = heldWriter()
  const group = createGroupCommit(writer, 'webhooks.sender')
  const all = Array.from({ length: 514 }, (_, index) => group.add(part(`key${index}`)))
  const outcomes = Promise.allSettled(all.slice(0, 512))
  assert.deepEqual([keys().length, keys()[0]?.length], [1, 512])
  fail(new Error('fenced'))
  assert.ok((await outcomes).every(({ status }) => status === 'rejected'))
  await until(() => keys()[1]?.length === 2)
})

test('a group commit that is closed commits what waits at once, and refuses what comes later', async () => {
  const { writer, keys, end } = heldWriter()
  const group = createGroupCommit(writer, 'webhooks.sender')
  const durable: string[] = []
  const add = (key: string): void => {
    group.add(part(key)).then(() => durable.push(key))
  }
  add('a')
  const closed = group.close()
  assert.deepEqual(keys(), [['a']], 'without a linger')
  end()
  await closed
  assert.deepEqual(durable, ['a'])
  const refused: unknown[] = []
  group.put(part('late'), assert.fail, (error) => refused.push(error))
  assert.ok(refused[0] instanceof Outage && refused[0].final)
  await assert.rejects(group.add(part('later')), Outage)
  await group.close()
  assert.deepEqual(keys(), [['a']])
})

test('a group commit that is closed during a commit writes what came meanwhile; a failed commit does not reject the closing', async () => {
  const { writer, keys, end, fail } = heldWriter()
  const group = createGroupCommit(writer, 'webhooks.sender')
  const first = group.add(part('a'))
  await until(() => keys().length === 1)
  const second = assert.rejects(group.add(part('b')), /fenced/)
  const closed = group.close()
  end()
  await first
  await until(() => keys().length === 2)
  fail(new Error('fenced'))
  await Promise.all([second, closed])
  assert.deepEqual(keys(), [['a'], ['b']])
})
