import { hostname } from 'node:os'
import { deadLetterTopic } from '../../schemas/topics.ts'
import { InvalidInput } from '../errors.ts'
import type { LogRecord, ProducerRecord } from './contract.ts'

const MAX_MESSAGE_LENGTH = 1_024

/** Where a record was refused: as it was read, or by the store that was to keep it. */
export type DeadLetterStage = 'decode' | 'insert'

/** An undecodable record as it goes to `dlq.{group}`: key, bytes and headers untouched, why beside them. */
export const deadLetterRecord = (
  group: string,
  record: LogRecord,
  error: InvalidInput,
  stage: DeadLetterStage = 'decode',
): ProducerRecord => ({
  topic: deadLetterTopic(group),
  key: record.key,
  value: record.value,
  headers: {
    ...record.headers,
    'dlq.topic': record.topic,
    'dlq.partition': String(record.partition),
    'dlq.offset': String(record.offset),
    'dlq.timestamp': String(record.timestampMs),
    'dlq.stage': stage,
    'dlq.error.class': `${error.name}.${error.reason}`,
    'dlq.error.message': error.message.slice(0, MAX_MESSAGE_LENGTH),
    'dlq.attempts': '1',
    'dlq.host': hostname(),
  },
})

/** The value, or the reason why there is none. Passes everything but `InvalidInput` on. */
export const tryDecode = <Value>(decode: () => Value): { readonly value: Value } | InvalidInput => {
  try {
    return { value: decode() }
  } catch (error) {
    if (error instanceof InvalidInput) return error
    throw error
  }
}

/** Position of a record in its operation, by its headers `seq` and `part` (`i/n`); null where they do not tell. */
export const positionFromHeaders = ({
  headers,
}: LogRecord): { readonly seq: number | null; readonly part: number | null } => {
  const seq = /^\d{1,15}$/.exec(headers.seq ?? '')?.[0]
  const part = /^(\d{1,9})\/\d{1,9}$/.exec(headers.part ?? '')?.[1]
  return seq === undefined || part === undefined
    ? { seq: null, part: null }
    : { seq: Number(seq), part: Number(part) }
}
