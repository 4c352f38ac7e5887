import type { Bus, LogRecord } from '../../core/bus/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import {
  type DeadLetterPayload,
  parseDeadLetterPayload,
} from '../../ingestors/dead-letters/payload.ts'
import { retryDecode } from '../../ingestors/dead-letters/retry.ts'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { topicName } from '../../schemas/topics.ts'
import type { DeadLetterPrices } from './dead-letter-prices.ts'

/** Topics of what ingestors could not take. */
const INGEST_DLQ_TOPIC = /^dlq\.ingest\.([a-z]+)$/

/** The chain of a dead-letter topic that an ingestor writes; undefined for any other. */
export const ingestDlqChain = (topic: string): string | undefined =>
  INGEST_DLQ_TOPIC.exec(topic)?.[1]

/** The result of decoding a dead letter of an ingestor again. */
export interface RetryResult {
  /** `failed-again`: for the same or another reason; `decodes-now`: it is read now; `superseded`: the chain moved on; `still-blocked`: it did not. */
  readonly outcome: 'failed-again' | 'decodes-now' | 'superseded' | 'still-blocked' | 'not-retained'
  readonly detail: string
}

/**
 * Decodes dead letters of one chain again. The newest height is read once. What was not taken because a pool's price was unknown is decoded
 * with the price that a node tells now, where `prices` asks one.
 */
export const createDeadLetterRetry = async (
  bus: Bus,
  chain: string,
  prices?: DeadLetterPrices,
): Promise<(record: LogRecord) => Promise<RetryResult>> => {
  const newest = await newestHeight(bus, chain)
  return async ({ value }) => {
    if (value === null) return { outcome: 'not-retained', detail: 'the dead letter is empty' }
    try {
      const body = parseDeadLetterPayload(value)
      const isPriceless = body.kind === 'event' && body.reason === 'unknown-price'
      const price = isPriceless && body.block !== null ? await prices?.of(body.block) : undefined
      return retryPayload(body, { chain, newest, price })
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error
      return { outcome: 'not-retained', detail: `${error.reason}: ${error.message}` }
    }
  }
}

interface RetryContext {
  readonly chain: string
  readonly newest: number
  readonly price: DecodeContext['price']
}

const retryPayload = (
  body: DeadLetterPayload,
  { chain, newest, price }: RetryContext,
): RetryResult => {
  if (body.kind === 'answer' || body.kind === 'chain') {
    const stood = body.above.height ?? -1
    return newest > stood
      ? { outcome: 'superseded', detail: `the chain is at ${newest}` }
      : { outcome: 'still-blocked', detail: `no block above ${stood} was ingested` }
  }
  const result = retryDecode(body, chain, price)
  if (result.outcome === 'decodes-now') return { outcome: 'decodes-now', detail: result.what }
  if (result.outcome === 'failed-again') return { outcome: 'failed-again', detail: result.reason }
  return { outcome: 'not-retained', detail: 'the input was too large to keep' }
}

/** Height of the newest applied block of the log; -1 where there is none. */
const newestHeight = async (bus: Bus, chain: string): Promise<number> => {
  const topic = topicName('blocks', chain)
  if (!(await bus.topics(topic)).includes(topic)) return -1
  let newest = -1
  for (const { partition, low, end } of await bus.ends(topic)) {
    for await (const { headers } of bus.read(
      topic,
      partition,
      Math.max(low, end - LOOK_BACK_OPERATIONS),
      end,
    )) {
      if (headers.op === 'A') newest = Number(headers.height)
    }
  }
  return newest
}

/** Newest block operations that are looked through for an APPLY. */
const LOOK_BACK_OPERATIONS = 256
