import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TOPIC_RULES } from '../../cli/checksum/comparison-rules.ts'
import { topicDigest } from '../../cli/checksum/topic-digest.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { firstSeenRecord, unknownToken, upsertEvent } from '../../processors/tokens/record.ts'
import { TOPICS, topicName } from '../../schemas/topics.ts'
import { tapeMeta } from '../support/builders/trade-tape.ts'
import { openSimulatedBus } from '../support/simulation/bus.ts'
import { SimulatedGroups } from '../support/simulation/lanes.ts'
import { SimulatedLog } from '../support/simulation/log.ts'

const BLOCK = { height: 7, hash: '0xb7', parent: '0xb6', timeMs: 7_000, trades: [] }
const PLACE = { chain: 'eth', height: 7, timeMs: 7_000 }
const HEAD = { instruction: null, transaction: null, d_app: null }

/** Digest of a topic that holds these messages of one token, the newest last. */
const digestOf = async (
  topic: 'tokenPrices' | 'tokensProcessed',
  messages: readonly { readonly op: 'apply' | 'revert'; readonly event: object }[],
) => {
  const [codec, shared] = [localCodec(), new SimulatedLog('test', () => 0)]
  const bus = openSimulatedBus({ name: 'reader', shared, groups: new SimulatedGroups() })
  const name = topicName(topic, 'eth')
  await bus.createTopics([{ topic: name, partitions: 1, cleanup: 'compact', retentionMs: null }])
  const writer = await bus.writer('writer')
  for (const [index, { op, event }] of messages.entries()) {
    const meta = tapeMeta({ op, seq: index + 1, block: BLOCK, finalHeight: 0 })
    const value = codec.encode(TOPICS[topic].message, { meta, events: [event] } as never)
    await writer.commit({ records: [{ topic: name, key: '0xaaa', value }] })
  }
  const facts = TOPIC_RULES[topic]
  if (facts.how === 'left out') throw new Error(`${topic} is compared`)
  return topicDigest({ bus, codec, topic, target: PLACE, rule: facts })
}

test('a price emptied by a reorg counts in the checksum as never published', async () => {
  const block = { timestamp: 7_000, hash: '0xb7', height: 7, slot: 7 }
  const priced = (usd: string) => {
    const token_price = { token_address: '0xaaa', price_in_usd: usd, price_in_native: '' }
    return { op: 'apply', event: { ...HEAD, block, token_price } } as const
  }
  const none = await digestOf('tokenPrices', [])
  assert.equal((await digestOf('tokenPrices', [priced('3')])).rows, 1)
  assert.deepEqual(await digestOf('tokenPrices', [priced('3'), priced('')]), none)
})

test('a token whose first appearance was reverted counts in the checksum as never seen', async () => {
  const token = unknownToken('0xaaa', 9)
  const record = firstSeenRecord(
    token,
    tapeMeta({ op: 'apply', seq: 1, block: BLOCK, finalHeight: 0 }),
    null,
  )
  const event = upsertEvent(record)
  const none = await digestOf('tokensProcessed', [])
  const seen = { op: 'apply', event } as const
  assert.equal((await digestOf('tokensProcessed', [seen])).rows, 1)
  assert.deepEqual(await digestOf('tokensProcessed', [seen, { op: 'revert', event }]), none)
})
