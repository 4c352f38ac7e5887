import type { Random } from '../../../simulator/node/random.ts'
import {
  encodeForUrl,
  mutateText,
  randomJson,
  randomObjectJson,
  randomText,
} from './random-values.ts'
import { assertServed, type FuzzRunner, type FuzzSurface, type FuzzTarget } from './surface.ts'

const QUERY_NAMES = [
  ...['keyword', 'q', 'chain', 'chains', 'protocols', 'sortBy', 'sort', 'mode', 'cursor', 'limit'],
  ...['direction', 'sortDirection', 'resolution', 'priceType', 'from', 'to', 'fillGaps', 'status'],
  ...[
    'walletAddresses',
    'tokenAddresses',
    'tokenAddress',
    'iterator',
    'order',
    'orgId',
    '__proto__',
  ],
] as const

/** Routes of the public API by what stands in their paths. */
const READS = [
  ...['/v2/token/search', '/v2/token/C/T', '/v2/token/C/T/holders', '/v2/token/C/T/topHolders'],
  ...['/v2/token/C/T/holders/multi', '/v2/token/C/T/candles', '/v2/token/C/pool/P/candles'],
  ...['/v2/token/C/pair/T-W/candles', '/v2/token/C/T/stats', '/v2/token/C/stats/multi'],
  ...['/v2/token/C/T/marketData', '/v2/token/C/marketData/multi', '/v1/wallet/C/W/stats'],
  ...['/wallet/v1/C/W/stats', '/v2/webhook/endpoint', '/v2/webhook/endpoint/W/attempt'],
  ...['/v2/webhook/message/W/attempt', '/v2/account/usage', '/v2/account/plan', '/v2/W', '/W/T/P'],
] as const

const randomPath = (template: string, random: Random, { chain, words }: FuzzTarget): string =>
  template
    .split('/')
    .map((part, index) => {
      if (index === 0) return part
      const named = { C: chain, T: words.token, P: words.pool, W: words.wallet }
      const known = Object.hasOwn(named, part) ? named[part as keyof typeof named] : part
      return random.chance(0.08)
        ? encodeForUrl(randomText(random))
        : known.replace('T-W', `${words.token}-${words.wallet}`)
    })
    .join('/')

const VALID_VALUES = [
  '1',
  '20',
  '100',
  'asc',
  'prev',
  '1m',
  '1h',
  'usd',
  'true',
  'totalPnl',
  'priceInUsd',
]

const randomQuery = (random: Random, { words }: FuzzTarget): string => {
  const pairs = Array.from({ length: random.below(5) }, () => {
    const name = random.chance(0.9) ? random.pick(QUERY_NAMES) : randomText(random)
    const value = random.chance(0.4)
      ? random.pick([...VALID_VALUES, words.token, words.wallet])
      : randomText(random)
    return `${encodeForUrl(name)}${random.chance(0.05) ? '[]' : ''}=${encodeForUrl(value)}`
  })
  const resolution = random.chance(0.5) ? ['resolution=1m'] : []
  const text = [...resolution, ...pairs].join('&')
  return random.chance(0.1) ? mutateText(text, random).replace(/[^!-~]/g, '') : text
}

const assertRequestServed = async (
  url: string,
  init: RequestInit,
  allowed: (body: string) => boolean = () => false,
): Promise<void> => {
  const response = await fetch(url, { ...init, redirect: 'manual' })
  const body = await response.text()
  if (!allowed(body))
    assertServed(response.status, body, `${init.method ?? 'GET'} ${url} ${init.body ?? ''}`)
}

/** Queries and path parts of every route that is read, on the public port and on the admin port. */
export const restQueries: FuzzSurface = {
  name: 'rest-queries',
  share: 5,
  open: async (target): Promise<FuzzRunner> => ({
    run: (random) => {
      const isAdmin = random.chance(0.2)
      const template = isAdmin
        ? random.pick([
            '/admin/v1/orgs',
            '/admin/v1/apps',
            '/admin/v1/apps/W/keys',
            '/admin/v1/orgs/W',
          ])
        : random.pick(READS)
      const path = randomPath(template, random, target)
      const headers: Record<string, string> = isAdmin
        ? { authorization: `Bearer ${target.adminToken}` }
        : { 'x-api-key': target.nextKey() }
      const port = target.ports[isAdmin ? 'admin' : 'public']
      return assertRequestServed(`http://127.0.0.1:${port}${path}?${randomQuery(random, target)}`, {
        headers,
      })
    },
    close: async () => undefined,
  }),
}

/** A body's fields by route; `*` on the admin port. The values are what a sound caller sends. */
const WRITES: readonly (readonly [
  method: string,
  path: string,
  fields: Readonly<Record<string, unknown>>,
])[] = [
  [
    'POST',
    '/v2/webhook/endpoint',
    {
      url: 'https://receiver.example.com/',
      channels: ['sol.token.created'],
      metadata: { a: 1 },
      filter: 'true',
      filterTypes: ['*'],
      rateLimit: 5,
      uid: 'u',
      headers: { a: 'b' },
      secret: null,
      disabled: true,
      description: 'd',
    },
  ],
  [
    'PATCH',
    '/v2/webhook/endpoint',
    { endpointId: 'ep_x', url: 'https://receiver.example.com/', disabled: false, version: 1 },
  ],
  ['PUT', '/v2/webhook/endpoint/ep_x', { filter: 'event.name == "a"', filterTypes: [] }],
  ['POST', '/v2/webhook/endpoint/ep_x/secret/rotate', { secret: null, gracePeriodSeconds: 60 }],
  ['DELETE', '/v2/webhook/endpoint/ep_x', {}],
  ['POST', '/v2/webhook/message/msg_x/endpoint/ep_x/resend', {}],
  [
    'POST',
    '/oauth/token',
    {
      grant_type: 'client_credentials',
      client_id: 'CLIENT',
      client_secret: 'SECRET',
      audience: 'https://api.sluice.invalid',
      scope: 'webhook.read',
    },
  ],
  ['POST', '/graphql', { query: '{ __typename }', variables: {}, operationName: null }],
  ['POST', '*/orgs', { name: 'n', plan: 'free' }],
  ['POST', '*/apps', { name: 'n', newOrg: 'o', scopes: ['webhook.read'], plan: 'free' }],
  ['PATCH', '*/orgs/org_x', { name: 'n', suspended: false }],
  ['PATCH', '*/apps/app_x', { disabled: false, scopes: [] }],
  ['POST', '*/apps/app_x/keys', { scopes: [], expiresAt: '2027-01-01T00:00:00Z' }],
  ['POST', '*/apps/app_x/secret/rotate', { overlapSeconds: 1 }],
  ['DELETE', '*/apps/app_x', {}],
]

const TYPES = [
  'application/json',
  'application/json',
  'application/json; charset=utf-8',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'application/vnd.api+json',
  '',
] as const

const randomBody = (fields: Readonly<Record<string, unknown>>, random: Random): string => {
  if (random.chance(0.1)) return randomJson(random)
  const kept = Object.entries(fields).flatMap(([name, value]): [string, string][] => {
    if (random.chance(0.15)) return []
    return [[name, random.chance(0.3) ? randomJson(random) : JSON.stringify(value)]]
  })
  const more: [string, string][] = random.chance(0.1)
    ? [[randomText(random), randomJson(random)]]
    : []
  const text = randomObjectJson(random, [...kept, ...more])
  return random.chance(0.1) ? mutateText(text, random) : text
}

/** The token service says that it is busy in its own shape (RFC 6749 5.2). */
const isBusyToken = (body: string): boolean => body.includes('"temporarily_unavailable"')

/** Bodies of every route that takes one. */
export const restBodies: FuzzSurface = {
  name: 'rest-bodies',
  share: 4,
  open: async (target): Promise<FuzzRunner> => ({
    run: (random) => {
      const [method, path, fields] = random.pick(WRITES)
      const isAdmin = path.startsWith('*')
      const sound = JSON.stringify(fields)
        .replace('CLIENT', target.clientId)
        .replace('SECRET', target.clientSecret)
      const body = randomBody(JSON.parse(sound), random)
      const type = random.pick(TYPES)
      const headers: Record<string, string> = {
        ...(type !== '' && { 'content-type': type }),
        ...(isAdmin
          ? { authorization: `Bearer ${target.adminToken}` }
          : { 'x-api-key': target.nextKey() }),
        ...(random.chance(0.1) && { 'idempotency-key': random.hex(12) }),
      }
      const base = `http://127.0.0.1:${target.ports[isAdmin ? 'admin' : 'public']}`
      return assertRequestServed(
        base + path.replace('*', '/admin/v1'),
        { method, headers, body },
        isBusyToken,
      )
    },
    close: async () => undefined,
  }),
}
