import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Query, Warehouse } from '../../core/clickhouse/client.ts'
import { Outage } from '../../core/errors.ts'
import { startFinalizer } from '../../processors/rollups/finalizer.ts'
import { createCapturedLogger } from '../support/captured-logger.ts'
import { until } from '../support/until.ts'

test('transfer edges that cannot be summed have a log line of their own, and the round counts as failed', async () => {
  const { log, lines } = createCapturedLogger()
  const away = new Outage('warehouse', 'away')
  const warehouse = {
    // No block yet: a round has nothing to do but the edges.
    query: async ({ sql }: Query) => {
      if (sql.includes("'edges'")) throw away
      return { rows: [{ hot_from: 0, final_time: 0, first_block: 0 }] }
    },
  } as unknown as Warehouse
  const finalizer = startFinalizer({ chain: 'eth', warehouse, log })
  try {
    await until(() => finalizer.failing().length > 0, 'a round has failed')
    assert.deepEqual(
      lines.slice(0, 2).map(({ message, facts }) => [message, facts.chain, facts.err]),
      [
        ['transfer edges could not be summed', 'eth', away],
        ['finalization failed, retrying', 'eth', away],
      ],
    )
  } finally {
    await finalizer.stop()
  }
})
