import { amount0Delta, amount1Delta, sqrtPriceAtTick } from '../../../core/prices/tick-math.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import type { PriceLookup } from '../../decode/contract.ts'
import type { Call, CallAnswer } from '../abi/call.ts'
import { keccak } from '../abi/keccak.ts'
import { wordAt, wordCount } from '../abi/words.ts'
import type { DecodedPositionChange } from '../protocols/types.ts'
import { drop, type Scope, type SwapPosition, type Waiting } from './resolve-swaps.ts'

/** What both tokens of a range are at a price: what is paid in is rounded up, what is paid out down. Source: Uniswap/v4-core src/libraries/Pool.sol. */
const amountsAt = (
  sqrtPriceX96: bigint,
  { ticks, liquidityRaw }: DecodedPositionChange,
): readonly [bigint, bigint] => {
  const comes = liquidityRaw > 0n
  const liquidity = comes ? liquidityRaw : -liquidityRaw
  const [low, high] = [sqrtPriceAtTick(ticks[0]), sqrtPriceAtTick(ticks[1])]
  const at = sqrtPriceX96 < low ? low : sqrtPriceX96 > high ? high : sqrtPriceX96
  return [amount0Delta(at, high, liquidity, comes), amount1Delta(low, at, liquidity, comes)]
}

/** A position that grew or shrank as a change of its pool; dropped where the price is unknown, undefined where nothing moved. */
export const positionChange = (
  scope: Scope,
  decoded: DecodedPositionChange,
  place: SwapPosition & { readonly row: ProtocolRow | undefined },
): Waiting | undefined => {
  const { pool, vault, defaultProtocol: usual, liquidityRaw } = decoded
  const price = scope.prices.get(pool) ?? scope.context.price?.(pool)
  if (price === undefined) {
    drop(scope, place, 'unknown-price')
    return undefined
  }
  const amountsRaw = amountsAt(price, decoded)
  if (amountsRaw[0] === 0n && amountsRaw[1] === 0n) return undefined
  const change = liquidityRaw > 0n ? 'increase' : 'decrease'
  return {
    family: place.family,
    logIndex: place.logIndex,
    decoded: { kind: 'change', pool, vault, defaultProtocol: usual, change, amountsRaw },
    reserves: undefined,
    holder: place.row,
  }
}

const EXTSLOAD = '0x1e2eaeaf' // extsload(bytes32)
const GET_SLOT0 = '0xc815641c' // getSlot0(bytes32)
/** Where the PoolManager keeps its pools. Source: Uniswap/v4-core src/libraries/StateLibrary.sol. */
const POOLS_SLOT = '6'.padStart(64, '0')
/** The price is the low part of its slot. */
const PRICE = (1n << 160n) - 1n

/** How a manager is asked for the price of one of its pools. */
export const priceCall = ({ pool, manager: to, family }: PriceLookup): Call => {
  const id = pool.slice(2)
  if (family !== 'uniswap_v4') return { to, data: GET_SLOT0 + id }
  return { to, data: EXTSLOAD + keccak(id + POOLS_SLOT).slice(2) }
}

/** The price that a manager answered; undefined where the pool is not there, or the state. */
export const priceIn = (answer: CallAnswer | undefined): bigint | undefined => {
  if (answer?.kind !== 'value' || wordCount(answer.data) < 1) return undefined
  const price = wordAt(answer.data, 0) & PRICE
  return price === 0n ? undefined : price
}
