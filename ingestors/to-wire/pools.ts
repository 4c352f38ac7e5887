import { formatDecimal } from '../../core/amounts.ts'
import type { DeepPartial } from '../../core/codec/contract.ts'
import { orientPair } from '../../core/prices/quote-assets.ts'
import type { BinChange, PoolLiquidityChange, Swap } from '../../schemas/events.ts'
import type * as Wire from '../../schemas/wire.ts'
import {
  curveRecord,
  decimalsOf,
  type Head,
  type Keyed,
  type MappingContext,
  pricingRecord,
  quotePriceText,
  rawText,
} from './context.ts'
import { accountsOf, keeperOf, type OrientedSwap, type Vaults, vaults } from './oriented-swap.ts'

interface PoolSides {
  readonly pool: string
  readonly keeper: string
  readonly base: string
  readonly quote: string
  readonly baseRaw: bigint
  readonly quoteRaw: bigint
  readonly wallet: string
  readonly vaultA: string
  readonly vaultB: string
}

/** What a concentrated pool prices with, as far as an event tells it; `fee_pips` where the pool's factory vouches for it. */
const concentratedRecord = (
  context: MappingContext,
  pool: string,
  stated: DeepPartial<Wire.ConcentratedChange>,
): Pick<DeepPartial<Wire.DexPoolEvent>, 'concentrated'> => {
  const facts = context.pool(pool)
  return { concentrated: { ...stated, fee_pips: facts?.verified ? facts.feePips : null } }
}

const changedRange = (
  context: MappingContext,
  { pool, position, opensAt }: PoolLiquidityChange,
): Pick<DeepPartial<Wire.DexPoolEvent>, 'concentrated'> => {
  if (opensAt !== undefined) {
    const { sqrtPriceX96, tick } = opensAt
    return concentratedRecord(context, pool, { sqrt_price_x96: String(sqrtPriceX96), tick })
  }
  if (position === undefined) return {}
  const { tickLower, tickUpper, liquidityRaw } = position
  return concentratedRecord(context, pool, {
    tick_lower: tickLower,
    tick_upper: tickUpper,
    position_liquidity: String(liquidityRaw),
  })
}

const swappedPrice = (
  context: MappingContext,
  { pool, tick, sqrtPriceX96, liquidityRaw }: Swap,
): Pick<DeepPartial<Wire.DexPoolEvent>, 'concentrated'> =>
  tick === undefined || sqrtPriceX96 === undefined || liquidityRaw === undefined
    ? {}
    : concentratedRecord(context, pool, {
        sqrt_price_x96: String(sqrtPriceX96),
        liquidity: String(liquidityRaw),
        tick,
      })

const REFERENCES = {
  by_time: 'BIN_REFERENCES_BY_TIME',
  forced: 'BIN_REFERENCES_FORCED',
} as const

/** What an event says of the bins of a pool whose tokens are known for certain: the first is X. */
const binRecord = (
  context: MappingContext,
  pool: string,
  bins: BinChange | undefined,
): Pick<DeepPartial<Wire.DexPoolEvent>, 'bins'> => {
  const facts = context.pool(pool)
  if (bins === undefined || !facts?.verified) return {}
  const { moves = [], binStep, activeBin, volatility, feeTerms = [], references } = bins
  return {
    bins: {
      token_x: facts.tokenA,
      bin_step: binStep ?? null,
      active_bin: activeBin ?? null,
      volatility: volatility ?? null,
      fee_terms: [...feeTerms],
      references: references ? REFERENCES[references] : 'BIN_REFERENCES_UNSPECIFIED',
      moves: moves.map(({ bin, xRaw, yRaw }) => ({
        bin,
        amount_x: String(xRaw),
        amount_y: String(yRaw),
      })),
    },
  }
}

const poolRecord = (
  context: MappingContext,
  { pool, keeper, base, quote, baseRaw, quoteRaw, wallet, vaultA, vaultB }: PoolSides,
  vault: Vaults,
): DeepPartial<Wire.DexPool> => ({
  address: pool,
  token_a_vault_address: vaultA,
  token_a_vault_owner_address: keeper,
  token_a_address: base,
  token_a_amount: String(baseRaw),
  token_a_vault_pre_amount: vault.basePre,
  token_a_vault_post_amount: vault.basePost,
  token_a_decimals: decimalsOf(context, base),
  token_b_vault_address: vaultB,
  token_b_vault_owner_address: keeper,
  token_b_address: quote,
  token_b_amount: String(quoteRaw),
  token_b_vault_pre_amount: vault.quotePre,
  token_b_vault_post_amount: vault.quotePost,
  token_b_decimals: decimalsOf(context, quote),
  lp_wallet: wallet,
})

/** A swap as what it did to its pool. */
export const swapEvent = (
  context: MappingContext,
  side: OrientedSwap,
  place: Head,
): Keyed<Wire.DexPoolEvent> => ({
  key: side.base,
  event: {
    type: 'DEX_POOL_EVENT_TYPE_SWAP',
    ...place,
    ...quotePriceText(context, side.quote),
    pool: poolRecord(
      context,
      {
        pool: side.swap.pool,
        ...side,
        ...accountsOf(side),
        keeper: keeperOf(side.swap),
        wallet: '',
      },
      vaults(side),
    ),
    ...(side.swap.curveProgress !== undefined && {
      pool_processed: { curve_progress: formatDecimal(side.swap.curveProgress) },
    }),
    ...curveRecord(side.swap.curve),
    ...pricingRecord(side.swap.pricing, (pair) => (side.sells ? pair : [pair[1], pair[0]])),
    ...swappedPrice(context, side.swap),
    ...binRecord(context, side.swap.pool, side.swap.bins),
  },
})

/** A change that the wire has a type for; what a V3 position collects was taken out by its `decrease` already. */
export type PublishedChange = PoolLiquidityChange & { readonly kind: keyof typeof CHANGE_TYPES }

/** True for changes that the wire has a type for. */
export const isPublished = (change: PoolLiquidityChange): change is PublishedChange =>
  change.kind in CHANGE_TYPES

const CHANGE_TYPES = {
  initialize: 'DEX_POOL_EVENT_TYPE_INITIALIZE',
  increase: 'DEX_POOL_EVENT_TYPE_INCREASE_LIQUIDITY',
  decrease: 'DEX_POOL_EVENT_TYPE_DECREASE_LIQUIDITY',
  state: 'DEX_POOL_EVENT_TYPE_UNSPECIFIED',
} as const

/** Liquidity that moved, or a pool that opened. */
export const changeEvent = (
  context: MappingContext,
  change: PublishedChange,
  place: Head,
): Keyed<Wire.DexPoolEvent> => {
  const keeper = keeperOf(change)
  const { base, quote } = orientPair(change.tokenA, change.tokenB, context.quoteAssets)
  const flip = <T>(pair: readonly [T, T]): readonly [T, T] =>
    base === change.tokenA ? pair : [pair[1], pair[0]]
  const [baseRaw, quoteRaw] = flip([change.amountARaw, change.amountBRaw])
  const [basePost, quotePost] = change.reserves === undefined ? [] : flip(change.reserves)
  const amountBefore = (post: bigint | undefined, raw: bigint): bigint | undefined =>
    post === undefined ? undefined : change.kind === 'decrease' ? post + raw : post - raw
  return {
    key: base,
    event: {
      type: CHANGE_TYPES[change.kind],
      ...place,
      ...quotePriceText(context, quote),
      pool: poolRecord(
        context,
        {
          pool: change.pool,
          base,
          quote,
          baseRaw,
          quoteRaw,
          wallet: change.owner,
          keeper,
          vaultA: keeper,
          vaultB: keeper,
        },
        {
          basePre: rawText(amountBefore(basePost, baseRaw)),
          basePost: rawText(basePost),
          quotePre: rawText(amountBefore(quotePost, quoteRaw)),
          quotePost: rawText(quotePost),
        },
      ),
      ...curveRecord(change.curve),
      ...pricingRecord(change.pricing, flip),
      ...changedRange(context, change),
      ...binRecord(context, change.pool, change.bins),
    },
  }
}
