import { createHmac, timingSafeEqual } from 'node:crypto'
import { Fault } from '../../core/errors.ts'
import { DAY_MS } from '../../core/time.ts'

/** Lifetime of an iterator. */
const CURSOR_TTL_MS = DAY_MS
const MAC_BYTES = 16

/** A position in the endpoint list: what comes `after` or `before` an endpoint in that order. */
export interface ListPosition {
  readonly side: 'after' | 'before'
  readonly order: 'ascending' | 'descending'
  readonly id: string
}

/** Opaque, signed cursors of one organization's list; each is valid for a day. */
export interface ListCursors {
  encode(position: ListPosition, orgId: string): string
  /** Throws `Fault` INVALID_CURSOR for what `encode` did not write for this organization, and for what has expired. */
  decode(text: string, orgId: string): ListPosition
}

/** Signed with a key that is derived from the installation's secret. */
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
      const receivedMac = Buffer.from(mac, 'base64url')
      const [untilMs, side, order, id] = payload.split('|')
      const isValid =
        receivedMac.length === MAC_BYTES &&
        timingSafeEqual(receivedMac, macOf(payload, orgId)) &&
        id
      if (!isValid || Number(untilMs) < nowMs()) {
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
