import type { MoveCall, MoveDelta, MoveEvent, MoveObject } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, listOf, orElse, refuse } from '../../input/json.ts'
import { base58At, base64At, keyAt, wholeAt } from '../../svm/layout/json.ts'
import { addressAt, coinAt, deltaAt, textAt } from './json.ts'
import { eventOf, namedFields, type ToldTransaction } from './raw-transaction.ts'

const NONE: readonly unknown[] = []
const listed = (value: unknown, at: string): readonly unknown[] =>
  orElse(value, at, { read: listOf, fallback: NONE })
const optionalFields = (value: unknown, at: string): Fields =>
  orElse(value, at, { read: fieldsOf, fallback: {} })

/** A `sui_getTransactionBlock` answer, asked with everything that it can show. Throws `Malformed`. */
export const toldByJsonRpc = (said: Fields): ToldTransaction => {
  const data = fieldsOf(fieldsOf(said.transaction, 'transaction').data, 'transaction.data')
  const effects = fieldsOf(said.effects, 'effects')
  const { owner } = optionalFields(data.gasData, 'gasData')
  const sender = addressAt(data.sender, 'sender')
  return {
    digest: keyAt(said.digest, 'digest'),
    sender,
    gasOwner: orElse(owner, 'gasData.owner', { read: addressAt, fallback: sender }),
    success: isSuccess(fieldsOf(effects.status, 'effects.status').status),
    gasUsed: fieldsOf(effects.gasUsed, 'effects.gasUsed'),
    events: listed(said.events, 'events').map(jsonRpcEvent),
    deltas: listed(said.balanceChanges, 'balanceChanges').flatMap(deltaOf),
    calls: callsOf(optionalFields(data.transaction, 'transaction.data.transaction')),
    objects: listed(said.objectChanges, 'objectChanges').flatMap(objectOf),
  }
}

const isSuccess = (status: unknown): boolean => {
  if (status !== 'success' && status !== 'failure') throw refuse('bad-status', 'status', status)
  return status === 'success'
}

/** An event as `sui_getTransactionBlock` and `suix_queryEvents` list it. Throws `Malformed`. */
export const jsonRpcEvent = (value: unknown, place: number): MoveEvent => {
  const said = fieldsOf(value, 'event')
  const { eventSeq } = optionalFields(said.id, 'event.id')
  const fields = namedFields(said.parsedJson)
  return eventOf({
    index: orElse(eventSeq, 'eventSeq', { read: wholeAt, fallback: place }),
    type: said.type,
    sender: orElse(said.sender, 'event.sender', { read: addressAt, fallback: '' }),
    fields,
    bytes: fields === null ? bytesOf(said) : null,
  })
}

/** Longest event in base 58: decoding grows with the square. */
const MAX_BASE58 = 4_096

/** Base 58 until nodes began to name the encoding. */
const bytesOf = ({ bcs, bcsEncoding }: Fields): Uint8Array | null => {
  if (bcs === undefined || bcs === null) return null
  const text = textAt(bcs, 'bcs')
  if (bcsEncoding === 'base64') return base64At(text, 'bcs')
  return text.length > MAX_BASE58 ? null : base58At(text, 'bcs')
}

/** Only owners that are an address hold coins; what lies in shared objects is not counted by nodes. */
const deltaOf = (value: unknown): readonly MoveDelta[] => {
  const said = fieldsOf(value, 'balanceChange')
  const owner = namedFields(said.owner)
  const address = owner?.AddressOwner ?? owner?.ObjectOwner
  if (address === undefined) return []
  const coin = coinAt(said.coinType, 'balanceChange.coinType')
  const deltaRaw = deltaAt(said.amount, 'balanceChange.amount')
  return coin === undefined
    ? []
    : [{ owner: addressAt(address, 'balanceChange.owner'), coin, deltaRaw }]
}

const CHANGES: Readonly<Record<string, MoveObject['change']>> = {
  created: 'created',
  mutated: 'changed',
  published: 'published',
}

const objectOf = (value: unknown): readonly MoveObject[] => {
  const said = fieldsOf(value, 'objectChange')
  const type = textAt(said.type, 'objectChange.type')
  const change = Object.hasOwn(CHANGES, type) ? CHANGES[type] : undefined
  if (change === undefined) return []
  if (change === 'published') {
    return [{ id: addressAt(said.packageId, 'packageId'), type: '', change, fields: null }]
  }
  const id = addressAt(said.objectId, 'objectId')
  return [{ id, type: textAt(said.objectType, 'objectType'), change, fields: null }]
}

/** Calls of a programmable transaction; other kinds have none. */
const callsOf = ({ inputs, transactions }: Fields): readonly MoveCall[] => {
  const ids = listed(inputs, 'inputs').map((input) => namedFields(input)?.objectId)
  return listed(transactions, 'transactions').flatMap((command) => {
    const call = namedFields(command)?.MoveCall
    if (call === undefined) return []
    const { type_arguments: typeArguments, arguments: taken } = fieldsOf(call, 'MoveCall')
    return [
      {
        typeArguments: listed(typeArguments, 'type_arguments').map((type) => textAt(type, 'type')),
        objects: listed(taken, 'arguments').flatMap((argument) => {
          const input = namedFields(argument)?.Input
          const id = typeof input === 'number' ? ids[input] : undefined
          return id === undefined ? [] : [addressAt(id, 'inputs[].objectId')]
        }),
      },
    ]
  })
}
