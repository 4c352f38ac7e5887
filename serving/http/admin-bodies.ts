import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import { toIsoTime } from '../../core/time.ts'
import type {
  AdminPage,
  AppView,
  KeyView,
  OrgView,
  SigningKeyView,
} from '../../schemas/api/admin.ts'
import type { ApiKey, Application, Org, PlanPurchase } from '../../schemas/wire.ts'
import type { SlottedKey } from '../auth/signing-key-ring.ts'
import { walletKey } from '../auth/wallet-link-rows.ts'
import type { Cursors } from '../queries/cursors-and-pages.ts'

/** An organization with its newest bought plan as the admin API shows it. */
export const orgBody = (
  { org_id, name, plan, suspended, created_at }: Org,
  bought: PlanPurchase | undefined,
): OrgView => ({
  orgId: org_id,
  name,
  plan,
  boughtPlan: bought === undefined ? null : boughtPlanBody(bought),
  suspended,
  createdAt: toIsoTime(created_at),
})

const boughtPlanBody = (row: PlanPurchase): NonNullable<OrgView['boughtPlan']> => ({
  plan: row.plan,
  startsAt: toIsoTime(row.starts_at),
  expiresAt: toIsoTime(row.ends_at),
  wallet: walletKey(row.chain, row.address),
  network: row.network,
  transaction: row.transaction,
  amount: row.amount_raw,
})

/** An application without its secrets. */
export const applicationBody = (row: Application): AppView => ({
  appId: row.app_id,
  orgId: row.org_id,
  name: row.name,
  clientId: row.client_id,
  scopes: [...row.scopes],
  disabled: row.disabled,
  createdAt: toIsoTime(row.created_at),
  updatedAt: toIsoTime(row.updated_at),
})

/** A key without its text; `lastUsedAtMs` as the meter has it. */
export const apiKeyBody = (row: ApiKey, lastUsedAtMs: number | undefined): KeyView => ({
  keyId: row.key_id,
  appId: row.app_id,
  name: row.name,
  prefix: row.prefix,
  scopes: [...row.scopes],
  expiresAt: row.expires_at === 0 ? null : toIsoTime(row.expires_at),
  createdAt: toIsoTime(row.created_at),
  lastUsedAt: lastUsedAtMs === undefined ? null : toIsoTime(lastUsedAtMs),
})

/** A signing key and its slot. */
export const signingKeyBody = ({ key, slot }: SlottedKey): SigningKeyView => ({
  kid: key.kid,
  slot,
  activeFrom: toIsoTime(key.active_from),
})

const CursorPayload = Type.Object(
  { id: Type.String({ maxLength: 64 }) },
  { additionalProperties: false },
)

/** What a page of rows is made by. */
export interface PageSource<Row, View> {
  readonly idOf: (row: Row) => string
  readonly view: (row: Row) => View
  readonly cursors: Cursors
  /** Name of the list and what it was narrowed to. */
  readonly list: readonly string[]
}

/** One page of rows in the order of their ids, which is the order in which they were made. Throws `Fault` INVALID_CURSOR. */
export const paginateRows = <Row, View>(
  rows: readonly Row[],
  { limit = 100, cursor }: AdminPage,
  { idOf, view, cursors, list }: PageSource<Row, View>,
) => {
  const codec = cursors(CursorPayload, ['admin', ...list])
  const after = cursor === undefined ? '' : codec.decode(cursor).id
  const sorted = rows.toSorted((left, right) => (idOf(left) < idOf(right) ? -1 : 1))
  const rest = sorted.filter((row) => idOf(row) > after)
  const page = rest.slice(0, limit)
  const hasMore = rest.length > page.length
  const last = page.at(-1)
  const items = page.map(view)
  const nextCursor = hasMore && last ? codec.encode({ id: idOf(last) }) : ''
  return { data: items, items, nextCursor, hasMore }
}

/** A hundred years: who means for ever leaves the end out. */
const MAX_LIFETIME_MS = 100 * 31_556_952_000

/** The end of a key in epoch milliseconds, from a number or ISO 8601. Throws `Fault` INVALID_PARAMETER. */
export const parseExpiry = (value: number | string, nowMs: number): number => {
  const atMs = typeof value === 'number' ? value : Date.parse(value)
  if (atMs > nowMs && atMs <= nowMs + MAX_LIFETIME_MS) return atMs
  throw new Fault('INVALID_PARAMETER', 'expiresAt must be a time in the next hundred years', {
    parameter: 'expiresAt',
    value,
  })
}
