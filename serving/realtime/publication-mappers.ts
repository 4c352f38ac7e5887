import { formatUnits, readUnits } from '../../core/amounts.ts'
import { SOCIAL_KEYS, type WindowStatKey } from '../../schemas/channel-keys.ts'
import { type ChannelOf, type ChannelTopic, channelRow } from '../../schemas/channels.ts'
import type {
  BalanceEvents,
  DexPoolEvents,
  Launch,
  TokenEvent,
  TokenEvents,
  TokenHoldingEvents,
  TokenMarketCapEvents,
  TradeStatEvent,
  TradeStatEvents,
  WalletTokenPnlEvents,
} from '../../schemas/wire.ts'
import { streamSubject } from './channel-name.ts'
import type { Payload } from './payload.ts'
import type { Publication, PublishContext } from './publication.ts'

/** One event as a stream of this file carries it; `payload` is only made when a subscriber wants it. */
interface PublicationItem {
  readonly address: string
  readonly index: number
  readonly retraction?: boolean
  /** See `Publication.facet`. */
  readonly facet?: string
  readonly payload: () => Payload
}

/** Publications of one record of a topic: every channel that is made of it has its events, in the order of the table. */
const toPublications = <Source extends ChannelTopic>(
  context: PublishContext,
  channels: Readonly<Record<ChannelOf<Source>, readonly PublicationItem[]>>,
): readonly Publication[] =>
  (Object.keys(channels) as ChannelOf<Source>[]).flatMap((prefix) => {
    const row = channelRow(prefix)
    return channels[prefix].flatMap(
      ({ address, index, retraction = false, facet = '', payload }) => {
        const subject = streamSubject(prefix, context.chain, address)
        if (!context.isNeeded(subject, row, address)) return []
        return [
          {
            row,
            subject,
            address,
            payload: payload(),
            index,
            retraction,
            pending: false,
            bucketMs: 0,
            facet,
          },
        ]
      },
    )
  })

/** Throws `InvalidInput`. */
const tokenUnits = (raw: string, decimals: number | null | undefined): string =>
  raw === '' || decimals === null || decimals === undefined || decimals < 0
    ? ''
    : formatUnits(readUnits(raw), decimals)

const windowPayload = (event: TradeStatEvent): Payload => {
  const stems: Readonly<Record<WindowStatKey, string | number>> = {
    b: event.buys,
    s: event.sells,
    be: event.buyers,
    se: event.sellers,
    tr: event.buys + event.sells,
    bviu: event.buy_volume_in_usd,
    sviu: event.sell_volume_in_usd,
    p: event.close_in_usd,
    oiu: event.open_in_usd,
    ciu: event.close_in_usd,
    vpc: event.volume_change_ratio,
    dpc: event.programs,
    pc: event.pools,
    liq: event.liquidity_in_usd,
    lpc: event.liquidity_change_ratio,
  }
  return Object.fromEntries(
    Object.entries(stems).map(([stem, value]) => [`${stem}${event.resolution}`, value]),
  )
}

/** Publications of one record of `{c}.trade-stats`: all windows of a token in one object. */
export const statPublications = (
  { events }: TradeStatEvents,
  context: PublishContext,
): readonly Publication[] => {
  const tokens = [...new Set(events.map(({ token_address: token }) => token))]
  const items = tokens.map((address, index): PublicationItem => {
    const windows = events.filter(({ token_address: token }) => token === address)
    const payload = (): Payload => ({
      a: address,
      t: Math.max(...windows.map(({ timestamp }) => Number(timestamp))),
      p: windows.find(({ close_in_usd: close }) => Number(close) > 0)?.close_in_usd,
      ...Object.assign({}, ...windows.map(windowPayload)),
    })
    return { address, index, payload }
  })
  return toPublications<'tradeStats'>(context, { 'dex-token-stats': items })
}

/** Publications of one record of `{c}.token-holdings`, whose last event is the current state; amounts in token units. */
export const holdingPublications = (
  { events }: TokenHoldingEvents,
  context: PublishContext,
): readonly Publication[] =>
  toPublications<'tokenHoldings'>(context, {
    'dex-token-holding': events.slice(-1).map((event, index) => ({
      address: event.token_address,
      index,
      payload: () => {
        const decimals = context.nameOf(event.token_address)?.decimals
        return {
          a: event.token_address,
          h: event.holders,
          t10a: tokenUnits(event.top10_amount, decimals),
          t100a: tokenUnits(event.top100_amount, decimals),
          t10h: event.top10_holders,
          t100h: event.top100_holders,
          t10r: event.top10_ratio,
          t100r: event.top100_ratio,
          ch: event.creators_count,
          ca: tokenUnits(event.creators_amount, decimals),
          cr: event.creators_ratio,
          ts: event.timestamp,
        }
      },
    })),
  })

const launchPayload = (launch: Launch | null): Payload | undefined =>
  launch === null
    ? undefined
    : {
        pa: launch.program_address,
        pf: launch.protocol_family,
        pn: launch.protocol_name,
      }

const linksPayload = (links: Readonly<Record<string, string>> = {}): Payload | undefined => {
  const entries = Object.entries(SOCIAL_KEYS).flatMap(([key, { long }]) => {
    const link = links[long]
    return link === undefined || link === '' ? [] : [[key, link] as const]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

const tokenItems = (
  { events }: TokenEvents,
  fields: (event: TokenEvent) => Payload,
  retraction: boolean,
): readonly PublicationItem[] =>
  events.flatMap((event, index) => {
    const { token } = event
    if (token === null) return []
    const payload = (): Payload => ({
      a: token.address,
      n: token.name,
      s: token.symbol,
      dec: token.decimals === -1 ? undefined : token.decimals,
      cts: event.created_at,
      lf: launchPayload(event.launch_from),
      mt: launchPayload(event.migrated_to),
      ...fields(event),
    })
    return [{ address: '', index, retraction, payload }]
  })

/** Publications of one record of `{c}.tokens.created`: one by one and in batches. */
export const newTokenPublications = (
  value: TokenEvents,
  context: PublishContext,
): readonly Publication[] => {
  const retraction = value.meta?.op === 'OP_REVERT'
  const items = tokenItems(value, () => (retraction ? { op: 'revert' } : {}), retraction)
  return toPublications<'tokensCreated'>(context, {
    'dex-new-token': items,
    'dex-new-tokens': items,
  })
}

/** Publications of one record of `{c}.token-documents`. */
export const documentPublications = (
  value: TokenEvents,
  context: PublishContext,
): readonly Publication[] => {
  const documentFields = ({ token_processed: document }: TokenEvent): Payload => ({
    iu: document?.image_url,
    de: document?.description,
    sm: linksPayload(document?.social_medias),
  })
  return toPublications<'tokenDocuments'>(context, {
    'dex-new-tokens-metadata': tokenItems(value, documentFields, false),
  })
}

/** Publications of one record of `{c}.balances.processed`; a retraction sends the balance as it is again. */
export const balancePublications = (
  { meta, events }: BalanceEvents,
  context: PublishContext,
): readonly Publication[] => {
  const reverted = meta?.op === 'OP_REVERT'
  const items = events.flatMap((event, index): readonly PublicationItem[] => {
    const { balance, balance_processed: processed } = event
    if (balance === null || processed === null) return []
    const { account_owner_address: owner, token_address: token } = balance
    const held = reverted ? processed.owner_pre_amount : processed.owner_post_amount
    const payload = (): Payload => ({
      a: owner,
      ta: token,
      b: tokenUnits(held, balance.decimals),
      tpiu: processed.token_price_in_usd || context.priceOf(token),
      t: event.block?.timestamp,
    })
    return [{ address: owner, index, payload }]
  })
  return toPublications<'balancesProcessed'>(context, { 'dex-wallet-balance': items })
}

/** Publications of one record of `{c}.token-market-caps.processed`. */
export const supplyPublications = (
  { meta, events }: TokenMarketCapEvents,
  context: PublishContext,
): readonly Publication[] =>
  toPublications<'tokenMarketCaps'>(context, {
    'dex-token-supply': events.flatMap(({ market_cap: cap }, index) =>
      cap === null
        ? []
        : [
            {
              address: cap.token_address,
              index,
              payload: () => ({
                a: cap.token_address,
                s: cap.total_supply_amount,
                mc: cap.market_cap_in_usd,
                mciu: cap.market_cap_in_usd,
                ts: meta?.block_time,
              }),
            },
          ],
    ),
  })

/**
 * Publications of one record of `{c}.dex.pools.processed`: the pool, its base token's deepest pool, the sum over its pools, and that and
 * the sold share of its curve as single numbers; a retraction sends all of them as they were before the event.
 */
export const poolPublications = (
  { meta, events }: DexPoolEvents,
  context: PublishContext,
): readonly Publication[] => {
  const reverted = meta?.op === 'OP_REVERT'
  const processed = events.flatMap(({ pool, pool_processed: state, block }, index) =>
    pool === null || state === null ? [] : [{ pool, state, index, ts: block?.timestamp }],
  )
  const pools = processed.map(
    ({ pool, state, index }): PublicationItem => ({
      address: pool.address,
      index,
      payload: () => ({
        a: pool.address,
        taa: pool.token_a_address,
        taliu: reverted
          ? state.token_a_vault_pre_amount_in_usd
          : state.token_a_vault_post_amount_in_usd,
        tba: pool.token_b_address,
        tbliu: reverted
          ? state.token_b_vault_pre_amount_in_usd
          : state.token_b_vault_post_amount_in_usd,
      }),
    }),
  )
  const deepest = processed.flatMap(({ state, index, ts }): readonly PublicationItem[] => {
    const max = reverted ? state.token_a_max_liquidity_before : state.token_a_max_liquidity
    if (max === null) return []
    const {
      token_address: a,
      pool_address: p,
      liquidity_in_usd: liu,
      liquidity_in_native: lin,
    } = max
    return [{ address: a, index, payload: () => ({ a, p, liu, lin, ts }) }]
  })
  const totals = processed.flatMap(({ state, index, ts }): readonly PublicationItem[] => {
    const sum = reverted ? state.token_a_liquidity_before : state.token_a_liquidity
    if (sum === null) return []
    const {
      token_address: a,
      pool_count: pc,
      liquidity_in_usd: liu,
      liquidity_in_native: lin,
    } = sum
    return [{ address: a, index, payload: () => ({ a, liu, lin, pc, ts }) }]
  })
  const numbers = processed.flatMap(({ pool, state, index, ts }) => {
    const liquidity = reverted ? state.token_a_liquidity_before : state.token_a_liquidity
    const a = liquidity?.token_address ?? pool.token_a_address
    const sold = reverted ? state.before?.curve_progress : state.curve_progress
    const values = { liquidity_in_usd: liquidity?.liquidity_in_usd, migrated_ratio: sold }
    return Object.entries(values).flatMap(([t, v]): readonly PublicationItem[] =>
      v === undefined || v === '' || a === ''
        ? []
        : [{ address: a, index, facet: t, payload: () => ({ a, t, v, ts }) }],
    )
  })
  return toPublications<'poolsProcessed'>(context, {
    'dex-pool-balance': pools,
    'dex-token-general-stat-num': numbers,
    'dex-token-liquidity': deepest,
    'dex-token-total-liquidity': totals,
  })
}

/** Publications of one record of `{c}.wallet-token-pnls`. */
export const pnlPublications = (
  { meta, events }: WalletTokenPnlEvents,
  context: PublishContext,
): readonly Publication[] =>
  toPublications<'walletTokenPnls'>(context, {
    'dex-wallet-token-pnl': events.map((event, index) => ({
      address: event.wallet_address,
      index,
      payload: () => ({
        a: event.wallet_address,
        ta: event.token_address,
        tpiu: event.token_price_in_usd,
        t: meta?.block_time,
        ot: event.open_time || undefined,
        lt: event.last_time || undefined,
        ct: event.close_time || undefined,
        ba: event.buy_amount,
        baiu: event.buy_amount_in_usd,
        bs: event.buys,
        bs7d: event.buys_7d,
        bs30d: event.buys_30d,
        sa: event.sell_amount,
        saiu: event.sell_amount_in_usd,
        ss: event.sells,
        ss7d: event.sells_7d,
        ss30d: event.sells_30d,
        hdts: event.held_duration_ms,
        abpiu: event.average_buy_price_in_usd,
        aspiu: event.average_sell_price_in_usd,
        upiu: event.unrealized_profit_in_usd,
        upr: event.unrealized_profit_ratio,
        rpiu: event.realized_profit_in_usd,
        rpr: event.realized_profit_ratio,
        trpiu: event.total_realized_profit_in_usd,
        trr: event.total_realized_profit_ratio,
      }),
    })),
  })
