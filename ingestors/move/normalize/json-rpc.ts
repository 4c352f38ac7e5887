import type { MoveBalanceChange, MoveCall, MoveEvent, MoveObject } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid, orElse } from '../../input/json.ts'
import {
  parseAmount,
  parseBase58,
  parseBase58Key,
  parseBase64,
  parseUint,
} from '../../svm/layout/json.ts'
import {
  optionalFields,
  optionalList,
  parseAddress,
  parseCoinType,
  parseSignedAmount,
  parseString,
} from './json.ts'
import { objectFieldsOrNull, type RawTransaction, toMoveEvent } from './raw-transaction.ts'

/** A `sui_getTransactionBlock` answer, asked with everything that it can show. Throws `InvalidInput`. */
export const fromJsonRpc = (raw: Fields): RawTransaction => {
  const data = fieldsOf(fieldsOf(raw.transaction, 'transaction').data, 'transaction.data')
  const effects = fieldsOf(raw.effects, 'effects')
  const { owner, budget, price } = optionalFields(data.gasData, 'gasData')
  const sender = parseAddress(data.sender, 'sender')
  return {
    digest: parseBase58Key(raw.digest, 'digest'),
    sender,
    gasOwner: orElse(owner, 'gasData.owner', { read: parseAddress, fallback: sender }),
    budgetRaw: orElse(budget, 'gasData.budget', { read: parseAmount, fallback: null }),
    priceRaw: orElse(price, 'gasData.price', { read: parseAmount, fallback: null }),
    success: parseSuccess(fieldsOf(effects.status, 'effects.status').status),
    gasUsed: fieldsOf(effects.gasUsed, 'effects.gasUsed'),
    events: optionalList(raw.events, 'events').map(parseJsonRpcEvent),
    deltas: optionalList(raw.balanceChanges, 'balanceChanges').flatMap(parseBalanceChange),
    calls: parseMoveCalls(optionalFields(data.transaction, 'transaction.data.transaction')),
    objects: optionalList(raw.objectChanges, 'objectChanges').flatMap(parseObjectChange),
  }
}

const parseSuccess = (status: unknown): boolean => {
  if (status !== 'success' && status !== 'failure') throw invalid('bad-status', 'status', status)
  return status === 'success'
}

/** An event as `sui_getTransactionBlock` and `suix_queryEvents` list it. Throws `InvalidInput`. */
export const parseJsonRpcEvent = (value: unknown, place: number): MoveEvent => {
  const raw = fieldsOf(value, 'event')
  const { eventSeq } = optionalFields(raw.id, 'event.id')
  const fields = objectFieldsOrNull(raw.parsedJson)
  return toMoveEvent({
    index: orElse(eventSeq, 'eventSeq', { read: parseUint, fallback: place }),
    type: raw.type,
    sender: orElse(raw.sender, 'event.sender', { read: parseAddress, fallback: '' }),
    fields,
    bytes: fields === null ? parseEventBytes(raw) : null,
  })
}

/** Longest event in base 58: decoding grows with the square. */
const MAX_BASE58_LENGTH = 4_096

/** Base 58 until nodes began to name the encoding. */
const parseEventBytes = ({ bcs, bcsEncoding }: Fields): Uint8Array | null => {
  if (bcs === undefined || bcs === null) return null
  const text = parseString(bcs, 'bcs')
  if (bcsEncoding === 'base64') return parseBase64(text, 'bcs')
  return text.length > MAX_BASE58_LENGTH ? null : parseBase58(text, 'bcs')
}

/** Only owners that are an address hold coins; what lies in shared objects is not counted by nodes. */
const parseBalanceChange = (value: unknown): readonly MoveBalanceChange[] => {
  const raw = fieldsOf(value, 'balanceChange')
  const owner = objectFieldsOrNull(raw.owner)
  const address = owner?.AddressOwner ?? owner?.ObjectOwner
  if (address === undefined) return []
  const coin = parseCoinType(raw.coinType, 'balanceChange.coinType')
  const deltaRaw = parseSignedAmount(raw.amount, 'balanceChange.amount')
  return coin === undefined
    ? []
    : [{ owner: parseAddress(address, 'balanceChange.owner'), coin, deltaRaw }]
}

const OBJECT_CHANGES: Readonly<Record<string, MoveObject['change']>> = {
  created: 'created',
  mutated: 'changed',
  published: 'published',
}

const parseObjectChange = (value: unknown): readonly MoveObject[] => {
  const raw = fieldsOf(value, 'objectChange')
  const type = parseString(raw.type, 'objectChange.type')
  const change = Object.hasOwn(OBJECT_CHANGES, type) ? OBJECT_CHANGES[type] : undefined
  if (change === undefined) return []
  if (change === 'published') {
    return [{ id: parseAddress(raw.packageId, 'packageId'), type: '', change, fields: null }]
  }
  const id = parseAddress(raw.objectId, 'objectId')
  return [{ id, type: parseString(raw.objectType, 'objectType'), change, fields: null }]
}

/** Calls of a programmable transaction; other kinds have none. */
const parseMoveCalls = ({ inputs, transactions }: Fields): readonly MoveCall[] => {
  const ids = optionalList(inputs, 'inputs').map((input) => objectFieldsOrNull(input)?.objectId)
  return optionalList(transactions, 'transactions').flatMap((command) => {
    const call = objectFieldsOrNull(command)?.MoveCall
    if (call === undefined) return []
    const { type_arguments: typeArguments, arguments: taken } = fieldsOf(call, 'MoveCall')
    return [
      {
        typeArguments: optionalList(typeArguments, 'type_arguments').map((type) =>
          parseString(type, 'type'),
        ),
        objects: optionalList(taken, 'arguments').flatMap((argument) => {
          const input = objectFieldsOrNull(argument)?.Input
          const id = typeof input === 'number' ? ids[input] : undefined
          return id === undefined ? [] : [parseAddress(id, 'inputs[].objectId')]
        }),
      },
    ]
  })
}
