import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../core/config/settings.ts'
import { Outage } from '../../core/errors.ts'

/** Longest time that a process may take for an answer: a checksum reads everything. */
const RESPONSE_TIMEOUT_MS = 600_000

/** Where a process answers operators: the address given, or what the data folder names; undefined when none is known. */
export const findOpsUrl = (given: string | undefined, dataDir: string): string | undefined => {
  if (given !== undefined) return given
  const path = join(dataDir, 'ops.json')
  if (!existsSync(path)) return undefined
  const { url } = JSON.parse(readFileSync(path, 'utf8')) as { readonly url: string }
  return url
}

/**
 * The answer of a running process; undefined when no process listens there any more (a killed process leaves its file).
 * Throws `Outage` with the reason that the process gave.
 */
export const fetchOps = async <T>(
  url: string,
  path: string,
  { opsToken }: Partial<Pick<Config, 'opsToken'>> = {},
): Promise<T | undefined> => {
  const asked = new URL(path, url)
  const token = opsToken?.reveal() ?? ''
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` }
  // A timeout that stands alone is kept until it fires; composed with other signals it is not: see core/deadline.ts.
  const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS)
  const answer = await fetch(asked, { headers, signal }).catch((error: unknown) => {
    if (isConnectionGone(error)) return undefined
    throw new Outage('bus', `${url} did not answer; check the URL and the state of its process`, {
      cause: error,
    })
  })
  if (answer === undefined) return undefined
  const body = (await answer.json()) as T & { readonly error?: string }
  if (answer.ok) return body
  throw new Outage(
    'bus',
    body.error ??
      `${url} answered ${answer.status}; expected 200. Check that it is the URL of an ops server, and OPS_TOKEN`,
    { final: true },
  )
}

/** Says that a given URL of an ops server has no process behind it. */
export const noProcessError = (url: string): Outage =>
  new Outage('bus', `no process is listening at ${url}; start it, or correct --ops`)

/** What a process that is not there, or goes at this moment, leaves of a connection. */
const GONE_ERROR_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET'])

const isConnectionGone = (error: unknown): boolean =>
  error instanceof Error &&
  error.cause instanceof Error &&
  'code' in error.cause &&
  GONE_ERROR_CODES.has(String(error.cause.code))
