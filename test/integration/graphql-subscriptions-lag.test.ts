/** Subscriptions while sinks are far behind: no block is left out, and nobody is ended for what is not stored yet. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { CHAINS, maxReorgBlocks } from '../../schemas/chains.ts'
import {
  type SubscriptionStack,
  startSubscriptionStack,
  subscribeLive,
  type TestSubscription,
} from '../support/subscription-stack.ts'
import { until } from '../support/until.ts'

const START_MS = Date.UTC(2026, 2, 1)
const FIRST_SLOT = 1_000
const QUERY =
  'subscription { EVM(network: eth) { Blocks(limit: {count: 300}) { Block { Slot } } } }'

let stack: SubscriptionStack
beforeEach(async () => {
  stack = await startSubscriptionStack()
  await stack.add({ slot: FIRST_SLOT, hash: 'b1' }, 0)
  stack.storedUpTo(1)
})
afterEach(() => stack.stop())

/** Stores blocks whose operations are 2 up to `lastSeq`. */
const storeBlocks = (lastSeq: number): Promise<unknown> =>
  stack.api.warehouse.insert(
    'eth_blocks',
    Array.from({ length: lastSeq - 1 }, (_, index) => ({
      block_time: new Date(START_MS + (FIRST_SLOT + index + 1) * 1_000).toISOString(),
      block_height: FIRST_SLOT + index,
      block_slot: FIRST_SLOT + index + 1,
      block_hash: `b${index + 2}`,
      seq: index + 2,
      _ver: (index + 2) * 2 ** 24,
      _del: 0,
    })),
  )
const slotsOf = ({ results }: TestSubscription): readonly number[] =>
  results.flatMap(({ extensions }) => extensions?.delivery.blocks.map(({ slot }) => slot) ?? [])
const slotsUpTo = (lastSeq: number): readonly number[] =>
  Array.from({ length: lastSeq - 1 }, (_, index) => FIRST_SLOT + index + 1)
const subscribe = () => subscribeLive(stack, stack.client(), QUERY)
const untilSlots = (subscription: TestSubscription, count: number) =>
  until(() => subscription.ended() !== undefined || slotsOf(subscription).length >= count)

test('a subscription that begins while sinks are more than a reorg behind gets every block', async () => {
  const lastSeq = maxReorgBlocks(CHAINS.eth) + 50
  await storeBlocks(lastSeq)
  const subscription = await subscribe()
  stack.storedUpTo(Number.POSITIVE_INFINITY)
  await untilSlots(subscription, lastSeq - 1)
  assert.equal(subscription.ended(), undefined)
  assert.deepEqual(slotsOf(subscription), slotsUpTo(lastSeq))
})

test('who has read all that is stored is not too slow, however far the store is behind', async () => {
  const lastSeq = 7_000
  await storeBlocks(lastSeq)
  const early = await subscribe()
  const before = stack.storedReads()
  await until(() => stack.storedReads() > before + 4, 'blocks were read that are not stored')
  const late = await subscribe()
  stack.storedUpTo(lastSeq - 1_500)
  await untilSlots(early, lastSeq - 1_501)
  await untilSlots(late, lastSeq - 1_501)
  stack.storedUpTo(Number.POSITIVE_INFINITY)
  for (const subscription of [early, late]) {
    await untilSlots(subscription, lastSeq - 1)
    assert.equal(subscription.ended(), undefined)
    assert.deepEqual(slotsOf(subscription), slotsUpTo(lastSeq))
  }
})
