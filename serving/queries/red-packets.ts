import type { Query } from '../../core/clickhouse/client.ts'
import { SHARE_ID_LENGTH } from '../../core/share-id.ts'
import type { KeysetList, KeysetRow } from './keyset-list.ts'

/** Where red packets are looked for: internal ids of chains, at least one, each of which has the tables. */
export interface RedPacketScope {
  readonly chains: readonly string[]
  /** A packet's address or id, or its share id. */
  readonly id?: string | undefined
  readonly creator?: string | undefined
  readonly claimer?: string | undefined
}

/** A packet as it was created; amounts in base units. */
export interface RedPacketRow {
  readonly chain: string
  readonly packet_id: string
  readonly share_id: string
  readonly tx: string
  readonly protocol: string
  readonly contract: string
  readonly creator: string
  readonly mint: string
  readonly total: string
  readonly max_claims: number
  readonly is_random: number
  readonly memo: string
  readonly authority: string
  readonly created_ms: string
  readonly seconds: number
}

/** What was paid out of a packet since it was created. */
export interface RedPacketTotals {
  readonly chain: string
  readonly packet_id: string
  readonly claims: number
  readonly claimed: string
  readonly refunds: number
  readonly refunded: string
  /** Refunds of which the chain does not say how much they were: all that was left. */
  readonly unsaid: number
}

/** A claim. */
export interface RedPacketClaimRow {
  readonly chain: string
  readonly packet_id: string
  readonly claimer: string
  readonly mint: string
  readonly amount: string
  readonly time_ms: string
  readonly tx: string
}

const PACKET_COLUMNS = `p.chain AS chain, p.packet_id AS packet_id, p.share_id AS share_id, p.tx_hash AS tx,
  toString(p.protocol_family) AS protocol, toString(p.contract) AS contract, p.creator AS creator, p.mint AS mint,
  toString(p.total_amount) AS total, p.max_claims AS max_claims, p.is_random AS is_random, p.memo AS memo,
  p.claim_authority AS authority, toString(toUnixTimestamp64Milli(p.created_at)) AS created_ms, p.expiration_seconds AS seconds`

const CLAIM_COLUMNS = `c.chain AS chain, c.packet_id AS packet_id, c.claimer AS claimer, c.mint AS mint,
  toString(c.amount) AS amount, toString(toUnixTimestamp64Milli(c.block_time)) AS time_ms, c.tx_hash AS tx`

/** Rows of one table of every chain. */
const everyChain = (
  { chains }: RedPacketScope,
  table: 'redpackets' | 'redpacket_claims',
  conditions: readonly (string | false)[],
): string => {
  const where = ['1', ...conditions.filter((condition) => condition !== false)].join(' AND ')
  return `(${chains
    .map((chain) => `SELECT '${chain}' AS chain, * FROM ${chain}_${table} FINAL WHERE ${where}`)
    .join('\n  UNION ALL ')})`
}

/** One of both columns: with either, no key of the table would be used. */
const ofId = (id: string): string =>
  id.length === SHARE_ID_LENGTH ? 'share_id = {id:String}' : 'packet_id = {id:String}'

const packetsSql = (scope: RedPacketScope): string =>
  everyChain(scope, 'redpackets', [
    scope.id !== undefined && ofId(scope.id),
    scope.creator !== undefined && 'creator = {creator:String}',
  ])

const claimsSql = (scope: RedPacketScope): string =>
  everyChain(scope, 'redpacket_claims', [
    scope.id !== undefined && ofId(scope.id),
    scope.claimer !== undefined && 'claimer = {claimer:String}',
  ])

const paramsOf = ({ id, creator, claimer }: RedPacketScope) => ({
  ...(id !== undefined && { id }),
  ...(creator !== undefined && { creator }),
  ...(claimer !== undefined && { claimer }),
})

/** Packets, newest first. */
export const redPacketList = (scope: RedPacketScope): KeysetList => ({
  columns: PACKET_COLUMNS,
  from: `${packetsSql(scope)} AS p`,
  where: [],
  order: [
    // The block's time: a creator may claim any other.
    { sql: 'toUInt64(toUnixTimestamp64Milli(p.block_time))', type: 'UInt64' },
    { sql: 'p.packet_id', type: 'String' },
    { sql: 'p.chain', type: 'String' },
  ],
  descending: true,
  params: paramsOf(scope),
})

/** Claims, newest first. */
export const redPacketClaimList = (scope: RedPacketScope): KeysetList => ({
  columns: CLAIM_COLUMNS,
  from: `${claimsSql(scope)} AS c`,
  where: [],
  order: [
    { sql: 'toUInt64(toUnixTimestamp64Milli(c.block_time))', type: 'UInt64' },
    { sql: 'c.block_slot', type: 'UInt64' },
    { sql: 'c.event_index', type: 'UInt32' },
    { sql: 'c.chain', type: 'String' },
  ],
  descending: true,
  params: paramsOf(scope),
})

const countOf = (sql: string, scope: RedPacketScope): Query => ({
  sql: `SELECT toString(count()) AS total FROM ${sql}`,
  params: paramsOf(scope),
})

/** How many packets a list has. */
export const redPacketCount = (scope: RedPacketScope): Query => countOf(packetsSql(scope), scope)

/** How many claims a list has. */
export const redPacketClaimCount = (scope: RedPacketScope): Query =>
  countOf(claimsSql(scope), scope)

/** The packets of these ids. */
export const redPacketsById = (chains: readonly string[], ids: readonly string[]): Query => ({
  sql: `SELECT ${PACKET_COLUMNS} FROM ${everyChain({ chains }, 'redpackets', ['packet_id IN {ids:Array(String)}'])} AS p`,
  params: { ids },
})

/**
 * Sums over the events of packets. What happened before a packet's own creation is another's: an address of Solana can be used
 * again once its packet was withdrawn.
 */
export const redPacketTotals = (chains: readonly string[], ids: readonly string[]): Query => {
  const IN_IDS = 'packet_id IN {ids:Array(String)}'
  const sums = chains.map(
    (
      chain,
    ) => `SELECT '${chain}' AS chain, t.packet_id AS packet_id, toUInt32(countIf(t.is_claim)) AS claims,
  toString(sumIf(ifNull(t.amount, 0), t.is_claim)) AS claimed, toUInt32(countIf(NOT t.is_claim)) AS refunds,
  toString(sumIf(ifNull(t.amount, 0), NOT t.is_claim)) AS refunded, toUInt32(countIf(NOT t.is_claim AND t.amount IS NULL)) AS unsaid
FROM (
  SELECT packet_id, block_slot, event_index, true AS is_claim, toNullable(amount) AS amount
  FROM ${chain}_redpacket_claims FINAL WHERE ${IN_IDS}
  UNION ALL SELECT packet_id, block_slot, event_index, false AS is_claim, amount FROM ${chain}_redpacket_refunds FINAL WHERE ${IN_IDS}
) AS t
INNER JOIN (SELECT packet_id, block_slot, event_index FROM ${chain}_redpackets FINAL WHERE ${IN_IDS}) AS p ON p.packet_id = t.packet_id
WHERE (t.block_slot, t.event_index) > (p.block_slot, p.event_index)
GROUP BY t.packet_id`,
  )
  return { sql: sums.join('\nUNION ALL '), params: { ids } }
}

/** Whether an address has claimed from a packet. */
export const redPacketClaimOf = (chain: string, packetId: string, claimer: string): Query => ({
  sql: `SELECT toString(count()) AS total FROM ${chain}_redpacket_claims FINAL
WHERE packet_id = {id:String} AND claimer = {claimer:String}`,
  params: { id: packetId, claimer },
})

/** A packet with its place in its list. */
export type RedPacketListRow = RedPacketRow & KeysetRow

/** A claim with its place in its list. */
export type RedPacketClaimListRow = RedPacketClaimRow & KeysetRow
