import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bus } from '../../core/bus/contract.ts'
import { Fault } from '../../core/errors.ts'
import { createLogProgress } from '../../serving/webhooks/log-progress.ts'
import { DELIVERY_LOG_TOPICS } from '../../serving/webhooks/topics.ts'

const MINUTE = 60_000
const [MESSAGES, ATTEMPTS] = DELIVERY_LOG_TOPICS

/** A log of two topics of one partition, with the offsets that the writer of the tables has committed. */
const logOf = () => {
  const log = {
    nowMs: 100 * MINUTE,
    ends: { [MESSAGES]: 0, [ATTEMPTS]: 0 } as Record<string, number>,
    committed: {} as Record<string, number>,
    /** Offsets without a record count in `ends` and are not read. */
    hasRecords: true,
  }
  const bus: Pick<Bus, 'ends' | 'offsets' | 'read'> = {
    ends: async (topic) => [{ partition: 0, low: 0, end: log.ends[topic] ?? 0 }],
    offsets: async () =>
      Object.entries(log.committed).map(([topic, offset]) => ({ topic, partition: 0, offset })),
    read: async function* () {
      if (log.hasRecords) yield {} as never
    },
  }
  return { log, isComplete: createLogProgress({ bus, nowMs: () => log.nowMs }) }
}

test('the log of attempts is complete up to a time once everything recorded by then is in the tables', async () => {
  const { log, isComplete } = logOf()
  assert.equal(await isComplete(log.nowMs), true, 'nothing was recorded')
  log.nowMs += 1
  log.ends[ATTEMPTS] = 5
  assert.equal(await isComplete(log.nowMs), false, 'the writer has committed nothing yet')
  log.committed[ATTEMPTS] = 4
  assert.equal(await isComplete(log.nowMs), false)
  log.ends[ATTEMPTS] = 9
  log.committed[ATTEMPTS] = 5
  assert.equal(await isComplete(log.nowMs), true, 'later records are not waited for')
  log.ends[MESSAGES] = 2
  assert.equal(await isComplete(log.nowMs), true, 'known for this time')
  log.nowMs += 1
  assert.equal(await isComplete(log.nowMs), false)
  log.committed[ATTEMPTS] = 9
  log.hasRecords = false
  assert.equal(await isComplete(log.nowMs), true, 'only transaction markers are left')
})

test('a log of attempts that is more than ten minutes behind is a fault until it has caught up', async () => {
  const { log, isComplete } = logOf()
  log.ends[ATTEMPTS] = 5
  const timeMs = log.nowMs
  assert.equal(await isComplete(timeMs), false)
  log.nowMs += 10 * MINUTE
  assert.equal(await isComplete(timeMs), false)
  log.nowMs += 1
  await assert.rejects(
    isComplete(timeMs),
    (error) => error instanceof Fault && error.faultName === 'DATABASE_ERROR',
  )
  log.committed[ATTEMPTS] = 5
  assert.equal(await isComplete(timeMs), true)
})
