import { parseDecimal } from '../../core/amounts.ts'
import { rowVersion } from '../../core/event-version.ts'
import { movedLiquidity } from '../../core/prices/concentrated-state.ts'
import type {
  BinState,
  ConcentratedState,
  DexPoolEvent,
  DexPoolEvents,
  EventMeta,
  ReservePricing,
  TokenEvents,
} from '../../schemas/wire.ts'
import { poolStateAfter } from '../pools/state.ts'
import { divide, tokenUnits } from '../runtime/valuation.ts'
import { clampInt256 } from './column-limits.ts'
import {
  amountColumn,
  nativeTokenPrice,
  nullableAmountColumn,
  positionColumns,
  priceColumn,
  protocolColumns,
  type Row,
  timeText,
  transactionColumns,
  valueColumn,
  versionColumns,
} from './columns.ts'

/** What moved, signed: in for liquidity added, out for liquidity removed, the difference of the reserves for a swap. */
const signedChangeColumn = (type: string, amount: string, pre: string, post: string): string => {
  if (type === 'SWAP') {
    const [before, after] = [nullableAmountColumn(pre), nullableAmountColumn(post)]
    if (before === null || after === null) return '0'
    return clampInt256((BigInt(after) - BigInt(before)).toString())
  }
  const moved = amountColumn(amount)
  return clampInt256(type === 'DECREASE_LIQUIDITY' && moved !== '0' ? `-${moved}` : moved)
}

const eventType = (event: DexPoolEvent): string => event.type.replace('DEX_POOL_EVENT_TYPE_', '')

const nativePriceOf = (event: DexPoolEvent): number | null =>
  nativeTokenPrice(event.quote_price_in_usd, event.quote_price_in_native)

/** Rows of `{c}_dex_pool_events_enriched`. What only changed the terms of a pool moved nothing that anybody could look for. */
export const poolEventRows = ({ meta, events }: DexPoolEvents): readonly Row[] =>
  events.flatMap((event) => {
    const { pool, instruction } = event
    const type = eventType(event)
    if (meta === null || pool === null || type === 'UNSPECIFIED') return []
    const processed = event.pool_processed
    const after = processed && poolStateAfter(event, pool, processed, meta.block_time)
    return [
      {
        ix_index: instruction?.index ?? 0,
        ...positionColumns(meta, event),
        ...transactionColumns(meta, event, nativePriceOf(event)),
        event_type: type,
        pool_address: pool.address,
        ...protocolColumns(event),
        base_token: pool.token_a_address,
        base_decimals: pool.token_a_decimals,
        base_change: signedChangeColumn(
          type,
          pool.token_a_amount,
          pool.token_a_vault_pre_amount,
          pool.token_a_vault_post_amount,
        ),
        base_post: nullableAmountColumn(pool.token_a_vault_post_amount),
        base_price_usd: divide(
          parseDecimal(event.pool_processed?.token_a_amount_in_usd ?? ''),
          tokenUnits(pool.token_a_amount, pool.token_a_decimals),
        ),
        quote_token: pool.token_b_address,
        quote_decimals: pool.token_b_decimals,
        quote_change: signedChangeColumn(
          type,
          pool.token_b_amount,
          pool.token_b_vault_pre_amount,
          pool.token_b_vault_post_amount,
        ),
        quote_post: nullableAmountColumn(pool.token_b_vault_post_amount),
        quote_price_usd: priceColumn(event.quote_price_in_usd),
        liquidity_usd: valueColumn(parseDecimal(after?.liquidity_in_usd ?? '')),
        liquidity_native: valueColumn(parseDecimal(after?.liquidity_in_native ?? '')),
        lp_wallet: pool.lp_wallet,
        ...versionColumns(meta, instruction?.event_index ?? 0),
      },
    ]
  })

/** Rows of `{c}_dex_pools`: the pool as the event left it; a retraction writes it as the event before had left it. */
export const poolRows = ({ meta, events }: DexPoolEvents): readonly Row[] =>
  events.flatMap((event) => {
    const { pool, pool_processed: processed } = event
    if (meta === null || pool === null || processed === null) return []
    const reverted = meta.op === 'OP_REVERT'
    const state = reverted
      ? processed.before
      : poolStateAfter(event, pool, processed, meta.block_time)
    const price = priceColumn(state?.price ?? '')
    return [
      {
        pool_address: pool.address,
        token_a: pool.token_a_address,
        token_b: pool.token_b_address,
        ...protocolColumns(event),
        decimals_a: pool.token_a_decimals,
        decimals_b: pool.token_b_decimals,
        base_is_a: 1,
        reserve_a: nullableAmountColumn(state?.token_a_vault_amount ?? ''),
        reserve_b: nullableAmountColumn(state?.token_b_vault_amount ?? ''),
        liquidity_usd: valueColumn(parseDecimal(state?.liquidity_in_usd ?? '')),
        liquidity_native: valueColumn(parseDecimal(state?.liquidity_in_native ?? '')),
        price_a_to_b: price,
        price_b_to_a: divide(1, price),
        curve_progress: priceColumn(state?.curve_progress ?? ''),
        ...concentratedColumns(state?.concentrated ?? null),
        ...binColumns(state?.bins ?? null),
        is_complete: (state?.bins ?? state?.concentrated)?.is_complete ? 1 : 0,
        depth_usd: valueColumn(
          parseDecimal((state?.bins ?? state?.concentrated)?.depth_in_usd ?? ''),
        ),
        ...pricingColumns(state?.pricing ?? null),
        last_updated: timeText(state?.time ?? meta.block_time),
        ...versionColumns(meta, event.instruction?.event_index ?? 0),
        _del: state === null ? 1 : 0,
      },
    ]
  })

const concentratedColumns = (state: ConcentratedState | null): Row => ({
  sqrt_price_x96: nullableAmountColumn(state?.sqrt_price_x96 ?? ''),
  range_liquidity: nullableAmountColumn(state?.liquidity ?? ''),
  tick: state?.tick ?? null,
  fee_pips: state?.fee_pips ?? null,
})

const binColumns = (state: BinState | null): Row => ({
  token_x: state?.token_x ?? '',
  bin_step: state?.bin_step ?? null,
  active_bin: state?.active_bin ?? null,
  fee_terms: state?.fee_terms ?? [],
  volatility: state?.volatility ?? 0,
  volatility_reference: state?.volatility_reference ?? 0,
  bin_reference: state?.bin_reference ?? null,
  volatility_at: state?.updated_at ?? 0,
  bins_x: clampInt256(state?.amount_x ?? '0'),
  bins_y: clampInt256(state?.amount_y ?? '0'),
})

const pricingColumns = (pricing: ReservePricing | null): Row => ({
  priced_reserve_a: nullableAmountColumn(pricing?.reserve_a ?? ''),
  priced_reserve_b: nullableAmountColumn(pricing?.reserve_b ?? ''),
  priced_fees: pricing?.fees ?? [],
  fee_token: pricing?.fee_token ?? '',
  is_doubted: pricing?.is_doubted ? 1 : 0,
})

/** Rows of `{c}_dex_pool_positions`: liquidity that came to or left a range of ticks. */
export const poolPositionRows = ({ meta, events }: DexPoolEvents): readonly Row[] =>
  events.flatMap((event) => {
    const { pool, concentrated, instruction } = event
    const moved = movedLiquidity(event)
    if (meta === null || pool === null || !concentrated || moved === 0n) return []
    return [
      {
        pool_address: pool.address,
        ...positionColumns(meta, event),
        tx_index: event.transaction?.index ?? 0,
        tick_lower: concentrated.tick_lower ?? 0,
        tick_upper: concentrated.tick_upper ?? 0,
        liquidity_change: String(moved),
        ...versionColumns(meta, instruction?.event_index ?? 0),
      },
    ]
  })

/** Rows of `{c}_dex_pool_bins`: tokens X and Y that came to a bin or left it. */
export const poolBinRows = ({ meta, events }: DexPoolEvents): readonly Row[] =>
  events.flatMap((event) => {
    const { pool, bins, instruction } = event
    if (meta === null || pool === null || !bins) return []
    return bins.moves.map(({ bin, amount_x, amount_y }) => ({
      pool_address: pool.address,
      ...positionColumns(meta, event),
      tx_index: event.transaction?.index ?? 0,
      bin,
      x_change: amount_x,
      y_change: amount_y,
      ...versionColumns(meta, instruction?.event_index ?? 0),
    }))
  })

/** Rows of `{c}_dex_pool_births`. */
export const poolCreatedRows = ({ meta, events }: DexPoolEvents): readonly Row[] =>
  events.flatMap((event) =>
    meta === null || event.pool === null || eventType(event) !== 'INITIALIZE'
      ? []
      : [
          {
            pool_address: event.pool.address,
            created_at: timeText(meta.block_time),
            created_tx: event.transaction?.signature ?? '',
            creator: event.transaction?.signer ?? '',
            ...versionColumns(meta, event.instruction?.event_index ?? 0),
          },
        ],
  )

const SOCIAL_NETWORKS = /^(twitter|telegram|website|discord|github|reddit|medium)$/

const tokenStandard = (text: string | undefined): string =>
  (text ?? 'TOKEN_STANDARD_UNSPECIFIED').replace('TOKEN_STANDARD_', '')

const tokenRow = (meta: EventMeta, event: TokenEvents['events'][number]): readonly Row[] => {
  const { token, token_processed: processed } = event
  if (token === null) return []
  const metadata = token.additional_metadata
  const socials = Object.entries(processed?.social_medias ?? {})
  return [
    {
      token_address: token.address,
      name: token.name,
      symbol: token.symbol,
      decimals: token.decimals === -1 ? null : token.decimals,
      total_supply: metadata.total_supply ?? null,
      supply_height: Number(metadata.facts_height ?? 0),
      uri: token.uri,
      metadata_address: token.metadata_address,
      description: processed?.description ?? '',
      image_url: processed?.image_url ?? '',
      thumb_url: processed?.thumb_url ?? '',
      social: Object.fromEntries(socials.filter(([name]) => SOCIAL_NETWORKS.test(name))),
      creators: token.creators.map(({ address, verified, share }) => ({
        address,
        verified: verified ? 1 : 0,
        share,
      })),
      standard: tokenStandard(token.evm_extra?.token_standard),
      program_address: token.solana_extra?.program_address ?? '',
      mint_authority: token.solana_extra?.mint_authority ?? '',
      freeze_authority: token.solana_extra?.freeze_authority ?? '',
      launch_program: event.launch_from?.program_address ?? '',
      launch_family: event.launch_from?.protocol_family ?? '',
      launch_name: event.launch_from?.protocol_name ?? '',
      launch_pool: event.launch_from?.pool_address ?? '',
      migrated_program: event.migrated_to?.program_address ?? '',
      migrated_family: event.migrated_to?.protocol_family ?? '',
      migrated_name: event.migrated_to?.protocol_name ?? '',
      migrated_pool: event.migrated_to?.pool_address ?? '',
      migrated_at: event.migrated_at === 0 ? null : timeText(event.migrated_at),
      created_at: timeText(event.created_at),
      created_slot: event.created_slot,
      created_tx: event.created_tx,
      dev: event.dev,
      _ver: rowVersion(meta.seq, meta.part).toString(),
      _del: meta.op === 'OP_REVERT' ? 1 : 0,
    },
  ]
}

/** Rows of `{c}_tokens`, whole records. */
export const tokenRows = ({ meta, events }: TokenEvents): readonly Row[] =>
  meta === null ? [] : events.flatMap((event) => tokenRow(meta, event))
