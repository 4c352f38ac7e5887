import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { PoolMetadata, Swap, Transaction } from '../../../schemas/events.ts'
import { type ProtocolRow, protocolRow } from '../../../schemas/protocols.ts'
import type { DecodeContext, DecodedBlockBuilder } from '../../decode/contract.ts'
import { emitsEventsOf, type ProtocolRegistry } from '../../decode/protocol-registry.ts'
import type { DecodedLiquidityChange, DecodedSwap, EvmFamily, Leg } from '../protocols/types.ts'
import { changesOf } from './liquidity-changes.ts'
import { isRoute } from './pass-through-pools.ts'
import {
  changedTokens,
  type Flows,
  flowsOf,
  paidToken,
  type SwapTokens,
  swapTokens,
} from './transfer-heuristics.ts'

/** One transaction, where its events go, and what is known of pools at this point of the chain. */
export interface Scope {
  readonly tx: Transaction
  readonly out: DecodedBlockBuilder
  readonly context: DecodeContext
  readonly protocols: ProtocolRegistry
  /** Pools that listed factories made in this block so far. */
  readonly made: Map<string, PoolMetadata>
  /** Square root prices that listed contracts reported for their pools in this block so far. */
  readonly prices: Map<string, bigint>
}

/** Which log of which family. */
export interface SwapPosition {
  readonly family: EvmFamily['family']
  readonly logIndex: number
}

/** A swap or change that waits until its transaction has been read to the end. */
export interface Waiting extends SwapPosition {
  readonly decoded: DecodedSwap | DecodedLiquidityChange
  /** What the pool holds afterwards, where it said so. */
  reserves: readonly [bigint, bigint] | undefined
  /** The protocol whose contract spoke for its pool; undefined: the pool spoke itself. */
  readonly holder: ProtocolRow | undefined
}

/** An ERC-4337 operation ended here. */
export interface Operation {
  readonly sender: string
  readonly logIndex: number
}

/** What was read from a transaction. */
export interface TransactionEnd {
  readonly waiting: readonly Waiting[]
  readonly operations: readonly Operation[]
  /** Index of the transaction's first transfer among all that were taken so far. */
  readonly firstTransfer: number
}

/** Transfers of the transaction, sorted when they are first asked for. */
interface Sortable {
  readonly from: number
  flows: Flows | undefined
}

const flowsIn = ({ out }: Scope, sortable: Sortable): Flows => {
  sortable.flows ??= flowsOf(out.transfers.slice(sortable.from))
  return sortable.flows
}

/** Takes or drops what waited, in log order. An ERC-4337 operation is logged after all that it did. */
export const resolveSwaps = (
  scope: Scope,
  { waiting, operations, firstTransfer }: TransactionEnd,
): void => {
  const { tx, out, protocols } = scope
  const evidence = scope.context.verification === 'evidence'
  const sortable: Sortable = { from: firstTransfer, flows: undefined }
  let next = 0
  for (const item of waiting) {
    while ((operations[next]?.logIndex ?? Number.POSITIVE_INFINITY) < item.logIndex) next += 1
    const { decoded, logIndex, reserves } = item
    const reported = decoded.kind === 'swap' ? decoded.trader : undefined
    const trader = reported ?? operations[next]?.sender ?? tx.from
    const pool = identify(scope, item, evidence ? flowsIn(scope, sortable) : undefined)
    if (typeof pool === 'string') {
      drop(scope, item, pool)
      continue
    }
    if (decoded.kind === 'swap') {
      const tokenIn = canonicalToken(
        protocols,
        tokenOfLeg(pool, decoded.tokenIn, pool.tokensSeen?.tokenIn),
      )
      const tokenOut = canonicalToken(
        protocols,
        tokenOfLeg(pool, decoded.tokenOut, pool.tokensSeen?.tokenOut),
      )
      const reason = unusable(tokenIn, tokenOut, evidence)
      if (reason !== undefined) drop(scope, item, reason)
      else if (!isRoute(decoded, tx, out.swaps))
        out.swaps.push(
          swapOf({ tx, item, decoded, protocol: pool.protocol, trader, tokenIn, tokenOut }),
        )
      continue
    }
    const tokenOf = (leg: Leg): string | null =>
      isPaid(leg)
        ? paidCoin(paidToken(decoded, leg.paidOutRaw, flowsIn(scope, sortable)), pool)
        : canonicalToken(protocols, tokenOfLeg(pool, leg))
    const changes = changesOf(decoded, { coins: coinsOf(pool), tokenOf, reserves })
    if (changes === undefined) drop(scope, item, 'unknown-token')
    else {
      const { vault } = decoded
      const spot = { txIndex: tx.index, logIndex, ...(vault !== undefined && { vault }) }
      for (const change of changes) {
        out.poolChanges.push({ protocol: pool.protocol, ...change, ...spot, owner: trader })
      }
    }
  }
}

/** Protocol row id of a pool and its tokens in its own order, null where they are not known. */
interface Identity {
  readonly protocol: string
  readonly tokenA: string | null
  readonly tokenB: string | null
  /** All of them, where they are more than two. */
  readonly coins?: readonly (string | null)[]
  readonly underlying?: readonly string[]
  /** Tokens of the swap as its transaction's transfers show them. */
  readonly tokensSeen?: SwapTokens
}

const UNKNOWN = { tokenA: null, tokenB: null } as const

const coinsOf = ({ coins, tokenA, tokenB }: Identity): readonly (string | null)[] =>
  coins ?? [tokenA, tokenB]

/** Which pool this is, or why it does not count. */
const identify = (
  scope: Scope,
  { decoded, family, reserves, holder }: Waiting,
  flows: Flows | undefined,
): Identity | DropReason => {
  const metadata = poolMetadata(scope, decoded.pool)
  if (metadata !== undefined && isVerified(metadata)) {
    const row = protocolRow(metadata.protocol)
    return row && emitsEventsOf(row, family) ? metadata : 'unlisted-contract'
  }
  const protocol = holder?.id ?? decoded.defaultProtocol
  if (holder !== undefined && tellsTokens(decoded)) return { protocol, ...UNKNOWN }
  if (flows === undefined) return metadata === undefined ? 'unknown-pool' : 'unverified-pool'
  if (decoded.kind === 'change') {
    const coins = changedTokens(decoded, flows)
    return coins === undefined
      ? 'no-matching-transfers'
      : { protocol, tokenA: coins[0] ?? null, tokenB: coins[1] ?? null, coins }
  }
  const seen = swapTokens(decoded, flows)
  if (seen !== undefined) return { protocol, ...UNKNOWN, tokensSeen: seen }
  return holder !== undefined || reserves !== undefined
    ? { protocol, ...UNKNOWN }
    : 'no-matching-transfers'
}

/** What is known of a pool so far, in this block or before it. */
export const poolMetadata = ({ made, context }: Scope, address: string): PoolMetadata | undefined =>
  made.get(address) ?? context.pool(address)

const isVerified = (
  metadata: PoolMetadata,
): metadata is PoolMetadata & { readonly protocol: string } =>
  metadata.verified && metadata.protocol !== null

/** The event names its tokens itself. */
const tellsTokens = (decoded: DecodedSwap | DecodedLiquidityChange): boolean =>
  decoded.kind === 'swap'
    ? typeof decoded.tokenIn === 'string' && typeof decoded.tokenOut === 'string'
    : decoded.legs?.every((leg) => typeof leg === 'string') === true

/** Address behind a leg of a pool's event. What the event does not name itself may have been seen in transfers. */
const tokenOfLeg = (pool: Identity, leg: Leg, seen?: string | null): string | null | undefined => {
  if (typeof leg === 'string') return leg
  return seen === undefined ? tokenAtLeg(pool, leg) : seen
}

/** The token as trades name it; null where it is not known. */
const canonicalToken = (
  protocols: ProtocolRegistry,
  token: string | null | undefined,
): string | null => (token ? protocols.canonicalForTrades(token) : null)

const tokenAtLeg = (pool: Identity, leg: Exclude<Leg, string>): string | null | undefined => {
  if (leg === 0) return pool.tokenA
  if (leg === 1) return pool.tokenB
  if (typeof leg === 'number') return pool.coins?.[leg]
  return isPaid(leg) ? null : pool.underlying?.[leg.underlying]
}

const isPaid = (leg: Leg): leg is Extract<Leg, { readonly paidOutRaw: bigint }> =>
  typeof leg === 'object' && 'paidOutRaw' in leg

/** What left a pool counts as its coin when it is one. */
const paidCoin = (token: string | null, pool: Identity): string | null =>
  coinsOf(pool).includes(token) ? token : null

/** Why a swap of these tokens is none: both are one, as the chain's coin and its wrapped token are, or one is not known. */
const unusable = (
  tokenIn: string | null,
  tokenOut: string | null,
  evidence: boolean,
): DropReason | undefined => {
  if (tokenIn !== null && tokenIn === tokenOut) return 'same-token'
  return !evidence && (tokenIn === null || tokenOut === null) ? 'unknown-token' : undefined
}

interface Taken {
  readonly tx: Transaction
  readonly item: Waiting
  readonly decoded: DecodedSwap
  readonly protocol: string
  readonly trader: string
  readonly tokenIn: string | null
  readonly tokenOut: string | null
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

const swapOf = (taken: Taken): Swap => {
  const { tx, item, decoded } = taken
  const swap: Writable<Swap> = {
    kind: 'swap',
    txIndex: tx.index,
    logIndex: item.logIndex,
    pool: decoded.pool,
    protocol: taken.protocol,
    trader: taken.trader,
    tokenIn: taken.tokenIn,
    tokenOut: taken.tokenOut,
    amountInRaw: decoded.amountInRaw,
    amountOutRaw: decoded.amountOutRaw,
  }
  if (decoded.vault !== undefined) swap.vault = decoded.vault
  if (item.reserves !== undefined) swap.reserves = item.reserves
  if (decoded.reservesInOut !== undefined) swap.reservesInOut = decoded.reservesInOut
  if (decoded.sqrtPriceX96 !== undefined) swap.sqrtPriceX96 = decoded.sqrtPriceX96
  if (decoded.liquidityRaw !== undefined) swap.liquidityRaw = decoded.liquidityRaw
  if (decoded.tick !== undefined) swap.tick = decoded.tick
  if (decoded.bins !== undefined) swap.bins = decoded.bins
  return swap
}

/** Notes that the log was not taken, and why. */
export const drop = (
  { tx, out }: Scope,
  { family, logIndex }: SwapPosition,
  reason: DropReason,
): void => {
  out.dropped.push({ reason, txHash: tx.hash, logIndex, protocol: family })
}
