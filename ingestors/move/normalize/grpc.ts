import type { MoveBalanceChange, MoveCall, MoveEvent, MoveObject } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, orElse } from '../../input/json.ts'
import { parseAmount, parseBase58Key, parseBase64 } from '../../svm/layout/json.ts'
import {
  optionalFields,
  optionalList,
  parseAddress,
  parseCoinType,
  parseSignedAmount,
  parseString,
} from './json.ts'
import { plainFields } from './protobuf-values.ts'
import { objectFieldsOrNull, type RawTransaction, toMoveEvent } from './raw-transaction.ts'

/** Objects of a checkpoint by id: it lists each once, not with every transaction that touched it. */
export type GrpcObjects = ReadonlyMap<string, Fields>

/** Objects of an `ObjectSet`, the newest version of each. Throws `InvalidInput`. */
export const parseObjectSet = (set: unknown): GrpcObjects => {
  const list = optionalList(optionalFields(set, 'objects').objects, 'objects.objects')
  return new Map(
    list.map((each) => {
      const raw = fieldsOf(each, 'object')
      return [parseAddress(raw.objectId, 'objectId'), raw]
    }),
  )
}

/**
 * An `ExecutedTransaction` of `sui.rpc.v2` in the proto3 JSON mapping, or with enums as numbers and `oneof` as an object
 * that names its case, which some clients make of it. Source: MystenLabs/sui-apis proto/sui/rpc/v2. Throws `InvalidInput`.
 */
export const fromGrpc = (raw: Fields, shared: GrpcObjects): RawTransaction => {
  const transaction = fieldsOf(raw.transaction, 'transaction')
  const effects = fieldsOf(raw.effects, 'effects')
  const { owner, budget, price } = optionalFields(transaction.gasPayment, 'gasPayment')
  const sender = parseAddress(transaction.sender, 'sender')
  const objects = raw.objects === undefined ? shared : parseObjectSet(raw.objects)
  const { events } = optionalFields(raw.events, 'events')
  return {
    digest: parseBase58Key(raw.digest, 'digest'),
    sender,
    gasOwner: orElse(owner, 'gasPayment.owner', { read: parseAddress, fallback: sender }),
    budgetRaw: orElse(budget, 'gasPayment.budget', { read: parseAmount, fallback: null }),
    priceRaw: orElse(price, 'gasPayment.price', { read: parseAmount, fallback: null }),
    success: fieldsOf(effects.status, 'effects.status').success === true,
    gasUsed: optionalFields(effects.gasUsed, 'effects.gasUsed'),
    events: optionalList(events, 'events.events').map(parseEvent),
    deltas: optionalList(raw.balanceChanges, 'balanceChanges').flatMap(parseBalanceChange),
    calls: parseMoveCalls(optionalFields(transaction.kind, 'transaction.kind')),
    objects: optionalList(effects.changedObjects, 'changedObjects').flatMap((each) =>
      parseChangedObject(fieldsOf(each, 'changedObject'), objects),
    ),
  }
}

const parseEvent = (value: unknown, index: number): MoveEvent => {
  const raw = fieldsOf(value, 'event')
  const fields = plainFields(raw.json)
  const bytes = optionalFields(raw.contents, 'event.contents').value
  return toMoveEvent({
    index,
    type: raw.eventType,
    sender: orElse(raw.sender, 'event.sender', { read: parseAddress, fallback: '' }),
    fields,
    bytes:
      fields === null
        ? orElse(bytes, 'contents.value', { read: parseBytes, fallback: null })
        : null,
  })
}

const parseBytes = (value: unknown, at: string): Uint8Array =>
  value instanceof Uint8Array ? value : parseBase64(value, at)

const parseBalanceChange = (value: unknown): readonly MoveBalanceChange[] => {
  const raw = fieldsOf(value, 'balanceChange')
  const owner = parseAddress(raw.address, 'balanceChange.address')
  const coin = parseCoinType(raw.coinType, 'balanceChange.coinType')
  const deltaRaw = parseSignedAmount(raw.amount, 'balanceChange.amount')
  return coin === undefined ? [] : [{ owner, coin, deltaRaw }]
}

/** Symbols of the enums that count here, with their numbers. Source: effects.proto. */
const CREATED: readonly unknown[] = ['CREATED', 2]
const OBJECT_WRITE: readonly unknown[] = ['OUTPUT_OBJECT_STATE_OBJECT_WRITE', 2]
const PACKAGE_WRITE: readonly unknown[] = ['OUTPUT_OBJECT_STATE_PACKAGE_WRITE', 3]

const parseChangedObject = (raw: Fields, objects: GrpcObjects): readonly MoveObject[] => {
  const isNew = CREATED.includes(raw.idOperation)
  const id = parseAddress(raw.objectId, 'changedObject.objectId')
  if (PACKAGE_WRITE.includes(raw.outputState)) {
    return isNew ? [{ id, type: '', change: 'published', fields: null }] : []
  }
  if (!OBJECT_WRITE.includes(raw.outputState)) return []
  const known = objects.get(id)
  const type = raw.objectType ?? known?.objectType
  return [
    {
      id,
      type: orElse(type, 'objectType', { read: parseString, fallback: '' }),
      change: isNew ? 'created' : 'changed',
      fields: plainFields(known?.json),
    },
  ]
}

/** The case of a `oneof` by its name, as the JSON mapping writes it or inside an object that names the case. */
const oneofCase = (raw: Fields, wrapper: string, name: string): Fields | null => {
  const wrapped = objectFieldsOrNull(raw[wrapper])
  return objectFieldsOrNull(raw[name]) ?? objectFieldsOrNull(wrapped?.[name])
}

/** Calls of a programmable transaction; other kinds have none. */
const parseMoveCalls = (kind: Fields): readonly MoveCall[] => {
  const program = oneofCase(kind, 'data', 'programmableTransaction')
  if (program === null) return []
  const ids = optionalList(program.inputs, 'inputs').map(
    (input) => objectFieldsOrNull(input)?.objectId,
  )
  return optionalList(program.commands, 'commands').flatMap((command) => {
    const call = oneofCase(fieldsOf(command, 'command'), 'command', 'moveCall')
    if (call === null) return []
    return [
      {
        typeArguments: optionalList(call.typeArguments, 'typeArguments').map((type) =>
          parseString(type, 'typeArguments[]'),
        ),
        objects: optionalList(call.arguments, 'arguments').flatMap((argument) => {
          const { kind: takes, input } = fieldsOf(argument, 'argument')
          const id =
            INPUT_ARGUMENT.includes(takes) && typeof input === 'number' ? ids[input] : undefined
          return id === undefined ? [] : [parseAddress(id, 'inputs[].objectId')]
        }),
      },
    ]
  })
}

/** `Argument.ArgumentKind` of one that is an input. Source: argument.proto. */
const INPUT_ARGUMENT: readonly unknown[] = ['INPUT', 2]
