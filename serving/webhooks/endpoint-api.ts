import { ulid } from 'ulid'
import type { Config } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import type {
  CreateWebhook,
  UpdateWebhookById,
  WebhookEndpointBody,
  WebhookList,
  WebhookListQuery,
} from '../../schemas/api/webhook.ts'
import { maxWebhookEndpoints } from '../../schemas/plans.ts'
import { MAX_LEVELS_PER_TOKEN } from '../../schemas/webhooks.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'
import type { Principal } from '../interfaces.ts'
import { endpointBody, rotateSecrets } from './endpoint.ts'
import { activeSecrets } from './endpoint-credentials.ts'
import { type EndpointStore, endpointNotFound } from './endpoint-store.ts'
import { type EndpointUpdateDeps, prepareUpdate } from './endpoint-update.ts'
import { findStoredResponse, parseIdempotencyKey } from './idempotency.ts'
import type { ListCursors, ListPosition } from './list-cursor.ts'
import { generateSecret, parseSecret } from './signature.ts'

/** Who may see and change an endpoint: its organization. */
export type Owner = Pick<Principal, 'orgId' | 'appId' | 'plan'>

/** The endpoint resource. Every id that is not the owner's is a `Fault` 52000. */
export interface EndpointApi {
  create(owner: Owner, body: CreateWebhook, idempotencyKey?: string): Promise<CreateResult>
  read(owner: Owner, id: string): WebhookEndpoint
  list(owner: Owner, query: WebhookListQuery): WebhookList
  update(owner: Owner, id: string, body: UpdateWebhookById): Promise<WebhookEndpoint>
  remove(owner: Owner, id: string): Promise<void>
  secret(owner: Owner, id: string): string
  rotate(owner: Owner, id: string, request: RotationRequest): Promise<void>
}

/** Result of a create call. */
export interface CreateResult {
  readonly body: WebhookEndpointBody
  /** True: the idempotency key was used before; `body` is the stored response. */
  readonly replayed: boolean
}

/** Body of a rotation request. */
export interface RotationRequest {
  readonly secret?: string | null
  readonly gracePeriodSeconds?: number
}

/** Dependencies of the API. */
export interface EndpointApiDeps extends EndpointUpdateDeps {
  readonly store: EndpointStore
  readonly listCursors: ListCursors
  readonly config: Pick<Config, 'webhookEndpoints'>
}

const DEFAULT_GRACE_SECONDS = 86_400

/** Operations over the endpoint store. */
export const createEndpointApi = (deps: EndpointApiDeps): EndpointApi => {
  const { store, cipher, nowMs } = deps
  const read = (owner: Owner, id: string): WebhookEndpoint => {
    const found = store.find(owner.orgId, id)
    if (!found) throw endpointNotFound()
    return found
  }
  return {
    read,
    create: (owner, body, key) => createEndpoint(deps, owner, body, key),
    list: (owner, query) => listEndpoints(deps, owner, query),
    update: async (owner, id, body) => {
      const { endpoint_id: endpointId } = read(owner, id)
      const change = await prepareUpdate(deps, owner.orgId, body)
      await store.change(
        endpointId,
        (current) => {
          if (!current) throw endpointNotFound()
          if (body.version !== undefined && body.version !== current.version) {
            throw new Fault(
              'CONFLICT',
              'The endpoint was changed: read it again and send its current version',
              {
                version: current.version,
              },
            )
          }
          assertUniqueUid(deps, owner, endpointId, body.uid)
          const changed = change(current)
          if (body.priceLevels) assertLevelsBelowLimit(deps, changed)
          const event =
            changed.disabled === current.disabled
              ? 'endpoint.updated'
              : `endpoint.${changed.disabled ? 'disabled' : 'enabled'}`
          return {
            event,
            endpoint: { ...changed, updated_at: nowMs(), version: current.version + 1 },
          }
        },
        owner.orgId,
      )
      return read(owner, endpointId)
    },
    remove: async (owner, id) => {
      const { endpoint_id: endpointId } = read(owner, id)
      await store.change(
        endpointId,
        (current) => {
          if (!current) throw endpointNotFound()
          return { event: 'endpoint.deleted', endpoint: null }
        },
        owner.orgId,
      )
    },
    secret: (owner, id) => activeSecrets(read(owner, id), cipher, nowMs())[0] ?? '',
    rotate: async (owner, id, { secret, gracePeriodSeconds = DEFAULT_GRACE_SECONDS }) => {
      const { endpoint_id: endpointId } = read(owner, id)
      const newSecret = parseOrGenerateSecret(secret)
      const sealed = cipher.seal(newSecret, endpointId)
      await store.change(
        endpointId,
        (current) => {
          if (!current) throw endpointNotFound()
          const at = { nowMs: nowMs(), graceMs: gracePeriodSeconds * 1_000 }
          const secrets = rotateSecrets(current.secrets, sealed, at)
          const endpoint = {
            ...current,
            secrets,
            updated_at: at.nowMs,
            version: current.version + 1,
          }
          return { event: 'endpoint.updated', endpoint }
        },
        owner.orgId,
      )
    },
  }
}

/** An empty secret is rejected as too short; an absent one is generated. */
const parseOrGenerateSecret = (secret: string | null | undefined): string =>
  secret === undefined || secret === null ? generateSecret() : parseSecret(secret)

const createEndpoint = async (
  deps: EndpointApiDeps,
  owner: Owner,
  body: CreateWebhook,
  idempotencyKey?: string,
): Promise<CreateResult> => {
  const { store, cipher, nowMs } = deps
  const call = parseIdempotencyKey(owner.orgId, idempotencyKey, body)
  // Before every check: a repeated call gets the stored response, whatever has changed since.
  let storedResponse = findStoredResponse(store.requests, call)
  if (storedResponse) return { body: storedResponse, replayed: true }
  const endpointId = `ep_${ulid(nowMs())}`
  const change = await prepareUpdate(deps, owner.orgId, body)
  const secret = parseOrGenerateSecret(body.secret)
  const sealed = cipher.seal(secret, endpointId)
  await store.change(
    endpointId,
    () => {
      storedResponse = findStoredResponse(store.requests, call)
      if (storedResponse) return undefined
      assertBelowLimit(deps, owner)
      assertUniqueUid(deps, owner, endpointId, body.uid)
      const atMs = nowMs()
      const secrets = [{ sealed, created_at: atMs, expires_at: 0 }]
      const endpoint = change(emptyEndpoint(owner, { endpointId, atMs, secrets }))
      assertLevelsBelowLimit(deps, endpoint)
      const response = JSON.stringify(endpointBody(endpoint))
      const request = call && { ...call, response, created_at: atMs }
      return { event: 'endpoint.created', endpoint, ...(request && { request }) }
    },
    owner.orgId,
  )
  if (storedResponse) return { body: storedResponse, replayed: true }
  const created = store.get(endpointId)
  if (!created) throw endpointNotFound()
  return { body: endpointBody(created), replayed: false }
}

const assertBelowLimit = ({ store, config }: EndpointApiDeps, { orgId, plan }: Owner): void => {
  const { length } = store.ofOrg(orgId)
  const limit = maxWebhookEndpoints(plan, config.webhookEndpoints)
  if (length < limit) return
  throw new Fault('WEBHOOKS_ENDPOINT_LIMIT_REACHED', undefined, {
    current_count: length,
    max_allowed: limit,
  })
}

/**
 * Throws `Fault` CONFLICT where an organization would have too many price levels of a token: one price may cross all of them, and
 * each is a message. Levels of disabled endpoints count, so that enabling one needs no check.
 */
const assertLevelsBelowLimit = ({ store }: EndpointApiDeps, changed: WebhookEndpoint): void => {
  const levels = new Map(changed.price_levels.map(({ token }) => [token, new Set<number>()]))
  if (levels.size === 0) return
  const others = store
    .ofOrg(changed.org_id)
    .filter(({ endpoint_id }) => endpoint_id !== changed.endpoint_id)
  for (const { price_levels } of [...others, changed]) {
    for (const { token, usd } of price_levels) levels.get(token)?.add(usd)
  }
  for (const [token, { size }] of levels) {
    if (size <= MAX_LEVELS_PER_TOKEN) continue
    throw new Fault('CONFLICT', `More than ${MAX_LEVELS_PER_TOKEN} price levels of one token`, {
      parameter: 'priceLevels',
      token,
      current_count: size,
      max_allowed: MAX_LEVELS_PER_TOKEN,
    })
  }
}

const emptyEndpoint = (
  { orgId, appId }: Owner,
  input: {
    readonly endpointId: string
    readonly atMs: number
    readonly secrets: WebhookEndpoint['secrets']
  },
): WebhookEndpoint => ({
  endpoint_id: input.endpointId,
  org_id: orgId,
  app_id: appId,
  uid: '',
  url: '',
  user_enc: '',
  channels: null,
  description: null,
  disabled: false,
  disabled_reason: '',
  disabled_at: 0,
  filter: null,
  filter_types: null,
  metadata: null,
  headers: {},
  rate_limit: null,
  secrets: input.secrets,
  first_failure_at: 0,
  enabled_at: input.atMs,
  subjects: [],
  price_levels: [],
  created_at: input.atMs,
  updated_at: input.atMs,
  version: 1,
})

const assertUniqueUid = (
  { store }: EndpointApiDeps,
  { orgId }: Owner,
  endpointId: string,
  uid: string | null | undefined,
): void => {
  if (!uid) return
  const existing = store.find(orgId, uid)
  if (existing && existing.endpoint_id !== endpointId) {
    throw new Fault('CONFLICT', 'Another endpoint has this uid', { parameter: 'uid' })
  }
}

const listEndpoints = (
  { store, listCursors }: EndpointApiDeps,
  { orgId }: Owner,
  query: WebhookListQuery,
): WebhookList => {
  const { limit = 20, order = 'descending' } = query
  const text = query.iterator ?? query.cursor
  const position = text ? listCursors.decode(text, orgId) : undefined
  if (position && position.order !== order) throw new Fault('INVALID_CURSOR')
  const all = store.ofOrg(orgId)
  const ordered = order === 'ascending' ? all : all.toReversed()
  const { page, hasBefore, hasMore } = paginate(ordered, position, limit)
  const positionOf = (
    side: ListPosition['side'],
    endpoint: WebhookEndpoint | undefined,
  ): string | null =>
    endpoint ? listCursors.encode({ side, order, id: endpoint.endpoint_id }, orgId) : null
  const iterator = hasMore ? positionOf('after', page.at(-1)) : null
  const data = page.map(endpointBody)
  return {
    data,
    items: data,
    done: !hasMore,
    iterator,
    prevIterator: hasBefore ? positionOf('before', page[0]) : null,
    nextCursor: iterator ?? '',
    hasMore,
  }
}

const paginate = (
  ordered: readonly WebhookEndpoint[],
  position: ListPosition | undefined,
  limit: number,
) => {
  const isPast = ({ endpoint_id: id }: WebhookEndpoint): boolean =>
    position === undefined || (position.order === 'ascending' ? id > position.id : id < position.id)
  if (position?.side === 'before') {
    const before = ordered.filter((each) => !isPast(each) && each.endpoint_id !== position.id)
    const page = before.slice(-limit)
    return { page, hasBefore: before.length > limit, hasMore: true }
  }
  const after = ordered.filter(isPast)
  const page = after.slice(0, limit)
  return { page, hasBefore: after.length < ordered.length, hasMore: after.length > limit }
}
