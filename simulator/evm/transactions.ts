import { encodeAbiParameters, type Hex, keccak256, toFunctionSelector, toRlp } from 'viem'
import type { RawLog } from './logs.ts'
import type { Random } from './random.ts'

/** A transaction as it was run, before it is sealed into a block. */
export interface Draft {
  readonly from: Hex
  /** null: contract creation. */
  readonly to: Hex | null
  readonly nonce: number
  readonly valueRaw: bigint
  readonly input: Hex
  readonly gasUsed: number
  readonly gasLimit: number
  readonly maxFeeRaw: bigint
  readonly priorityFeeRaw: bigint
  readonly success: boolean
  readonly contractAddress: Hex | null
  readonly logs: readonly RawLog[]
}

/** A transaction in its block. */
export interface SealedTransaction extends Draft {
  readonly hash: Hex
  readonly yParity: 0 | 1
  readonly r: Hex
  readonly s: Hex
}

/** All of Ethereum mainnet's transactions here are of type 2 (EIP-1559). */
export const CHAIN_ID = 1

const quantity = (value: bigint | number): Hex => (BigInt(value) === 0n ? '0x' : evenHex(value))

const evenHex = (value: bigint | number): Hex => {
  const digits = value.toString(16)
  return digits.length % 2 === 0 ? `0x${digits}` : `0x0${digits}`
}

/** 32 bytes whose first four are at least 2^28 and below a limit: no leading zero that RLP and JSON would have to drop. */
const wordBelow = (random: Random, limit: number): Hex =>
  `0x${(0x1000_0000 + random.below(limit - 0x1000_0000)).toString(16)}${random.hex(56)}`

/**
 * Gives a draft its signature words and its hash, keccak over the typed RLP envelope (EIP-2718, EIP-1559). The
 * signature is not one of a key: it has the shape of one, `s` in the lower half of the curve order.
 */
export const sealTransaction = (draft: Draft, random: Random): SealedTransaction => {
  const r = wordBelow(random, 0xffff_fff0)
  const s = wordBelow(random, 0x7fff_fff0)
  const yParity = (random.word() & 1) as 0 | 1
  const payload = toRlp(
    [
      quantity(CHAIN_ID),
      quantity(draft.nonce),
      quantity(draft.priorityFeeRaw),
      quantity(draft.maxFeeRaw),
      quantity(draft.gasLimit),
      draft.to ?? '0x',
      quantity(draft.valueRaw),
      draft.input,
      [],
      quantity(yParity),
      r,
      s,
    ],
    'bytes',
  )
  const envelope = new Uint8Array(payload.length + 1)
  envelope[0] = 2
  envelope.set(payload, 1)
  return { ...draft, hash: keccak256(envelope), yParity, r, s }
}

/** Call data of a function by its signature, e.g. `transfer(address,uint256)`. */
export const callData = (signature: string): ((...values: readonly unknown[]) => Hex) => {
  const selector = toFunctionSelector(signature)
  const inside = signature.slice(signature.indexOf('(') + 1, -1)
  const types = inside === '' ? [] : inside.split(',').map((type) => ({ type }))
  return (...values) => `${selector}${encodeAbiParameters(types, values).slice(2)}`
}
