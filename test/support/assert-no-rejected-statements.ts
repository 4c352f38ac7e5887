import assert from 'node:assert/strict'
import type { Metrics } from '../../core/ops/metrics.ts'

/**
 * Fails when the engine refused statements of ours as wrong: whatever a test asked for, that is a mistake of ours. `expected`: how
 * many a test made on purpose.
 */
export const assertNoRejectedStatements = async (
  { queryRejected }: Metrics,
  expected = 0,
): Promise<void> => {
  const { values } = await queryRejected.get()
  const counted = values.reduce((sum, { value }) => sum + value, 0)
  assert.equal(counted, expected, `statements that the engine refused: ${JSON.stringify(values)}`)
}
