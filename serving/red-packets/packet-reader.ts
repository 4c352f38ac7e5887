import { distinctAddress } from '../../core/addresses.ts'
import { Fault } from '../../core/errors.ts'
import { chainRow } from '../../schemas/chains.ts'
import { RED_PACKET_VMS } from '../../schemas/protocols.ts'
import type { FreshnessReader } from '../interfaces.ts'
import { sliceQuery } from '../queries/keyset-list.ts'
import type { QueryReader } from '../queries/query-limiter.ts'
import {
  type RedPacketListRow,
  type RedPacketRow,
  type RedPacketScope,
  type RedPacketTotals,
  redPacketList,
  redPacketsById,
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

const keyOf = ({ chain, packet_id }: { readonly chain: string; readonly packet_id: string }) =>
  `${chain}/${packet_id}`

/** The packets that rows name, by chain and id. */
export const packetsOf = async (
  { warehouse }: RedPacketReaderDeps,
  rows: readonly { readonly chain: string; readonly packet_id: string }[],
): Promise<
  (row: { readonly chain: string; readonly packet_id: string }) => RedPacketRow | undefined
> => {
  if (rows.length === 0) return () => undefined
  const chains = [...new Set(rows.map(({ chain }) => chain))]
  const ids = [...new Set(rows.map(({ packet_id }) => packet_id))]
  const found = await warehouse.query<RedPacketRow>(redPacketsById(chains, ids))
  const packets = new Map(found.rows.map((row) => [keyOf(row), row]))
  return (row) => packets.get(keyOf(row))
}

/** States of packets in the order of their rows. */
export const packetStates = async (
  { warehouse, freshness, nowMs }: RedPacketReaderDeps,
  rows: readonly RedPacketRow[],
): Promise<readonly RedPacketState[]> => {
  if (rows.length === 0) return []
  const chains = [...new Set(rows.map(({ chain }) => chain))]
  const ids = rows.map(({ packet_id }) => packet_id)
  const [found, times] = await Promise.all([
    warehouse.query<RedPacketTotals>(redPacketTotals(chains, ids)),
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

/** One packet by its address, id or share id. Throws `Fault` RED_PACKET_NOT_FOUND. */
export const packetState = async (
  deps: RedPacketReaderDeps,
  scope: RedPacketScope & { readonly id: string },
): Promise<RedPacketState> => {
  if (scope.chains.length === 0) throw new Fault('RED_PACKET_NOT_FOUND')
  const slice = { direction: 'next', after: undefined, rows: 1 } as const
  // The oldest: a share id is short enough to be made again, and the first packet keeps it.
  const list = { ...redPacketList(scope), descending: false }
  const { rows } = await deps.warehouse.query<RedPacketListRow>(sliceQuery(list, slice))
  const [state] = await packetStates(deps, rows)
  if (state === undefined) throw new Fault('RED_PACKET_NOT_FOUND')
  return state
}
