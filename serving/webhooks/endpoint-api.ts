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
  rotate(owner: Owner, id: string, wish: RotationRequest): Promise<void>
}

/** The answer of a create call. */
export interface CreateResult {
  readonly body: WebhookEndpointBody
  /** True: the idempotency key was used before; this is what was answered then. */
  readonly replayed: boolean
}

/** What a rotation is asked for. */
export interface RotationRequest {
  readonly secret?: string | null
  readonly gracePeriodSeconds?: number
}

/** What the resource works with. */
export interface EndpointApiDeps extends EndpointUpdateDeps {
  readonly store: EndpointStore
  readonly iterators: ListCursors
  readonly config: Pick<Config, 'webhookEndpoints'>
}

const DEFAULT_GRACE_SECONDS = 86_400

/** Makes the resource. */
export const createEndpointApi = (deps: EndpointApiDeps): EndpointApi => {
  const { store, sealer, nowMs } = deps
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
        (known) => {
          if (!known) throw endpointNotFound()
          if (body.version !== undefined && body.version !== known.version) {
            throw new Fault('CONFLICT', 'The endpoint has another version', {
              version: known.version,
            })
          }
          assertUniqueUid(deps, owner, endpointId, body.uid)
          const changed = change(known)
          const event =
            changed.disabled === known.disabled
              ? 'endpoint.updated'
              : `endpoint.${changed.disabled ? 'disabled' : 'enabled'}`
          return {
            event,
            endpoint: { ...changed, updated_at: nowMs(), version: known.version + 1 },
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
        (known) => {
          if (!known) throw endpointNotFound()
          return { event: 'endpoint.deleted', endpoint: null }
        },
        owner.orgId,
      )
    },
    secret: (owner, id) => activeSecrets(read(owner, id), sealer, nowMs())[0] ?? '',
    rotate: async (owner, id, { secret, gracePeriodSeconds = DEFAULT_GRACE_SECONDS }) => {
      const { endpoint_id: endpointId } = read(owner, id)
      const fresh = givenOrNewSecret(secret)
      const sealed = sealer.seal(fresh, endpointId)
      await store.change(
        endpointId,
        (known) => {
          if (!known) throw endpointNotFound()
          const at = { nowMs: nowMs(), graceMs: gracePeriodSeconds * 1_000 }
          const secrets = rotateSecrets(known.secrets, sealed, at)
          const endpoint = {
            ...known,
            secrets,
            updated_at: at.nowMs,
            version: known.version + 1,
          }
          return { event: 'endpoint.updated', endpoint }
        },
        owner.orgId,
      )
    },
  }
}

/** An empty secret is a weak one, not none. */
const givenOrNewSecret = (secret: string | null | undefined): string =>
  secret === undefined || secret === null ? generateSecret() : parseSecret(secret)

const createEndpoint = async (
  deps: EndpointApiDeps,
  owner: Owner,
  body: CreateWebhook,
  idempotencyKey?: string,
): Promise<CreateResult> => {
  const { store, sealer, nowMs } = deps
  const call = parseIdempotencyKey(owner.orgId, idempotencyKey, body)
  // Before every check: what was answered once is answered again, however the world has changed.
  let before = findStoredResponse(store.requests, call)
  if (before) return { body: before, replayed: true }
  const endpointId = `ep_${ulid(nowMs())}`
  const change = await prepareUpdate(deps, owner.orgId, body)
  const secret = givenOrNewSecret(body.secret)
  const sealed = sealer.seal(secret, endpointId)
  await store.change(
    endpointId,
    (known) => {
      if (known) return undefined
      before = findStoredResponse(store.requests, call)
      if (before) return undefined
      assertBelowLimit(deps, owner)
      assertUniqueUid(deps, owner, endpointId, body.uid)
      const atMs = nowMs()
      const secrets = [{ sealed, created_at: atMs, expires_at: 0 }]
      const endpoint = change(emptyEndpoint(owner, { endpointId, atMs, secrets }))
      const response = JSON.stringify(endpointBody(endpoint))
      const request = call && { ...call, response, created_at: atMs }
      return { event: 'endpoint.created', endpoint, ...(request && { request }) }
    },
    owner.orgId,
  )
  if (before) return { body: before, replayed: true }
  const made = store.get(endpointId)
  if (!made) throw endpointNotFound()
  return { body: endpointBody(made), replayed: false }
}

const assertBelowLimit = ({ store, config }: EndpointApiDeps, { orgId, plan }: Owner): void => {
  const { length } = store.ofOrg(orgId)
  const most = maxWebhookEndpoints(plan, config.webhookEndpoints)
  if (length < most) return
  throw new Fault('WEBHOOKS_ENDPOINT_LIMIT_REACHED', undefined, {
    current_count: length,
    max_allowed: most,
  })
}

const emptyEndpoint = (
  { orgId, appId }: Owner,
  made: {
    readonly endpointId: string
    readonly atMs: number
    readonly secrets: WebhookEndpoint['secrets']
  },
): WebhookEndpoint => ({
  endpoint_id: made.endpointId,
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
  secrets: made.secrets,
  first_failure_at: 0,
  enabled_at: made.atMs,
  subjects: [],
  price_levels: [],
  created_at: made.atMs,
  updated_at: made.atMs,
  version: 1,
})

const assertUniqueUid = (
  { store }: EndpointApiDeps,
  { orgId }: Owner,
  endpointId: string,
  uid: string | null | undefined,
): void => {
  if (!uid) return
  const holder = store.find(orgId, uid)
  if (holder && holder.endpoint_id !== endpointId) {
    throw new Fault('CONFLICT', 'Another endpoint has this uid', { parameter: 'uid' })
  }
}

const listEndpoints = (
  { store, iterators }: EndpointApiDeps,
  { orgId }: Owner,
  query: WebhookListQuery,
): WebhookList => {
  const { limit = 20, order = 'descending' } = query
  const text = query.iterator ?? query.cursor
  const place = text ? iterators.decode(text, orgId) : undefined
  if (place && place.order !== order) throw new Fault('INVALID_CURSOR')
  const all = store.ofOrg(orgId)
  const ordered = order === 'ascending' ? all : all.toReversed()
  const { page, hasBefore, hasMore } = paginate(ordered, place, limit)
  const placeOf = (
    side: ListPosition['side'],
    endpoint: WebhookEndpoint | undefined,
  ): string | null =>
    endpoint ? iterators.encode({ side, order, id: endpoint.endpoint_id }, orgId) : null
  const iterator = hasMore ? placeOf('after', page.at(-1)) : null
  const data = page.map(endpointBody)
  return {
    data,
    items: data,
    done: !hasMore,
    iterator,
    prevIterator: hasBefore ? placeOf('before', page[0]) : null,
    nextCursor: iterator ?? '',
    hasMore,
  }
}

const paginate = (
  ordered: readonly WebhookEndpoint[],
  place: ListPosition | undefined,
  limit: number,
) => {
  const isPast = ({ endpoint_id: id }: WebhookEndpoint): boolean =>
    place === undefined || (place.order === 'ascending' ? id > place.id : id < place.id)
  if (place?.side === 'before') {
    const before = ordered.filter((each) => !isPast(each) && each.endpoint_id !== place.id)
    const page = before.slice(-limit)
    return { page, hasBefore: before.length > limit, hasMore: true }
  }
  const after = ordered.filter(isPast)
  const page = after.slice(0, limit)
  return { page, hasBefore: after.length < ordered.length, hasMore: after.length > limit }
}
