import type { Query } from '../../core/clickhouse/client.ts'
import type { SearchBounds } from '../../schemas/risk.ts'

/** Edges that one statement answers at most; more are cut, smallest first. */
export const MAX_EDGE_ROWS = 50_000
/** Labelled counterparties of one address that are reported. */
export const MAX_LABELLED_ROWS = 1_000
/** Labels that one statement answers at most. */
export const MAX_LABEL_ROWS = 50_000
/** Transfers of one transaction that are looked at. */
const MAX_TX_TRANSFERS = 1_000

/** A row of `{c}_transfer_edges`, summed. */
export interface EdgeRow {
  readonly address: string
  readonly counterparty: string
  readonly usd: number
  readonly share: number
  readonly first_ms: number
  readonly last_ms: number
  readonly degree: number
}

/** A row of `address_labels`. */
export interface LabelRow {
  readonly address: string
  readonly category: string
  readonly entity: string
  readonly source: string
  readonly confidence: number
  readonly evidence_url: string
  readonly from_ms: number
  readonly to_ms: number | null
}

/** Which edges: one side of some addresses, up to a time. */
export interface EdgeFilter {
  readonly side: 'received' | 'sent'
  readonly addresses: readonly string[]
  readonly untilMs: number
}

const SUMMED = `SELECT address, counterparty, toFloat64(sum(usd)) AS edge_usd, min(minute) AS first, max(minute) AS last,
    sum(edge_usd) OVER (PARTITION BY address) AS total, count() OVER (PARTITION BY address) AS degree`

const summedSql = (chain: string): string => `${SUMMED}
  FROM ${chain}_transfer_edges FINAL
  WHERE side = {side:String} AND address IN {addresses:Array(String)} AND minute <= fromUnixTimestamp({until:UInt32})
  GROUP BY address, counterparty`

const EDGE_COLUMNS = `address, counterparty, edge_usd AS usd, edge_usd / total AS share,
  toFloat64(toUnixTimestamp(first)) * 1000 AS first_ms, toFloat64(toUnixTimestamp(last)) * 1000 AS last_ms, toFloat64(degree) AS degree`

const edgeParams = ({ side, addresses, untilMs }: EdgeFilter) => ({
  side,
  addresses,
  until: Math.floor(untilMs / 1_000),
})

/** Edges above the floors, one more of each address than the fan-out, so that a cut shows. */
export const edgesQuery = (chain: string, filter: EdgeFilter, bounds: SearchBounds): Query => ({
  sql: `SELECT ${EDGE_COLUMNS} FROM (${summedSql(chain)})
WHERE edge_usd >= {minUsd:Float64} AND edge_usd / total >= {minShare:Float64}
ORDER BY usd DESC, counterparty LIMIT {fanOut:UInt32} BY address LIMIT {rows:UInt32}`,
  params: {
    ...edgeParams(filter),
    minUsd: bounds.minEdgeUsd,
    minShare: bounds.minEdgeShare,
    fanOut: bounds.fanOut + 1,
    rows: MAX_EDGE_ROWS + 1,
  },
})

/** Labels count from their first to their last moment. */
const VALID_NOW = `valid_from <= fromUnixTimestamp64Milli({now:Int64})
  AND (valid_to IS NULL OR valid_to > fromUnixTimestamp64Milli({now:Int64}))`

/** And where they name the chain or none. */
const VALID_LABEL = `chain IN ({chain:String}, '') AND ${VALID_NOW}`

/** Edges to labelled counterparties, however small. */
export const labelledEdgesQuery = (chain: string, filter: EdgeFilter, nowMs: number): Query => ({
  sql: `SELECT ${EDGE_COLUMNS} FROM (${summedSql(chain)})
WHERE counterparty IN (SELECT address FROM address_labels FINAL WHERE ${VALID_LABEL})
ORDER BY usd DESC, counterparty LIMIT {rows:UInt32}`,
  params: { ...edgeParams(filter), chain, now: nowMs, rows: MAX_LABELLED_ROWS + 1 },
})

const LABEL_COLUMNS = `address, category, entity, source, confidence, evidence_url,
  toFloat64(toUnixTimestamp64Milli(valid_from)) AS from_ms, toFloat64(toUnixTimestamp64Milli(valid_to)) AS to_ms`

/** Valid labels of addresses; pools that this installation follows are labelled by what it knows of them. */
export const labelsQuery = (chain: string, addresses: readonly string[], nowMs: number): Query => ({
  sql: `SELECT * FROM (SELECT ${LABEL_COLUMNS} FROM address_labels FINAL WHERE address IN {addresses:Array(String)} AND ${VALID_LABEL}
UNION ALL SELECT pool_address, 'decentralized_exchange', protocol_name, 'pool registry', 1., '',
  toFloat64(0), CAST(NULL, 'Nullable(Float64)')
FROM ${chain}_dex_pools FINAL WHERE pool_address IN {addresses:Array(String)})
LIMIT {rows:UInt32}`,
  params: { chain, addresses, now: nowMs, rows: MAX_LABEL_ROWS + 1 },
})

/** One row where an address has a valid label of one of the categories, on any chain. */
export const labelledQuery = (
  address: string,
  categories: readonly string[],
  nowMs: number,
): Query => ({
  sql: `SELECT category FROM address_labels FINAL
WHERE address = {address:String} AND category IN {categories:Array(String)} AND ${VALID_NOW} LIMIT 1`,
  params: { address, categories, now: nowMs },
})

/** Every label that an address ever had, newest first; one that ended where it began was replaced by another. */
export const labelHistoryQuery = (chain: string, address: string): Query => ({
  sql: `SELECT ${LABEL_COLUMNS} FROM address_labels FINAL
WHERE address = {address:String} AND chain IN ({chain:String}, '') AND (valid_to IS NULL OR valid_to > valid_from) ORDER BY valid_from DESC, category LIMIT 100`,
  params: { chain, address },
})

/** Version of the label store; 0: nothing was imported. */
export const labelsVersionQuery = (): Query => ({
  sql: 'SELECT toFloat64(max(version)) AS version FROM label_imports',
})

/** How far transfers of a chain are summed, epoch seconds; 0: nothing is. */
export const edgesEndQuery = (chain: string): Query => ({
  sql: `SELECT toUInt32(argMax(hot_from, _ver)) AS summed FROM ${chain}_chain_state WHERE key = 'edges'`,
})

/** What an address moved in all, by side. */
export interface TotalsRow {
  readonly side: 'received' | 'sent'
  readonly usd: number
  readonly first_ms: number
}

/** Totals of both sides of an address. */
export const totalsQuery = (chain: string, address: string): Query => ({
  sql: `SELECT toString(side) AS side, toFloat64(sum(usd)) AS usd, toFloat64(toUnixTimestamp(min(minute))) * 1000 AS first_ms
FROM ${chain}_transfer_edges FINAL WHERE side IN ('received', 'sent') AND address = {address:String} GROUP BY side`,
  params: { address },
})

/** A stored transfer as screening reads it. */
export interface TransferRow {
  readonly tx_hash: string
  readonly event_index: number
  readonly token_address: string
  readonly sender: string
  readonly receiver: string
  readonly amount: string
  readonly decimals: number | null
  readonly usd: string | null
  readonly time_ms: number
  readonly block_slot: number
  readonly block_hash: string
  /** 1: it moved the asset that was asked for. */
  readonly is_asset: number
}

/**
 * Transfers of a transaction, first those of an asset: a token address, or a symbol in any case; `nativeTokens`: addresses of the
 * chain's native token, where it is meant.
 */
export const transactionTransfersQuery = (
  chain: string,
  {
    tx,
    asset,
    nativeTokens,
  }: { readonly tx: string; readonly asset: string; readonly nativeTokens: readonly string[] },
): Query => ({
  sql: `SELECT tx_hash, event_index, token_address, sender, receiver, toString(amount) AS amount, decimals,
  toString(amount_usd) AS usd, toFloat64(toUnixTimestamp64Milli(block_time)) AS time_ms,
  toFloat64(block_slot) AS block_slot, block_hash,
  toUInt8(token_address = {asset:String} OR token_address IN {nativeTokens:Array(String)}
    OR token_address IN (SELECT token_address FROM ${chain}_tokens FINAL WHERE upper(symbol) = upper({asset:String}))) AS is_asset
FROM ${chain}_transfers FINAL
WHERE tx_hash = {tx:String} AND success = 1
ORDER BY is_asset DESC, event_index LIMIT {rows:UInt32}`,
  params: { tx, asset, nativeTokens, rows: MAX_TX_TRANSFERS },
})

/**
 * Whether a reorg took a transaction back: the last that is stored of its block, or of one of its transfers in that, is a retraction. Slot
 * 0: the block is not known, transfers of any count. What has left the store by its age has no rows, and was not taken back.
 */
export const retractionQuery = (
  chain: string,
  {
    tx,
    slot,
    blockHash,
  }: { readonly tx: string; readonly slot: number; readonly blockHash: string },
): Query => ({
  sql: `SELECT toUInt8(
  (SELECT argMax(_del, _ver) FROM ${chain}_blocks WHERE block_slot = {slot:UInt64} AND block_hash = {hash:String}) = 1
  OR (SELECT max(last) FROM (
    SELECT argMax(_del, _ver) AS last FROM ${chain}_transfers
    WHERE tx_hash = {tx:String} AND ({slot:UInt64} = 0 OR block_slot = {slot:UInt64})
    GROUP BY token_address, block_slot, tx_index, event_index)) = 1) AS retracted`,
  params: { tx, slot, hash: blockHash },
})
