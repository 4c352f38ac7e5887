import { Fault } from '../../core/errors.ts'
import type { GasFees } from './evm-calls.ts'
import type { SwapRequest } from './search.ts'

/** Words of a request read as numbers, or the error for each way in which they are none. */

const MAX_AMOUNT = (1n << 256n) - 1n
const MAX_SLIPPAGE_BPS = 5_000

/**
 * Base units that are to be swapped. Throws `Fault` INVALID_AMOUNT for what is not a whole number in plain digits, AMOUNT_TOO_SMALL
 * for nothing, AMOUNT_TOO_LARGE for what 256 bits do not hold.
 */
export const parseAmount = (text: string, parameter = 'amount'): bigint => {
  const details = { parameter, value: text.slice(0, 128) }
  if (!/^\d{1,100}$/.test(text)) throw new Fault('INVALID_AMOUNT', undefined, details)
  const amount = BigInt(text)
  if (amount === 0n) throw new Fault('AMOUNT_TOO_SMALL', undefined, details)
  if (amount > MAX_AMOUNT) throw new Fault('AMOUNT_TOO_LARGE', undefined, details)
  return amount
}

/** Throws `Fault` INSUFFICIENT_BALANCE where less is there than is needed, base units; an account that is not there holds nothing. */
export const requireBalance = (available = 0n, required: bigint): void => {
  if (available >= required) return
  const details = { required: required.toString(), available: available.toString() }
  throw new Fault('INSUFFICIENT_BALANCE', undefined, details)
}

/**
 * A percentage of at most two decimals as basis points. Throws `Fault` INVALID_SLIPPAGE for what is none, SLIPPAGE_TOO_LOW for 0,
 * SLIPPAGE_TOO_HIGH above 50.
 */
export const parseSlippage = (text: string): number => {
  const details = {
    parameter: 'slippage',
    value: text.slice(0, 64),
    maximum: MAX_SLIPPAGE_BPS / 100,
  }
  const [, whole, decimals = ''] = /^(\d{1,4})(?:\.(\d{1,2}))?$/.exec(text) ?? []
  if (whole === undefined) throw new Fault('INVALID_SLIPPAGE', undefined, details)
  const bps = Number(whole) * 100 + Number(decimals.padEnd(2, '0'))
  if (bps === 0) throw new Fault('SLIPPAGE_TOO_LOW', undefined, details)
  if (bps > MAX_SLIPPAGE_BPS) throw new Fault('SLIPPAGE_TOO_HIGH', undefined, details)
  return bps
}

/** Throws `Fault` UNSUPPORTED_SWAP_MODE for other words than ExactIn and ExactOut. */
export const parseSwapMode = (word: string): SwapRequest['mode'] => {
  if (word === 'ExactIn') return 'exact_in'
  if (word === 'ExactOut') return 'exact_out'
  throw new Fault('UNSUPPORTED_SWAP_MODE', undefined, {
    parameter: 'swapMode',
    value: word.slice(0, 64),
    allowed_values: ['ExactIn', 'ExactOut'],
  })
}

/** Times below it are seconds, from it on milliseconds. */
const FIRST_MILLISECONDS = 100_000_000_000
const DEFAULT_LIFE_SECONDS = 1_200

/**
 * The last moment of a swap in unix seconds, by default in 20 minutes. Throws `Fault` INVALID_TIMESTAMP for one that is over.
 */
export const parseDeadline = (time: number | undefined, nowMs: number): number => {
  const nowSeconds = Math.floor(nowMs / 1_000)
  if (time === undefined) return nowSeconds + DEFAULT_LIFE_SECONDS
  const seconds = time < FIRST_MILLISECONDS ? time : Math.floor(time / 1_000)
  if (seconds > nowSeconds) return seconds
  throw new Fault('INVALID_TIMESTAMP', 'the deadline has passed', {
    parameter: 'deadline',
    value: time,
  })
}

/** Fees of a request, as wei in digits. */
interface FeeWords {
  readonly gasPrice?: string
  readonly maxFeePerGas?: string
  readonly maxPriorityFeePerGas?: string
}

/**
 * What the caller wants to pay for gas; undefined: as the node proposes. Throws `Fault` FEE_PARAMETER_ERROR for a gas price beside the fees
 * of EIP-1559, for one of these without the other, for a tip above the whole fee, and for what is not a whole number of wei.
 */
export const parseFees = (words: FeeWords): GasFees | undefined => {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = words
  const given = [gasPrice, maxFeePerGas, maxPriorityFeePerGas].filter((text) => text !== undefined)
  if (given.length === 0) return undefined
  const isDigits = given.every((text) => /^\d{1,30}$/.test(text))
  if (isDigits && gasPrice !== undefined && given.length === 1) {
    return { gasPrice: BigInt(gasPrice) }
  }
  if (isDigits && gasPrice === undefined && maxFeePerGas && maxPriorityFeePerGas) {
    const fees = {
      maxFeePerGas: BigInt(maxFeePerGas),
      maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas),
    }
    if (fees.maxPriorityFeePerGas <= fees.maxFeePerGas) return fees
  }
  throw new Fault('FEE_PARAMETER_ERROR', undefined, { ...words })
}

/** Places behind the point of an amount of SOL. */
const SOL_DECIMALS = 9
/** Most that is paid beside the base fee: more is a mistake of units. */
const MAX_LAMPORTS = 10n ** 10n

/**
 * Lamports, or with a point SOL. Throws `Fault` FEE_PARAMETER_ERROR for what is neither, and for more than 10 SOL.
 */
export const parseLamports = (text: string, parameter = 'priorityFee'): bigint => {
  const [, whole, decimals] = /^(\d{1,18})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  const lamports =
    whole === undefined
      ? undefined
      : BigInt(whole + (decimals === undefined ? '' : decimals.padEnd(SOL_DECIMALS, '0')))
  if (lamports !== undefined && lamports <= MAX_LAMPORTS) return lamports
  throw new Fault('FEE_PARAMETER_ERROR', undefined, {
    parameter,
    value: text.slice(0, 32),
    maximum: MAX_LAMPORTS.toString(),
  })
}
