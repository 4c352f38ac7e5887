import { formatDecimal, parseDecimal } from '../../core/amounts.ts'
import { InvalidInput } from '../../core/errors.ts'
import type {
  DexPool,
  DexPoolEvent,
  DexPoolProcessed,
  PoolState,
  TokenLiquidity,
} from '../../schemas/wire.ts'
import { createEnrichmentProcessor, type Enrichment } from '../runtime/enrichment.ts'
import type { Stage } from '../runtime/stage.ts'
import { knownAmount } from '../runtime/valuation.ts'
import { liquidityAfter, poolStateAfter, type VaultValues } from './state.ts'
import { isSoldOut, poolProtocol, poolValuation, type UsdAndNative } from './valuation.ts'

/** What one pool holds of a token; values are of both of its sides. */
interface PoolHolding {
  readonly pool: string
  readonly raw: string
  readonly usd: number | null
  readonly native: number | null
}

/** Pools of a token that are known with reserves, deepest first. */
type PoolHoldings = readonly PoolHolding[]

/** What is kept: under a token its holdings, under `curve/` and `pool/` what a curve had to sell and how a pool was left. */
interface StoredPoolEntry {
  readonly state?: PoolState
  readonly holdings?: PoolHoldings
  readonly curveTokens?: string
}

/** Most pools that count towards a token's liquidity: the rest are dust beside them. */
const MAX_POOLS_PER_TOKEN = 256

const liquidityNumbers = ({
  liquidity_in_usd: usd,
  liquidity_in_native: native,
}: Pick<PoolState, 'liquidity_in_usd' | 'liquidity_in_native'>): UsdAndNative => ({
  usd: parseDecimal(usd),
  native: parseDecimal(native),
})

const byDepth = (one: PoolHolding, other: PoolHolding): number => (other.usd ?? 0) - (one.usd ?? 0)

/** Pools of a token after an event of one of them; undefined as long as none has told its reserves. */
const updateHoldings = (
  event: DexPoolEvent,
  pool: DexPool,
  values: VaultValues,
  before: PoolHoldings | undefined,
): PoolHoldings | undefined => {
  const raw = knownAmount(pool.token_a_vault_post_amount)
  if (raw === null) return before
  const others = (before ?? []).filter((one) => one.pool !== pool.address)
  if (isSoldOut(event, pool)) return others
  const worth = liquidityNumbers(liquidityAfter(event, pool, values))
  return [...others, { pool: pool.address, raw: String(raw), ...worth }]
    .toSorted(byDepth)
    .slice(0, MAX_POOLS_PER_TOKEN)
}

const sumKnown = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0)
}

/** Liquidity over pools: nothing where the last one is sold out or taken back; null where none was ever told. */
const totalLiquidity = (
  token: string,
  holdings: PoolHoldings | undefined,
  pool = '',
): TokenLiquidity | null => {
  if (holdings === undefined) return null
  const [usd, native] =
    holdings.length === 0
      ? [0, 0]
      : [sumKnown(holdings.map((one) => one.usd)), sumKnown(holdings.map((one) => one.native))]
  return {
    token_address: token,
    amount: String(holdings.reduce((sum, { raw }) => sum + BigInt(raw), 0n)),
    liquidity_in_native: formatDecimal(native),
    liquidity_in_usd: formatDecimal(usd),
    pool_address: pool,
    pool_count: holdings.length,
  }
}

const deepestPoolLiquidity = (
  token: string,
  holdings: PoolHoldings | undefined,
): TokenLiquidity | null => totalLiquidity(token, holdings?.slice(0, 1), holdings?.[0]?.pool)

/** What a curve has to sell when it opens; undefined for anything else. */
const initialCurveTokens = (event: DexPoolEvent, pool: DexPool): string | undefined =>
  event.type === 'DEX_POOL_EVENT_TYPE_INITIALIZE' && poolProtocol(event)?.launchpad === true
    ? event.bonding_curve?.real_token_reserves || pool.token_a_amount
    : undefined

/** How far a curve is, 0 to 1: as its protocol tells it, else the share of its tokens that is sold; null for all others. */
const curveProgress = (
  event: DexPoolEvent,
  pool: DexPool,
  start: string | undefined,
): number | null => {
  const row = poolProtocol(event)
  if (row?.curveKeepsTokens === true) {
    return parseDecimal(event.pool_processed?.curve_progress ?? '')
  }
  const left = knownAmount(
    event.bonding_curve?.real_token_reserves || pool.token_a_vault_post_amount,
  )
  const whole = start === undefined ? row?.curveTokensRaw : BigInt(start)
  if (row?.launchpad !== true || left === null || !whole || left > whole) return null
  return 1 - Number(left) / Number(whole)
}

const POOL_ENRICHMENT: Enrichment<DexPoolEvent, DexPoolProcessed, StoredPoolEntry> = {
  batches: ({ records }) =>
    records.flatMap(({ topic, key, value }) => (topic === 'pools' ? [{ key, value }] : [])),
  enrich: (event, known, { timeMs }) => {
    const { pool } = event
    if (pool === null) throw new InvalidInput('pool', 'a pool event without a pool')
    const token = pool.token_a_address
    const curveKey = `curve/${pool.address}`
    const opened = initialCurveTokens(event, pool)
    const start = opened ?? known(curveKey)?.curveTokens
    const { amountA, amountB, vaultA, vaultB } = poolValuation(event, pool)
    const values = {
      token_a_amount_in_usd: formatDecimal(amountA.usd),
      token_a_amount_in_native: formatDecimal(amountA.native),
      token_a_vault_pre_amount_in_usd: formatDecimal(vaultA.pre.usd),
      token_a_vault_pre_amount_in_native: formatDecimal(vaultA.pre.native),
      token_a_vault_post_amount_in_usd: formatDecimal(vaultA.post.usd),
      token_a_vault_post_amount_in_native: formatDecimal(vaultA.post.native),
      token_b_amount_in_usd: formatDecimal(amountB.usd),
      token_b_amount_in_native: formatDecimal(amountB.native),
      token_b_vault_pre_amount_in_usd: formatDecimal(vaultB.pre.usd),
      token_b_vault_pre_amount_in_native: formatDecimal(vaultB.pre.native),
      token_b_vault_post_amount_in_usd: formatDecimal(vaultB.post.usd),
      token_b_vault_post_amount_in_native: formatDecimal(vaultB.post.native),
    }
    const earlier = known(token)?.holdings
    const holdings = updateHoldings(event, pool, values, earlier)
    const before = holdings && (earlier ?? [])
    const stateKey = `pool/${pool.address}`
    const processed = {
      before: known(stateKey)?.state ?? null,
      token_a_liquidity: totalLiquidity(token, holdings),
      ...values,
      token_a_max_liquidity: deepestPoolLiquidity(token, holdings),
      token_b_liquidity: null,
      token_b_max_liquidity: null,
      owner_dapp_program: event.d_app?.program_address ?? '',
      curve_progress: formatDecimal(curveProgress(event, pool, start)),
    }
    return {
      writes: [
        ...(holdings ? [[token, { holdings }] as const] : []),
        ...(opened ? [[curveKey, { curveTokens: opened }] as const] : []),
        [stateKey, { state: poolStateAfter(event, pool, processed, timeMs) }],
      ],
      processed: {
        ...processed,
        token_a_liquidity_before: totalLiquidity(token, before),
        token_a_max_liquidity_before: deepestPoolLiquidity(token, before),
      },
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
 * `dex.pools` to `dex.pools.processed`, one record for one: amounts and reserves in USD and in the chain's native token, and the
 * base token's liquidity over its pools. A quote's pools lie in many lanes, so its liquidity stays null here.
 */
export const POOLS: Stage = {
  app: 'pools',
  inputs: ['pools'],
  outputs: ['poolsProcessed'],
  load: (state) => createEnrichmentProcessor(POOL_ENRICHMENT, state),
}
