import { type ChainExtra, ConfigError, type ConfigProblem } from '../../core/config.ts'
import { chainRow } from '../../schemas/chains.ts'
import { PROTOCOLS, type ProtocolRow, protocolRow } from '../../schemas/protocols.ts'

/** What a chain's tables and its configured extra rows say to decoders. */
export interface ProtocolBook {
  /** Protocol of a listed factory (EVM, lower case) or program (Solana, as it is written); undefined for all others. */
  factory(address: string): ProtocolRow | undefined
  /** The token is the chain's own coin in wrapped form. */
  isWrappedNative(token: string): boolean
}

const ROWS: readonly ProtocolRow[] = PROTOCOLS

const listed = (chain: string): readonly (readonly [string, ProtocolRow])[] =>
  ROWS.flatMap((row) => (row.factories[chain] ?? []).map((factory) => [factory, row] as const))

/** Tables of a chain with extra rows (R50). Throws `ConfigError` when an extra factory names no known protocol. */
export const protocolBook = (chain: string, extra?: ChainExtra): ProtocolBook => {
  const problems: ConfigProblem[] = []
  const factories = new Map(extra?.replace ? [] : listed(chain))
  for (const { protocol, factory } of extra?.factories ?? []) {
    const row = protocolRow(protocol)
    if (row) factories.set(factory, row)
    else problems.push({ variable: 'CHAIN_EXTRA', message: `${chain}: no protocol ${protocol}` })
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const wrapped = new Set(
    (extra?.quotes ?? []).filter(({ kind }) => kind === 'native').map(({ address }) => address),
  )
  const own = chainRow(chain)?.wrappedNative
  if (own !== undefined && !extra?.replace) wrapped.add(own)
  return {
    factory: (address) => factories.get(address),
    isWrappedNative: (token) => wrapped.has(token),
  }
}
