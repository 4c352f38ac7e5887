import { createHash } from 'node:crypto'
import { ulid } from 'ulid'
import type { Config } from '../../core/config.ts'
import { Fault } from '../../core/fault.ts'
import type { AddressRules, Resolve } from '../../core/outbound.ts'
import type { Sealer } from '../../core/seal.ts'
import type {
  CreateWebhook,
  UpdateWebhookAt,
  WebhookList,
  WebhookListQuery,
} from '../../schemas/api/webhook.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'
import type { Principal } from '../contract.ts'
import {
  disabledAs,
  enabledAgain,
  endpointBody,
  knownTypes,
  liveSecrets,
  MASKED_USER,
  metadataText,
  rotatedSecrets,
  staticHeaders,
} from './endpoint.ts'
import { type EndpointStore, noEndpoint } from './endpoints.ts'
import { compileFilter } from './filter.ts'
import type { Iterators, Place } from './iterator.ts'
import { givenSecret, newSecret } from './sign.ts'
import { checkTarget } from './target.ts'

/** Who may see and change an endpoint: its organization. */
export type Owner = Pick<Principal, 'orgId' | 'appId'>

/** The endpoint resource. Every id that is not the owner's is a `Fault` 52000. */
export interface EndpointResource {
  /** `replayed`: the idempotency key was used before, this is what it made. */
  create(
    owner: Owner,
    body: CreateWebhook,
    idempotencyKey?: string,
  ): Promise<{ readonly endpoint: WebhookEndpoint; readonly replayed: boolean }>
  read(owner: Owner, id: string): WebhookEndpoint
  list(owner: Owner, query: WebhookListQuery): WebhookList
  update(owner: Owner, id: string, body: UpdateWebhookAt): Promise<WebhookEndpoint>
  remove(owner: Owner, id: string): Promise<void>
  secret(owner: Owner, id: string): string
  rotate(owner: Owner, id: string, wish: RotationWish): Promise<void>
}

/** What a rotation is asked for. */
export interface RotationWish {
  readonly secret?: string | null
  readonly gracePeriodSeconds?: number
}

/** What the resource works with. */
export interface ResourceDeps {
  readonly store: EndpointStore
  readonly sealer: Sealer
  readonly rules: AddressRules
  readonly resolve: Resolve
  readonly iterators: Iterators
  readonly config: Pick<Config, 'webhookEndpoints'>
  readonly nowMs: () => number
}

const DAY_MS = 86_400_000
const GRACE_SECONDS = 86_400
const KEY = /^[\x21-\x7e]{8,255}$/

/** Makes the resource. */
export const endpointResource = (deps: ResourceDeps): EndpointResource => {
  const { store, sealer, nowMs } = deps
  const read = (owner: Owner, id: string): WebhookEndpoint => {
    const found = store.find(owner.orgId, id)
    if (!found) throw noEndpoint()
    return found
  }
  return {
    read,
    create: (owner, body, key) => create(deps, owner, body, key),
    list: (owner, query) => list(deps, owner, query),
    update: async (owner, id, body) => {
      const { endpoint_id: endpointId } = read(owner, id)
      const change = await changeOf(deps, body)
      await store.change(endpointId, (known) => {
        if (!known) throw noEndpoint()
        if (body.version !== undefined && body.version !== known.version) {
          throw new Fault('CONFLICT', 'The endpoint has another version', {
            version: known.version,
          })
        }
        uniqueUid(deps, owner, endpointId, body.uid)
        const changed = change(known)
        const event =
          changed.disabled === known.disabled
            ? 'endpoint.updated'
            : `endpoint.${changed.disabled ? 'disabled' : 'enabled'}`
        return { event, endpoint: { ...changed, updated_at: nowMs(), version: known.version + 1 } }
      })
      return read(owner, endpointId)
    },
    remove: async (owner, id) => {
      const { endpoint_id: endpointId } = read(owner, id)
      await store.change(endpointId, (known) => {
        if (!known) throw noEndpoint()
        return { event: 'endpoint.deleted', endpoint: null }
      })
    },
    secret: (owner, id) => liveSecrets(read(owner, id), sealer, nowMs())[0] ?? '',
    rotate: async (owner, id, { secret, gracePeriodSeconds = GRACE_SECONDS }) => {
      const { endpoint_id: endpointId } = read(owner, id)
      const fresh = secret ? givenSecret(secret) : newSecret()
      const sealed = sealer.seal(fresh, endpointId)
      await store.change(endpointId, (known) => {
        if (!known) throw noEndpoint()
        const at = { nowMs: nowMs(), graceMs: gracePeriodSeconds * 1_000 }
        const secrets = rotatedSecrets(known.secrets, sealed, at)
        const endpoint = {
          ...known,
          secrets,
          updated_at: at.nowMs,
          version: known.version + 1,
        }
        return { event: 'endpoint.updated', endpoint }
      })
    },
  }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

const create = async (
  deps: ResourceDeps,
  owner: Owner,
  body: CreateWebhook,
  idempotencyKey?: string,
): Promise<{ readonly endpoint: WebhookEndpoint; readonly replayed: boolean }> => {
  if (idempotencyKey !== undefined && !KEY.test(idempotencyKey)) {
    throw new Fault('INVALID_PARAMETER', 'Idempotency-Key has 8 to 255 printable characters', {
      parameter: 'Idempotency-Key',
    })
  }
  const { store, sealer, nowMs, config } = deps
  const createdBy =
    idempotencyKey === undefined ? '' : `${digest(idempotencyKey)}:${digest(JSON.stringify(body))}`
  const endpointId = `ep_${ulid(nowMs())}`
  const change = await changeOf(deps, body)
  const secret = body.secret ? givenSecret(body.secret) : newSecret()
  const sealed = sealer.seal(secret, endpointId)
  let replayed: WebhookEndpoint | undefined
  await store.change(endpointId, (known) => {
    if (known) return undefined
    const own = store.ofOrg(owner.orgId)
    replayed = madeBefore(own, createdBy, nowMs())
    if (replayed) return undefined
    if (own.length >= config.webhookEndpoints) {
      throw new Fault('WEBHOOKS_ENDPOINT_LIMIT_REACHED', undefined, {
        current_count: own.length,
        max_allowed: config.webhookEndpoints,
      })
    }
    uniqueUid(deps, owner, endpointId, body.uid)
    const at = nowMs()
    const secrets = [{ sealed, created_at: at, expires_at: 0 }]
    const endpoint = change(blank(owner, { endpointId, createdBy, atMs: at, secrets }))
    return { event: 'endpoint.created', endpoint }
  })
  const endpoint = replayed ?? store.get(endpointId)
  if (!endpoint) throw noEndpoint()
  return { endpoint, replayed: replayed !== undefined }
}

const blank = (
  { orgId, appId }: Owner,
  made: {
    readonly endpointId: string
    readonly createdBy: string
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
  created_by: made.createdBy,
  created_at: made.atMs,
  updated_at: made.atMs,
  version: 1,
})

/** The endpoint that this idempotency key made within a day. Throws `Fault` when it was another request. */
const madeBefore = (
  own: readonly WebhookEndpoint[],
  createdBy: string,
  nowMs: number,
): WebhookEndpoint | undefined => {
  const [key] = createdBy.split(':')
  if (!key) return undefined
  const before = own.find(
    ({ created_by, created_at }) => created_by.startsWith(`${key}:`) && created_at > nowMs - DAY_MS,
  )
  if (before && before.created_by !== createdBy) throw new Fault('IDEMPOTENCY_CONFLICT')
  return before
}

const uniqueUid = (
  { store }: ResourceDeps,
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

/** Checks what is asked for and gives the step that applies it. Absent = unchanged, null = the default. */
const changeOf = async (
  { rules, resolve, sealer, nowMs }: ResourceDeps,
  body: UpdateWebhookAt,
): Promise<(known: WebhookEndpoint) => WebhookEndpoint> => {
  const target = body.url === undefined ? undefined : await checkTarget(body.url, rules, resolve)
  if (body.filter) compileFilter(body.filter)
  const types = knownTypes(body.filterTypes)
  const metadata = metadataText(body.metadata)
  const headers = staticHeaders(body.headers)
  return (known) => {
    const userEnc = (user: string): string => {
      if (user === MASKED_USER) return known.user_enc
      return user === '' ? '' : sealer.seal(user, known.endpoint_id)
    }
    const changed: WebhookEndpoint = {
      ...known,
      ...(target && { url: target.url, user_enc: userEnc(target.user), first_failure_at: 0 }),
      ...(target && known.url !== '' && { enabled_at: nowMs() }),
      ...(body.channels !== undefined && { channels: body.channels }),
      ...(body.description !== undefined && { description: body.description }),
      ...(body.filter !== undefined && { filter: body.filter || null }),
      ...(body.filterTypes !== undefined && { filter_types: types }),
      ...(body.metadata !== undefined && { metadata }),
      ...(body.rateLimit !== undefined && { rate_limit: body.rateLimit }),
      ...(body.uid !== undefined && { uid: body.uid ?? '' }),
      ...(body.headers !== undefined && { headers }),
    }
    if (body.disabled === undefined) return changed
    if (!body.disabled) return enabledAgain(changed, nowMs())
    return changed.disabled ? changed : disabledAs(changed, 'user', nowMs())
  }
}

const list = (
  { store, iterators }: ResourceDeps,
  { orgId }: Owner,
  query: WebhookListQuery,
): WebhookList => {
  const { limit = 20, order = 'descending' } = query
  const text = query.iterator ?? query.cursor
  const place = text ? iterators.decode(text, orgId) : undefined
  if (place && place.order !== order) throw new Fault('INVALID_CURSOR')
  const all = store.ofOrg(orgId)
  const ordered = order === 'ascending' ? all : all.toReversed()
  const { page, hasBefore, hasMore } = cut(ordered, place, limit)
  const placeOf = (side: Place['side'], endpoint: WebhookEndpoint | undefined): string | null =>
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

const cut = (ordered: readonly WebhookEndpoint[], place: Place | undefined, limit: number) => {
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
