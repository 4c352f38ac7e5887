import { decimalNumber } from '../core/amounts.ts'
import type {
  DexPool,
  DexPoolEvent,
  DexPoolEvents,
  EventMeta,
  TokenEvents,
} from '../schemas/wire.ts'
import {
  amountColumn,
  coinPrice,
  knownColumn,
  placeColumns,
  priceColumn,
  protocolColumns,
  type Row,
  rowVersion,
  timeText,
  transactionColumns,
  valueColumn,
  versionColumns,
} from './rows.ts'
import { over, unitsOf } from './trade.ts'

const sumColumn = (one: string | undefined, other: string | undefined): string | null => {
  const [left, right] = [decimalNumber(one ?? ''), decimalNumber(other ?? '')]
  return left === null || right === null ? null : valueColumn(left + right)
}

/** What moved, signed: in for liquidity added, out for liquidity removed, the difference of the reserves for a swap. */
const changeColumn = (type: string, amount: string, pre: string, post: string): string => {
  if (type === 'SWAP') {
    const [before, after] = [knownColumn(pre), knownColumn(post)]
    return before === null || after === null ? '0' : (BigInt(after) - BigInt(before)).toString()
  }
  const moved = amountColumn(amount)
  return type === 'DECREASE_LIQUIDITY' && moved !== '0' ? `-${moved}` : moved
}

const typeOf = (event: DexPoolEvent): string => event.type.replace('DEX_POOL_EVENT_TYPE_', '')

interface Reserves {
  readonly a: string
  readonly b: string
  readonly liquidityUsd: string | null
  readonly liquidityNative: string | null
}

const reservesAfter = (event: DexPoolEvent, pool: DexPool): Reserves => {
  const processed = event.pool_processed
  return {
    a: pool.token_a_vault_post_amount,
    b: pool.token_b_vault_post_amount,
    liquidityUsd: sumColumn(
      processed?.token_a_vault_post_amount_in_usd,
      processed?.token_b_vault_post_amount_in_usd,
    ),
    liquidityNative: sumColumn(
      processed?.token_a_vault_post_amount_in_native,
      processed?.token_b_vault_post_amount_in_native,
    ),
  }
}

const reservesBefore = (event: DexPoolEvent, pool: DexPool): Reserves => {
  const processed = event.pool_processed
  return {
    a: pool.token_a_vault_pre_amount,
    b: pool.token_b_vault_pre_amount,
    liquidityUsd: sumColumn(
      processed?.token_a_vault_pre_amount_in_usd,
      processed?.token_b_vault_pre_amount_in_usd,
    ),
    liquidityNative: sumColumn(
      processed?.token_a_vault_pre_amount_in_native,
      processed?.token_b_vault_pre_amount_in_native,
    ),
  }
}

const coinOf = (event: DexPoolEvent): number | null =>
  coinPrice(event.quote_price_in_usd, event.quote_price_in_native)

/** Rows of `{c}_dex_pool_events_enriched`. */
export const poolEventRows = ({ meta, events }: DexPoolEvents): readonly Row[] =>
  events.flatMap((event) => {
    const { pool, instruction } = event
    if (meta === null || pool === null) return []
    const type = typeOf(event)
    const after = reservesAfter(event, pool)
    return [
      {
        ...placeColumns(meta, event),
        ...transactionColumns(meta, event, coinOf(event)),
        ix_index: instruction?.index ?? 0,
        event_type: type,
        pool_address: pool.address,
        ...protocolColumns(event),
        base_token: pool.token_a_address,
        base_decimals: pool.token_a_decimals,
        base_change: changeColumn(
          type,
          pool.token_a_amount,
          pool.token_a_vault_pre_amount,
          pool.token_a_vault_post_amount,
        ),
        base_post: knownColumn(pool.token_a_vault_post_amount),
        base_price_usd: over(
          decimalNumber(event.pool_processed?.token_a_amount_in_usd ?? ''),
          unitsOf(pool.token_a_amount, pool.token_a_decimals),
        ),
        quote_token: pool.token_b_address,
        quote_decimals: pool.token_b_decimals,
        quote_change: changeColumn(
          type,
          pool.token_b_amount,
          pool.token_b_vault_pre_amount,
          pool.token_b_vault_post_amount,
        ),
        quote_post: knownColumn(pool.token_b_vault_post_amount),
        quote_price_usd: priceColumn(event.quote_price_in_usd),
        liquidity_usd: after.liquidityUsd,
        liquidity_native: after.liquidityNative,
        lp_wallet: pool.lp_wallet,
        ...versionColumns(meta, instruction?.event_index ?? 0),
      },
    ]
  })

/** Swap price of a pool, where it can be told: from both reserves, else from what the swap paid. */
const ratioOf = (event: DexPoolEvent, pool: DexPool, { a, b }: Reserves): number | null => {
  const swapped = event.type === 'DEX_POOL_EVENT_TYPE_SWAP'
  const [baseText, quoteText] =
    a !== '' && b !== '' ? [a, b] : swapped ? [pool.token_a_amount, pool.token_b_amount] : ['', '']
  const base = knownColumn(baseText)
  const quote = knownColumn(quoteText)
  if (base === null || quote === null) return null
  return over(unitsOf(quote, pool.token_b_decimals), unitsOf(base, pool.token_a_decimals))
}

/** Rows of `{c}_dex_pools`: the pool as the event left it; a retraction writes it as the event had found it. */
export const poolRows = ({ meta, events }: DexPoolEvents): readonly Row[] =>
  events.flatMap((event) => {
    const { pool } = event
    if (meta === null || pool === null) return []
    const reverted = meta.op === 'OP_REVERT'
    const reserves = reverted ? reservesBefore(event, pool) : reservesAfter(event, pool)
    const ratio = ratioOf(event, pool, reserves)
    const version = versionColumns(meta, event.instruction?.event_index ?? 0)
    return [
      {
        pool_address: pool.address,
        token_a: pool.token_a_address,
        token_b: pool.token_b_address,
        ...protocolColumns(event),
        decimals_a: pool.token_a_decimals,
        decimals_b: pool.token_b_decimals,
        base_is_a: 1,
        reserve_a: knownColumn(reserves.a),
        reserve_b: knownColumn(reserves.b),
        liquidity_usd: reserves.liquidityUsd,
        liquidity_native: reserves.liquidityNative,
        price_a_to_b: ratio,
        price_b_to_a: over(1, ratio),
        curve_progress: priceColumn(event.pool_processed?.curve_progress ?? ''),
        last_updated: timeText(meta.block_time),
        ...version,
        _del: reverted && typeOf(event) === 'INITIALIZE' ? 1 : 0,
      },
    ]
  })

/** Rows of `{c}_dex_pool_births`. */
export const poolBirthRows = ({ meta, events }: DexPoolEvents): readonly Row[] =>
  events.flatMap((event) =>
    meta === null || event.pool === null || typeOf(event) !== 'INITIALIZE'
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

const SOCIALS = /^(twitter|telegram|website|discord|github|reddit|medium)$/

const standardOf = (text: string | undefined): string =>
  (text ?? 'TOKEN_STANDARD_UNSPECIFIED').replace('TOKEN_STANDARD_', '')

const tokenRow = (meta: EventMeta, event: TokenEvents['events'][number]): readonly Row[] => {
  const { token, token_processed: processed } = event
  if (token === null) return []
  const facts = token.additional_metadata
  const socials = Object.entries(processed?.social_medias ?? {})
  return [
    {
      token_address: token.address,
      name: token.name,
      symbol: token.symbol,
      decimals: token.decimals === -1 ? null : token.decimals,
      total_supply: facts.total_supply ?? null,
      supply_height: Number(facts.facts_height ?? 0),
      uri: token.uri,
      metadata_address: token.metadata_address,
      description: processed?.description ?? '',
      image_url: processed?.image_url ?? '',
      thumb_url: processed?.thumb_url ?? '',
      social: Object.fromEntries(socials.filter(([name]) => SOCIALS.test(name))),
      creators: token.creators.map(({ address, verified, share }) => ({
        address,
        verified: verified ? 1 : 0,
        share,
      })),
      standard: standardOf(token.evm_extra?.token_standard),
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
      _ver: rowVersion(meta.seq, meta.part),
      _del: meta.op === 'OP_REVERT' ? 1 : 0,
    },
  ]
}

/** Rows of `{c}_tokens`, whole records. */
export const tokenRows = ({ meta, events }: TokenEvents): readonly Row[] =>
  meta === null ? [] : events.flatMap((event) => tokenRow(meta, event))
