import { hostname } from 'node:os'
import type { OutRecord } from '../core/bus-contract.ts'
import type { Block, Dropped, Swap } from '../schemas/events.ts'
import { deadLetterTopic } from '../schemas/topics.ts'

/** Letters that one block may write; the counts are in the metrics. */
const MAX_LETTERS = 4
/** Longest error text of a letter (contract/kafka.md 2.9). */
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
  readonly body: Readonly<Record<string, unknown>>
  readonly timeMs: number
}

/** A dead letter of the ingestor. Nothing was read from a topic, so `dlq.topic` names the chain's own block topic. */
export const letterRecord = (letter: Letter): OutRecord => ({
  topic: ingestLetters(letter.chain),
  key: letter.key,
  value: Buffer.from(JSON.stringify(letter.body), 'utf8'),
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

/** A swap whose tokens nobody can name is no trade. */
export const namelessSwaps = (swaps: readonly Swap[], block: Block): readonly Dropped[] => {
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

/** A sample of a block's dropped events: the first of each reason. */
export const droppedLetters = (dropped: readonly Dropped[], block: Block): readonly OutRecord[] => {
  const first = new Map<string, Dropped>()
  for (const drop of dropped) if (!first.has(drop.reason)) first.set(drop.reason, drop)
  return [...first.values()].slice(0, MAX_LETTERS).map((drop) =>
    letterRecord({
      chain: block.chain,
      key: drop.txHash,
      stage: 'decode',
      errorClass: 'Dropped',
      message: drop.reason,
      body: { ...drop, height: block.height, hash: block.hash },
      timeMs: block.timeMs,
    }),
  )
}
