import type { Config } from '../../core/config/settings.ts'
import { Outage } from '../../core/errors.ts'
import { toUrlHost } from '../../core/http/network-address.ts'
import { findDemoFile } from '../app/data-folder.ts'
import { UsageError } from './usage-error.ts'

/** Longest time that the admin API may take for an answer. */
const RESPONSE_TIMEOUT_MS = 30_000
/** Rows of one page, and pages of one list: what is beyond is not told. */
const PAGE_LIMIT = 1_000
const MAX_PAGES = 100

/** One page of a list of the admin API. */
interface AdminPage<Row> {
  readonly items: readonly Row[]
  readonly nextCursor: string
}

/** The admin API of a running process, for commands. Throws `UsageError` with its refusal, `Outage` when it does not answer. */
export interface AdminClient {
  get<T>(path: string): Promise<T>
  send<T>(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<T>
  /** Every row of a list. */
  list<Row>(path: string): Promise<readonly Row[]>
}

/**
 * Opens the admin API at `url`; without one, that of the process in the data folder, else where the settings say that it listens. The token is
 * ADMIN_TOKEN; the one of the data folder is shown to its own process alone. Throws `UsageError` without a token.
 */
export const openAdminClient = (url: string | undefined, config: Config): AdminClient => {
  const demo = url === undefined ? findDemoFile(config.dataDir) : undefined
  const base = (url ?? (demo?.adminUrl || configuredUrl(config))).replace(/\/+$/, '')
  const token = config.adminToken.reveal() || (demo?.adminToken ?? '')
  if (token === '') {
    throw new UsageError([
      'ADMIN_TOKEN is needed and is not set: set it to the token of the admin API, or to an admin token',
    ])
  }
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const answer = await fetch(base + path, {
      method,
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new Outage(
        'bus',
        `the admin API at ${base} did not answer; check --admin and the state of its process`,
        { cause },
      )
    })
    const found: unknown = await answer.json().catch(() => undefined)
    if (answer.ok && found !== undefined) return found as T
    throw new UsageError([
      refusalText(found) ??
        `${base} answered ${answer.status}; expected an answer in JSON. Check that --admin is the URL of an admin API`,
    ])
  }
  return {
    get: (path) => ask('GET', path),
    send: ask,
    list: async <Row>(path: string) => {
      const rows: Row[] = []
      let cursor = ''
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const query = new URLSearchParams({ limit: String(PAGE_LIMIT), ...(cursor && { cursor }) })
        const separator = path.includes('?') ? '&' : '?'
        const answer = await ask<AdminPage<Row>>('GET', `${path}${separator}${query}`)
        rows.push(...answer.items)
        cursor = answer.nextCursor
        if (cursor === '') break
      }
      return rows
    },
  }
}

const configuredUrl = ({ adminHost, adminPort, port, tlsCertFile }: Config): string =>
  `http${tlsCertFile === '' ? '' : 's'}://${toUrlHost(adminHost)}:${adminPort || port + 2}/admin/v1`

const refusalText = (body: unknown): string | undefined => {
  const message = (body as { readonly message?: unknown } | null | undefined)?.message
  return typeof message === 'string' ? message : undefined
}
