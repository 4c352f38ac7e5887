import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { InvalidInput } from '../../core/errors.ts'
import { enabledFeedSinks, FEED_SINKS } from '../../processors/sinks/feed-sinks.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { FEED_NAMES, feedTopics } from '../../schemas/feeds.ts'
import type { Topic } from '../../schemas/topics.ts'

const codec = localCodec()
const meta = { chain: 'eth', op: 'OP_APPLY', seq: 7, height: 5, slot: 5, hash: '0x05' } as const

const sinkOf = (topic: Topic) => {
  const sink = FEED_SINKS.find((each) => each.topic === topic)
  assert.ok(sink)
  return sink
}

const rowsOf = (topic: Topic, bytes: Uint8Array) => sinkOf(topic).map(codec, bytes).tables[0]?.rows

test('every feed topic has a sink, and a chain runs those of its enabled feeds', () => {
  const all = Object.values(CHAINS).flatMap((chain) => feedTopics(chain, FEED_NAMES))
  assert.deepEqual([...new Set(all)].sort(), FEED_SINKS.map(({ topic }) => topic).toSorted())
  const topics = (chain: keyof typeof CHAINS) =>
    enabledFeedSinks(CHAINS[chain], FEED_NAMES).map(({ topic }) => topic)
  assert.deepEqual(topics('base'), [
    'calls',
    'events',
    'transactions',
    'addressLabels',
    'redpackets',
  ])
  assert.deepEqual(topics('sui'), ['transactions'])
  assert.deepEqual(enabledFeedSinks(CHAINS.eth, []), [])
})

test('a call row has numeric flags, its fee in native units, and null for unknown fields', () => {
  const event = {
    block_height: 5,
    event_index: 3,
    tx_hash: '0xaa',
    tx_signer: '0xbb',
    tx_index: 1,
    tx_fee: '1500000000000000000',
    value: '7',
    success: true,
    tx_status: 'STATUS_FAILED',
  } as const
  const [row] =
    rowsOf('calls', codec.encode('evm.call.CallEvents', { meta, events: [event] })) ?? []
  assert.deepEqual(
    [row?.success, row?.tx_status, row?.tx_fee_native, row?.sig_name, row?.error, row?.event_index],
    [1, 'FAILED', '1.5', null, null, 3],
  )
  assert.equal(row?._ver, String((7n << 24n) | 3n))
  assert.equal(row?._del, 0)
})

test('each kind of red packet event has a table; an amount that is not known is null', () => {
  const shared = { id: '0x01', share_id: 'abc', mint: '0xaa' }
  const events = [
    {
      ...shared,
      kind: 'created',
      total_amount: '9',
      max_claims: 3,
      random: true,
      created_at: 5_000,
    },
    { ...shared, kind: 'claimed', claimer: '0xcc', amount: '4', instruction: { event_index: 1 } },
    { ...shared, kind: 'claimed', claimer: '0xcd', amount: '4', index: -1 },
    { ...shared, kind: 'refunded', amount: '' },
    { ...shared, kind: 'refunded', amount: '5' },
  ]
  const bytes = codec.encode('redpacket.RedPacketEvents', { meta, events })
  const tables = sinkOf('redpackets').map(codec, bytes).tables
  assert.deepEqual(
    tables.map(({ table, rows }) => [table, rows.length]),
    [
      ['redpackets', 1],
      ['redpacket_claims', 2],
      ['redpacket_refunds', 2],
    ],
  )
  const [packet, claim, unplaced, unknown, known] = tables.flatMap(({ rows }) => rows)
  assert.deepEqual(
    [packet?.total_amount, packet?.is_random, packet?.created_at, packet?.share_id],
    ['9', 1, '1970-01-01T00:00:05.000Z', 'abc'],
  )
  assert.deepEqual([claim?.claimer, claim?.amount, claim?.event_index], ['0xcc', '4', 1])
  assert.deepEqual([claim?.claim_index, unplaced?.claim_index], [0, null])
  assert.deepEqual([unknown?.amount, known?.amount], [null, '5'])
})

test('a retraction row has a descending version and the deleted flag', () => {
  const events = [{ block_height: 5, event_index: 3, contract: '0xcc' }]
  const bytes = codec.encode('evm.log.LogEvents', { meta: { ...meta, op: 'OP_REVERT' }, events })
  const [row] = rowsOf('events', bytes) ?? []
  assert.equal(row?._ver, String((7n << 24n) | (0xff_ffffn - 3n)))
  assert.equal(row?._del, 1)
})

test('a reward may be negative; an unknown order price is null', () => {
  const reward = { address: 'a', amount: '-7', post_balance: '5', commission: 8 }
  const rewards = codec.encode('svm.reward.RewardEvents', { meta, events: [reward] })
  const [row] = rowsOf('rewards', rewards) ?? []
  assert.deepEqual([row?.amount, row?.post_balance, row?.commission], ['-7', '5', 8])
  const orders = codec.encode('dex.order.OrderEvents', { meta, events: [{ price_ticks: '9' }] })
  const [order] = rowsOf('orders', orders) ?? []
  assert.deepEqual([order?.limit_price, order?.price_ticks], [null, '9'])
})

const UNDECODABLE: readonly (readonly [string, Topic, Uint8Array])[] = [
  ['no Avro', 'calls', Buffer.from('no avro')],
  [
    'an invalid value',
    'calls',
    codec.encode('evm.call.CallEvents', { meta, events: [{ value: '0x7' }] }),
  ],
  [
    'an invalid fee',
    'calls',
    codec.encode('evm.call.CallEvents', { meta, events: [{ value: '7', tx_fee: '-1' }] }),
  ],
  [
    'a reward beyond 64 bits',
    'rewards',
    codec.encode('svm.reward.RewardEvents', { meta, events: [{ amount: '9'.repeat(20) }] }),
  ],
  [
    'an invalid amount of an outcome',
    'predictionSettlements',
    codec.encode('prediction.PredictionSettlementEvents', { meta, events: [{ amounts: ['x'] }] }),
  ],
  [
    'an invalid amount of a red packet',
    'redpackets',
    codec.encode('redpacket.RedPacketEvents', { meta, events: [{ total_amount: '-1' }] }),
  ],
]
for (const [what, topic, bytes] of UNDECODABLE) {
  test(`${what} is a dead letter, not a row`, () => {
    assert.throws(() => rowsOf(topic, bytes), InvalidInput)
  })
}
