import { parseMoveType, parseMoveTypeName } from '../../../core/move-type.ts'
import type { MoveBalanceChange, MoveCall, MoveEvent, MoveObject } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid } from '../../input/json.ts'

/** A transaction as either interface of a node tells it. */
export interface RawTransaction {
  readonly digest: string
  readonly sender: string
  readonly gasOwner: string
  readonly budgetRaw: bigint | null
  readonly priceRaw: bigint | null
  readonly success: boolean
  /** `computationCost`, `storageCost` and `storageRebate`. */
  readonly gasUsed: Fields
  readonly events: readonly MoveEvent[]
  readonly deltas: readonly MoveBalanceChange[]
  readonly calls: readonly MoveCall[]
  readonly objects: readonly MoveObject[]
}

/** An event's own part, whatever its fields came as. */
export interface RawEvent extends Omit<MoveEvent, 'package' | 'name' | 'typeArguments'> {
  /** As the node prints it. */
  readonly type: unknown
}

/**
 * An event with its type taken apart; arguments beyond all bounds are left out, as anyone may emit them. Throws `InvalidInput`:
 * `bad-type`.
 */
export const toMoveEvent = ({ type, index, sender, fields, bytes }: RawEvent): MoveEvent => {
  const text = typeof type === 'string' ? type : ''
  const head = parseMoveTypeName(text)
  if (head === undefined) throw invalid('bad-type', 'event type', type)
  const { typeArguments = [] } = parseMoveType(text) ?? {}
  return { index, ...head, typeArguments, sender, fields, bytes }
}

/** Fields by name where the node gave an object; some events and objects are no more than a number. */
export const objectFieldsOrNull = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? fieldsOf(value, 'fields')
    : null
