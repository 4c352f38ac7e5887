import type { EvmBlock } from '../../../schemas/events.ts'
import type * as Wire from '../../../schemas/wire.ts'
import type { Keyed } from '../../to-wire/context.ts'
import { transactionFields } from '../../to-wire/flat.ts'
import { EVENT_SIGNATURES, METHOD_SIGNATURES, type Signature } from '../abi/signatures.ts'
import { minerRewards } from '../normalize/miner-rewards.ts'

/** Longest data of a call or log that is published, in bytes; what is longer is cut there. A record has room for it. */
export const MAX_FEED_BYTES = 65_536
/** Hex characters of a selector. */
const SELECTOR = 10

const boundedHex = (hex: string): string => hex.slice(0, 2 + 2 * MAX_FEED_BYTES)

const signed = (signature: Signature | undefined) => ({
  sig_name: signature?.name ?? null,
  signature: signature?.text ?? null,
})

/** Calls of a block, keyed by who was called; none where no node reported them. */
export const callEvents = (block: EvmBlock): readonly Keyed<Wire.CallEvent>[] => {
  const transactions = new Map(block.transactions.map((tx) => [tx.index, transactionFields(tx)]))
  return (block.calls ?? []).map((call, index) => {
    const to = call.to ?? ''
    const isMade = call.type.startsWith('CREATE')
    return {
      key: to === '' ? call.from : to,
      event: {
        ...transactions.get(call.txIndex),
        block_height: block.height,
        event_index: index,
        call_index: call.index,
        depth: call.depth,
        from_address: call.from,
        to_address: to,
        opcode: call.type,
        gas: call.gas,
        gas_used: call.gasUsed,
        input: boundedHex(call.input),
        output: boundedHex(call.output),
        value: String(call.valueRaw),
        ...signed(isMade ? undefined : METHOD_SIGNATURES.get(call.input.slice(0, SELECTOR))),
        success: call.success,
        error: call.error,
      },
    }
  })
}

/** Logs of a block, keyed by the contract that wrote them. */
export const logEvents = (block: EvmBlock): readonly Keyed<Wire.LogEvent>[] => {
  const events: Keyed<Wire.LogEvent>[] = []
  for (const tx of block.transactions) {
    if (!tx.success) continue
    for (const { address, topics, data, index } of tx.logs) {
      const [topic0 = ''] = topics
      events.push({
        key: address,
        event: {
          block_height: block.height,
          tx_hash: tx.hash,
          tx_index: tx.index,
          tx_from: tx.from,
          tx_to: tx.to ?? '',
          event_index: events.length,
          log_index: index,
          contract: address,
          topic0,
          topics,
          data: boundedHex(data),
          ...signed(EVENT_SIGNATURES.get(topic0)),
        },
      })
    }
  }
  return events
}

/** What a block pays to who made it and to makers of its uncles, keyed by them. */
export const minerRewardEvents = (block: EvmBlock): readonly Keyed<Wire.MinerRewardEvent>[] =>
  minerRewards(block).map((reward, index) => ({
    key: reward.miner,
    event: {
      block_height: block.height,
      event_index: index,
      miner: reward.miner,
      total_reward: String(reward.staticRaw + reward.dynamicRaw + reward.uncleRaw),
      burnt_fees: String(reward.burntRaw),
      dynamic_reward: String(reward.dynamicRaw),
      static_reward: String(reward.staticRaw),
      tx_fees: String(reward.feesRaw),
      uncle_reward: String(reward.uncleRaw),
    },
  }))

/** Uncles that a block names, keyed by who made them. */
export const uncleEvents = (block: EvmBlock): readonly Keyed<Wire.UncleEvent>[] =>
  (block.uncles ?? []).map((uncle, index) => ({
    key: uncle.miner,
    event: {
      block_height: block.height,
      event_index: index,
      uncle_index: uncle.index,
      uncle_hash: uncle.hash,
      uncle_parent_hash: uncle.parentHash,
      miner: uncle.miner,
      difficulty: String(uncle.difficultyRaw),
      uncle_number: uncle.height,
      gas_limit: uncle.gasLimit,
      gas_used: uncle.gasUsed,
      uncle_time: uncle.timeMs,
    },
  }))
