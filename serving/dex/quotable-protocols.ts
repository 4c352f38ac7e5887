import type { ChainExtra } from '../../core/config/settings.ts'
import { PROTOCOLS, type ProtocolRow } from '../../schemas/protocols.ts'
import type { Pool } from './pool.ts'

/** Families of Solana whose events prove what their pools price with. */
const PROVEN_BY_EVENTS: Readonly<Partial<Record<ProtocolRow['family'], Pool['kind']>>> = {
  pump_fun: 'fee_on_quote',
  pumpswap: 'fee_on_quote',
  raydium_amm_v4: 'fee_on_input',
  raydium_cpmm: 'fee_on_input',
}

/** Families of Solana whose pools are priced by what a node says of their accounts. */
const READ_FROM_ACCOUNTS = {
  meteora_dlmm: 'dlmm',
  orca_whirlpool: 'whirlpool',
} as const satisfies Readonly<Partial<Record<ProtocolRow['family'], Pool['kind']>>>

/** A family whose pools are read from their accounts: it has a reader and a venue. */
export type AccountReadFamily = keyof typeof READ_FROM_ACCOUNTS

const isAccountRead = (family: string): family is AccountReadFamily =>
  Object.hasOwn(READ_FROM_ACCOUNTS, family)

/** The family of a protocol whose pools are read from their accounts; undefined for the others. */
export const accountFamilyOf = (protocol: string): AccountReadFamily | undefined => {
  const family: string | undefined = PROTOCOLS.find(({ id }) => id === protocol)?.family
  return family !== undefined && isAccountRead(family) ? family : undefined
}

/** True for a protocol whose pools are priced by their accounts. */
export const isReadFromAccounts = ({ family }: ProtocolRow): boolean => isAccountRead(family)

/** How pools of a protocol are priced here; undefined: not at all. */
export const pricingOf = (row: ProtocolRow): Pool['kind'] | undefined => {
  const { family } = row
  const proven =
    PROVEN_BY_EVENTS[family] ?? (isAccountRead(family) ? READ_FROM_ACCOUNTS[family] : undefined)
  if (row.mixedCurves || proven !== undefined) return proven
  if (row.family === 'uniswap_v2' && row.feePips !== undefined) return 'constant_product'
  if (row.bookVersion !== undefined) return 'bins'
  const findsByFee = row.lookup === undefined || row.lookup === 'pool_fee'
  return row.family === 'uniswap_v3' && findsByFee ? 'concentrated' : undefined
}

/**
 * Distance of usable ticks by fee, hundredths of a basis point: what the factories that find a pool by its fee have enabled. Source:
 * Uniswap/v3-core UniswapV3Factory.sol, pancakeswap/pancake-v3-contracts PancakeV3Factory.sol, Uniswap governance on Base.
 */
const TICK_SPACINGS: ReadonlyMap<number, number> = new Map([
  [100, 1],
  [200, 4],
  [300, 6],
  [400, 8],
  [500, 10],
  [2_500, 50],
  [3_000, 60],
  [10_000, 200],
])

/** Distance of usable ticks of a pool that its factory finds by this fee; undefined: not known. */
export const tickSpacingOf = (feePips: number): number | undefined => TICK_SPACINGS.get(feePips)

/** Protocols of a chain by what made their pools. */
export interface ChainVenues {
  /** Protocol of a listed factory. */
  ofFactory(factory: string): ProtocolRow | undefined
  /** Ids of all protocols that the chain has. */
  readonly ids: ReadonlySet<string>
  /** Ids of those whose pools can be quoted. */
  readonly quotable: ReadonlySet<string>
}

/**
 * Protocols of a chain: those listed for it, and those that the configuration adds. `readsAccounts`: a node tells the accounts of pools; those
 * of protocols that are priced by them are not quotable without one.
 */
export const chainVenues = (
  chain: string,
  extra: ChainExtra | undefined,
  readsAccounts = false,
): ChainVenues => {
  const isQuotable = (row: ProtocolRow): boolean =>
    pricingOf(row) !== undefined && (readsAccounts || !isReadFromAccounts(row))
  const rows: readonly ProtocolRow[] = PROTOCOLS
  const factories = new Map<string, ProtocolRow>()
  for (const row of extra?.replace ? [] : rows) {
    for (const factory of row.factories[chain] ?? []) factories.set(factory, row)
  }
  for (const { protocol, factory } of extra?.factories ?? []) {
    const row = rows.find(({ id }) => id === protocol)
    if (row !== undefined) factories.set(factory, row)
  }
  const listed = [...factories.values()]
  return {
    ofFactory: (factory) => factories.get(factory),
    ids: new Set(listed.map(({ id }) => id)),
    quotable: new Set(listed.flatMap((row) => (isQuotable(row) ? [row.id] : []))),
  }
}
