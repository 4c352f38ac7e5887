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

/** Paths beside those of the document, by what stands in them. */
const ODD_PATHS = ['/wallet/v1/{chain}/{walletAddress}/stats', '/v2/{walletAddress}', '/{pair}/x/y']

/** A parameter as the document shows it. */
interface DocumentedParameter {
  readonly name: string
  readonly in: string
  readonly schema: {
    readonly type?: string
    readonly enum?: readonly unknown[]
    readonly minimum?: number
    readonly maximum?: number
    readonly pattern?: string
  }
}

interface ReadRoute {
  readonly path: string
  readonly parameters: readonly DocumentedParameter[]
}

interface ApiDocument {
  readonly paths: Readonly<
    Record<string, { readonly get?: { readonly parameters?: readonly DocumentedParameter[] } }>
  >
}

/** Every route of the running server that is read, with its parameters: a route that is added is attacked without a word here. */
const readRoutes = async ({ ports }: FuzzTarget): Promise<readonly ReadRoute[]> => {
  const response = await fetch(`http://127.0.0.1:${ports.public}/openapi.json`)
  const { paths } = (await response.json()) as ApiDocument
  const documented = Object.entries(paths).flatMap(([path, { get }]) =>
    get === undefined ? [] : [{ path, parameters: get.parameters ?? [] }],
  )
  return [...documented, ...ODD_PATHS.map((path) => ({ path, parameters: [] }))]
}

/** A value that a sound caller could give, at the edges of what is allowed. */
const soundValue = (
  { name, schema }: DocumentedParameter,
  random: Random,
  words: Words,
): string => {
  const { minimum = 0, maximum = 10_000 } = schema
  if (schema.enum !== undefined) return String(random.pick(schema.enum))
  if (schema.type === 'integer') return String(random.pick([minimum, maximum, minimum + 1]))
  if (schema.pattern?.includes('\\d') === true) {
    return random.pick([
      '0',
      '1.5',
      '9'.repeat(26),
      `${'9'.repeat(26)}.${'9'.repeat(12)}`,
      '9'.repeat(40),
    ])
  }
  if (name.endsWith('Addresses')) return `${words.token},${words.wallet}`
  const known = pathWord(name, words)
  return known ?? random.pick(VALID_VALUES)
}

type Words = FuzzTarget['words']

const pathWord = (name: string, words: Words): string | undefined =>
  ({
    tokenAddress: words.token,
    poolAddress: words.pool,
    walletAddress: words.wallet,
    devAddress: words.wallet,
    maker: words.wallet,
    pair: `${words.token}-${words.wallet}`,
  })[name]

const randomPath = (
  { path, parameters }: ReadRoute,
  random: Random,
  { chain, words }: FuzzTarget,
): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (random.chance(0.08)) return encodeForUrl(randomText(random))
    if (name === 'chain') return chain
    const parameter = parameters.find((each) => each.in === 'path' && each.name === name)
    return encodeForUrl(
      parameter ? soundValue(parameter, random, words) : (pathWord(name, words) ?? words.wallet),
    )
  })

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

const randomQuery = (
  parameters: readonly DocumentedParameter[],
  random: Random,
  { words }: FuzzTarget,
): string => {
  const own = parameters.filter((each) => each.in === 'query')
  const sound = own
    .filter(() => random.chance(0.3))
    .map((parameter) => `${parameter.name}=${encodeForUrl(soundValue(parameter, random, words))}`)
  const pairs = Array.from({ length: random.below(4) }, () => {
    const known = own.length > 0 && random.chance(0.6) ? random.pick(own).name : undefined
    const name = known ?? (random.chance(0.9) ? random.pick(QUERY_NAMES) : randomText(random))
    const value = random.chance(0.4)
      ? random.pick([...VALID_VALUES, words.token, words.wallet])
      : randomText(random)
    return `${encodeForUrl(name)}${random.chance(0.05) ? '[]' : ''}=${encodeForUrl(value)}`
  })
  const text = [...sound, ...(random.chance(0.6) ? pairs : [])].join('&')
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

const ADMIN_READS: readonly ReadRoute[] = [
  'orgs',
  'apps',
  'apps/{walletAddress}/keys',
  'orgs/{walletAddress}',
].map((path) => ({ path: `/admin/v1/${path}`, parameters: [] }))

/** Queries and path parts of every route that is read, on the public port and on the admin port. */
export const restQueries: FuzzSurface = {
  name: 'rest-queries',
  share: 5,
  open: async (target): Promise<FuzzRunner> => {
    const routes = await readRoutes(target)
    return {
      run: (random) => {
        const isAdmin = random.chance(0.1)
        const route = random.pick(isAdmin ? ADMIN_READS : routes)
        const path = randomPath(route, random, target)
        const headers: Record<string, string> = isAdmin
          ? { authorization: `Bearer ${target.adminToken}` }
          : { 'x-api-key': target.nextKey() }
        const port = target.ports[isAdmin ? 'admin' : 'public']
        const query = randomQuery(route.parameters, random, target)
        return assertRequestServed(`http://127.0.0.1:${port}${path}?${query}`, { headers })
      },
      close: async () => undefined,
    }
  },
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
