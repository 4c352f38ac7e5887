import { distinctAddress } from '../../core/addresses.ts'
import { Fault } from '../../core/errors.ts'
import { chainRow } from '../../schemas/chains.ts'
import { RED_PACKET_VMS } from '../../schemas/protocols.ts'
import type { FreshnessReader } from '../interfaces.ts'
import type { QueryReader } from '../queries/query-limiter.ts'
import {
  type ClaimedPacketRow,
  claimedRedPackets,
  currentRedPacket,
  type RedPacketPlace,
  type RedPacketRow,
  type RedPacketScope,
  type RedPacketTotals,
  redPacketTotals,
} from '../queries/red-packets.ts'
import type { RedPacketState } from './packet-body.ts'

/** What packets are read with. */
export interface RedPacketReaderDeps {
  readonly warehouse: QueryReader
  readonly freshness: FreshnessReader
  /** Chains that this installation holds data of, by internal id. */
  readonly chains: readonly string[]
  readonly nowMs: () => number
}

const SHARE_ID = /^[1-9A-HJ-NP-Za-km-z]{10}$/
const CONTRACT_ID = /^0x[0-9a-fA-F]{64}$/
const ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/

/** A packet's id as the tables hold it. Throws `Fault` RED_PACKET_NOT_FOUND for what cannot be one. */
export const storedPacketId = (text: string): string => {
  if (CONTRACT_ID.test(text)) return text.toLowerCase()
  if (SHARE_ID.test(text) || ADDRESS.test(text)) return text
  throw new Fault('RED_PACKET_NOT_FOUND')
}

/** Those of the chains on which there are red packets. */
export const packetChains = (chains: readonly string[]): readonly string[] =>
  chains.filter((id) => {
    const row = chainRow(id)
    return row !== undefined && RED_PACKET_VMS.has(row.vm)
  })

/** A wallet on whichever chain, and the chains that have such addresses. Throws `Fault` INVALID_ADDRESS. */
export const packetWallet = (
  chains: readonly string[],
  text: string,
  parameter: string,
): { readonly address: string; readonly chains: readonly string[] } => {
  const wallet = distinctAddress(text)
  if (wallet === undefined)
    throw new Fault('INVALID_ADDRESS', undefined, { parameter, value: text.slice(0, 128) })
  const { vm, address } = wallet
  return { address, chains: chains.filter((id) => chainRow(id)?.vm === vm) }
}

/** A creation of a packet, or a claim. */
interface PlacedRow extends RedPacketPlace {
  readonly chain: string
  readonly packet_id: string
}

const keyOf = ({ chain, packet_id, slot, event }: PlacedRow): string =>
  `${chain}/${packet_id}/${slot}/${event}`

/** The packets that claims are of. */
export const claimedPackets = async (
  { warehouse }: RedPacketReaderDeps,
  claims: readonly PlacedRow[],
): Promise<(claim: PlacedRow) => RedPacketRow | undefined> => {
  if (claims.length === 0) return () => undefined
  const chains = [...new Set(claims.map(({ chain }) => chain))]
  const found = await warehouse.query<ClaimedPacketRow>(claimedRedPackets(chains, claims))
  const packets = new Map(
    found.rows.map((row) => [keyOf({ ...row, slot: row.claim_slot, event: row.claim_event }), row]),
  )
  return (claim) => packets.get(keyOf(claim))
}

/** States of packets in the order of their rows. */
export const packetStates = async (
  { warehouse, freshness, nowMs }: RedPacketReaderDeps,
  rows: readonly RedPacketRow[],
): Promise<readonly RedPacketState[]> => {
  if (rows.length === 0) return []
  const chains = [...new Set(rows.map(({ chain }) => chain))]
  const [found, times] = await Promise.all([
    warehouse.query<RedPacketTotals>(redPacketTotals(chains, rows)),
    Promise.all(chains.map(async (chain) => [chain, await freshness.of(chain)] as const)),
  ])
  const totals = new Map(found.rows.map((row) => [keyOf(row), row]))
  const timeOf = new Map(times.map(([chain, fresh]) => [chain, fresh?.headTimeMs]))
  return rows.map((row) => ({
    row,
    totals: totals.get(keyOf(row)),
    chainTimeMs: timeOf.get(row.chain) ?? nowMs(),
  }))
}

/** One packet by its address, id or share id; of an address that was used again the newest. Throws `Fault` RED_PACKET_NOT_FOUND. */
export const packetState = async (
  deps: RedPacketReaderDeps,
  scope: RedPacketScope & { readonly id: string },
): Promise<RedPacketState> => {
  if (scope.chains.length === 0) throw new Fault('RED_PACKET_NOT_FOUND')
  const { rows } = await deps.warehouse.query<RedPacketRow>(currentRedPacket(scope))
  const [state] = await packetStates(deps, rows)
  if (state === undefined) throw new Fault('RED_PACKET_NOT_FOUND')
  return state
}
