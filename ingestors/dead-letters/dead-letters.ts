import { hostname } from 'node:os'
import type { ProducerRecord } from '../../core/bus/contract.ts'
import type { Block, DroppedEvent, RejectedTransaction, Swap } from '../../schemas/events.ts'
import { deadLetterTopic } from '../../schemas/topics.ts'
import type { Books } from '../decode/contract.ts'
import { protocolBook } from '../decode/protocol-registry.ts'
import { parentHeightOf } from '../follow/chain-position.ts'
import type { Refusal } from '../input/rejected-responses.ts'
import type { UnreadName } from '../publish/metadata-store.ts'
import { subjectsOf } from '../vm/decode-block.ts'
import { type LetterBody, letterText } from './payload.ts'

/** Letters that one block may write; the counts are in the metrics. */
const MAX_LETTERS = 4
/** Pools whose facts a letter carries. */
const MAX_POOLS = 32
/** Longest error text of a letter. */
const MAX_MESSAGE = 1_024

/** Topic of what an ingestor could not take. */
export const ingestLetters = (chain: string): string => deadLetterTopic(`ingest.${chain}`)

/** Something that was not taken from a chain. */
export interface Letter {
  readonly chain: string
  readonly key: string
  readonly stage: 'decode' | 'map' | 'apply'
  readonly errorClass: string
  readonly message: string
  /** What it was, as far as it is known. */
  readonly body: LetterBody
  readonly timeMs: number
}

/** A dead letter of the ingestor. Nothing was read from a topic, so `dlq.topic` names the chain's own block topic. */
export const letterRecord = (letter: Letter): ProducerRecord => ({
  topic: ingestLetters(letter.chain),
  key: letter.key,
  value: Buffer.from(letterText(letter.body), 'utf8'),
  headers: {
    'dlq.topic': `${letter.chain}.blocks`,
    'dlq.partition': '0',
    'dlq.offset': '-1',
    'dlq.timestamp': String(letter.timeMs),
    'dlq.stage': letter.stage,
    'dlq.error.class': letter.errorClass,
    'dlq.error.message': letter.message.slice(0, MAX_MESSAGE),
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
export interface Untaken {
  readonly dropped: readonly DroppedEvent[]
  readonly unread: readonly UnreadName[]
  readonly refusals: readonly Refusal[]
  /** What the dropped events were decoded with. */
  readonly books: Books
}

/** Letters of a block: the first of each reason, of its events, its transactions, its tokens' names and its nodes' answers. */
export const blockLetters = (block: Block, untaken: Untaken): readonly ProducerRecord[] => {
  const { chain, timeMs, height, hash } = block
  const above = { height: parentHeightOf(block), hash: block.parentHash, seq: null }
  const events = sample(untaken.dropped, ({ reason }) => reason).map((drop) =>
    eventLetter(drop, block, untaken.books),
  )
  const transactions = sample(block.refused ?? [], ({ reason }) => reason).map((refused) =>
    transactionLetter(refused, block),
  )
  const names = sample(untaken.unread, ({ reason }) => reason).map(
    ({ address, reason, said }): Letter => ({
      chain,
      key: address,
      stage: 'decode',
      errorClass: `Malformed ${reason}`,
      timeMs,
      message: `the name of ${address} cannot be shown`,
      body: { kind: 'name', reason, address, said, height, hash },
    }),
  )
  const answers = sample(untaken.refusals, ({ reason }) => reason).map(
    ({ reason, message, endpoint }): Letter => ({
      chain,
      key: chain,
      stage: 'decode',
      errorClass: `Malformed ${reason}`,
      timeMs,
      message,
      body: { kind: 'answer', reason, message, endpoint, above },
    }),
  )
  return [...events, ...transactions, ...names, ...answers].map(letterRecord)
}

const sample = <T>(items: readonly T[], reasonOf: (item: T) => string): readonly T[] => {
  const first = new Map<string, T>()
  for (const item of items) if (!first.has(reasonOf(item))) first.set(reasonOf(item), item)
  return [...first.values()].slice(0, MAX_LETTERS)
}

/** The event with its transaction and the pools that its transaction names: enough to decode it again. */
const eventLetter = (drop: DroppedEvent, block: Block, { proof, pool }: Books): Letter => {
  const { chain, height, hash, timeMs } = block
  const alone = aloneIn(block, drop.txHash)
  const { pools } = alone === null ? { pools: [] } : subjectsOf(alone, protocolBook(chain))
  const known = pools.slice(0, MAX_POOLS).flatMap(({ address }) => pool(address) ?? [])
  return {
    chain,
    key: drop.txHash,
    stage: 'decode',
    errorClass: 'Dropped',
    message: drop.reason,
    body: { kind: 'event', ...drop, height, hash, proof, block: alone, pools: known },
    timeMs,
  }
}

/** The block with one transaction only; null where that is not told. */
const aloneIn = (block: Block, txHash: string): Block | null => {
  const { refused: _refused, ...kept } = block
  const isIt = (each: { readonly hash: string }): boolean => each.hash === txHash
  const { vm } = kept
  const found = kept.transactions.find(isIt)
  if (found === undefined) return null
  return { ...kept, vm, transactions: [found] } as Block
}

const transactionLetter = (refused: RejectedTransaction, block: Block): Letter => {
  const { chain, height, hash, timeMs } = block
  const { reason, message, txHash, index, said } = refused
  return {
    chain,
    key: txHash || chain,
    stage: 'decode',
    errorClass: `Malformed ${reason}`,
    message,
    body: { kind: 'transaction', reason, txHash, index, vm: block.vm, height, hash, said },
    timeMs,
  }
}
