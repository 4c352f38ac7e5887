import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bus, Lane, LogRecord, Subscription } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { CANDLES } from '../../processors/candles/stage.ts'
import { startStage } from '../../processors/runtime/stage-runner.ts'
import { topicName } from '../../schemas/topics.ts'
import { createCapturedLogger } from '../support/captured-logger.ts'
import { until } from '../support/until.ts'

/** A block operation without a body: no lane can continue after it. */
const BROKEN: LogRecord = {
  topic: topicName('blocks', 'eth'),
  partition: 0,
  offset: 0,
  key: 'eth',
  value: null,
  headers: {},
  timestampMs: 0,
}

test('a halted lane ends and frees its slot, and its reason is still reported', async () => {
  let subscribed: Subscription | undefined
  const bus = {
    subscribe: async (subscription: Subscription) => {
      subscribed = subscription
      return { stop: async () => undefined }
    },
  } as Partial<Bus> as Bus
  const { log, lines } = createCapturedLogger()
  const stage = await startStage(
    { ...CANDLES, inputs: ['trades'] },
    { chain: 'eth', bus, codec: {} as Codec, metrics: makeMetrics(), log },
  )
  const lane = {
    partition: 0,
    committed: [],
    signal: new AbortController().signal,
    state: async () => ({ get: () => undefined, entries: () => [] }),
    take: async () => [BROKEN],
  } as Partial<Lane> as Lane
  let ended = false
  subscribed?.run(lane).then(() => {
    ended = true
  })
  await until(() => ended, 'the lane ended')
  const halted = 'blocks: a block operation without a body'
  assert.deepEqual(
    stage.lanes().map((status) => status.halted),
    [halted],
  )
  assert.deepEqual(
    lines.map(({ message }) => message),
    ['partition stopped by invalid input, see runbook'],
  )
})
