import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Addresses that no webhook may reach. Source: contract/webhooks.md 10, the IANA special-purpose registries. */
const BLOCKED_RANGES = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['168.63.129.16/32', '::/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001:db8::/32'],
  ...['2002::/16', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
].map((cidr): Range => ipaddr.parseCIDR(cidr))

/** Which addresses may be connected to. */
export interface AddressRules {
  /** True for an address that the operator lists: it may be inside, and spoken to without TLS. */
  isListed(address: string): boolean
  /** True for a public address, or a listed one. */
  isOpen(address: string): boolean
  /** True when the operator lists any address at all. */
  readonly hasList: boolean
}

/** An embedded IPv4 address is judged as what it is. */
const parsed = (address: string): ipaddr.IPv4 | ipaddr.IPv6 => ipaddr.process(address)

const within = (address: ipaddr.IPv4 | ipaddr.IPv6, ranges: readonly Range[]): boolean =>
  ranges.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))

/** Rules of an installation; `allow` is a list of CIDR ranges. Throws for a range that is none. */
export const addressRules = (allow: readonly string[]): AddressRules => {
  const listed = allow.map((cidr): Range => ipaddr.parseCIDR(cidr))
  const isListed = (address: string): boolean =>
    isIP(address) !== 0 && within(parsed(address), listed)
  return {
    hasList: listed.length > 0,
    isListed,
    isOpen: (address) => {
      if (isIP(address) === 0) return false
      const value = parsed(address)
      if (within(value, listed)) return true
      return value.range() === 'unicast' && !within(value, BLOCKED_RANGES)
    },
  }
}

/** True for an address as people write it: `127.0.0.1` and `::1`, but no decimal, octal, hex or embedded form. */
export const isPlainAddress = (host: string): boolean => {
  if (isIP(host) === 4) return true
  return isIP(host) === 6 && !host.includes('.') && ipaddr.process(host).kind() === 'ipv6'
}
