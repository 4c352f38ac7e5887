import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Query, ReadOptions, Warehouse } from '../../core/clickhouse/client.ts'
import { Fault, Outage } from '../../core/errors.ts'
import { SEARCH_BOUNDS } from '../../schemas/risk.ts'
import { MAX_LABEL_ROWS } from '../../serving/queries/risk-graph.ts'
import { createGraphReader } from '../../serving/risk/graph-reader.ts'

type Answer = (query: Query, options: ReadOptions) => Promise<readonly unknown[]>

const readerOf = (answer: Answer, remainingMs = () => 10_000) =>
  createGraphReader({
    warehouse: {
      query: async (query: Query, options: ReadOptions = {}) => ({
        rows: await answer(query, options),
      }),
    } as unknown as Warehouse,
    chain: 'eth',
    bounds: SEARCH_BOUNDS,
    atMs: 0,
    untilMs: 0,
    remainingMs,
  })

const labelRow = (address: string) => ({
  address,
  category: 'mixer',
  entity: '',
  source: 'a list',
  confidence: 1,
  evidence_url: '',
  from_ms: 0,
  to_ms: null,
})
const tooExpensive: Answer = () => Promise.reject(new Fault('QUERY_TOO_EXPENSIVE'))

test('statements about labels and sums have a budget within the time that is left', async () => {
  const seconds: (number | undefined)[] = []
  const reader = readerOf(
    async (_, { budget, share }) => {
      seconds.push(budget?.seconds)
      assert.equal(share, 'scan')
      assert.ok((budget?.rowsToRead ?? 0) > 0)
      return []
    },
    () => 2_500,
  )
  await reader.labels(['a'])
  await reader.ownLabels('a')
  await reader.labelHistory('a')
  await reader.totals('a')
  assert.deepEqual(seconds, [3, 3, 3, 3])
})

test('labels of many addresses are cut when the time is over between two statements', async () => {
  let left = 1_000
  const reader = readerOf(
    async (query) => {
      left = 0
      return (query.params?.addresses as string[] | undefined)?.slice(0, 1).map(labelRow) ?? []
    },
    () => left,
  )
  const addresses = Array.from({ length: 5_001 }, (_, index) => String(index))
  const { labels, cut } = await reader.labels(addresses)
  assert.deepEqual([[...labels.keys()], cut], [['0'], true])
})

test('more labels than a statement answers are cut, and so is a statement that passes its budget', async () => {
  const many = Array.from({ length: MAX_LABEL_ROWS + 1 }, (_, index) => labelRow(String(index)))
  const full = await readerOf(async () => many).labels(['a'])
  assert.deepEqual([full.labels.size, full.cut], [MAX_LABEL_ROWS, true])
  const whole = await readerOf(async () => many.slice(1)).labels(['a'])
  assert.deepEqual([whole.labels.size, whole.cut], [MAX_LABEL_ROWS, false])
  const expensive = await readerOf(tooExpensive).labels(['a'])
  assert.deepEqual([expensive.labels.size, expensive.cut], [0, true])
  assert.equal(await readerOf(tooExpensive).totals('a'), null)
})

test('an address whose own labels cannot be read in time is screened later, not without them', async () => {
  await assert.rejects(readerOf(tooExpensive).ownLabels('a'), Outage)
  await assert.rejects(readerOf(tooExpensive).labelHistory('a'), Outage)
})

test('a statement that waits for its turn is given up when the time is over', async () => {
  const hanging: Answer = (_, { signal }) =>
    new Promise((_resolve, reject) => {
      // Keeps the process until the time is over.
      const timer = setTimeout(reject, 60_000)
      signal?.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    })
  const { cut } = await readerOf(hanging, () => 20).labels(['a'])
  assert.equal(cut, true)
})

test('statements over edges leave a tenth of the time to labels', async () => {
  const asked: string[] = []
  const reader = readerOf(
    async ({ sql }) => {
      asked.push(sql.includes('address_labels') ? 'labels' : 'edges')
      return []
    },
    () => SEARCH_BOUNDS.timeMs / 10,
  )
  assert.deepEqual(await reader.edges(['a'], 'sent'), { edges: [], cut: true })
  assert.deepEqual((await reader.labels(['a'])).cut, false)
  assert.deepEqual(asked, ['labels'])
})
