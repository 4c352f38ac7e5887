import type { MoveCall, MoveDelta, MoveEvent, MoveObject } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, listOf, orElse } from '../../input/json.ts'
import { base64At, keyAt } from '../../svm/layout/json.ts'
import { addressAt, coinAt, deltaAt, textAt } from './json.ts'
import { eventOf, namedFields, type ToldTransaction } from './raw-transaction.ts'
import { printedFields } from './wire.ts'

const NONE: readonly unknown[] = []
const listed = (value: unknown, at: string): readonly unknown[] =>
  orElse(value, at, { read: listOf, fallback: NONE })
const optionalFields = (value: unknown, at: string): Fields =>
  orElse(value, at, { read: fieldsOf, fallback: {} })

/** Objects of a checkpoint by id: it lists each once, not with every transaction that touched it. */
export type GrpcObjects = ReadonlyMap<string, Fields>

/** Objects of an `ObjectSet`, the newest version of each. Throws `Malformed`. */
export const objectsOf = (set: unknown): GrpcObjects => {
  const list = listed(optionalFields(set, 'objects').objects, 'objects.objects')
  return new Map(
    list.map((each) => {
      const said = fieldsOf(each, 'object')
      return [addressAt(said.objectId, 'objectId'), said]
    }),
  )
}

/**
 * An `ExecutedTransaction` of `sui.rpc.v2` in the proto3 JSON mapping, or with enums as numbers and `oneof` as an object
 * that names its case, which some clients make of it. Source: MystenLabs/sui-apis proto/sui/rpc/v2. Throws `Malformed`.
 */
export const toldByGrpc = (said: Fields, shared: GrpcObjects): ToldTransaction => {
  const transaction = fieldsOf(said.transaction, 'transaction')
  const effects = fieldsOf(said.effects, 'effects')
  const { owner } = optionalFields(transaction.gasPayment, 'gasPayment')
  const sender = addressAt(transaction.sender, 'sender')
  const objects = said.objects === undefined ? shared : objectsOf(said.objects)
  const { events } = optionalFields(said.events, 'events')
  return {
    digest: keyAt(said.digest, 'digest'),
    sender,
    gasOwner: orElse(owner, 'gasPayment.owner', { read: addressAt, fallback: sender }),
    success: fieldsOf(effects.status, 'effects.status').success === true,
    gasUsed: optionalFields(effects.gasUsed, 'effects.gasUsed'),
    events: listed(events, 'events.events').map(eventAt),
    deltas: listed(said.balanceChanges, 'balanceChanges').flatMap(deltaOf),
    calls: callsOf(optionalFields(transaction.kind, 'transaction.kind')),
    objects: listed(effects.changedObjects, 'changedObjects').flatMap((each) =>
      objectOf(fieldsOf(each, 'changedObject'), objects),
    ),
  }
}

const eventAt = (value: unknown, index: number): MoveEvent => {
  const said = fieldsOf(value, 'event')
  const fields = printedFields(said.json)
  const bytes = optionalFields(said.contents, 'event.contents').value
  return eventOf({
    index,
    type: said.eventType,
    sender: orElse(said.sender, 'event.sender', { read: addressAt, fallback: '' }),
    fields,
    bytes:
      fields === null ? orElse(bytes, 'contents.value', { read: bytesAt, fallback: null }) : null,
  })
}

const bytesAt = (value: unknown, at: string): Uint8Array =>
  value instanceof Uint8Array ? value : base64At(value, at)

const deltaOf = (value: unknown): readonly MoveDelta[] => {
  const said = fieldsOf(value, 'balanceChange')
  const owner = addressAt(said.address, 'balanceChange.address')
  const coin = coinAt(said.coinType, 'balanceChange.coinType')
  const deltaRaw = deltaAt(said.amount, 'balanceChange.amount')
  return coin === undefined ? [] : [{ owner, coin, deltaRaw }]
}

/** Symbols of the enums that count here, with their numbers. Source: effects.proto. */
const CREATED: readonly unknown[] = ['CREATED', 2]
const OBJECT_WRITE: readonly unknown[] = ['OUTPUT_OBJECT_STATE_OBJECT_WRITE', 2]
const PACKAGE_WRITE: readonly unknown[] = ['OUTPUT_OBJECT_STATE_PACKAGE_WRITE', 3]

const objectOf = (said: Fields, objects: GrpcObjects): readonly MoveObject[] => {
  const isNew = CREATED.includes(said.idOperation)
  const id = addressAt(said.objectId, 'changedObject.objectId')
  if (PACKAGE_WRITE.includes(said.outputState)) {
    return isNew ? [{ id, type: '', change: 'published', fields: null }] : []
  }
  if (!OBJECT_WRITE.includes(said.outputState)) return []
  const known = objects.get(id)
  const type = said.objectType ?? known?.objectType
  return [
    {
      id,
      type: orElse(type, 'objectType', { read: textAt, fallback: '' }),
      change: isNew ? 'created' : 'changed',
      fields: printedFields(known?.json),
    },
  ]
}

/** The case of a `oneof` by its name, as the JSON mapping writes it or inside an object that names the case. */
const oneOf = (said: Fields, wrapper: string, name: string): Fields | null => {
  const wrapped = namedFields(said[wrapper])
  return namedFields(said[name]) ?? namedFields(wrapped?.[name])
}

/** Calls of a programmable transaction; other kinds have none. */
const callsOf = (kind: Fields): readonly MoveCall[] => {
  const program = oneOf(kind, 'data', 'programmableTransaction')
  if (program === null) return []
  const ids = listed(program.inputs, 'inputs').map((input) => namedFields(input)?.objectId)
  return listed(program.commands, 'commands').flatMap((command) => {
    const call = oneOf(fieldsOf(command, 'command'), 'command', 'moveCall')
    if (call === null) return []
    return [
      {
        typeArguments: listed(call.typeArguments, 'typeArguments').map((type) =>
          textAt(type, 'typeArguments[]'),
        ),
        objects: listed(call.arguments, 'arguments').flatMap((argument) => {
          const { kind: takes, input } = fieldsOf(argument, 'argument')
          const id = INPUT.includes(takes) && typeof input === 'number' ? ids[input] : undefined
          return id === undefined ? [] : [addressAt(id, 'inputs[].objectId')]
        }),
      },
    ]
  })
}

/** `Argument.ArgumentKind` of one that is an input. Source: argument.proto. */
const INPUT: readonly unknown[] = ['INPUT', 2]
