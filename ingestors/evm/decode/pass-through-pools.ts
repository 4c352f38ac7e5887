import type { Swap, Transaction } from '../../../schemas/events.ts'
import { wordOf } from '../abi/words.ts'
import { eventOf } from '../protocols/families.ts'
import { type DecodedSwap, isUnderlying } from '../protocols/types.ts'

/**
 * True where a pool only passed a trade on. A Curve pool that holds another pool's share lets that pool trade between two of its
 * own coins, and then logs the same trade itself, as one of what is behind its coins. That trade counts once: where the other
 * pool's was taken before, with this pool as its buyer and the same amounts. Pools that lend their coins out log the same event
 * of trades of their own. Source: curvefi/curve-contract, curve-factory, `exchange_underlying` of metapools.
 */
export const isRoute = (decoded: DecodedSwap, tx: Transaction, taken: readonly Swap[]): boolean => {
  const { pool, tokenIn, amountInRaw, amountOutRaw } = decoded
  if (!isUnderlying(tokenIn)) return false
  const buyer = `0x${wordOf(pool)}`
  const bought = new Set<number>()
  for (const log of tx.logs) {
    if (log.topics[1] === buyer && eventOf(log)?.name === 'curve') bought.add(log.index)
  }
  if (bought.size === 0) return false
  return taken.some(
    (swap) =>
      bought.has(swap.logIndex) &&
      swap.pool !== pool &&
      swap.amountInRaw === amountInRaw &&
      swap.amountOutRaw === amountOutRaw,
  )
}
