import { createHmac, timingSafeEqual } from 'node:crypto'
import { Fault } from '../../core/errors.ts'
import { DAY_MS } from '../../core/time.ts'

/** How long an iterator may be used. */
const CURSOR_TTL_MS = DAY_MS
const MAC_BYTES = 16

/** A place in the endpoint list: what comes `after` or `before` an endpoint in that order. */
export interface ListPosition {
  readonly side: 'after' | 'before'
  readonly order: 'ascending' | 'descending'
  readonly id: string
}

/** Opaque, signed texts for places of one organization's list; each lives a day. */
export interface ListCursors {
  encode(place: ListPosition, orgId: string): string
  /** Throws `Fault` INVALID_CURSOR for what `encode` did not write for this organization, and for what has expired. */
  decode(text: string, orgId: string): ListPosition
}

/** Iterators under a key that is drawn from the installation's secret. */
export const createListCursors = (secret: string, nowMs: () => number): ListCursors => {
  const macOf = (payload: string, orgId: string): Buffer =>
    createHmac('sha256', `webhook iterators ${secret}`)
      .update(`${orgId}|${payload}`)
      .digest()
      .subarray(0, MAC_BYTES)
  return {
    encode: ({ side, order, id }, orgId) => {
      const payload = `${nowMs() + CURSOR_TTL_MS}|${side}|${order}|${id}`
      return `${Buffer.from(payload).toString('base64url')}.${macOf(payload, orgId).toString('base64url')}`
    },
    decode: (text, orgId) => {
      const [body = '', mac = ''] = text.split('.')
      const payload = Buffer.from(body, 'base64url').toString()
      const given = Buffer.from(mac, 'base64url')
      const [untilMs, side, order, id] = payload.split('|')
      const isOurs =
        given.length === MAC_BYTES && timingSafeEqual(given, macOf(payload, orgId)) && id
      if (!isOurs || Number(untilMs) < nowMs()) {
        throw new Fault('INVALID_CURSOR', undefined, { parameter: 'iterator' })
      }
      return {
        side: side === 'before' ? 'before' : 'after',
        order: order === 'ascending' ? 'ascending' : 'descending',
        id,
      }
    },
  }
}
