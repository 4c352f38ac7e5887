import { type Fields, fieldsOf, listOf, orElse, refuse } from '../../input/json.ts'
import { objectFieldsOrNull } from './raw-transaction.ts'

/** Deepest nesting of a printed value that is followed; Move's own types nest far less. */
const MAX_DEPTH = 64

/**
 * A `Checkpoint` as it comes over gRPC, in the shape that `normalizeCheckpoint` reads: values that the node printed (fields of
 * events and objects) become plain ones. Throws `InvalidInput`: the readers' reasons, `too-deep`.
 */
export const toCheckpointShape = (value: unknown): Fields => {
  const said = fieldsOf(value, 'checkpoint')
  return {
    ...said,
    transactions: listOf(said.transactions, 'transactions').map(toTransactionShape),
    ...(said.objects !== undefined && { objects: toObjectsShape(said.objects) }),
  }
}

/** An `ObjectSet` with plain fields. */
const toObjectsShape = (value: unknown): Fields => {
  const { objects } = fieldsOf(value, 'objects')
  return { objects: listOf(objects, 'objects.objects').map(withPlainJson) }
}

const toTransactionShape = (value: unknown): Fields => {
  const said = fieldsOf(value, 'transaction')
  const events = orElse(said.events, 'events', { read: fieldsOf, fallback: null })
  if (events === null) return said
  return { ...said, events: { events: listOf(events.events, 'events').map(withPlainJson) } }
}

const withPlainJson = (value: unknown): Fields => {
  const said = fieldsOf(value, 'event or object')
  return said.json === undefined ? said : { ...said, json: plainValue(said.json, 0) }
}

/** Fields that a node printed: plain, or as a `google.protobuf.Value` that some clients record. null: none. Throws `InvalidInput`. */
export const plainFields = (value: unknown): Fields | null => {
  const said = objectFieldsOrNull(value)
  const isWrapped = said?.structValue !== undefined || oneofKindOf(said)?.structValue !== undefined
  return isWrapped ? objectFieldsOrNull(plainValue(value, 0)) : said
}

/** The object around a `oneof` that names its case, as some clients make it. */
const oneofKindOf = (said: Fields | null): Fields | null => {
  const kind = objectFieldsOrNull(said?.kind)
  return typeof kind?.oneofKind === 'string' ? kind : null
}

/** A `google.protobuf.Value` as the value that it stands for. */
const plainValue = (value: unknown, depth: number): unknown => {
  if (depth > MAX_DEPTH) throw refuse('too-deep', 'json', depth)
  const told = fieldsOf(value, 'json')
  const said = oneofKindOf(told) ?? told
  if (said.structValue !== undefined) {
    const fields = Object.entries(fieldsOf(fieldsOf(said.structValue, 'struct').fields, 'fields'))
    return Object.fromEntries(fields.map(([name, each]) => [name, plainValue(each, depth + 1)]))
  }
  if (said.listValue !== undefined) {
    const { values } = fieldsOf(said.listValue, 'list')
    return listOf(values, 'list').map((each) => plainValue(each, depth + 1))
  }
  return said.stringValue ?? said.numberValue ?? said.boolValue ?? null
}
