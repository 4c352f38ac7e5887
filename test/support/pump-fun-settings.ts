/** Data of the accounts with pump.fun's settings, in the layout of their published interfaces. */
import { base58Decode } from '../../core/base58.ts'
import { addressFor } from './builders/svm-block.ts'

/** Part of a fee that begins at a market capitalization in lamports; parts in basis points. */
export interface FeeTier {
  readonly from: bigint
  readonly protocol: bigint
  readonly creator: bigint
}

/** What a curve begins with, as recorded creations tell. */
export const INITIAL = {
  tokens: 1_073_000_000_000_000n,
  sol: 30_000_000_000n,
  forSale: 793_100_000_000_000n,
  supply: 1_000_000_000_000_000n,
} as const

/** The fees that recorded purchases paid. */
export const RECORDED_TIER: FeeTier = { from: 0n, protocol: 95n, creator: 30n }

/** The account `global` of the program of curves. */
export const globalData = (initial: Readonly<Record<keyof typeof INITIAL, bigint>> = INITIAL) => {
  const data = Buffer.alloc(1_100)
  data.set(Buffer.from('a7e8e8b1c86c727f', 'hex'))
  data.set(base58Decode(addressFor('fee recipient')) ?? [], 41)
  const numbers = [initial.tokens, initial.sol, initial.forSale, initial.supply]
  numbers.forEach((number, index) => {
    data.writeBigUInt64LE(number, 73 + 8 * index)
  })
  data.set(base58Decode(addressFor('buyback')) ?? [], 741)
  return data
}

/** The account `fee_config` of the program of fees. */
export const feeConfigData = (tiers: readonly FeeTier[] = [RECORDED_TIER]): Buffer => {
  const data = Buffer.alloc(69 + 40 * tiers.length)
  data.set(Buffer.from('8f3492bbdb7b4c9b', 'hex'))
  data.writeUInt32LE(tiers.length, 65)
  tiers.forEach(({ from, protocol, creator }, index) => {
    const at = 69 + 40 * index
    data.writeBigUInt64LE(from & ((1n << 64n) - 1n), at)
    data.writeBigUInt64LE(from >> 64n, at + 8)
    data.writeBigUInt64LE(protocol, at + 24)
    data.writeBigUInt64LE(creator, at + 32)
  })
  return data
}
