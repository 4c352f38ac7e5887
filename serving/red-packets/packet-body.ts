import type { RedPacket, RedPacketClaim, RedPacketStatus } from '../../schemas/api/red-packet.ts'
import type {
  RedPacketClaimRow,
  RedPacketPlace,
  RedPacketRow,
  RedPacketTotals,
} from '../queries/red-packets.ts'

/** A packet with what was paid out of it. */
export interface RedPacketState {
  readonly row: RedPacketRow
  /** undefined: nothing yet. */
  readonly totals: Omit<RedPacketTotals, 'chain' | 'packet_id' | keyof RedPacketPlace> | undefined
  /** Time of the chain's newest block, epoch ms: what the packet's contract goes by. */
  readonly chainTimeMs: number
}

/** When a packet ends, epoch ms. */
const endOf = ({ created_ms, seconds }: RedPacketRow): number =>
  Number(created_ms) + seconds * 1_000

/**
 * State of a packet: withdrawn once anything went back, else exhausted once every share is taken, else expired from the first block
 * at or behind its end.
 */
export const statusOf = ({ row, totals, chainTimeMs }: RedPacketState): RedPacketStatus => {
  if ((totals?.refunds ?? 0) > 0) return 'withdrawn'
  if ((totals?.claims ?? 0) >= row.max_claims) return 'exhausted'
  return chainTimeMs >= endOf(row) ? 'expired' : 'active'
}

/** A refund whose amount the chain does not say took all that was left. */
const refundedText = ({ row, totals }: RedPacketState): string => {
  if (totals === undefined) return '0'
  if (totals.unsaid === 0) return totals.refunded
  const left = BigInt(row.total) - BigInt(totals.claimed)
  return (left > 0n ? left : 0n).toString()
}

/** A packet as version 2 answers it. */
export const packetBody = (state: RedPacketState): RedPacket => {
  const { row, totals, chainTimeMs } = state
  const status = statusOf(state)
  return {
    chain: row.chain,
    id: row.packet_id,
    shareId: row.share_id,
    txHash: row.tx,
    creator: row.creator,
    mint: row.mint,
    totalAmount: row.total,
    memo: row.memo || null,
    maxClaims: row.max_claims,
    claimAuthority: row.authority || null,
    expired: status === 'withdrawn' || chainTimeMs >= endOf(row),
    expiration: row.seconds,
    createdAt: Number(row.created_ms),
    expiredAt: endOf(row),
    claimedCount: totals?.claims ?? 0,
    claimedAmount: totals?.claimed ?? '0',
    refundedAmount: refundedText(state),
    status,
    mode: row.is_random === 1 ? 'random' : 'equal',
  }
}

/** The same as version 1 answers it: every field is there, and the claimed amount is a number with all of its digits. */
export const packetBodyV1 = ({ memo, claimAuthority, claimedAmount, ...fields }: RedPacket) => ({
  ...fields,
  memo: memo ?? '',
  claimAuthority: claimAuthority ?? '',
  claimedAmount: BigInt(claimedAmount),
})

/** A claim; what its own event does not say is taken from the packet's creation, where that was seen. */
export const claimBody = (
  row: RedPacketClaimRow,
  packet: RedPacketRow | undefined,
): RedPacketClaim => ({
  packetId: row.packet_id,
  chain: row.chain,
  claimer: row.claimer,
  creator: packet?.creator ?? null,
  mint: row.mint || (packet?.mint ?? ''),
  amount: row.amount,
  claimedAt: Number(row.time_ms),
  txHash: row.tx,
})
