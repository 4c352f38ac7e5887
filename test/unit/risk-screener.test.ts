import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClickHouseError } from '@clickhouse/client'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import { Fault } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createSymbolReader } from '../../serving/http/dex-route.ts'
import type { AssessmentStore } from '../../serving/risk/assessment-store.ts'
import { startScreener } from '../../serving/risk/screener.ts'
import { until } from '../support/until.ts'

/** Lines that a screener logs while its store of labels answers with an error, by level. */
const linesBeside = async (error: Error, metrics = makeMetrics()): Promise<readonly string[]> => {
  const lines: string[] = []
  const note = (level: string) => (_: unknown, text: string) => lines.push(`${level}: ${text}`)
  const screener = startScreener({
    store: { due: () => [], ofOrg: () => [] } as unknown as AssessmentStore,
    warehouse: { query: async () => Promise.reject(error) } as unknown as Warehouse,
    metrics,
    log: { ...makeSilentLogger(), warn: note('warn'), error: note('error') } as never,
    nowMs: () => 0,
  })
  await until(() => lines.length > 0)
  // Rejects where the loop has ended by the error.
  await screener.stop()
  return lines
}

test('an error of the screening records is logged and ends neither screening nor the process', async () => {
  assert.deepEqual(await linesBeside(new Fault('DATABASE_ERROR')), [
    'warn: risk screening postponed, dependency unavailable',
  ])
  assert.deepEqual(await linesBeside(new TypeError('a defect')), [
    'error: risk screening round failed',
  ])
})

test('a screening statement that ClickHouse rejects is counted', async () => {
  const metrics = makeMetrics()
  const refused = new ClickHouseError({ message: 'syntax', code: '62', type: 'SYNTAX_ERROR' })
  await linesBeside(refused, metrics)
  const { values } = await metrics.queryRejected.get()
  assert.deepEqual(values, [{ labels: { surface: 'risk' }, value: 1 }])
})

test('symbols of a route are read within a request only', async () => {
  const warehouse = {
    query: async () => ({ rows: [] }),
    places: { point: 1, scan: 1, internal: 1 },
  } as unknown as Warehouse
  const symbols = createSymbolReader(warehouse, makeMetrics())
  await assert.rejects(symbols('eth', ['0x']), /outside of a request/)
})
