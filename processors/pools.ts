import { decimalNumber, decimalText, unitsNumber } from '../core/amounts.ts'
import { Malformed } from '../core/fault.ts'
import { CONSTANT_PRODUCT, type ProtocolRow, protocolRow } from '../schemas/protocols.ts'
import type {
  DexPool,
  DexPoolEvent,
  DexPoolProcessed,
  PoolState,
  TokenLiquidity,
} from '../schemas/wire.ts'
import { type Enrichment, foldEnrichment } from './enrich.ts'
import { poolStateAfter } from './pool-state.ts'
import type { Stage } from './stage.ts'
import { knownRaw, over, times, unitsOf } from './trade.ts'

/** What one pool holds of a token; values are of the token's side only. */
interface Holding {
  readonly pool: string
  readonly raw: string
  readonly usd: number | null
  readonly native: number | null
}

/** Pools of a token that are known with reserves, deepest first. */
type Holdings = readonly Holding[]

/** What is kept: under a token its holdings, under `curve/` and `pool/` what a curve had to sell and how a pool was left. */
interface Kept {
  readonly state?: PoolState
  readonly holdings?: Holdings
  readonly curveTokens?: string
}

/** Most pools that count towards a token's liquidity: the rest are dust beside them. */
const MOST_POOLS = 256

/** Value of an amount in USD and in the chain's coin; null = unknown. */
interface Worth {
  readonly usd: number | null
  readonly native: number | null
}

const NOTHING_KNOWN: Worth = { usd: null, native: null }

const worthOf = (units: number | null, price: Worth): Worth => ({
  usd: times(units, price.usd),
  native: times(units, price.native),
})

const knownUnits = (text: string, decimals: number | null): number | null => {
  const raw = knownRaw(text)
  return raw === null || decimals === null ? null : unitsNumber(raw, decimals)
}

const texts = <Name extends string>(name: Name, { usd, native }: Worth) =>
  ({
    [`${name}_in_usd`]: decimalText(usd),
    [`${name}_in_native`]: decimalText(native),
  }) as Readonly<Record<`${Name}_in_usd` | `${Name}_in_native`, string>>

/** Price of the base: what the swap paid for it, or what a constant-product pool holds on both sides. */
const basePrice = (event: DexPoolEvent, pool: DexPool, quote: Worth): Worth => {
  const ratio =
    event.type === 'DEX_POOL_EVENT_TYPE_SWAP'
      ? over(
          unitsOf(pool.token_b_amount, pool.token_b_decimals),
          unitsOf(pool.token_a_amount, pool.token_a_decimals),
        )
      : CONSTANT_PRODUCT.has(event.instruction?.type ?? '')
        ? over(
            knownUnits(pool.token_b_vault_post_amount, pool.token_b_decimals),
            knownUnits(pool.token_a_vault_post_amount, pool.token_a_decimals),
          )
        : null
  return worthOf(ratio, quote)
}

const byDepth = (one: Holding, other: Holding): number => (other.usd ?? 0) - (one.usd ?? 0)

const withHolding = (held: Holdings, holding: Holding): Holdings =>
  [...held.filter(({ pool }) => pool !== holding.pool), holding]
    .toSorted(byDepth)
    .slice(0, MOST_POOLS)

const sumOf = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0)
}

const liquidityOf = (token: string, holdings: Holdings, pool: string): TokenLiquidity | null =>
  holdings.length === 0
    ? null
    : {
        token_address: token,
        amount: String(holdings.reduce((sum, { raw }) => sum + BigInt(raw), 0n)),
        liquidity_in_native: decimalText(sumOf(holdings.map(({ native }) => native))),
        liquidity_in_usd: decimalText(sumOf(holdings.map(({ usd }) => usd))),
        pool_address: pool,
        pool_count: holdings.length,
      }

/** How far a curve is, 0 to 1: as its protocol tells it, else the share of its tokens that is sold; null for all others. */
const progressOf = (
  row: ProtocolRow | undefined,
  { pool_processed: told }: DexPoolEvent,
  { pool, start }: { readonly pool: DexPool; readonly start: string | undefined },
): number | null => {
  if (row?.curveKeepsTokens === true) return decimalNumber(told?.curve_progress ?? '')
  const left = knownRaw(pool.token_a_vault_post_amount)
  const whole = start === undefined ? row?.curveTokensRaw : BigInt(start)
  if (row?.launchpad !== true || left === null || !whole || left > whole) return null
  return 1 - Number(left) / Number(whole)
}

const POOLING: Enrichment<DexPoolEvent, DexPoolProcessed, Kept> = {
  batches: ({ records }) =>
    records.flatMap(({ topic, key, value }) => (topic === 'pools' ? [{ key, value }] : [])),
  enrich: (event, known, { timeMs }) => {
    const { pool } = event
    if (pool === null) throw new Malformed('pool', 'a pool event without a pool')
    const quote: Worth = {
      usd: decimalNumber(event.quote_price_in_usd),
      native: decimalNumber(event.quote_price_in_native),
    }
    const quotePre = worthOf(
      knownUnits(pool.token_b_vault_pre_amount, pool.token_b_decimals),
      quote,
    )
    const quotePost = worthOf(
      knownUnits(pool.token_b_vault_post_amount, pool.token_b_decimals),
      quote,
    )
    // Both sides of a constant-product pool are worth the same at its own price.
    const even = CONSTANT_PRODUCT.has(event.instruction?.type ?? '')
    const basePost = even ? quotePost : NOTHING_KNOWN
    const token = pool.token_a_address
    const before = known(token)?.holdings ?? []
    const row: ProtocolRow | undefined = protocolRow(event.instruction?.type ?? '')
    const curveKey = `curve/${pool.address}`
    const opened = event.type === 'DEX_POOL_EVENT_TYPE_INITIALIZE' && row?.launchpad === true
    const start = opened ? pool.token_a_amount : known(curveKey)?.curveTokens
    const raw = knownRaw(pool.token_a_vault_post_amount)
    const holdings =
      raw === null
        ? before
        : withHolding(before, { pool: pool.address, raw: String(raw), ...basePost })
    const stateKey = `pool/${pool.address}`
    const processed = {
      ...texts(
        'token_a_amount',
        worthOf(unitsOf(pool.token_a_amount, pool.token_a_decimals), basePrice(event, pool, quote)),
      ),
      ...texts('token_a_vault_pre_amount', even ? quotePre : NOTHING_KNOWN),
      ...texts('token_a_vault_post_amount', basePost),
      token_a_liquidity: liquidityOf(token, holdings, ''),
      token_a_max_liquidity: liquidityOf(token, holdings.slice(0, 1), holdings[0]?.pool ?? ''),
      ...texts(
        'token_b_amount',
        worthOf(unitsOf(pool.token_b_amount, pool.token_b_decimals), quote),
      ),
      ...texts('token_b_vault_pre_amount', quotePre),
      ...texts('token_b_vault_post_amount', quotePost),
      token_b_liquidity: null,
      token_b_max_liquidity: null,
      owner_dapp_program: event.d_app?.program_address ?? '',
      curve_progress: decimalText(progressOf(row, event, { pool, start })),
    }
    return {
      writes: [
        ...(raw === null ? [] : [[token, { holdings }] as const]),
        ...(opened ? [[curveKey, { curveTokens: pool.token_a_amount }] as const] : []),
        [stateKey, { state: poolStateAfter(event, pool, processed, timeMs) }],
      ],
      processed: { ...processed, before: known(stateKey)?.state ?? null },
    }
  },
  finish: (event, processed) => ({ ...event, pool_processed: processed }),
  publish: ({ key, value }) => ({
    topic: 'poolsProcessed',
    key,
    value: { meta: value.meta, events: value.events },
  }),
}

/**
 * `dex.pools` to `dex.pools.processed`, one record for one: amounts and reserves in USD and in the chain's coin, and the
 * base token's liquidity over its pools. A quote's pools lie in many lanes, so its liquidity stays null here.
 */
export const POOLS: Stage = {
  app: 'pools',
  inputs: ['pools'],
  outputs: ['poolsProcessed'],
  load: (state) => foldEnrichment(POOLING, state),
}
