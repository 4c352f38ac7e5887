import type { Random } from '../../../simulator/node/random.ts'
import { exchangeRawBytes } from '../raw-http.ts'
import { mutateText, randomText } from './random-values.ts'
import { assertServed, type FuzzSurface, type FuzzTarget } from './surface.ts'

const PORTS = ['public', 'streams', 'admin', 'ops'] as const
const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PRI',
]
const TARGETS = [
  ...['/', '//', '///', '*', '', '?', '#', '/health', '/ready', '/metrics', '/status', '/graphql'],
  ...['/openapi.json', '/oauth/token', '/.well-known/jwks.json', '/connection/websocket'],
  ...['/v2/token/search', '/v2/webhook/endpoint', '/admin/v1/orgs', '/checksum?height=1e3'],
  ...['http://', 'http://[', 'http://x/health', '//x/health', '/%', '/%00', '/%ff%fe', '/..%2f..'],
  ...['/__proto__', '/constructor', '/connection/websocket?access_token=x', '\\', '/;/', '/a b'],
] as const
const HEADERS = [
  ...['Host', 'Connection', 'Upgrade', 'Content-Length', 'Transfer-Encoding', 'Expect', 'Accept'],
  ...['Content-Type', 'Authorization', 'X-Api-Key', 'X-Request-Id', 'Sec-WebSocket-Key', 'Origin'],
  ...['Sec-WebSocket-Version', 'Sec-WebSocket-Protocol', 'Sec-WebSocket-Extensions', 'Range', 'TE'],
  ...['X-Forwarded-For', 'Idempotency-Key', 'Access-Control-Request-Method', 'Accept-Encoding'],
] as const
const VALUES = [
  ...['x', 'close', 'keep-alive', 'Upgrade', 'websocket', 'h2c', '0', '5', '-1', '1e3', 'chunked'],
  ...['100-continue', '*/*', 'application/json', 'text/plain', 'Bearer x', 'Basic Og==', 'gzip'],
  ...['abc', 'dGhlIHNhbXBsZSBub25jZQ==', '13', '8', 'permessage-deflate', 'bytes=0-', 'trailers'],
  ...['permessage-deflate; server_max_window_bits=99', '127.0.0.1', 'null', 'identity', ', ,'],
] as const
const BODIES = [
  '',
  '{}',
  '{"a":',
  '0\r\n\r\n',
  'zz\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  '\u0000',
] as const

const randomHeader = (random: Random): string => {
  const value = random.chance(0.8) ? random.pick(VALUES) : randomText(random)
  return `${random.chance(0.95) ? random.pick(HEADERS) : randomText(random)}: ${value}\r\n`
}

const upgradeRequest = (random: Random): string =>
  [
    'Upgrade: websocket\r\nConnection: Upgrade\r\n',
    `Sec-WebSocket-Key: ${random.chance(0.5) ? 'dGhlIHNhbXBsZSBub25jZQ==' : randomText(random)}\r\n`,
    `Sec-WebSocket-Version: ${random.pick(['13', '13', '8', 'x'])}\r\n`,
  ].join('')

const randomRequest = (random: Random, { nextKey, adminToken }: FuzzTarget): string => {
  const isUpgrade = random.chance(0.2)
  const path = random.chance(0.8) ? random.pick(TARGETS) : `/${randomText(random)}`
  const target = isUpgrade && random.chance(0.7) ? '/connection/websocket' : path
  const method = isUpgrade && random.chance(0.8) ? 'GET' : random.pick(METHODS)
  const line = `${method} ${target} HTTP/${random.pick(['1.1', '1.1', '1.1', '1.0', '2.0', 'x'])}\r\n`
  const known = random.chance(0.9) ? 'Host: x\r\n' : ''
  const credential = random.pick([
    '',
    `X-Api-Key: ${nextKey()}\r\n`,
    `Authorization: Bearer ${adminToken}\r\n`,
  ])
  const headers = Array.from({ length: random.below(4) }, () => randomHeader(random)).join('')
  const wanted = isUpgrade ? upgradeRequest(random) : ''
  const whole = `${line}${known}${credential}${wanted}${headers}\r\n${random.pick(BODIES)}`
  const sent = random.chance(0.35) ? mutateText(whole, random) : whole
  return random.chance(0.1) ? sent.repeat(1 + random.below(4)) : sent
}

/** Bytes as they are on every port: request lines, headers, upgrades, halves of requests, several at once. */
export const rawHttpSurface: FuzzSurface = {
  name: 'raw-http',
  share: 4,
  open: async (target) => ({
    run: async (random) => {
      const name = random.pick(PORTS)
      const bytes = randomRequest(random, target)
      const half = random.chance(0.9)
      const limitMs = half ? 300 : 50
      const { text } = await exchangeRawBytes(target.ports[name], Buffer.from(bytes, 'latin1'), {
        half,
        limitMs,
      })
      for (const [, status = '0'] of text.matchAll(/^HTTP\/1\.\d (\d{3})/gm)) {
        // HTTP/1.1 505 and 501 are what a parser may say to another version or coding.
        const isRefusal = status === '505' || name === 'ops'
        if (!isRefusal) assertServed(Number(status), text, `${name} ${JSON.stringify(bytes)}`)
      }
    },
    close: async () => undefined,
  }),
}
