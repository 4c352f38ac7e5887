import { LISTED_POOLS, LISTED_TOKENS } from './listings.ts'

/**
 * Numbers of one slot for a launched token. `serial`, `supply`, `pool` and the like are what is meant plus 1; token
 * accounts (`vault`, `poolBase`, `poolQuote`, those of the migration authority) too: 0 = there is none.
 */
const LAUNCH_FIELDS = [
  ...(['serial', 'phase', 'virtualSol', 'virtualToken', 'realSol', 'realToken'] as const),
  ...(['curve', 'vault', 'supply', 'metadata', 'lastHeight', 'trades', 'fair'] as const),
  ...(['pool', 'poolBase', 'poolQuote', 'lpSupply'] as const),
  ...(['authority', 'authorityBase', 'authorityQuote', 'authorityLp'] as const),
] as const
export type LaunchField = (typeof LAUNCH_FIELDS)[number]

const LAUNCH_FIELD_INDEX = Object.fromEntries(
  LAUNCH_FIELDS.map((field, at) => [field, at]),
) as Readonly<Record<LaunchField, number>>

/** Numbers that every wallet has. */
const WALLET_FIELDS = ['lamports', 'wsol', 'usdc', 'creatorVault', 'ammVault'] as const
type WalletField = (typeof WALLET_FIELDS)[number]

/** Numbers of the protocols and of the chain itself. */
const COMMON_FIELDS = [
  ...(['feeRecipient', 'buyback', 'withdrawAuthority', 'ammFeeVault'] as const),
  ...(['surplus', 'launches', 'solUsd'] as const),
] as const
type CommonField = (typeof COMMON_FIELDS)[number]

/** Places of the numbers that a chain remembers; every place is an index into one flat list. */
export interface StateLayout {
  readonly size: number
  /** Launched tokens that live at the same time; an older one whose place is taken is never touched again. */
  readonly launches: number
  readonly common: (field: CommonField) => number
  readonly wallet: (wallet: number, field: WalletField) => number
  readonly tokenAccount: (coin: number, wallet: number) => number
  readonly validator: (validator: number) => number
  readonly pool: (pool: number, side: 'coin' | 'pc') => number
  /** Fair USD price of a whole older coin times 10^18: what the market believes, on no account. */
  readonly fairPrice: (coin: number) => number
  readonly launch: (slot: number, field: LaunchField) => number
  /** Token account of a wallet for a launched token. */
  readonly holding: (slot: number, wallet: number) => number
}

/** How many launched tokens live at the same time: more where more is traded. */
const launchCapacity = (ratePerSecond: number): number =>
  ratePerSecond <= 10 ? 48 : ratePerSecond <= 100 ? 96 : 160

/** The layout of a scenario. */
export const stateLayoutOf = (
  ratePerSecond: number,
  counts: { readonly wallets: number; readonly validators: number },
): StateLayout => {
  const { wallets, validators } = counts
  const launches = launchCapacity(ratePerSecond)
  const walletAt = COMMON_FIELDS.length
  const coinAt = walletAt + wallets * WALLET_FIELDS.length
  const validatorAt = coinAt + wallets * LISTED_TOKENS.length
  const poolAt = validatorAt + validators
  const fairAt = poolAt + LISTED_POOLS.length * 2
  const launchAt = fairAt + LISTED_TOKENS.length
  const stride = LAUNCH_FIELDS.length + wallets
  return {
    size: launchAt + launches * stride,
    launches,
    common: (field) => COMMON_FIELDS.indexOf(field),
    wallet: (wallet, field) =>
      walletAt + wallet * WALLET_FIELDS.length + WALLET_FIELDS.indexOf(field),
    tokenAccount: (coin, wallet) => coinAt + wallet * LISTED_TOKENS.length + coin,
    validator: (validator) => validatorAt + validator,
    pool: (pool, side) => poolAt + pool * 2 + (side === 'coin' ? 0 : 1),
    fairPrice: (coin) => fairAt + coin,
    launch: (slot, field) => launchAt + slot * stride + LAUNCH_FIELD_INDEX[field],
    holding: (slot, wallet) => launchAt + slot * stride + LAUNCH_FIELDS.length + wallet,
  }
}
