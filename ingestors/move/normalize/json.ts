import {
  normalizeCoinType,
  normalizeMoveAddress,
  parseMoveTypeName,
} from '../../../core/move-type.ts'
import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import { parseUint } from '../../svm/layout/json.ts'

/** Readers of what a Sui node writes, on top of `../../input/json.ts`. Each throws `InvalidInput`. Digests and counts read like Solana's. */

/** An address or object id with all its digits. Reason: `bad-address`. */
export const parseAddress = (value: unknown, at: string): string => {
  const address = typeof value === 'string' ? normalizeMoveAddress(value) : undefined
  if (address === undefined) throw invalid('bad-address', at, value)
  return address
}

/** A coin's type in canonical form; undefined for one beyond all bounds, as anyone may make them. Reason: `bad-type`. */
export const parseCoinType = (value: unknown, at: string): string | undefined => {
  if (typeof value !== 'string' || parseMoveTypeName(value) === undefined)
    throw invalid('bad-type', at, value)
  return normalizeCoinType(value)
}

/** A text. Reason: `not-a-text`. */
export const parseString = (value: unknown, at: string): string => {
  if (typeof value !== 'string') throw invalid('not-a-text', at, value)
  return value
}

/** What a change adds to an amount, or takes away: up to 128 bits with their sign. Reason: `bad-amount`. */
export const parseSignedAmount = (value: unknown, at: string): bigint => {
  if (typeof value !== 'string' || !/^-?\d{1,39}$/.test(value))
    throw invalid('bad-amount', at, value)
  return BigInt(value)
}

/** A time of the proto3 JSON mapping, or the message that it maps. Reasons: `bad-time`, `bad-number`. */
export const parseProtoTimestamp = (value: unknown, at: string): number => {
  if (typeof value !== 'string') {
    const { seconds, nanos } = fieldsOf(value, at)
    const rest = orElse(nanos, `${at}.nanos`, { read: parseUint, fallback: 0 })
    return parseUint(seconds, `${at}.seconds`) * 1_000 + Math.floor(rest / 1_000_000)
  }
  const timeMs = /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(timeMs)) throw invalid('bad-time', at, value)
  return Math.floor(timeMs)
}

const EMPTY_LIST: readonly unknown[] = []

/** A list; empty where it is absent. */
export const optionalList = (value: unknown, at: string): readonly unknown[] =>
  orElse(value, at, { read: listOf, fallback: EMPTY_LIST })

/** Fields of an object; none where it is absent. */
export const optionalFields = (value: unknown, at: string): Fields =>
  orElse(value, at, { read: fieldsOf, fallback: {} })
