import type { Scenario } from './scenario.ts'

/** Places of the numbers that a chain remembers; every place is an index into one flat list. */
export interface StateLayout {
  readonly size: number
  readonly balance: (token: number, account: number) => number
  readonly ether: (account: number) => number
  readonly nonce: (account: number) => number
  readonly supply: (token: number) => number
  /** Fair USD price of a whole token times 10^18: what the market believes, not on any contract. */
  readonly fairPrice: (token: number) => number
  readonly pool: (pool: number, field: PoolField) => number
  /** Liquidity tokens of a V2 pool, by account of a liquidity provider. */
  readonly share: (pool: number, account: number) => number
  /** Swaps that earlier blocks made beyond their quota, times 1,000. */
  readonly surplus: number
  readonly baseFee: number
}

/**
 * V2: reserves and `liquidity` = supply of liquidity tokens. V3: `sqrtPrice`, `tick` (plus 2^24), `liquidity`, fees owed.
 * `number`: 1 + how many pools the factory had made before; 0 = this pool does not exist yet.
 */
const POOL_FIELDS = [
  'number',
  'reserve0',
  'reserve1',
  'liquidity',
  'sqrtPrice',
  'tick',
  'fee0',
  'fee1',
] as const
export type PoolField = (typeof POOL_FIELDS)[number]

const POOL_FIELD_INDEX = Object.fromEntries(
  POOL_FIELDS.map((field, at) => [field, at]),
) as Readonly<Record<PoolField, number>>

/** Added to a tick so that it can be kept as a natural number. */
export const TICK_OFFSET = 1n << 24n

/** The layout of a scenario. */
export const stateLayoutOf = (scenario: Scenario): StateLayout => {
  const accounts = scenario.accounts.length
  const tokens = scenario.tokens.length
  const providers = scenario.byRole.liquidity
  const firstProvider = providers[0]?.index ?? 0
  const etherAt = tokens * accounts
  const nonceAt = etherAt + accounts
  const supplyAt = nonceAt + accounts
  const fairAt = supplyAt + tokens
  const poolAt = fairAt + tokens
  const shareAt = poolAt + scenario.pools.length * POOL_FIELDS.length
  const surplus = shareAt + scenario.pools.length * providers.length
  return {
    size: surplus + 2,
    balance: (token, account) => token * accounts + account,
    ether: (account) => etherAt + account,
    nonce: (account) => nonceAt + account,
    supply: (token) => supplyAt + token,
    fairPrice: (token) => fairAt + token,
    pool: (pool, field) => poolAt + pool * POOL_FIELDS.length + POOL_FIELD_INDEX[field],
    share: (pool, account) => shareAt + pool * providers.length + (account - firstProvider),
    surplus,
    baseFee: surplus + 1,
  }
}
