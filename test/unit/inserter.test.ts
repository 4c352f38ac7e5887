import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClickHouseError } from '@clickhouse/client'
import type { JsonLines } from '../../core/clickhouse/client.ts'
import { Outage } from '../../core/errors.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createInserter } from '../../processors/sinks/inserter.ts'

interface Statement {
  readonly table: string
  readonly text: string
  readonly token: string
}

/** An inserter over a store that answers each statement with `answer`, and what it was sent. */
const openInserter = (answer: (statement: Statement) => unknown = () => undefined) => {
  const sent: Statement[] = []
  const insert = async (
    table: string,
    rows: readonly object[] | JsonLines,
    options?: { readonly token?: string },
  ): Promise<void> => {
    const statement = { table, text: (rows as JsonLines).text, token: options?.token ?? '' }
    sent.push(statement)
    await answer(statement)
  }
  return { sent, ...createInserter({ warehouse: { insert }, metrics: makeMetrics() }) }
}

const part = (name: string, text = `{"a":"${name}"}`) => ({ text, count: 1, token: name })
const refused = (): never => {
  throw new ClickHouseError({ message: 'bad', code: '27', type: 'CANNOT_PARSE_INPUT' })
}
const settled = (inserts: readonly Promise<void>[]) =>
  Promise.all(
    inserts.map((each) =>
      each.then(
        () => 'stored',
        (error: Error) => error.message,
      ),
    ),
  )

test('concurrent parts of one table are one statement, those of another table their own', async () => {
  const { insert, sent } = openInserter()
  await Promise.all([insert('t', part('1')), insert('u', part('2')), insert('t', part('3'))])
  assert.deepEqual(
    sent.map(({ table, text }) => [table, text]),
    [
      ['t', '{"a":"1"}\n{"a":"3"}'],
      ['u', '{"a":"2"}'],
    ],
  )
})

test('the duration of a failed insert is measured as well', async () => {
  const metrics = makeMetrics()
  const warehouse = { insert: async () => refused() }
  const { insert } = createInserter({ warehouse, metrics })
  assert.deepEqual(await settled([insert('t', part('1'))]), ['bad'])
  const { values } = await metrics.insertSeconds.get()
  const count = values.find(({ metricName }) => metricName?.endsWith('_count'))
  assert.deepEqual([count?.value, count?.labels.table], [1, 't'])
})

test('the token of a statement depends on its parts, not on their order', async () => {
  const tokens = await Promise.all(
    [['1', '2'], ['2', '1'], ['1', '3'], ['1']].map(async (names) => {
      const { insert, sent } = openInserter()
      await Promise.all(names.map((name) => insert('t', part(name))))
      assert.equal(sent.length, 1)
      return sent[0]?.token
    }),
  )
  assert.equal(tokens[0], tokens[1])
  assert.notEqual(tokens[0], tokens[2])
  assert.equal(tokens[3], '1')
})

test('of a rejected statement only the part with the invalid row is rejected', async () => {
  const { insert, sent } = openInserter(({ text }) => text.includes('bad') && refused())
  const done = await settled(['1', 'bad', '3'].map((name) => insert('t', part(name))))
  assert.deepEqual(done, ['stored', 'bad', 'stored'])
  assert.deepEqual(
    sent.map(({ token }) => token).slice(1),
    ['1', 'bad', '3'],
    'each was tried apart, under its own token',
  )
})

test('an outage rejects every part, and no part is tried alone', async () => {
  const { insert, sent } = openInserter(() => {
    throw new Outage('warehouse', 'gone')
  })
  assert.deepEqual(await settled([insert('t', part('1')), insert('t', part('2'))]), [
    'gone',
    'gone',
  ])
  assert.equal(sent.length, 1)
})

test('a table has one statement at a time; parts that arrive meanwhile are the next one', async () => {
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  let running = 0
  let most = 0
  const { insert, sent } = openInserter(async () => {
    running += 1
    most = Math.max(most, running)
    await gate
    running -= 1
  })
  const long = part('1', ' '.repeat(1_048_576))
  const first = insert('t', long)
  assert.equal(sent.length, 1, 'enough text is sent without waiting')
  const rest = ['2', '3', '4'].map((name) => insert('t', part(name)))
  open()
  await Promise.all([first, ...rest])
  assert.equal(most, 1)
  assert.deepEqual(
    sent.map(({ text }) => text.trim().split('\n').length),
    [1, 3],
  )
})

test('a statement has at most 16 MiB of text, a longer part is sent alone', async () => {
  const { insert, sent } = openInserter()
  const sizes = [1, 9, 9, 20, 1].map((size) => size * 1_048_576)
  await Promise.all(sizes.map((size, index) => insert('t', part(String(index), 'x'.repeat(size)))))
  const lengths = sent.map(({ text }) => text.split('\n').map(({ length }) => length >> 20))
  assert.deepEqual(lengths, [[1], [9], [9], [20], [1]])
})

test('an aborted waiting part is removed; a part in flight is awaited', async () => {
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const { insert, sent } = openInserter(() => gate)
  const [under, waiting, late] = [1, 2, 3].map(() => new AbortController())
  const first = insert('t', part('1', 'x'.repeat(1_048_576)), under?.signal)
  const second = insert('t', part('2'), waiting?.signal)
  under?.abort(new Error('gone 1'))
  waiting?.abort(new Error('gone 2'))
  assert.deepEqual(await settled([second]), ['gone 2'])
  open()
  assert.deepEqual(await settled([first]), ['stored'])
  late?.abort(new Error('gone 3'))
  assert.deepEqual(await settled([insert('t', part('3'), late?.signal)]), ['gone 3'])
  assert.equal(sent.length, 1)
})
