import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toEventSelector, toFunctionSelector } from 'viem'
import { EVENT_SIGNATURES, METHOD_SIGNATURES } from '../../ingestors/evm/abi/signatures.ts'
import { minerRewards } from '../../ingestors/evm/normalize/miner-rewards.ts'
import {
  callEvents,
  logEvents,
  MAX_FEED_BYTES,
  minerRewardEvents,
  uncleEvents,
} from '../../ingestors/evm/to-wire/feeds.ts'
import type { Uncle } from '../../schemas/block-parts.ts'
import {
  buildLog,
  buildSingleTransactionBlock,
  recordedEthereumBlock,
  recordingJson,
} from '../support/recordings/ethereum.ts'
import { recordedBlockWithTraces } from '../support/recordings/traces.ts'

test('event and method signatures are listed under their own hash', () => {
  for (const [hash, { text }] of EVENT_SIGNATURES) assert.equal(toEventSelector(text), hash)
  for (const [hash, { text }] of METHOD_SIGNATURES) assert.equal(toFunctionSelector(text), hash)
})

interface Receipt {
  readonly gasUsed: string
  readonly effectiveGasPrice: string
  readonly logs: readonly { readonly topics: readonly string[]; readonly data: string }[]
}

const receiptsOf = (name: string): readonly Receipt[] =>
  recordingJson(name).eth_getBlockReceipts as Receipt[]

test('every recorded log is an event, with its name where the table has it', () => {
  const name = 'block_17148268.json'
  const logs = receiptsOf(name).flatMap((receipt) => receipt.logs)
  const events = logEvents(recordedEthereumBlock(name))
  assert.deepEqual(
    events.map(({ event }) => [event.log_index, event.topics, event.data]),
    logs.map(({ topics, data }, index) => [index, topics, data]),
  )
  const transfers = events.filter(({ event }) => event.sig_name === 'Transfer')
  assert.equal(
    transfers.length,
    logs.filter(({ topics }) => topics[0]?.startsWith('0xddf252ad')).length,
  )
  assert.ok(events.some(({ event }) => event.sig_name === null))
  assert.ok(events.every(({ key, event }) => key === event.contract))
})

test('log data beyond the record limit is truncated', () => {
  const data = `0x${'ab'.repeat(MAX_FEED_BYTES + 9)}`
  const block = buildSingleTransactionBlock([{ ...buildLog(`0x${'aa'.repeat(20)}`, [], []), data }])
  const [event] = logEvents(block)
  assert.equal(event?.event.data?.length, 2 + 2 * MAX_FEED_BYTES)
  assert.equal(event?.event.topic0, '', 'a log may have no topic')
})

test('calls have their transaction, and their method where the table has it', () => {
  const block = recordedBlockWithTraces('block_17148268.json')
  const events = callEvents(block)
  assert.equal(events.length, 891)
  const passed = events.filter(({ event }) => event.input?.startsWith('0xa9059cbb'))
  assert.ok(passed.length > 10)
  for (const { key, event } of passed) {
    assert.equal(event.signature, 'transfer(address,uint256)')
    assert.equal(key, event.to_address)
  }
  const senders = new Map(block.transactions.map(({ hash, from }) => [hash, from]))
  for (const { event } of events) assert.equal(event.tx_signer, senders.get(event.tx_hash ?? ''))
})

test('since the merge a block reward is the part of its fees that is not burnt', () => {
  const name = 'block_18000000.json'
  const block = recordedEthereumBlock(name)
  const [reward, ...others] = minerRewardEvents(block)
  assert.deepEqual(others, [])
  const tips = receiptsOf(name).reduce(
    (sum, { gasUsed, effectiveGasPrice }) =>
      sum + BigInt(gasUsed) * (BigInt(effectiveGasPrice) - block.baseFeeRaw),
    0n,
  )
  assert.ok(tips > 0n)
  const { event } = reward ?? {}
  assert.equal(event?.dynamic_reward, String(tips))
  assert.equal(event?.total_reward, String(tips))
  assert.equal(event?.static_reward, '0')
  assert.equal(event?.miner, block.coinbase)
  const burnt = BigInt(event?.burnt_fees ?? '')
  assert.equal(burnt, block.baseFeeRaw * block.gasUsedRaw)
  assert.equal(event?.tx_fees, String(tips + burnt))
})

const uncleAt = (height: number, miner: string, index = 0): Uncle => ({
  index,
  hash: `0x${'33'.repeat(32)}`,
  parentHash: `0x${'44'.repeat(32)}`,
  miner,
  height,
  difficultyRaw: 7n,
  gasLimit: 30_000_000,
  gasUsed: 21_000,
  timeMs: 1_000,
})

test('before the merge a block reward includes new native tokens, for uncles too', () => {
  const coin = 10n ** 18n
  const rewardAt = (height: number) =>
    minerRewards({ ...buildSingleTransactionBlock([]), height })[0]?.staticRaw
  assert.deepEqual([0, 1, 4_369_999, 4_370_000, 7_280_000, 15_537_393, 15_537_394].map(rewardAt), [
    0n,
    5n * coin,
    5n * coin,
    3n * coin,
    2n * coin,
    2n * coin,
    0n,
  ])
  const [one, other] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`]
  const height = 10_000_000
  const uncles = [uncleAt(height - 1, one), uncleAt(height - 6, other, 1)]
  const uncleHashes = uncles.map(({ hash }) => hash)
  const block = { ...buildSingleTransactionBlock([]), height, uncles, uncleHashes }
  assert.deepEqual(
    minerRewards(block).map(({ miner, staticRaw, uncleRaw }) => [miner, staticRaw, uncleRaw]),
    [
      [block.coinbase, 2n * coin, coin / 8n],
      [one, 0n, (7n * coin) / 4n],
      [other, 0n, coin / 2n],
    ],
  )
  const both = { ...block, coinbase: one }
  const [sum, ...rest] = minerRewards(both)
  assert.equal(rest.length, 1)
  assert.equal(sum?.uncleRaw, coin / 8n + (7n * coin) / 4n)
  assert.deepEqual(
    uncleEvents(block).map(({ key, event }) => [key, event.uncle_number, event.difficulty]),
    [
      [one, height - 1, '7'],
      [other, height - 6, '7'],
    ],
  )
})

test('on other chains a block reward includes no new native tokens', () => {
  assert.equal(
    minerRewards({ ...buildSingleTransactionBlock([]), chain: 'bsc', height: 5 })[0]?.staticRaw,
    0n,
  )
})
