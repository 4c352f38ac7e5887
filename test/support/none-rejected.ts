import assert from 'node:assert/strict'
import type { Metrics } from '../../core/metrics.ts'

/** Fails when the engine refused a statement of ours as wrong: whatever a test asked for, that is a mistake of ours. */
export const noneRejected = async ({ queryRejected }: Metrics): Promise<void> => {
  const { values } = await queryRejected.get()
  assert.deepEqual(
    values.filter(({ value }) => value > 0).map(({ labels, value }) => ({ ...labels, value })),
    [],
    'statements that the engine refused as wrong',
  )
}
