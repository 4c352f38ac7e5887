import { encodeAbiParameters, type Hex, keccak256, toFunctionSelector, toRlp } from 'viem'
import type { Random } from '../node/random.ts'
import type { RawLog } from './event-logs.ts'

/** Call data that is encoded when it is read: most of a chain is made and never read. */
export type LazyCallData = () => Hex

/** Call data of a plain payment. */
export const EMPTY_CALL_DATA: LazyCallData = () => '0x'

/** A transaction as it was run, before it is sealed into a block. */
export interface ExecutedTransaction {
  readonly from: Hex
  /** null: contract creation. */
  readonly to: Hex | null
  readonly nonce: number
  readonly valueRaw: bigint
  readonly gasUsed: number
  readonly gasLimit: number
  readonly maxFeeRaw: bigint
  readonly priorityFeeRaw: bigint
  readonly success: boolean
  readonly contractAddress: Hex | null
  readonly logs: readonly RawLog[]
}

/** A transaction in its block. Input and hash are made at the first reading and then kept. */
export interface SealedTransaction extends ExecutedTransaction {
  readonly input: Hex
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
const randomWordBelow = (random: Random, limit: number): Hex =>
  `0x${(0x1000_0000 + random.below(limit - 0x1000_0000)).toString(16)}${random.hex(56)}`

/** Keccak over the typed RLP envelope (EIP-2718, EIP-1559). */
const transactionHash = (tx: Omit<SealedTransaction, 'hash'>): Hex => {
  const payload = toRlp(
    [
      quantity(CHAIN_ID),
      quantity(tx.nonce),
      quantity(tx.priorityFeeRaw),
      quantity(tx.maxFeeRaw),
      quantity(tx.gasLimit),
      tx.to ?? '0x',
      quantity(tx.valueRaw),
      tx.input,
      [],
      quantity(tx.yParity),
      tx.r,
      tx.s,
    ],
    'bytes',
  )
  const envelope = new Uint8Array(payload.length + 1)
  envelope[0] = 2
  envelope.set(payload, 1)
  return keccak256(envelope)
}

/**
 * Gives a draft its signature words and its hash. The signature is not one of a key: it has the shape of one, `s` in
 * the lower half of the curve order.
 */
export const sealTransaction = (
  draft: ExecutedTransaction,
  input: LazyCallData,
  random: Random,
): SealedTransaction => {
  let encoded: Hex | undefined
  let hash: Hex | undefined
  return {
    ...draft,
    r: randomWordBelow(random, 0xffff_fff0),
    s: randomWordBelow(random, 0x7fff_fff0),
    yParity: (random.uint32() & 1) as 0 | 1,
    get input() {
      encoded ??= input()
      return encoded
    },
    get hash() {
      hash ??= transactionHash(this)
      return hash
    },
  }
}

/** Call data of a function by its signature, e.g. `transfer(address,uint256)`. */
export const callDataEncoder = (
  signature: string,
): ((...values: readonly unknown[]) => LazyCallData) => {
  const selector = toFunctionSelector(signature)
  const inside = signature.slice(signature.indexOf('(') + 1, -1)
  const types = inside === '' ? [] : inside.split(',').map((type) => ({ type }))
  return (...values) =>
    () =>
      `${selector}${encodeAbiParameters(types, values).slice(2)}`
}
