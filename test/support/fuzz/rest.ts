import type { Random } from '../../../simulator/node/random.ts'
import {
  type DocumentedParameter,
  type DocumentedRoute,
  documentedRoutes,
  knownValue,
  soundValue,
} from './documented-routes.ts'
import { paymentHeaders } from './payment-headers.ts'
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

const ODD_ROUTES: readonly DocumentedRoute[] = ODD_PATHS.map((path) => ({
  plane: 'public',
  method: 'GET',
  path,
  parameters: [],
  body: undefined,
}))

const randomPath = (
  { path, parameters }: DocumentedRoute,
  random: Random,
  target: FuzzTarget,
): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (random.chance(0.08)) return encodeForUrl(randomText(random))
    if (name === 'chain') return target.chain
    const parameter = parameters.find((each) => each.in === 'path' && each.name === name)
    const known = knownValue(name, target) ?? target.words.wallet
    return encodeForUrl(parameter ? soundValue(parameter, random, target) : known)
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

/** What a route cannot do without is there mostly, so that what lies behind it is reached. */
const REQUIRED_CHANCE = 0.85
const OPTIONAL_CHANCE = 0.3

const randomQuery = (
  parameters: readonly DocumentedParameter[],
  random: Random,
  target: FuzzTarget,
): string => {
  const { words } = target
  const own = parameters.filter((each) => each.in === 'query')
  const sound = own
    .filter(({ required = false }) => random.chance(required ? REQUIRED_CHANCE : OPTIONAL_CHANCE))
    .map((parameter) => `${parameter.name}=${encodeForUrl(soundValue(parameter, random, target))}`)
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

/** Who calls: an administrator, an organization, or now and then someone who pays for the one call. */
const credentialHeaders = async (
  { plane }: DocumentedRoute,
  random: Random,
  target: FuzzTarget,
): Promise<Record<string, string>> => {
  if (plane === 'admin') return { authorization: `Bearer ${target.adminToken}` }
  return random.chance(0.1) ? paymentHeaders(random) : { 'x-api-key': target.nextKey() }
}

const ACCEPTED = ['*/*', '*/*', 'application/json', 'text/event-stream', 'text/html;q=x,,'] as const

/** Queries, path parts and payments of every documented route that is read, on the public port and on the admin port. */
export const restQueries: FuzzSurface = {
  name: 'rest-queries',
  share: 5,
  open: async (target): Promise<FuzzRunner> => {
    const documented = await documentedRoutes(target)
    const reads = documented.filter(({ method }) => method === 'GET')
    const routes = [...reads.filter(({ plane }) => plane === 'public'), ...ODD_ROUTES]
    const adminRoutes = reads.filter(({ plane }) => plane === 'admin')
    return {
      run: async (random) => {
        const route = random.pick(random.chance(0.1) ? adminRoutes : routes)
        const path = randomPath(route, random, target)
        const headers = {
          ...(await credentialHeaders(route, random, target)),
          accept: random.pick(ACCEPTED),
          ...(random.chance(0.05) && { 'last-event-id': random.hex(random.below(40)) }),
        }
        const query = randomQuery(route.parameters, random, target)
        const base = `http://127.0.0.1:${target.ports[route.plane]}`
        return assertRequestServed(`${base}${path}?${query}`, { headers })
      },
      close: async () => undefined,
    }
  },
}

/** What the routes read, more often than the rest. */
const TYPES = [
  ...Array<string>(8).fill('application/json'),
  'application/json; charset=utf-8',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'application/vnd.api+json',
  '',
]

const randomBody = (
  fields: Readonly<Record<string, unknown>>,
  random: Random,
  target: FuzzTarget,
): string => {
  if (random.chance(0.1)) return randomJson(random)
  const entries = Object.entries(fields)
  // About one field of a body is wrong, so that a refusal is for that one.
  const wrongChance = 1 / (entries.length + 1)
  const kept = entries.flatMap(([name, value]): [string, string][] => {
    if (random.chance(wrongChance)) return random.chance(0.3) ? [] : [[name, randomJson(random)]]
    return [[name, JSON.stringify(knownValue(name, target) ?? value)]]
  })
  const more: [string, string][] = random.chance(0.1)
    ? [[randomText(random), randomJson(random)]]
    : []
  const text = randomObjectJson(random, [...kept, ...more])
  return random.chance(0.1) ? mutateText(text, random) : text
}

/** The token service says that it is busy in its own shape (RFC 6749 5.2). */
const isBusyToken = (body: string): boolean => body.includes('"temporarily_unavailable"')

/** Bodies, paths and payments of every documented route that changes something or takes a body. */
export const restBodies: FuzzSurface = {
  name: 'rest-bodies',
  share: 4,
  open: async (target): Promise<FuzzRunner> => {
    const documented = await documentedRoutes(target)
    const routes = documented.filter(({ method }) => method !== 'GET')
    return {
      run: async (random) => {
        const route = random.pick(routes)
        const { method, plane, body: fields = {} } = route
        const type = random.pick(TYPES)
        const headers = {
          ...(await credentialHeaders(route, random, target)),
          ...(type !== '' && { 'content-type': type }),
          ...(random.chance(0.1) && { 'idempotency-key': random.hex(12) }),
        }
        const body = randomBody(fields, random, target)
        const url = `http://127.0.0.1:${target.ports[plane]}${randomPath(route, random, target)}`
        return assertRequestServed(url, { method, headers, body }, isBusyToken)
      },
      close: async () => undefined,
    }
  },
}
