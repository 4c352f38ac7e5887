import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outage } from '../../core/fault.ts'
import { boundedReader, type Reader } from '../../serving/http/bounded.ts'

/** A store whose statements end when the test says so. */
const heldStore = () => {
  const ends: (() => void)[] = []
  const seen: string[] = []
  const reader: Reader = {
    query: async ({ sql }) => {
      seen.push(sql)
      await new Promise<void>((resolve) => ends.push(resolve))
      return { rows: [], rowsRead: 0, elapsedMs: 0 }
    },
  }
  return { reader, seen, end: () => ends.shift()?.() }
}

test('so many run, so many wait, the next is told to come back', async () => {
  const { reader, seen, end } = heldStore()
  const bounded = boundedReader(reader, { running: 2, waiting: 3, seconds: 7 })
  const started = Array.from({ length: 5 }, (_, index) => bounded.query({ sql: `SELECT ${index}` }))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(
    seen.map((sql) => sql.split('\n')),
    [
      ['SELECT 0', 'SETTINGS max_execution_time = 7'],
      ['SELECT 1', 'SETTINGS max_execution_time = 7'],
    ],
  )
  await assert.rejects(bounded.query({ sql: 'SELECT 6' }), (error) => error instanceof Outage)
  for (const answer of started) {
    end()
    await answer
  }
  assert.equal(seen.length, 5)
  const last = bounded.query({ sql: 'SELECT 7' })
  await new Promise((resolve) => setImmediate(resolve))
  end()
  await last
})

test('an engine that gave up is an outage, wrong SQL stays a bug', async () => {
  const failing = (code: string) =>
    boundedReader({ query: () => Promise.reject(Object.assign(new Error('engine'), { code })) })
  for (const code of ['159', '241']) {
    await assert.rejects(failing(code).query({ sql: '' }), (error) => error instanceof Outage)
  }
  await assert.rejects(failing('62').query({ sql: '' }), (error) => !(error instanceof Outage))
})
