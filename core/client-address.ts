import ipaddr from 'ipaddr.js'

/** Whose address a request counts for, behind proxies and without. */

type Ip = ipaddr.IPv4 | ipaddr.IPv6

/** Longest chain of proxies that is followed. */
const MAX_HOPS = 32
/** Groups of 16 bits in the network part of an IPv6 address that one customer of a provider gets (RFC 6177). */
const NETWORK_GROUPS = 4

/**
 * Address of the client. Without a proxy it is the peer. The entries of `X-Forwarded-For` count from the last one on, as far
 * as each was written by an address in `trusted` (CIDR ranges): whatever a client writes there itself is never used.
 */
export const clientAddress = (
  peer: string,
  forwardedFor: string | undefined,
  trusted: readonly string[],
): string => {
  const first = parsed(peer)
  if (first === undefined) return peer
  if (trusted.length === 0) return first.toString()
  const ranges = trusted.map((cidr) => ipaddr.parseCIDR(cidr))
  let client = first
  for (const entry of (forwardedFor ?? '').split(',').slice(-MAX_HOPS).reverse()) {
    const hop = isWithin(client, ranges) ? parsed(withoutPort(entry.trim())) : undefined
    if (hop === undefined) break
    client = hop
  }
  return client.toString()
}

/** The unit in which addresses are limited: an IPv4 address, or the /64 network of an IPv6 address. */
export const addressBucket = (address: string): string => {
  const ip = parsed(address)
  if (ip === undefined) return address
  if (ip instanceof ipaddr.IPv4) return ip.toString()
  const network = ip.parts.map((group, at) => (at < NETWORK_GROUPS ? group : 0))
  return `${new ipaddr.IPv6(network).toString()}/64`
}

/** IPv4 inside IPv6 is read as IPv4; undefined where the text is not an address. Octal, hexadecimal and short IPv4 are not. */
const parsed = (text: string): Ip | undefined => {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  return ipaddr.IPv6.isValid(text) ? ipaddr.process(text) : undefined
}

const isWithin = (ip: Ip, ranges: readonly [Ip, number][]): boolean =>
  ranges.some(([range, bits]) => range.kind() === ip.kind() && ip.match(range, bits))

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string =>
  /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
