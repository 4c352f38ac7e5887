import { hostname } from 'node:os'
import type { ProducerRecord } from '../../core/bus/contract.ts'
import type { RejectedTransaction } from '../../schemas/block-parts.ts'
import type { Block, DroppedEvent, Swap } from '../../schemas/events.ts'
import { deadLetterTopic } from '../../schemas/topics.ts'
import type { DecodeContext, UnreadName } from '../decode/contract.ts'
import { protocolRegistry } from '../decode/protocol-registry.ts'
import { parentHeightOf } from '../follow/chain-position.ts'
import type { RejectedResponse } from '../input/rejected-responses.ts'
import { requiredLookups } from '../vm/decode-block.ts'
import { type DeadLetterPayload, deadLetterPayloadText } from './payload.ts'

/** Dead letters that one block may write; the counts are in the metrics. */
const MAX_DEAD_LETTERS = 4
/** Most pools whose metadata a dead letter carries. */
const MAX_POOLS = 32
/** Longest error text of a dead letter. */
const MAX_MESSAGE = 1_024

/** Topic of what an ingestor could not take. */
export const ingestDlqTopic = (chain: string): string => deadLetterTopic(`ingest.${chain}`)

/** Something that was not taken from a chain. */
export interface IngestDeadLetter {
  readonly chain: string
  readonly key: string
  readonly stage: 'decode' | 'map' | 'apply'
  readonly errorClass: string
  readonly message: string
  /** What it was, as far as it is known. */
  readonly body: DeadLetterPayload
  readonly timeMs: number
}

/** A dead letter of the ingestor. Nothing was read from a topic, so `dlq.topic` names the chain's own block topic. */
export const ingestDeadLetterRecord = (deadLetter: IngestDeadLetter): ProducerRecord => ({
  topic: ingestDlqTopic(deadLetter.chain),
  key: deadLetter.key,
  value: Buffer.from(deadLetterPayloadText(deadLetter.body), 'utf8'),
  headers: {
    'dlq.topic': `${deadLetter.chain}.blocks`,
    'dlq.partition': '0',
    'dlq.offset': '-1',
    'dlq.timestamp': String(deadLetter.timeMs),
    'dlq.stage': deadLetter.stage,
    'dlq.error.class': deadLetter.errorClass,
    'dlq.error.message': deadLetter.message.slice(0, MAX_MESSAGE),
    'dlq.attempts': '1',
    'dlq.host': hostname(),
  },
})

/** A swap whose tokens cannot be named is not a trade. */
export const namelessSwaps = (swaps: readonly Swap[], block: Block): readonly DroppedEvent[] => {
  const hashes = new Map(block.transactions.map(({ index, hash }) => [index, hash]))
  return swaps
    .filter(
      ({ tokenIn, tokenOut }) => tokenIn === null || tokenOut === null || tokenIn === tokenOut,
    )
    .map(({ txIndex, logIndex, protocol }) => ({
      reason: 'unknown-tokens',
      txHash: hashes.get(txIndex) ?? '',
      logIndex,
      protocol,
    }))
}

/** What a block holds that is not taken, and what was said meanwhile. */
export interface RejectedParts {
  readonly dropped: readonly DroppedEvent[]
  readonly unread: readonly UnreadName[]
  readonly rejectedResponses: readonly RejectedResponse[]
  /** What the dropped events were decoded with. */
  readonly context: DecodeContext
}

/** Dead letters of a block: the first of each reason, of its events, its transactions, its tokens' names and its nodes' answers. */
export const blockDeadLetters = (
  block: Block,
  rejectedParts: RejectedParts,
): readonly ProducerRecord[] => {
  const { chain, timeMs, height, hash } = block
  const above = { height: parentHeightOf(block), hash: block.parentHash, seq: null }
  const events = sample(rejectedParts.dropped, ({ reason }) => reason).map((drop) =>
    eventDeadLetter(drop, block, rejectedParts.context),
  )
  const transactions = sample(block.rejected ?? [], ({ reason }) => reason).map((rejected) =>
    transactionDeadLetter(rejected, block),
  )
  const names = sample(rejectedParts.unread, ({ reason }) => reason).map(
    ({ address, reason, said: input }): IngestDeadLetter => ({
      chain,
      key: address,
      stage: 'decode',
      errorClass: `InvalidInput ${reason}`,
      timeMs,
      message: `the name of ${address} cannot be shown`,
      body: { kind: 'name', reason, address, input, height, hash },
    }),
  )
  const answers = sample(rejectedParts.rejectedResponses, ({ reason }) => reason).map(
    ({ reason, message, endpoint }): IngestDeadLetter => ({
      chain,
      key: chain,
      stage: 'decode',
      errorClass: `InvalidInput ${reason}`,
      timeMs,
      message,
      body: { kind: 'answer', reason, message, endpoint, above },
    }),
  )
  return [...events, ...transactions, ...names, ...answers].map(ingestDeadLetterRecord)
}

const sample = <T>(items: readonly T[], reasonOf: (item: T) => string): readonly T[] => {
  const first = new Map<string, T>()
  for (const item of items) if (!first.has(reasonOf(item))) first.set(reasonOf(item), item)
  return [...first.values()].slice(0, MAX_DEAD_LETTERS)
}

/** The event with its transaction and the pools that its transaction names: enough to decode it again. */
const eventDeadLetter = (
  drop: DroppedEvent,
  block: Block,
  { verification, pool }: DecodeContext,
): IngestDeadLetter => {
  const { chain, height, hash, timeMs } = block
  const alone = aloneIn(block, drop.txHash)
  const { pools } = alone === null ? { pools: [] } : requiredLookups(alone, protocolRegistry(chain))
  const known = pools.slice(0, MAX_POOLS).flatMap(({ address }) => pool(address) ?? [])
  return {
    chain,
    key: drop.txHash,
    stage: 'decode',
    errorClass: 'Dropped',
    message: drop.reason,
    body: { kind: 'event', ...drop, height, hash, verification, block: alone, pools: known },
    timeMs,
  }
}

/** The block with one transaction only; null where that is not told. */
const aloneIn = (block: Block, txHash: string): Block | null => {
  const { rejected: _refused, ...kept } = block
  const isIt = (each: { readonly hash: string }): boolean => each.hash === txHash
  const { vm } = kept
  const found = kept.transactions.find(isIt)
  if (found === undefined) return null
  return { ...kept, vm, transactions: [found] } as Block
}

const transactionDeadLetter = (rejected: RejectedTransaction, block: Block): IngestDeadLetter => {
  const { chain, height, hash, timeMs } = block
  const { reason, message, txHash, index, input } = rejected
  return {
    chain,
    key: txHash || chain,
    stage: 'decode',
    errorClass: `InvalidInput ${reason}`,
    message,
    body: { kind: 'transaction', reason, txHash, index, vm: block.vm, height, hash, input },
    timeMs,
  }
}
