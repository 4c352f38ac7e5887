import { promises as dns } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'
import { Agent, buildConnector, type Dispatcher, request } from 'undici'
import { DeadlinePassed } from '../deadline.ts'

/** Requests to addresses that strangers choose: webhooks, metadata documents. */

type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Addresses that no stranger's URL may reach. Source: the IANA special-purpose registries. */
const BLOCKED_RANGES = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['168.63.129.16/32', '::/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001:db8::/32'],
  ...['2002::/16', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
].map((cidr): Range => ipaddr.parseCIDR(cidr))

/** All that is given out of IPv6; overlay networks use addresses beyond it. Source: IANA IPv6 address space. */
const GLOBAL_IPV6: Range = ipaddr.parseCIDR('2000::/3')

const MIN_UNPRIVILEGED_PORT = 1_024
const STANDARD_PORTS: Readonly<Record<string, readonly number[]>> = {
  'https:': [443, 8_443],
  'http:': [80],
}
const HTTPS_PORT = 443
const HTTP_PORT = 80
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': HTTPS_PORT, 'http:': HTTP_PORT }

const CONNECT_TIMEOUT_MS = 5_000
const DNS_OPTIONS = { timeout: 2_000, tries: 2 }
const KEEP_ALIVE_MS = 4_000
const MAX_CONNECTION_AGE_MS = 60_000
/** Bytes of an unread body that are worth reading to keep its connection. */
const MAX_DISCARDED_BYTES = 16_384
/** Responses below it are interim: the final one follows. */
const FIRST_FINAL_STATUS = 200
const MAX_INTERIM_RESPONSES = 16

/** Which addresses may be connected to. */
export interface AddressRules {
  /** True for an address that the operator lists: it may be inside, and spoken to without TLS. */
  isListed(address: string): boolean
  /** True for a public address, or a listed one. */
  isOpen(address: string): boolean
  /** True for a port that this product itself listens on: it is never reached on this machine, whatever is listed. */
  isOwnPort(port: number): boolean
  /** True for an address of this machine. */
  isHere(address: string): boolean
  /** True when the operator lists any address at all. */
  readonly hasList: boolean
}

/** An embedded IPv4 address is checked as what it is. */
const parseAddress = (address: string): ipaddr.IPv4 | ipaddr.IPv6 => ipaddr.process(address)

const isInRanges = (address: ipaddr.IPv4 | ipaddr.IPv6, ranges: readonly Range[]): boolean =>
  ranges.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))

const NO_PORTS: ReadonlySet<number> = new Set()

/** True for addresses that lead to this machine. */
const isThisMachine = (address: string): boolean => {
  if (isIP(address) === 0) return false
  const value = parseAddress(address)
  if (['loopback', 'unspecified'].includes(value.range())) return true
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return own.some((each) => parseAddress(each.address).toString() === value.toString())
}

/**
 * Rules of an installation; `allow` is a list of CIDR ranges, `ownPorts` the ports that this product listens on, read at
 * every look. Throws for an invalid range.
 */
export const addressRules = (
  allow: readonly string[],
  ownPorts: () => ReadonlySet<number> = () => NO_PORTS,
): AddressRules => {
  const listed = allow.map((cidr): Range => ipaddr.parseCIDR(cidr))
  const isListed = (address: string): boolean =>
    isIP(address) !== 0 && isInRanges(parseAddress(address), listed)
  return {
    hasList: listed.length > 0,
    isListed,
    isOwnPort: (port) => ownPorts().has(port),
    isHere: isThisMachine,
    isOpen: (address) => {
      if (isIP(address) === 0) return false
      const value = parseAddress(address)
      if (isInRanges(value, listed)) return true
      if (value.kind() === 'ipv6' && !isInRanges(value, [GLOBAL_IPV6])) return false
      return value.range() === 'unicast' && !isInRanges(value, BLOCKED_RANGES)
    },
  }
}

/** True for an address as people write it: `127.0.0.1` and `::1`, but no decimal, octal, hex or embedded form. */
export const isCanonicalAddress = (host: string): boolean => {
  if (isIP(host) === 4) return true
  return isIP(host) === 6 && !host.includes('.') && ipaddr.process(host).kind() === 'ipv6'
}

/** Port that a URL leads to. */
export const portOf = ({ protocol, port }: URL): number =>
  port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port)

/** True for http or https on a port that serves the web: the usual ones and those that anybody may open. */
export const isAllowedPort = (url: URL): boolean => {
  const usual = STANDARD_PORTS[url.protocol]
  const port = portOf(url)
  return usual !== undefined && (port >= MIN_UNPRIVILEGED_PORT || usual.includes(port))
}

/** All addresses of a name. Rejects when the name has none. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>

/** Name servers are asked without the thread pool, so that a slow one holds up nothing else. */
export const resolveWithDns: ResolveHost = async (hostname) => {
  if (hostname === 'localhost') return ['127.0.0.1', '::1']
  const resolver = new dns.Resolver(DNS_OPTIONS)
  const answers = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ])
  const addresses = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  const [failed] = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  if (addresses.length === 0) throw failed ?? new Error('the host name resolves to no address')
  return addresses
}

/** One request. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Limit of each silence: until the headers, and within the body. The signal limits the whole. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** An answer whose body has not been read. */
export interface OutboundResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Leaving the loop early closes the connection. */
  readonly body: AsyncIterable<Buffer>
  /** Lets go of an unread body. */
  discard(): Promise<void>
}

/** One request whose answer is short. */
export interface OutboundShortRequest extends Pick<OutboundRequest, 'method' | 'headers' | 'body'> {
  /** Limit of the whole, connecting included. */
  readonly timeoutMs: number
  /** Bytes of the answer's body that are read; then its connection is closed. */
  readonly mostBytes: number
}

/** An answer with the start of its body. */
export interface OutboundShortResponse extends Pick<OutboundResponse, 'status' | 'headers'> {
  readonly start: Buffer
  /** Why the body did not come to its end; undefined = it did, or `mostBytes` of it came. */
  readonly broken: unknown
}

/** A guarded client: no redirects, one request at a time per connection. */
export interface OutboundClient {
  /** Throws what `classifyFailure` names. */
  request(url: string, options: OutboundRequest): Promise<OutboundResponse>
  /** The same for short answers, at half the cost: no stream, no signal. Throws what `classifyFailure` names. */
  exchange(url: string, options: OutboundShortRequest): Promise<OutboundShortResponse>
  close(): Promise<void>
}

/** What a client is made with. */
export interface OutboundClientOptions {
  readonly rules: AddressRules
  /** Where plain http may go: to addresses that the operator lists, or to every open one. */
  readonly plainHttp: 'listed' | 'open'
  /** Default: the system's name servers. */
  readonly resolve?: ResolveHost
  /** Further certificate authorities, PEM. */
  readonly ca?: string
}

/** Makes a client: one connection pool per origin. */
export const openOutboundClient = (options: OutboundClientOptions): OutboundClient => {
  const agent = new Agent({
    connect: makeGuardedConnector(options),
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: MAX_CONNECTION_AGE_MS,
    clientTtl: MAX_CONNECTION_AGE_MS,
  })
  return {
    request: async (url, { timeoutMs, ...rest }) => {
      const { statusCode, headers, body } = await request(url, {
        ...rest,
        dispatcher: agent,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      })
      const discard = async (): Promise<void> => {
        await body.dump({ limit: MAX_DISCARDED_BYTES }).catch(() => undefined)
      }
      return { status: statusCode, headers, body, discard }
    },
    exchange: (url, options) =>
      new Promise((resolve, reject) => {
        const { method, headers, body = null, timeoutMs, mostBytes } = options
        const { origin, pathname, search } = new URL(url)
        const path = pathname + search
        const exchange = new ShortRequestHandler({ timeoutMs, mostBytes, resolve, reject })
        const [headersTimeout, bodyTimeout] = [timeoutMs, timeoutMs]
        agent.dispatch(
          { origin, path, method, headers, body, headersTimeout, bodyTimeout },
          exchange,
        )
      }),
    close: () => agent.destroy(),
  }
}

interface ShortRequestPlan extends Pick<OutboundShortRequest, 'timeoutMs' | 'mostBytes'> {
  readonly resolve: (answer: OutboundShortResponse) => void
  readonly reject: (error: unknown) => void
}

/** The limit of an exchange passed. */
class RequestTimedOut extends Error {
  readonly code = 'ETIMEDOUT'
}

/** Collects one answer. Whatever comes after it has settled only ends the request. */
class ShortRequestHandler implements Dispatcher.DispatchHandler {
  readonly #plan: ShortRequestPlan
  readonly #timer: NodeJS.Timeout
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #interim = 0
  #head: Pick<OutboundShortResponse, 'status' | 'headers'> | undefined
  #controller: Dispatcher.DispatchController | undefined
  #isOver = false

  constructor(plan: ShortRequestPlan) {
    this.#plan = plan
    this.#timer = setTimeout(() => this.#giveUp(new RequestTimedOut()), plan.timeoutMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isOver) controller.abort(new RequestTimedOut())
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: OutboundShortResponse['headers'],
  ): void {
    if (status >= FIRST_FINAL_STATUS) this.#head = { status, headers }
    else if (++this.#interim > MAX_INTERIM_RESPONSES) {
      this.#controller?.abort(new Error(`more than ${MAX_INTERIM_RESPONSES} interim responses`))
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return
    this.#chunks.push(chunk)
    this.#bytes += chunk.byteLength
    if (this.#bytes < this.#plan.mostBytes) return
    this.#end(undefined)
    this.#controller?.abort(new Error('enough of the body is read'))
  }

  onResponseEnd(): void {
    this.#end(undefined)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(error)
  }

  #giveUp(late: RequestTimedOut): void {
    this.#end(late)
    this.#controller?.abort(late)
  }

  #end(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    const { resolve, reject } = this.#plan
    if (this.#head) {
      const { status, headers } = this.#head
      resolve({ status, headers, start: Buffer.concat(this.#chunks), broken: error })
    } else reject(error)
  }
}

/** The guard refused the address; which one it was stays private. */
class AddressBlocked extends Error {
  readonly code = 'BLOCKED'
}

/** Connects to vetted addresses only: what was checked is what is connected to, so a name that changes cannot help. */
const makeGuardedConnector = ({
  rules,
  plainHttp,
  resolve = resolveWithDns,
  ca,
}: OutboundClientOptions) => {
  const connectorFor = (mayReach: (address: string) => boolean): buildConnector.connector => {
    const lookup: LookupFunction = (hostname, options, callback) => {
      resolve(hostname)
        .then((addresses) => {
          if (addresses.length === 0 || !addresses.every(mayReach)) throw new AddressBlocked()
          const vetted = addresses.map((address) => ({ address, family: isIP(address) }))
          const [first = { address: '', family: 0 }] = vetted
          if (options.all) callback(null, vetted)
          else callback(null, first.address, first.family)
        })
        .catch((error: NodeJS.ErrnoException) => callback(error, '', 0))
    }
    const connect = buildConnector({
      timeout: CONNECT_TIMEOUT_MS,
      allowH2: false,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      autoSelectFamily: true,
      lookup,
      ...(ca !== undefined && { ca }),
    })
    return (options, callback) => {
      const host = options.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) !== 0 && !mayReach(host)) return callback(new AddressBlocked(), null)
      return connect(options, callback)
    }
  }
  const mayDial = plainHttp === 'open' ? rules.isOpen : rules.isListed
  const secure = connectorFor(rules.isOpen)
  const plain = connectorFor(mayDial)
  const secureAway = connectorFor((address) => rules.isOpen(address) && !rules.isHere(address))
  const plainAway = connectorFor((address) => mayDial(address) && !rules.isHere(address))
  const connect: buildConnector.connector = (options, callback) => {
    const isSecure = options.protocol === 'https:'
    const port = Number(options.port) || (isSecure ? HTTPS_PORT : HTTP_PORT)
    const usual = isSecure ? secure : plain
    const away = isSecure ? secureAway : plainAway
    return (rules.isOwnPort(port) ? away : usual)(options, callback)
  }
  return connect
}

/** Why a request got no answer. */
export type OutboundFailure = 'blocked' | 'timeout' | 'dns' | 'tls' | 'connect'

const DNS_CODES =
  /^(ENOTFOUND|EAI_AGAIN|ENODATA|ESERVFAIL|EBADNAME|ETIMEOUT|EREFUSED|EBADRESP|ENOTIMP)$/
const TLS_CODES =
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|EPROTO|HOSTNAME_MISMATCH)/

/** The failure that an error of a request stands for. */
export const classifyFailure = (error: unknown): OutboundFailure => {
  const code = errorCode(error)
  if (error instanceof DeadlinePassed) return 'timeout'
  if (error instanceof Error && /^(TimeoutError|AbortError)$/.test(error.name)) return 'timeout'
  if (code === 'BLOCKED') return 'blocked'
  if (/TIMEOUT|ETIMEDOUT/.test(code) && code !== 'ETIMEOUT') return 'timeout'
  if (DNS_CODES.test(code)) return 'dns'
  return TLS_CODES.test(code) ? 'tls' : 'connect'
}

/** The error's code, `UNKNOWN` where it has none. */
export const errorCode = (error: unknown): string => {
  const coded: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof coded === 'string' ? coded : 'UNKNOWN'
}
