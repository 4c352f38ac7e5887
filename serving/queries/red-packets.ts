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

/** Where an event stands on its chain: its slot, and its place among the events of that. */
export interface RedPacketPlace {
  readonly slot: string
  readonly event: number
}

/** Which claims: since a creation all of them, where it is given. */
export interface RedPacketClaimScope extends RedPacketScope {
  readonly since?: RedPacketPlace | undefined
}

/** A packet as it was created; amounts in base units. An address of Solana can be used again once its packet was withdrawn. */
export interface RedPacketRow extends RedPacketPlace {
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

/** What was paid out of a packet since its creation, which stands at this place. */
export interface RedPacketTotals extends RedPacketPlace {
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
export interface RedPacketClaimRow extends RedPacketPlace {
  readonly chain: string
  readonly packet_id: string
  readonly claimer: string
  readonly mint: string
  readonly amount: string
  readonly time_ms: string
  readonly tx: string
}

const placeColumns = (t: string): string =>
  `toString(${t}.block_slot) AS slot, ${t}.event_index AS event`

const PACKET_COLUMNS = `p.chain AS chain, ${placeColumns('p')}, p.packet_id AS packet_id, p.share_id AS share_id, p.tx_hash AS tx,
  toString(p.protocol_family) AS protocol, toString(p.contract) AS contract, p.creator AS creator, p.mint AS mint,
  toString(p.total_amount) AS total, p.max_claims AS max_claims, p.is_random AS is_random, p.memo AS memo,
  p.claim_authority AS authority, toString(toUnixTimestamp64Milli(p.created_at)) AS created_ms, p.expiration_seconds AS seconds`

const CLAIM_COLUMNS = `c.chain AS chain, ${placeColumns('c')}, c.packet_id AS packet_id, c.claimer AS claimer, c.mint AS mint,
  toString(c.amount) AS amount, toString(toUnixTimestamp64Milli(c.block_time)) AS time_ms, c.tx_hash AS tx`

/** Rows of one table of every chain. */
const everyChain = (
  { chains }: RedPacketScope,
  table: 'redpacket_creations' | 'redpacket_claims',
  conditions: readonly (string | false)[],
): string => {
  const where = ['1', ...conditions.filter((condition) => condition !== false)].join(' AND ')
  return `(${chains
    .map((chain) => `SELECT '${chain}' AS chain, * FROM ${chain}_${table} FINAL WHERE ${where}`)
    .join('\n  UNION ALL ')})`
}

/** Events behind a place. */
const SINCE = '(block_slot, event_index) > ({since_slot:UInt64}, {since_event:UInt32})'
const sinceParams = ({ slot, event }: RedPacketPlace) => ({ since_slot: slot, since_event: event })

/** One of both columns: with either, no key of the table would be used. */
const ofId = (id: string): string =>
  id.length === SHARE_ID_LENGTH ? 'share_id = {id:String}' : 'packet_id = {id:String}'

const packetsSql = (scope: RedPacketScope): string =>
  everyChain(scope, 'redpacket_creations', [
    scope.id !== undefined && ofId(scope.id),
    scope.creator !== undefined && 'creator = {creator:String}',
  ])

const claimsSql = (scope: RedPacketClaimScope): string =>
  everyChain(scope, 'redpacket_claims', [
    scope.id !== undefined && ofId(scope.id),
    scope.claimer !== undefined && 'claimer = {claimer:String}',
    scope.since !== undefined && SINCE,
  ])

const paramsOf = ({ id, creator, claimer, since }: RedPacketClaimScope) => ({
  ...(id !== undefined && { id }),
  ...(creator !== undefined && { creator }),
  ...(claimer !== undefined && { claimer }),
  ...(since !== undefined && sinceParams(since)),
})

/** Packets, newest first. */
export const redPacketList = (scope: RedPacketScope): KeysetList => ({
  columns: PACKET_COLUMNS,
  from: `${packetsSql(scope)} AS p`,
  where: [],
  order: [
    // The block's time: a creator may claim any other.
    { sql: 'toUInt64(toUnixTimestamp64Milli(p.block_time))', type: 'UInt64' },
    // With the creation's place: creations of one address may have one time.
    {
      sql: `concat(p.packet_id, ' ', leftPad(toString(p.block_slot), 20, '0'), ' ', leftPad(toString(p.event_index), 10, '0'))`,
      type: 'String',
    },
    { sql: 'p.chain', type: 'String' },
  ],
  descending: true,
  params: paramsOf(scope),
})

/** Claims, newest first. */
export const redPacketClaimList = (scope: RedPacketClaimScope): KeysetList => ({
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

const countOf = (sql: string, scope: RedPacketClaimScope): Query => ({
  sql: `SELECT toString(count()) AS total FROM ${sql}`,
  params: paramsOf(scope),
})

/** How many packets a list has. */
export const redPacketCount = (scope: RedPacketScope): Query => countOf(packetsSql(scope), scope)

/** How many claims a list has. */
export const redPacketClaimCount = (scope: RedPacketClaimScope): Query =>
  countOf(claimsSql(scope), scope)

/**
 * What an address, id or share id stands for: the newest creation of a packet. A share id is short enough to be made again, and the packet that
 * was created first keeps it.
 */
export const currentRedPacket = (scope: RedPacketScope & { readonly id: string }): Query => ({
  sql: `SELECT ${PACKET_COLUMNS}
FROM (SELECT *, min(block_time) OVER (PARTITION BY chain, packet_id) AS first_time FROM ${packetsSql(scope)}) AS p
ORDER BY p.first_time, p.packet_id, p.chain, p.block_slot DESC, p.event_index DESC LIMIT 1`,
  params: paramsOf(scope),
})

const IN_IDS = 'packet_id IN {ids:Array(String)}'

/** Slot and event as one number: a join to the nearest creation compares one column. */
const PLACE = 'block_slot * 4294967296 + event_index AS place'

const creationsSql = (chain: string): string =>
  `SELECT '${chain}' AS chain, *, ${PLACE} FROM ${chain}_redpacket_creations FINAL WHERE ${IN_IDS}`

/** The creation that a claim is of. */
export interface ClaimedPacketRow extends RedPacketRow {
  /** Place of the claim. */
  readonly claim_slot: string
  readonly claim_event: number
}

/** The packets that claims are of: each time the last creation before the claim. */
export const claimedRedPackets = (
  chains: readonly string[],
  claims: readonly (RedPacketPlace & { readonly packet_id: string })[],
): Query => ({
  sql: chains
    .map(
      (
        chain,
      ) => `SELECT ${PACKET_COLUMNS}, toString(c.block_slot) AS claim_slot, c.event_index AS claim_event
FROM (
  SELECT claim.1 AS packet_id, claim.2 AS block_slot, claim.3 AS event_index, ${PLACE}
  FROM (SELECT arrayJoin(arrayZip({ids:Array(String)}, {slots:Array(UInt64)}, {events:Array(UInt32)})) AS claim)
) AS c
ASOF INNER JOIN (${creationsSql(chain)}) AS p ON p.packet_id = c.packet_id AND c.place > p.place`,
    )
    .join('\nUNION ALL '),
  params: {
    ids: claims.map(({ packet_id }) => packet_id),
    slots: claims.map(({ slot }) => Number(slot)),
    events: claims.map(({ event }) => event),
  },
})

/** Sums over the events of packets, each counted with the last creation before it. */
export const redPacketTotals = (
  chains: readonly string[],
  packets: readonly (RedPacketPlace & { readonly packet_id: string })[],
): Query => {
  const sums = chains.map(
    (
      chain,
    ) => `SELECT '${chain}' AS chain, t.packet_id AS packet_id, toString(p.block_slot) AS slot, p.event_index AS event,
  toUInt32(countIf(t.is_claim)) AS claims,
  toString(sumIf(ifNull(t.amount, 0), t.is_claim)) AS claimed, toUInt32(countIf(NOT t.is_claim)) AS refunds,
  toString(sumIf(ifNull(t.amount, 0), NOT t.is_claim)) AS refunded, toUInt32(countIf(NOT t.is_claim AND t.amount IS NULL)) AS unsaid
FROM (
  SELECT packet_id, ${PLACE}, true AS is_claim, toNullable(amount) AS amount
  FROM ${chain}_redpacket_claims FINAL WHERE ${IN_IDS}
  UNION ALL SELECT packet_id, ${PLACE}, false AS is_claim, amount FROM ${chain}_redpacket_refunds FINAL WHERE ${IN_IDS}
) AS t
ASOF INNER JOIN (${creationsSql(chain)}) AS p ON p.packet_id = t.packet_id AND t.place > p.place
WHERE p.block_slot IN {slots:Array(UInt64)}
GROUP BY t.packet_id, p.block_slot, p.event_index`,
  )
  return {
    sql: sums.join('\nUNION ALL '),
    params: {
      ids: packets.map(({ packet_id }) => packet_id),
      slots: packets.map(({ slot }) => Number(slot)),
    },
  }
}

/** Whether an address has claimed from a packet since its creation. */
export const redPacketClaimOf = (
  { chain, packet_id, ...since }: Pick<RedPacketRow, 'chain' | 'packet_id' | 'slot' | 'event'>,
  claimer: string,
): Query => ({
  sql: `SELECT toString(count()) AS total FROM ${chain}_redpacket_claims FINAL
WHERE packet_id = {id:String} AND claimer = {claimer:String} AND ${SINCE}`,
  params: { id: packet_id, claimer, ...sinceParams(since) },
})

/** A packet with its place in its list. */
export type RedPacketListRow = RedPacketRow & KeysetRow

/** A claim with its place in its list. */
export type RedPacketClaimListRow = RedPacketClaimRow & KeysetRow
