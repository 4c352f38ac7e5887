import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CUBES } from '../../schemas/cubes/all.ts'
import { createAnswerBudget } from '../../serving/graphql/answer-budget.ts'
import { formatFor } from '../../serving/graphql/answer-format.ts'
import { compileQuery } from '../../serving/graphql/compile.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import { createRecordTemplate } from '../../serving/graphql/record-template.ts'
import { rewriteValues } from '../../serving/graphql/rewrite-values.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'

const { plan } = createPlanner(buildCubeSchema(CUBES, ['sol']), QUERY_LIMITS)
const CSV = formatFor('text/csv')

/** A table of one selection, from rows as the engine writes them by the selection's template. */
const writeTable = async (
  fields: string,
  rows: readonly unknown[][],
  maxBytes = QUERY_LIMITS.maxAnswerBytes,
): Promise<string> => {
  const [selection] = plan({ query: `{ Solana { Instructions { ${fields} } } }` }).selections
  assert.ok(selection)
  const budget = createAnswerBudget(maxBytes)
  const frame = CSV.frameOf(selection.fields, budget)
  const layout = CSV.layoutOf(selection.fields, compileQuery(selection).shape)
  const { head, row, between, tail, marked } = createRecordTemplate(layout, frame)
  const written = rows.map((values) =>
    row.replace(/\$\{(\d+):JSON\}/g, (_, column: string) => JSON.stringify(values[Number(column)])),
  )
  const text = head + written.join(between) + tail
  const { signal } = new AbortController()
  const { cell, header } = frame
  const options = { marked, budget, signal, cell, header }
  return (await rewriteValues(Buffer.from(text), options)).toString()
}

test('long lists of quotes are written whole to CSV', async () => {
  const list = Array.from({ length: 500 }, () => '""""')
  const rows = Array.from({ length: 20 }, () => [list])
  const table = await writeTable('Instruction { Logs }', rows)
  const cell = `"${JSON.stringify(list).replaceAll('"', '""')}"`
  assert.equal(table, `Instruction_Logs\r\n${`${cell}\r\n`.repeat(20)}`)
})

test('a CSV table stays within its byte budget, header included', async () => {
  const rows = [['s'], ['t']]
  const whole = await writeTable('Transaction { Signature }', rows)
  assert.equal(whole, 'Transaction_Signature\r\n"s"\r\n"t"\r\n')
  assert.equal(await writeTable('Transaction { Signature }', rows, whole.length), whole)
  await assert.rejects(writeTable('Transaction { Signature }', rows, whole.length - 1), {
    name: 'QueryTooExpensive',
    message: `The answer has more than ${whole.length - 1} bytes`,
  })
})

test('the byte budget of a CSV header counts a group name for each of its leaves', async () => {
  const leaves = Array.from({ length: 2_000 }, (_, index) => `a${index}: Signature`).join(' ')
  const name = 'g'.repeat(100_000)
  const started = performance.now()
  await assert.rejects(writeTable(`${name}: Transaction { ${leaves} }`, []), {
    name: 'QueryTooExpensive',
  })
  assert.ok(performance.now() - started < 5_000)
})
