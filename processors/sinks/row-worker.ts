import { parentPort, workerData } from 'node:worker_threads'
import { type PackedBytes, unpackBytes } from '../../core/runtime/packed-bytes.ts'
import { type ThreadError, toThreadError } from '../../core/runtime/thread-error.ts'
import { makeThreadCodec } from '../runtime/thread-codec.ts'
import { type BatchRows, batchRows } from './batch-rows.ts'
import { FEED_SINKS } from './feed-sinks.ts'
import { SINKS } from './tables.ts'

/** The values of a batch of one topic. */
export interface RowRequest extends PackedBytes {
  readonly topic: string
}

/** The rows, or why there are none. */
export type RowResponse =
  | { readonly kind: 'rows'; readonly rows: BatchRows }
  | { readonly kind: 'failed'; readonly error: ThreadError }

const openCodec = makeThreadCodec(workerData, parentPort)
const sinks = new Map([...SINKS, ...FEED_SINKS].map((sink) => [String(sink.topic), sink]))

/** Rows of one batch. Never throws. */
export const makeRows = async (order: RowRequest): Promise<RowResponse> => {
  try {
    const sink = sinks.get(order.topic)
    if (sink === undefined) throw new Error(`no sink reads ${order.topic}`)
    return { kind: 'rows', rows: batchRows(await openCodec(), sink, unpackBytes(order)) }
  } catch (error) {
    return { kind: 'failed', error: toThreadError(error) }
  }
}
