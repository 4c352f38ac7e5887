import { randomBytes } from 'node:crypto'
import { ulid } from 'ulid'
import { Fault } from '../../core/errors.ts'
import type { AdminToken } from '../../schemas/wire.ts'
import { type AdministrationDeps, commitAudited } from './administration.ts'
import { hashSecret } from './api-keys.ts'

/** What an admin token may do: look, or change everything but admin tokens. */
const ADMIN_ROLES = ['read', 'write'] as const
export type AdminRole = (typeof ADMIN_ROLES)[number]

/** Who administers; `owner` holds ADMIN_TOKEN and alone makes and ends admin tokens. */
export interface AdminAccess {
  /** Id of the token; `owner` for ADMIN_TOKEN. */
  readonly id: string
  readonly role: AdminRole | 'owner'
}

/** A new admin token: the only time its text is seen. */
export interface NewAdminToken {
  readonly row: AdminToken
  readonly token: string
}

/** What a token is made for. */
export interface AdminTokenRequest {
  readonly name: string
  readonly role: AdminRole
  readonly lifeSeconds: number
}

/** Admin tokens: they end by themselves and are replaced while the process runs. */
export interface AdminTokens {
  /** Who a token is of; `expired` and `unknown` are refused, `stale` = the control topics are too old to tell. */
  open(token: string): AdminAccess | 'unknown' | 'expired' | 'stale'
  list(): readonly AdminToken[]
  /** In force when it returns, everywhere within a second. Throws `Fault` CONFLICT beyond 100 tokens, `Outage`. */
  create(request: AdminTokenRequest): Promise<NewAdminToken>
  /** Dead when it returns, everywhere within a second. Throws `Fault` NOT_FOUND, `Outage`. */
  revoke(tokenId: string): Promise<void>
}

const TOKEN_PATTERN = /^[a-z][a-z0-9]{0,15}_admin_[\w-]{43}$/
const TOKEN_BYTES = 32
const MAX_ADMIN_TOKENS = 100

/** Admin tokens over the control log. `isFresh` is false while the log may have moved on unseen. */
export const createAdminTokens = (
  deps: AdministrationDeps & { readonly isFresh: () => boolean },
): AdminTokens => {
  const { registry, records, pepper, brand, nowMs, isFresh } = deps
  return {
    open: (token) => {
      if (!TOKEN_PATTERN.test(token)) return 'unknown'
      if (!isFresh()) return 'stale'
      const row = registry.findAdminToken(hashSecret(token, pepper))
      if (row === undefined || !isAdminRole(row.role)) return 'unknown'
      return row.expires_at > nowMs() ? { id: row.token_id, role: row.role } : 'expired'
    },
    list: () => registry.adminTokens(),
    create: async ({ name, role, lifeSeconds }) => {
      const token = `${brand}_admin_${randomBytes(TOKEN_BYTES).toString('base64url')}`
      const row: AdminToken = {
        token_id: `admin_${ulid(nowMs())}`,
        name,
        role,
        hash: hashSecret(token, pepper),
        expires_at: nowMs() + lifeSeconds * 1_000,
        created_at: nowMs(),
        version: 1,
      }
      const entry = { action: 'admin-token.create', subject: row.token_id, detail: role }
      await commitAudited(deps, entry, () => {
        const over = registry.adminTokens().filter(({ expires_at }) => expires_at <= nowMs())
        if (registry.adminTokens().length - over.length >= MAX_ADMIN_TOKENS) {
          throw new Fault('CONFLICT', `There are ${MAX_ADMIN_TOKENS} admin tokens already`)
        }
        const ended = over.map(({ token_id }) => records.gone('adminTokens', token_id))
        return [...ended, records.adminToken(row)]
      })
      return { row, token }
    },
    revoke: async (tokenId) => {
      await commitAudited(deps, { action: 'admin-token.revoke', subject: tokenId }, () => {
        const isKnown = registry.adminTokens().some(({ token_id }) => token_id === tokenId)
        if (!isKnown) throw new Fault('NOT_FOUND', 'No such admin token')
        return [records.gone('adminTokens', tokenId)]
      })
    },
  }
}

const isAdminRole = (text: string): text is AdminRole =>
  (ADMIN_ROLES as readonly string[]).includes(text)
