import { workerData } from 'node:worker_threads'
import type { Codec } from '../../core/codec/contract.ts'
import { localCodec, openStoredSchemas } from '../../core/codec/local-codec.ts'
import { type RegistryConnection, registryCodec } from '../../core/codec/registry-codec.ts'
import { type Dependency, Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type BatchRows, batchRows } from './batch-rows.ts'
import { FEED_SINKS } from './feed-sinks.ts'
import { SINKS } from './tables.ts'

/** Where a thread finds the schemas of the records. */
export interface RowWorkerData {
  /** Null: the log is embedded. */
  readonly registry: RegistryConnection | null
  /** File of the schemas beside an embedded log; absent: they are our own. */
  readonly schemas?: string
}

/** The values of a batch: their bytes one after the other, and how many each has, -1 for a tombstone. */
export interface RowRequest {
  readonly topic: string
  readonly bytes: Uint8Array
  readonly lengths: Int32Array
}

/** An error loses its class on the way between threads. */
export type RowResponse =
  | { readonly kind: 'rows'; readonly rows: BatchRows }
  | { readonly kind: 'outage'; readonly of: Dependency; readonly message: string }

const { registry, schemas }: RowWorkerData = workerData
let cachedCodec: Codec | undefined
/** A registry that does not answer as the thread begins is asked again with the next batch. */
const openCodec = async (): Promise<Codec> =>
  registry === null
    ? localCodec(schemas === undefined ? undefined : openStoredSchemas(schemas))
    : await registryCodec({ ...registry, log: makeSilentLogger() })
const sinks = new Map([...SINKS, ...FEED_SINKS].map((sink) => [String(sink.topic), sink]))

const splitValues = ({ bytes, lengths }: RowRequest): readonly (Uint8Array | null)[] => {
  let at = 0
  return Array.from(lengths, (length) => {
    if (length < 0) return null
    at += length
    return bytes.subarray(at - length, at)
  })
}

/** Rows of one batch. */
export const makeRows = async (order: RowRequest): Promise<RowResponse> => {
  const sink = sinks.get(order.topic)
  if (sink === undefined) throw new Error(`no sink reads ${order.topic}`)
  try {
    const codec = cachedCodec ?? (await openCodec())
    cachedCodec = codec
    return { kind: 'rows', rows: batchRows(codec, sink, splitValues(order)) }
  } catch (error) {
    if (!(error instanceof Outage)) throw error
    return { kind: 'outage', of: error.of, message: error.message }
  }
}
