import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTaskTurns } from '../../serving/webhooks/task-turns.ts'

const tasksOf = (org_id: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ org_id, task_id: `${org_id}-${index}` }))

test('as many tasks as there is room for continue in every round', () => {
  const next = createTaskTurns(4)
  const tasks = [...tasksOf('a', 3), ...tasksOf('b', 1)]
  for (let round = 0; round < 3; round += 1) assert.equal(new Set(next(tasks)).size, 4)
  assert.deepEqual(next([]), [])
})

test('an organization with many tasks leaves each other one a turn in every round', () => {
  const next = createTaskTurns(4)
  const tasks = [...tasksOf('many', 100), ...tasksOf('b', 1), ...tasksOf('c', 2)]
  for (let round = 0; round < 5; round += 1) {
    const counts = next(tasks).map(({ org_id }) => org_id)
    assert.deepEqual(counts.filter((org) => org === 'b').length, 1)
    assert.ok(counts.includes('c') && counts.includes('many'))
  }
})

test('with more organizations than room each has a turn before one has a second, and so have the tasks of one', () => {
  const next = createTaskTurns(3)
  const tasks = [...tasksOf('a', 2), ...'bcdefg'.split('').flatMap((org) => tasksOf(org, 1))]
  const turns = Array.from({ length: 7 }, () => next(tasks).map(({ task_id }) => task_id)).flat()
  const first = turns.slice(0, 7)
  assert.equal(new Set(first.map((id) => id[0])).size, 7)
  const ofA = turns.filter((id) => id.startsWith('a'))
  assert.deepEqual([...new Set(ofA)].sort(), ['a-0', 'a-1'])
  assert.ok(
    ofA.every((id, index) => id !== ofA[index - 1]),
    'the two tasks alternate',
  )
})
