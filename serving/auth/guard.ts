import { Fault } from '../../core/fault.ts'
import type { Credentials, Principal } from '../contract.ts'
import { isKeyShaped } from './keys.ts'

/** What the accounts know of a key that is shaped like one. */
export type FindKey = (apiKey: string) => KeyAnswer

/** `unusable`: the accounts are older than they may be, so nothing is let in. */
export type KeyAnswer =
  | { readonly kind: 'good'; readonly principal: Principal }
  | { readonly kind: 'suspended' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unusable' }

type Presented =
  | { readonly kind: 'key'; readonly text: string }
  | { readonly kind: 'other'; readonly reason: string }

const BEARER = /^bearer +/i

/** The first credential that is present decides; a wrong one never falls through to the next (contract/auth.md 6). */
const presented = ({ authorization, apiKey, token }: Credentials): Presented | undefined => {
  const header = authorization?.trim() ?? ''
  if (/^siwx /i.test(header)) return { kind: 'other', reason: 'unsupported_credential' }
  if (apiKey !== undefined) return { kind: 'key', text: apiKey }
  if (header !== '') {
    return BEARER.test(header)
      ? bearer(header.replace(BEARER, ''))
      : { kind: 'other', reason: 'unsupported_credential' }
  }
  return token === undefined ? undefined : bearer(token)
}

/** A value with two dots is an access token, which this installation does not issue; anything else is an API key. */
const bearer = (text: string): Presented =>
  text.split('.').length === 3 ? { kind: 'other', reason: 'invalid_token' } : { kind: 'key', text }

const refused = (reason: string): Fault =>
  new Fault('UNAUTHORIZED', 'The credential is not valid', { reason })

/** Who shows these credentials: a principal, the fault to answer, or `undefined` when none is present. Pure but for `find`. */
export const authenticate = (
  credentials: Credentials,
  find: FindKey,
): Principal | Fault | undefined => {
  const shown = presented(credentials)
  if (shown === undefined) return undefined
  if (shown.kind === 'other') return refused(shown.reason)
  if (!isKeyShaped(shown.text)) return refused('invalid_api_key')
  const answer = find(shown.text)
  if (answer.kind === 'good') return answer.principal
  if (answer.kind === 'suspended') {
    return new Fault('FORBIDDEN', 'The organization is suspended', { reason: 'suspended' })
  }
  if (answer.kind === 'unusable') {
    return new Fault('DATABASE_ERROR', 'Accounts cannot be checked at the moment')
  }
  return refused('invalid_api_key')
}
