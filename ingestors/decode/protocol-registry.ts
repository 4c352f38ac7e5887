import { ConfigError, type ConfigProblem } from '../../core/config/errors.ts'
import type { ChainExtra } from '../../core/config/settings.ts'
import { EVM_NATIVE_PLACEHOLDER } from '../../core/prices/native-token.ts'
import { chainRow } from '../../schemas/chains.ts'
import { PROTOCOLS, type ProtocolRow, protocolRow } from '../../schemas/protocols.ts'

/** A protocol on a chain: what makes its pools, holds them or is asked about them. */
export interface ListedProtocol {
  readonly row: ProtocolRow
  readonly factory: string
  /** Contracts beside the factory that know its pools. */
  readonly registries: readonly string[]
}

/** What a chain's tables and its configured extra rows say to decoders. */
export interface ProtocolRegistry {
  /** Protocol of a listed factory (EVM, lower case) or program (Solana, as it is written); undefined for all others. */
  factory(address: string): ProtocolRow | undefined
  /** Listed protocols whose pools log a family's events. */
  protocolsEmitting(family: string): readonly ListedProtocol[]
  /** Pools of some listed protocol log a swap before the reserves that it leaves. */
  readonly swapsFirst: boolean
  /** The token is the chain's native token in wrapped form. */
  isWrappedNative(token: string): boolean
  /** The token is the contract that logs every move of the chain's native token. */
  isNativeToken(token: string): boolean
  /** A token as transfers and balances name it: the chain's native token under its own id. */
  canonicalForBalances(token: string): string
  /** A token as trades and pools name it: the chain's native token under its wrapped address. */
  canonicalForTrades(token: string): string
}

/** How contracts name the chain's native token where a token is asked for. Sources: Uniswap/v4-core, curvefi. */
const isNativePlaceholder = (token: string): boolean =>
  token === '0x0000000000000000000000000000000000000000' || token === EVM_NATIVE_PLACEHOLDER

const ROWS: readonly ProtocolRow[] = PROTOCOLS

/** Pools of the protocol log events of the family. */
export const emitsEventsOf = (
  { family, compatibleFamilies: others }: ProtocolRow,
  wanted: string,
): boolean => family === wanted || (others?.some((each) => each === wanted) ?? false)

const listed = (chain: string): readonly (readonly [string, ProtocolRow])[] =>
  ROWS.flatMap((row) => (row.factories[chain] ?? []).map((factory) => [factory, row] as const))

/** Tables of a chain with extra rows. Throws `ConfigError` when an extra factory names no known protocol. */
export const protocolRegistry = (chain: string, extra?: ChainExtra): ProtocolRegistry => {
  const problems: ConfigProblem[] = []
  const factories = new Map(extra?.replace ? [] : listed(chain))
  const ownRegistries = new Map<string, readonly string[]>()
  for (const { protocol, factory, registries } of extra?.factories ?? []) {
    const row = protocolRow(protocol)
    if (registries !== undefined) ownRegistries.set(factory, registries)
    if (row) factories.set(factory, row)
    else problems.push({ variable: 'CHAIN_EXTRA', message: `${chain}: no protocol ${protocol}` })
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const wrapped = new Set(
    (extra?.quotes ?? []).filter(({ kind }) => kind === 'native').map(({ address }) => address),
  )
  const chainFacts = chainRow(chain)
  const own = chainFacts?.wrappedNative
  if (own !== undefined && !extra?.replace) wrapped.add(own)
  const wrappedNative = own !== undefined && wrapped.has(own) ? own : [...wrapped][0]
  const registriesOf = (factory: string, { registries }: ProtocolRow): readonly string[] =>
    ownRegistries.get(factory) ?? (extra?.replace ? [] : (registries?.[chain] ?? []))
  const isNativeToken = (token: string): boolean => token === chainFacts?.nativeTokenContract
  const emitting = new Map<string, readonly ListedProtocol[]>()
  return {
    factory: (address) => factories.get(address),
    protocolsEmitting: (family) => {
      const known = emitting.get(family)
      if (known !== undefined) return known
      const found = [...factories]
        .filter(([, row]) => emitsEventsOf(row, family))
        .map(([factory, row]) => ({ row, factory, registries: registriesOf(factory, row) }))
      emitting.set(family, found)
      return found
    },
    swapsFirst: [...factories.values()].some((row) => row.swapsFirst === true),
    isWrappedNative: (token) => wrapped.has(token),
    isNativeToken,
    canonicalForBalances: (token) =>
      isNativeToken(token) ? (chainFacts?.nativeAddress ?? token) : token,
    canonicalForTrades: (token) => (isNativePlaceholder(token) ? (wrappedNative ?? token) : token),
  }
}
