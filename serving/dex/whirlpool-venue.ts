import { Fault } from '../../core/errors.ts'
import type { Pool, WhirlpoolPool } from './pool.ts'
import { accountsOf, dataOf, keyAt, MEMO_PROGRAM, used } from './solana-calls.ts'
import { programAddress } from './solana-message.ts'
import type { SolanaVenue, VenueSwap } from './solana-venues.ts'
import { arrayStarts } from './whirlpool.ts'
import { WHIRLPOOL, WHIRLPOOL_LAYOUT } from './whirlpool-accounts.ts'

/** Accounts of arrays that the instruction has a place for each. */
const ARRAY_PLACES = 3
/** Further arrays of ticks, as the kinds of accounts at the end are numbered. Source: util/v2/remaining_accounts_utils.rs. */
const SUPPLEMENTAL_ARRAYS = 6

const whirlpoolOf = (quoted: Pool | undefined): WhirlpoolPool => {
  if (quoted?.kind === 'whirlpool') return quoted
  throw new Fault('DEX_ROUTE_BUILD_FAILED', undefined, { reason: 'the ticks are not known' })
}

/** The arrays of a swap in its order, the last one repeated in places that are left; and the one behind, in case the price moves there. */
const arraysOf = ({ arrays, ...pool }: WhirlpoolPool, sellsA: boolean) => {
  const starts = arrayStarts(pool, sellsA)
  const named = starts.flatMap((start) => arrays.filter((array) => array.start === start))
  const [first, last] = [named[0], named.at(-1)]
  if (first === undefined || last === undefined) {
    throw new Fault('DEX_ROUTE_BUILD_FAILED', undefined, { reason: 'the price is at its end' })
  }
  const order = arrays.findIndex(({ start }) => start === first.start)
  const behind = arrays[order + (sellsA ? 1 : -1)]
  const places = Array.from({ length: ARRAY_PLACES }, (_, index) => (named[index] ?? last).address)
  return { places, behind: behind?.address }
}

/** No limit of the price but that of the amounts. */
const NO_PRICE_LIMIT = Buffer.alloc(16)

const swapData = (
  { mode, amountInRaw, minOutRaw, maxInRaw }: VenueSwap,
  sellsA: boolean,
  further: number,
): Uint8Array => {
  const isExactIn = mode === 'exact_in'
  const [amount, limit] = isExactIn ? [amountInRaw, minOutRaw] : [minOutRaw, maxInRaw]
  return Buffer.concat([
    dataOf('2b04ed0b1ac91e62', amount, limit),
    NO_PRICE_LIMIT,
    Buffer.from([isExactIn ? 1 : 0, sellsA ? 1 : 0]),
    further === 0 ? Buffer.from([0]) : Buffer.from([1, 1, 0, 0, 0, SUPPLEMENTAL_ARRAYS, further]),
  ])
}

/** Pools of Orca's Whirlpools (version 2 of its swap). Source: orca-so/whirlpools programs/whirlpool/src/instructions/v2/swap.rs. */
export const orcaWhirlpool: SolanaVenue = {
  program: WHIRLPOOL,
  acceptsNativeToken: false,
  config: null,
  swap: async (swap, { pool, quoted }) => {
    const [mintA, mintB] = [
      keyAt(pool, WHIRLPOOL_LAYOUT.mintA),
      keyAt(pool, WHIRLPOOL_LAYOUT.mintB),
    ]
    const sellsA = swap.tokenIn === mintA
    const ofIn = [swap.accountIn, swap.programIn] as const
    const ofOut = [swap.accountOut, swap.programOut] as const
    const [[accountA, programA], [accountB, programB]] = sellsA ? [ofIn, ofOut] : [ofOut, ofIn]
    const { places, behind } = arraysOf(whirlpoolOf(quoted), sellsA)
    const further = behind === undefined ? [] : [behind]
    return {
      program: WHIRLPOOL,
      data: swapData(swap, sellsA, further.length),
      accounts: accountsOf(
        ...[programA, programB, MEMO_PROGRAM, used(swap.owner, 'sign'), used(swap.pool, 'write')],
        ...[mintA, mintB],
        ...[used(accountA, 'write'), used(keyAt(pool, WHIRLPOOL_LAYOUT.vaultA), 'write')],
        ...[used(accountB, 'write'), used(keyAt(pool, WHIRLPOOL_LAYOUT.vaultB), 'write')],
        ...places.map((array) => used(array, 'write')),
        used(await programAddress(WHIRLPOOL, [{ word: 'oracle' }, { key: swap.pool }]), 'write'),
        ...further.map((array) => used(array, 'write')),
      ),
    }
  },
}
