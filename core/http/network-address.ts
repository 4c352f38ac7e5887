import ipaddr from 'ipaddr.js'

/** Addresses of callers and of our own listeners. */

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Leading bits of an IPv6 address that one customer of a network provider holds. Source: RFC 6177, BCP 157. */
const IPV6_PREFIX_BITS = 64
const IPV6_GROUP_BITS = 16
const MAX_FORWARDED_HOPS = 32

/** An address without its zone; one that only embeds an IPv4 address is that address. Odd IPv4 notations are none. */
const parseAddress = (text: string): Address | undefined => {
  const plain = text.replace(/%.*$/, '')
  if (ipaddr.IPv4.isValidFourPartDecimal(plain)) return ipaddr.IPv4.parse(plain)
  return ipaddr.IPv6.isValid(plain) ? ipaddr.process(plain) : undefined
}

const isInRanges = (address: Address, ranges: readonly string[]): boolean =>
  ranges.some((range) => {
    const [base, bits] = ipaddr.parseCIDR(range)
    return base.kind() === address.kind() && address.match(base, bits)
  })

/** Whether an address is one of the ranges. Throws for an invalid range. */
export const isAddressInRanges = (text: string, ranges: readonly string[]): boolean => {
  const address = parseAddress(text)
  return address !== undefined && isInRanges(address, ranges)
}

/** One entry of the header: an address, with a port or in brackets as some proxies write it. */
const parseForwardedAddress = (entry: string): Address | undefined => {
  const text = entry.trim()
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1]
  const withPort = /^([\d.]+):\d{1,5}$/.exec(text)?.[1]
  return parseAddress(bracketed ?? withPort ?? text)
}

/**
 * Address of the caller: `peer`, or where the peer is a trusted proxy the right-most entry of `X-Forwarded-For` that is
 * no trusted proxy itself. An entry that is not an address ends the search at the proxy that passed it on. `trusted`: CIDR
 * ranges; throws for an invalid one.
 */
export const clientAddress = (
  peer: string,
  forwardedFor: string | undefined,
  trusted: readonly string[],
): string => {
  let address = parseAddress(peer)
  if (address === undefined) return peer
  if (trusted.length === 0 || forwardedFor === undefined) return address.toString()
  const hops = forwardedFor.split(',').slice(-MAX_FORWARDED_HOPS)
  while (isInRanges(address, trusted)) {
    const entry = hops.pop()
    const next = entry === undefined ? undefined : parseForwardedAddress(entry)
    if (next === undefined) break
    address = next
  }
  return address.toString()
}

/**
 * Name under which an address is limited: the whole IPv4 address, also where IPv6 only wraps it, and the first 64 bits of
 * an IPv6 address. A text that is not an address stays as it is.
 */
export const rateLimitAddress = (address: string): string => {
  const value = parseAddress(address)
  if (value === undefined) return address
  if (value.kind() === 'ipv4') return value.toString()
  const groups = (value as ipaddr.IPv6).parts.slice(0, IPV6_PREFIX_BITS / IPV6_GROUP_BITS)
  return `${groups.map((group) => group.toString(16)).join(':')}::/${IPV6_PREFIX_BITS}`
}

/** What a listener's host means: this machine alone, every interface, or something between. Names count as the last. */
export const bindScope = (host: string): 'loopback' | 'wildcard' | 'other' => {
  if (host === 'localhost') return 'loopback'
  const plain = host.replace(/^\[|\]$/g, '')
  if (!ipaddr.isValid(plain)) return 'other'
  const range = ipaddr.process(plain).range()
  if (range === 'loopback') return 'loopback'
  return range === 'unspecified' ? 'wildcard' : 'other'
}

/** True for a CIDR range. */
export const isCidrRange = (text: string): boolean => ipaddr.isValidCIDR(text)

/** A host as a URL writes it: IPv6 in brackets, a wildcard as the loopback address that it includes. */
export const toUrlHost = (host: string): string => {
  const plain = host.replace(/^\[|\]$/g, '')
  if (bindScope(plain) === 'wildcard') return plain.includes(':') ? '[::1]' : '127.0.0.1'
  return plain.includes(':') ? `[${plain}]` : plain
}
