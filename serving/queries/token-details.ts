import type { Query } from '../../core/clickhouse/client.ts'
import { burnAddressesOf } from '../../schemas/burn-addresses.ts'

/** State of a token's holders at the end of a bucket. */
export interface HolderTrendRow {
  /** Start of the bucket, epoch seconds. */
  readonly bucket: string
  readonly holders: string
  readonly top10: number | null
  readonly top50: number | null
  readonly top100: number | null
  readonly groups: Readonly<Record<string, number>>
}

/** Holders of a token in each bucket in which they changed, from the one before `fromS` on; epoch seconds. */
export const holderTrendQuery = (
  chain: string,
  token: string,
  { fromS, toS, stepS }: { readonly fromS: number; readonly toS: number; readonly stepS: number },
): Query => ({
  sql: `SELECT toString(greatest(intDiv(toInt64(toUnixTimestamp(t.hour)), {step:Int64}) * {step:Int64}, {from_s:Int64} - {step:Int64})) AS bucket,
  toString(argMax(t.holders, t.hour)) AS holders, argMax(tuple(t.top10_ratio), t.hour).1 AS top10,
  argMax(tuple(t.top50_ratio), t.hour).1 AS top50, argMax(tuple(t.top100_ratio), t.hour).1 AS top100,
  argMax(mapApply((k, v) -> (toString(k), v.3), t.groups), t.hour) AS groups
FROM ${chain}_token_holdings AS t FINAL
WHERE t.token_address = {token:String} AND toUnixTimestamp(t.hour) < {to_s:Int64}
GROUP BY bucket ORDER BY toInt64(bucket)`,
  params: { token, from_s: fromS, to_s: toS, step: stepS },
})

/** What a token's maker burnt of it, base units; the supply in token units. */
export interface BurnedRow {
  readonly burnt_raw: string
}

/** Amounts that the maker of a token burnt, or sent to a burn address. */
export const burnedByCreatorQuery = (chain: string, token: string): Query => ({
  sql: `WITH (SELECT any(dev) FROM ${chain}_tokens FINAL WHERE token_address = {token:String}) AS maker
SELECT toString((SELECT sum(amount) FROM ${chain}_token_supplies FINAL
    WHERE token_address = {token:String} AND event_type = 'BURN' AND tx_signer = maker AND maker != '')
  + (SELECT sum(amount) FROM ${chain}_transfers FINAL
    WHERE token_address = {token:String} AND success = 1 AND sender = maker AND maker != ''
      AND receiver IN {burnt:Array(String)})) AS burnt_raw`,
  params: { token, burnt: burnAddressesOf(chain) },
})

/** Median fee of the newest transactions that traded a token, in native tokens; none without trades. */
export const medianFeeQuery = (chain: string, token: string): Query => ({
  sql: `SELECT toString(quantileExact(fee)) AS fee FROM (
  SELECT any(tx_fee_native) AS fee FROM ${chain}_dex_trades_enriched FINAL WHERE token_address = {token:String}
  GROUP BY block_slot, tx_index ORDER BY block_slot DESC, tx_index DESC LIMIT 100)
HAVING count() > 0`,
  params: { token },
})

/** How many other tokens have documents that name the picture of a token. */
export const sameImageQuery = (chain: string, token: string): Query => ({
  sql: `WITH (SELECT any(image_url) FROM ${chain}_token_documents FINAL WHERE token_address = {token:String}) AS image
SELECT toString(count()) AS others FROM ${chain}_token_documents FINAL
WHERE image != '' AND image_url = image AND token_address != {token:String}`,
  params: { token },
})
