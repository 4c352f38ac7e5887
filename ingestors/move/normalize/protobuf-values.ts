import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import { objectFieldsOrNull } from './raw-transaction.ts'

/** Deepest nesting of a printed value that is followed; Move's own types nest far less. */
const MAX_DEPTH = 64

/**
 * A `Checkpoint` as it comes over gRPC, in the shape that `normalizeCheckpoint` reads: values that the node printed (fields of
 * events and objects) become plain ones. Throws `InvalidInput`: the readers' reasons, `too-deep`.
 */
export const toCheckpointFields = (value: unknown): Fields => {
  const raw = fieldsOf(value, 'checkpoint')
  return {
    ...raw,
    transactions: listOf(raw.transactions, 'transactions').map(toTransactionFields),
    ...(raw.objects !== undefined && { objects: toObjectsFields(raw.objects) }),
  }
}

/** An `ObjectSet` with plain fields. */
const toObjectsFields = (value: unknown): Fields => {
  const { objects } = fieldsOf(value, 'objects')
  return { objects: listOf(objects, 'objects.objects').map(withPlainJson) }
}

const toTransactionFields = (value: unknown): Fields => {
  const raw = fieldsOf(value, 'transaction')
  const events = orElse(raw.events, 'events', { read: fieldsOf, fallback: null })
  if (events === null) return raw
  return { ...raw, events: { events: listOf(events.events, 'events').map(withPlainJson) } }
}

const withPlainJson = (value: unknown): Fields => {
  const raw = fieldsOf(value, 'event or object')
  return raw.json === undefined ? raw : { ...raw, json: plainValue(raw.json, 0) }
}

/** Fields that a node printed: plain, or as a `google.protobuf.Value` that some clients record. null: none. Throws `InvalidInput`. */
export const plainFields = (value: unknown): Fields | null => {
  const raw = objectFieldsOrNull(value)
  const isWrapped = raw?.structValue !== undefined || oneofKindOf(raw)?.structValue !== undefined
  return isWrapped ? objectFieldsOrNull(plainValue(value, 0)) : raw
}

/** The object around a `oneof` that names its case, as some clients make it. */
const oneofKindOf = (raw: Fields | null): Fields | null => {
  const kind = objectFieldsOrNull(raw?.kind)
  return typeof kind?.oneofKind === 'string' ? kind : null
}

/** A `google.protobuf.Value` as the value that it stands for. */
const plainValue = (value: unknown, depth: number): unknown => {
  if (depth > MAX_DEPTH) throw invalid('too-deep', 'json', depth)
  const reported = fieldsOf(value, 'json')
  const raw = oneofKindOf(reported) ?? reported
  if (raw.structValue !== undefined) {
    const fields = Object.entries(fieldsOf(fieldsOf(raw.structValue, 'struct').fields, 'fields'))
    return Object.fromEntries(fields.map(([name, each]) => [name, plainValue(each, depth + 1)]))
  }
  if (raw.listValue !== undefined) {
    const { values } = fieldsOf(raw.listValue, 'list')
    return listOf(values, 'list').map((each) => plainValue(each, depth + 1))
  }
  return raw.stringValue ?? raw.numberValue ?? raw.boolValue ?? null
}
