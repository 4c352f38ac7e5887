/** A gift was paid in, for several addresses to share. */
export interface RedPacketCreation {
  readonly kind: 'packet-created'
  /** The packet's own address on Solana; elsewhere its id in the contract, 32 bytes. */
  readonly packetId: string
  readonly creator: string
  /** The chain's native token under its wrapped address. */
  readonly token: string
  readonly totalRaw: bigint
  readonly maxClaims: number
  /** Shares differ; else they are equal. */
  readonly isRandom: boolean
  /** null: the block's time. */
  readonly createdAtMs: number | null
  readonly ends: { readonly afterSeconds: number } | { readonly atMs: number }
  /** Whose signature a claim needs; null: none, or the event does not say. */
  readonly authority: string | null
  readonly memo: string
}

/** An address took its share. */
interface RedPacketClaim {
  readonly kind: 'packet-claimed'
  readonly packetId: string
  readonly claimer: string
  /** null: the event does not say. */
  readonly token: string | null
  readonly amountRaw: bigint
  /** Place among the packet's claims, from 0; null: the event does not say. */
  readonly index: number | null
}

/** What was left went back to who created the packet. */
interface RedPacketRefund {
  readonly kind: 'packet-refunded'
  readonly packetId: string
  readonly token: string | null
  /** null: the event does not say; it is all that was left. */
  readonly amountRaw: bigint | null
}

/** What a listed contract or program says of a red packet. */
export type RedPacketReport = RedPacketCreation | RedPacketClaim | RedPacketRefund

/** Who reported it. */
export interface RedPacketSource {
  /** Row id of `protocols.ts`. */
  readonly protocol: string
  /** Contract, or program, that holds the packet. */
  readonly contract: string
}
