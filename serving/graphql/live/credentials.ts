import { textOrEmpty } from '../../../core/json.ts'
import type { Credentials } from '../../interfaces.ts'

/**
 * Credentials of a connection: those in the payload of `connection_init` go before those of the upgrade. The payload may name
 * them as HTTP headers do (`X-API-KEY`, `Authorization`; case does not count), inside `headers` as well, or as `apiKey` and `token`.
 */
export const credentialsOf = (
  payload: Readonly<Record<string, unknown>> | undefined,
  upgrade: Credentials,
): Credentials => {
  const { address } = upgrade
  const { headers } = payload ?? {}
  const inner = typeof headers === 'object' && headers !== null ? Object.entries(headers) : []
  const named = new Map(
    [...inner, ...Object.entries(payload ?? {})].map(([key, value]) => [
      key.toLowerCase(),
      textOrEmpty(value),
    ]),
  )
  const authorization = named.get('authorization') ?? ''
  const apiKey = named.get('x-api-key') || named.get('apikey') || ''
  const token = named.get('token') ?? ''
  if (authorization === '' && apiKey === '' && token === '') return upgrade
  return {
    ...(authorization !== '' && { authorization }),
    ...(apiKey !== '' && { apiKey }),
    ...(token !== '' && { token }),
    address,
  }
}
