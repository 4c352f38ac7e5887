import type { Log } from '../../../schemas/events.ts'
import { topicAddress, wordAt } from '../abi/words.ts'
import { type DecodedEvent, invalidAmounts } from './types.ts'

/** What a swap of Balancer's Vaults has in each version: pool, both tokens and both amounts in the same places. */

/** Both tokens, which the event names itself. */
export const swappedTokens = ({ topics }: Log): readonly string[] => [
  topicAddress(topics[2]),
  topicAddress(topics[3]),
]

/** Reads a swap; `makeMemberCalls` tells which pool it is about. */
export const vaultSwap =
  (defaultProtocol: string, poolOf: (log: Log) => string) =>
  (log: Log): DecodedEvent => {
    const { address: vault, topics, data } = log
    const amountInRaw = wordAt(data, 0)
    const amountOutRaw = wordAt(data, 1)
    return (
      invalidAmounts(amountInRaw, amountOutRaw) ?? {
        kind: 'swap',
        pool: poolOf(log),
        vault,
        defaultProtocol,
        tokenIn: topicAddress(topics[2]),
        tokenOut: topicAddress(topics[3]),
        unordered: 'many',
        amountInRaw,
        amountOutRaw,
      }
    )
  }
