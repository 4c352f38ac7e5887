import { workerData } from 'node:worker_threads'
import { type Dependency, Outage } from '../../core/errors.ts'
import { type PackedBytes, unpackBytes } from '../../core/runtime/packed-bytes.ts'
import { makeThreadCodec } from '../runtime/thread-codec.ts'
import { type BatchRows, batchRows } from './batch-rows.ts'
import { FEED_SINKS } from './feed-sinks.ts'
import { SINKS } from './tables.ts'

/** The values of a batch of one topic. */
export interface RowRequest extends PackedBytes {
  readonly topic: string
}

/** An error loses its class on the way between threads. */
export type RowResponse =
  | { readonly kind: 'rows'; readonly rows: BatchRows }
  | { readonly kind: 'outage'; readonly of: Dependency; readonly message: string }

const openCodec = makeThreadCodec(workerData)
const sinks = new Map([...SINKS, ...FEED_SINKS].map((sink) => [String(sink.topic), sink]))

/** Rows of one batch. */
export const makeRows = async (order: RowRequest): Promise<RowResponse> => {
  const sink = sinks.get(order.topic)
  if (sink === undefined) throw new Error(`no sink reads ${order.topic}`)
  try {
    return { kind: 'rows', rows: batchRows(await openCodec(), sink, unpackBytes(order)) }
  } catch (error) {
    if (!(error instanceof Outage)) throw error
    return { kind: 'outage', of: error.of, message: error.message }
  }
}
