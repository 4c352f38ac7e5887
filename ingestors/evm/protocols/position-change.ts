import { MAX_TICK, MIN_TICK } from '../../../core/prices/tick-math.ts'
import type { Log } from '../../../schemas/events.ts'
import { signedAt } from '../abi/words.ts'
import type { DecodedEvent } from './types.ts'

/** `ModifyLiquidity` of pools that lie in one contract: Uniswap V4 and PancakeSwap Infinity log the same event. */
export const MODIFY_LIQUIDITY =
  'ModifyLiquidity(bytes32 indexed id, address indexed sender, int24 tickLower, int24 tickUpper, int256 liquidityDelta, bytes32 salt)'

/** More than a pool can hold of it: it is kept in 128 bits. */
const MAX_LIQUIDITY = 1n << 128n

/** A range of prices and what came to it or left it; nothing where only fees were collected. */
export const decodedPositionChange = (
  { topics, data }: Log,
  { vault, defaultProtocol }: { readonly vault: string; readonly defaultProtocol: string },
): DecodedEvent | undefined => {
  const [lower, upper] = [Number(signedAt(data, 0)), Number(signedAt(data, 1))]
  const liquidityRaw = signedAt(data, 2)
  if (liquidityRaw === 0n) return undefined
  const fits = MIN_TICK <= lower && lower < upper && upper <= MAX_TICK
  if (!fits || liquidityRaw >= MAX_LIQUIDITY || -liquidityRaw >= MAX_LIQUIDITY) {
    return { kind: 'invalid', reason: 'impossible-amount' }
  }
  return {
    kind: 'position',
    pool: topics[1] ?? '',
    vault,
    defaultProtocol,
    ticks: [lower, upper],
    liquidityRaw,
  }
}
