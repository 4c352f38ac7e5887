import { formatDecimal, formatUnits } from '../../core/amounts.ts'
import { SOCIAL_KEYS, type WindowStatKey } from '../../schemas/channel-keys.ts'
import { protocolRow } from '../../schemas/protocols.ts'
import type { StatRow } from '../queries/token-stats.ts'
import type { HoldingColumns, TokenRow } from '../queries/tokens.ts'
import type { Payload } from './payload.ts'

/** A token of a ranking as the warehouse knows it. */
export interface RankedToken {
  readonly row: TokenRow
  readonly stats: readonly StatRow[]
  /** When it was read, epoch milliseconds: the time of the numbers that have none of their own. */
  readonly readMs: number
}

const launchPayload = (program: string, family: string): Payload | undefined =>
  program === '' && family === ''
    ? undefined
    : { pa: program, pf: family, pn: protocolRow(family)?.name }

const linksPayload = (links: Readonly<Record<string, string>>): Payload | undefined => {
  const entries = Object.entries(SOCIAL_KEYS).flatMap(([key, { long }]) =>
    links[long] ? [[key, links[long]] as const] : [],
  )
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

const metadataPayload = (row: TokenRow): Payload => ({
  a: row.token_address,
  n: row.name,
  s: row.symbol,
  dec: row.decimals ?? undefined,
  iu: row.image_url,
  de: row.description,
  cts: Number(row.created_at_ms) || undefined,
  sm: linksPayload(row.social),
  lf: launchPayload(row.launch_program, row.launch_family),
  mt: launchPayload(row.migrated_program, row.migrated_family),
})

/** Share of the launch curve that is sold; "" for tokens that were never on one. */
const curveProgress = ({ migrated_at_ms: migrated, curve_progress: sold }: TokenRow): string =>
  migrated === null ? formatDecimal(sold) : '1'

/** Where a token was never launched on a curve there is none. */
export const curvePayload = ({ row }: RankedToken): Payload | undefined => {
  const pr = curveProgress(row)
  return pr === '' ? undefined : { a: row.token_address, pr }
}

const holderGroup = (columns: HoldingColumns | null, decimals: number | null) => {
  if (columns === null) return { amount: '', count: undefined, ratio: '' }
  const [count, raw, ratio] = columns
  const amount = decimals === null ? '' : formatUnits(BigInt(raw), decimals)
  return { amount, count: Number(count), ratio: formatDecimal(ratio) }
}

/** undefined where holders are not counted. */
export const holdersPayload = ({ row, readMs }: RankedToken): Payload | undefined => {
  if (row.holders === null) return undefined
  const [top10, top100] = [row.top10, row.top100].map((top) => holderGroup(top, row.decimals))
  return {
    a: row.token_address,
    h: Number(row.holders),
    t10a: top10?.amount,
    t100a: top100?.amount,
    t10h: top10?.count,
    t100h: top100?.count,
    t10r: top10?.ratio,
    t100r: top100?.ratio,
    ts: readMs,
  }
}

/** undefined where neither supply nor market capitalization is known. */
export const supplyPayload = ({ row, readMs }: RankedToken): Payload | undefined => {
  const cap = formatDecimal(row.market_cap_usd)
  if (row.market_supply === null && cap === '') return undefined
  return { a: row.token_address, s: row.market_supply ?? '', mc: cap, mciu: cap, ts: readMs }
}

const windowPayload = (row: StatRow): Payload => {
  const stems: Readonly<Record<WindowStatKey, string | number>> = {
    b: Number(row.buys),
    s: Number(row.sells),
    be: Number(row.buyers),
    se: Number(row.sellers),
    tr: Number(row.buys) + Number(row.sells),
    bviu: row.buy_volume_usd,
    sviu: row.sell_volume_usd,
    p: formatDecimal(row.close_usd),
    oiu: formatDecimal(row.open_usd),
    ciu: formatDecimal(row.close_usd),
    vpc: formatDecimal(row.volume_change_ratio),
    dpc: Number(row.programs),
    pc: Number(row.pools),
    liq: formatDecimal(row.liquidity_usd),
    lpc: formatDecimal(row.liquidity_change_ratio),
  }
  return Object.fromEntries(
    Object.entries(stems).map(([stem, value]) => [`${stem}${row.resolution}`, value]),
  )
}

/** All windows of a token in one object; undefined where it has none. */
export const statsPayload = ({ row, stats }: RankedToken): Payload | undefined =>
  stats.length === 0
    ? undefined
    : Object.assign(
        {
          a: row.token_address,
          t: Math.max(...stats.map(({ stat_ms: ms }) => Number(ms))),
          p: formatDecimal(row.price_usd),
        },
        ...stats.map(windowPayload),
      )

/** Liquidity and sold share of the curve as single numbers, as far as they are known. */
export const numberPayloads = ({ row, readMs }: RankedToken): readonly Payload[] =>
  Object.entries({ liquidity_in_usd: row.tvl_usd ?? '', migrated_ratio: curveProgress(row) })
    .filter(([, v]) => v !== '')
    .map(([t, v]) => ({ a: row.token_address, t, v, ts: readMs }))

/** A token with everything that is known of it, in parts. */
export const rankingPayload = (token: RankedToken): Payload => {
  const progress = curveProgress(token.row)
  return {
    t: metadataPayload(token.row),
    bc: progress === '' ? undefined : { pr: progress },
    h: holdersPayload(token),
    s: supplyPayload(token),
    ts: statsPayload(token),
  }
}
