import { Fault } from '../../core/errors.ts'
import type { SwapRequest } from './search.ts'
import { parseAmount } from './swap-terms.ts'

/** The whole of a balance, in hundredths of a percent. */
const WHOLE = 10_000
const PERCENTAGE = /^(\d{1,3})(?:\.(\d{1,2}))?%$/

/** What is to be swapped: base units, or a part of what the signer holds of the token that is sold. */
export type SwapAmount =
  | { readonly amountRaw: bigint; readonly share?: never }
  /** Hundredths of a percent. */
  | { readonly amountRaw?: never; readonly share: number }

/**
 * Reads base units, `auto` for the whole balance, or a percentage of it with at most two decimals. Throws `Fault` INVALID_AMOUNT for
 * what is none of them, for more than 100 %, and for a part of a balance where the amount is what is bought; AMOUNT_TOO_SMALL for
 * nothing, AMOUNT_TOO_LARGE for what 256 bits do not hold.
 */
export const parseSwapAmount = (text: string, mode: SwapRequest['mode']): SwapAmount => {
  const [, whole = '', decimals = ''] = PERCENTAGE.exec(text) ?? []
  if (text !== 'auto' && whole === '') return { amountRaw: parseAmount(text) }
  const share =
    text === 'auto' ? WHOLE : Number(whole) * 100 + Number(decimals.padEnd(2, '0') || '0')
  const details = { parameter: 'amount', value: text }
  if (share === 0) throw new Fault('AMOUNT_TOO_SMALL', undefined, details)
  if (share > WHOLE)
    throw new Fault('INVALID_AMOUNT', 'The percentage of the balance exceeds 100', details)
  if (mode === 'exact_in') return { share }
  throw new Fault('INVALID_AMOUNT', 'A part of the balance can only be sold: ExactIn', details)
}

/** What a signer holds of the token that is sold. */
export interface Holding {
  readonly balanceRaw: bigint
  /** What stays there for fees, where the chain's native token is sold. */
  readonly reserveRaw: bigint
}

/** Base units of an amount. Throws `Fault` INSUFFICIENT_BALANCE where a part of the balance is nothing, and what `readHolding` throws. */
export const resolveAmount = async (
  { amountRaw, share }: SwapAmount,
  readHolding: () => Promise<Holding>,
): Promise<bigint> => {
  if (amountRaw !== undefined) return amountRaw
  const { balanceRaw, reserveRaw } = await readHolding()
  const part = (balanceRaw * BigInt(share)) / BigInt(WHOLE)
  const free = balanceRaw - reserveRaw
  const sold = part < free ? part : free
  if (sold > 0n) return sold
  throw new Fault('INSUFFICIENT_BALANCE', undefined, {
    required: (reserveRaw + 1n).toString(),
    available: balanceRaw.toString(),
  })
}
