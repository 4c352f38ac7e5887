import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import {
  openWarehouse,
  type RowTemplate,
  type TextQueryResult,
  type Warehouse,
} from '../../core/clickhouse/client.ts'
import { Secret } from '../../core/config/secret.ts'
import { Fault } from '../../core/errors.ts'
import type { StatementBudget } from '../../schemas/plans.ts'
import { startClickHouse } from '../support/clickhouse-bridge.ts'
import { until } from '../support/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-limits-'))
const bridge = await startClickHouse(join(folder, 'server'))
const STORES: Readonly<Record<string, Warehouse>> = {
  embedded: await openWarehouse({ kind: 'embedded', path: join(folder, 'embedded') }),
  server: await openWarehouse({
    kind: 'server',
    url: bridge.url,
    database: 'sluice',
    user: 'reader',
    password: new Secret('reader'),
  }),
}
after(async () => {
  for (const store of Object.values(STORES)) await store.close()
  await bridge.stop()
  rmSync(folder, { recursive: true, force: true })
})

const BUDGET: StatementBudget = {
  seconds: 60,
  memoryBytes: 1 << 30,
  rowsToRead: 0,
  bytesToRead: 0,
  resultRows: 0,
  resultBytes: 0,
}
/** Hours of work for one processor. */
const ENDLESS = 'SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))'
/** What a statement may still take once it was given up. */
const STOP_MS = 1_000

const limitOf = (error: unknown): unknown => {
  assert.ok(error instanceof Fault, String(error))
  assert.equal(error.faultName, 'QUERY_TOO_EXPENSIVE')
  return error.details?.limit
}

/** Statements that the engine works on, ours excepted. */
const running = async (store: Warehouse): Promise<number> => {
  const { rows } = await store.query<{ n: string }>({
    sql: `SELECT toString(count()) AS n FROM system.processes WHERE query LIKE '%sipHash64(number)%' AND query NOT LIKE '%system.processes%'`,
  })
  return Number(rows[0]?.n)
}

/** Milliseconds from giving up two scans until the engine works on neither. */
const timeToStop = async (store: Warehouse): Promise<number> => {
  const left = new AbortController()
  const options = { budget: BUDGET, share: 'scan', signal: left.signal } as const
  const reads = [1, 2].map(() => store.query({ sql: ENDLESS }, options))
  const ended = Promise.allSettled(reads)
  await until(async () => (await running(store)) === 2, 'both scans run')
  left.abort()
  const startedMs = performance.now()
  for (const result of await ended) {
    assert.ok(result.status === 'rejected' && result.reason instanceof Error)
    assert.equal(result.reason.name, 'AbortError')
  }
  await until(async () => (await running(store)) === 0, 'the engine has nothing left to do')
  return performance.now() - startedMs
}

/** A list of the first column's values, each in a list. */
const LISTS: RowTemplate = { head: '[', row: `[\${0:JSON}]`, between: ',', tail: ']' }

for (const [kind, store] of Object.entries(STORES)) {
  describe(kind, () => {
    test('rows are written by a template, values as JSON without losing a digit', async () => {
      const text = `], [ "\\ é😀 \n$\u0001' \${0:JSON}`
      const { body, rowCount, rowsRead } = await store.queryText({
        sql: `SELECT {text:String}, toDateTime('2026-03-01 00:39:48', 'UTC'), toBool(1), toUInt256('123456789012345678901234567890'),
          toDecimal128('1.50', 12), nan, NULL::Nullable(UInt8), ['a', '"'], toDate('2026-03-01'), toJSONString([1.5]) FROM numbers(2)`,
        params: { text },
        template: {
          head: '{"rows":[',
          row: `{"'\\":[${Array.from({ length: 9 }, (_, index) => `\${${index}:JSON}`).join()}],"raw":\${9:Raw}}`,
          between: ', ',
          tail: ']}',
        },
      })
      const row = `{"'\\":[TEXT,"2026-03-01T00:39:48Z",true,123456789012345678901234567890,1.5,null,null,["a","\\""],"2026-03-01"],"raw":[1.5]}`
      const shown = body.toString().replaceAll(JSON.stringify(text).replaceAll('\n', '\\n'), 'TEXT')
      assert.equal(shown, `{"rows":[${row}, ${row}]}`)
      assert.deepEqual([rowCount, rowsRead], [2, 2])
      const none = await store.queryText({ sql: 'SELECT 1 WHERE 0', template: LISTS })
      assert.deepEqual([none.body.toString(), none.rowCount], ['[]', 0])
    })

    test('a statement of a template has its own bound of rows, and counts bytes as often as they are written', async () => {
      const budget = { ...BUDGET, resultRows: 1_000, resultBytes: 80_000 }
      const numbers = { sql: 'SELECT number FROM numbers(100)', template: LISTS }
      assert.equal((await store.queryText({ ...numbers, maxRows: 100 }, { budget })).rowCount, 100)
      for (const bound of [{ maxRows: 99 }, { repeats: 101 }])
        await assert.rejects(
          store.queryText({ ...numbers, ...bound }, { budget }),
          (error) => limitOf(error) === 'result',
        )
      assert.equal((await store.queryText({ ...numbers, repeats: 100 }, { budget })).rowCount, 100)
    })

    test('the engine ends a statement that passes a limit of its budget, and names the limit', async () => {
      const cases: readonly (readonly [string, string, Partial<StatementBudget>])[] = [
        ['time', ENDLESS, { seconds: 1 }],
        ['rows', 'SELECT sum(number) FROM numbers(1000000)', { rowsToRead: 1_000 }],
        ['bytes', 'SELECT sum(number) FROM numbers(1000000)', { bytesToRead: 1_000 }],
        ['result', 'SELECT number FROM numbers(1000000)', { resultRows: 10 }],
        ['result', 'SELECT number FROM numbers(1000000)', { resultBytes: 1_000 }],
        [
          'memory',
          'SELECT length(groupArray(number)) FROM numbers(100000000)',
          { memoryBytes: 8 << 20 },
        ],
      ]
      for (const [limit, sql, budget] of cases) {
        await assert.rejects(
          store.query({ sql }, { budget: { ...BUDGET, ...budget } }),
          (error) => limitOf(error) === limit,
          sql,
        )
      }
      const { rows } = await store.query({ sql: 'SELECT 1 AS one' }, { budget: BUDGET })
      assert.deepEqual(rows, [{ one: 1 }])
    })

    test('an aborted read stops in the engine within a second and frees its slot', async () => {
      const took: number[] = []
      while (took.length < 3 && !took.some((ms) => ms < STOP_MS)) took.push(await timeToStop(store))
      assert.ok(Math.min(...took) < STOP_MS, `it took ${took.join(', ')} ms`)
      const { rows } = await store.query({ sql: 'SELECT 1 AS one' }, { share: 'scan' })
      assert.deepEqual(rows, [{ one: 1 }])
    })

    test('reads with parameters run beside each other, each with its own values', async () => {
      const left = new AbortController()
      const slow = store.query(
        { sql: `${ENDLESS} AND {p0:String} != ''`, params: { p0: 'slow' } },
        { budget: BUDGET, share: 'scan', signal: left.signal },
      )
      const values = Array.from({ length: 60 }, (_, index) => `value ${index}`)
      const answers = await Promise.all(
        values.map((p0) =>
          store.query<{ p0: string }>(
            { sql: 'SELECT {p0:String} AS p0', params: { p0 } },
            { share: 'point' },
          ),
        ),
      )
      assert.deepEqual(
        answers.map(({ rows }) => rows[0]?.p0),
        values,
      )
      left.abort()
      await assert.rejects(slow, { name: 'AbortError' })
    })

    test('a reading connection cannot write', async () => {
      await assert.rejects(
        store.query({ sql: 'CREATE TABLE written (n UInt8) ENGINE = MergeTree ORDER BY n' }),
        { code: '164' },
      )
    })
  })
}

test('output of a failed statement never appears in the result of another one', async () => {
  const { embedded } = STORES
  assert.ok(embedded)
  for (let round = 0; round < 4; round += 1) {
    await assert.rejects(
      embedded.queryText(
        {
          sql: `SELECT 'a secret', number FROM numbers(100000) WHERE throwIf(number = 99999) = 0`,
          template: LISTS,
        },
        { budget: BUDGET },
      ),
    )
    const answers: readonly TextQueryResult[] = await Promise.all(
      Array.from({ length: 4 }, () => embedded.queryText({ sql: 'SELECT 1', template: LISTS })),
    )
    for (const { body, rowCount } of answers) {
      assert.equal(body.toString(), '[[1]]')
      assert.equal(rowCount, 1)
    }
  }
})

test('an aborted read of the embedded engine uses no further processor time', async () => {
  const { embedded } = STORES
  assert.ok(embedded)
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  }
  const left = new AbortController()
  const read = embedded.query({ sql: ENDLESS }, { budget: BUDGET, signal: left.signal })
  await until(async () => (await running(embedded)) === 1, 'the scan runs')
  left.abort()
  await assert.rejects(read, { name: 'AbortError' })
  const before = cpuMs()
  const startedMs = performance.now()
  await embedded.query({ sql: 'SELECT sleep(1)' })
  const busy = (cpuMs() - before) / (performance.now() - startedMs)
  assert.ok(busy < 0.5, `the process used ${busy.toFixed(2)} processors`)
})

test('every text parameter reaches the warehouse unchanged, alone and in lists', async () => {
  const { embedded } = STORES
  assert.ok(embedded)
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.string({
      unit: fc.constantFrom('\\', "'", '"', '\0', '\n', '\t', '\b', ';', '{', 'N', '`', 'x'),
    }),
  )
  await fc.assert(
    fc.asyncProperty(
      text,
      fc.array(text, { maxLength: 4 }),
      fc.maxSafeInteger(),
      async (one, many, n) => {
        const { rows } = await embedded.queryArrays({
          sql: 'SELECT {one:String}, {many:Array(String)}, toString({n:Int64}), {none:Nullable(String)}',
          params: { one, many, n, none: null },
        })
        assert.deepEqual(rows, [[one, many, String(n), null]])
      },
    ),
    { numRuns: 300 },
  )
})
