import type { PoolMetadata, Swap, Transaction } from '../../../schemas/events.ts'
import { type ProtocolRow, protocolRow } from '../../../schemas/protocols.ts'
import type { Books, Draft } from '../../decode/contract.ts'
import { type ProtocolBook, speaks } from '../../decode/protocol-registry.ts'
import type { EvmFamily, Leg, SaidChange, SaidSwap } from '../protocols/types.ts'
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
  readonly out: Draft
  readonly books: Books
  readonly protocols: ProtocolBook
  /** Pools that listed factories made in this block so far. */
  readonly made: Map<string, PoolMetadata>
  /** Square root prices that listed contracts told of their pools in this block so far. */
  readonly prices: Map<string, bigint>
}

/** Which log of which family. */
export interface Place {
  readonly family: EvmFamily['family']
  readonly logIndex: number
}

/** A swap or change that waits until its transaction has been read to the end. */
export interface Waiting extends Place {
  readonly said: SaidSwap | SaidChange
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
export interface Ended {
  readonly waiting: readonly Waiting[]
  readonly operations: readonly Operation[]
  /** Place of the transaction's first transfer among all that were taken so far. */
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
export const settle = (scope: Scope, { waiting, operations, firstTransfer }: Ended): void => {
  const { tx, out, protocols } = scope
  const evidence = scope.books.proof === 'evidence'
  const sortable: Sortable = { from: firstTransfer, flows: undefined }
  let next = 0
  for (const item of waiting) {
    while ((operations[next]?.logIndex ?? Number.POSITIVE_INFINITY) < item.logIndex) next += 1
    const { said, logIndex, reserves } = item
    const told = said.kind === 'swap' ? said.trader : undefined
    const trader = told ?? operations[next]?.sender ?? tx.from
    const pool = identify(scope, item, evidence ? flowsIn(scope, sortable) : undefined)
    if (typeof pool === 'string') {
      drop(scope, item, pool)
      continue
    }
    if (said.kind === 'swap') {
      const tokenIn = traded(protocols, tokenOfLeg(pool, said.tokenIn, pool.seen?.tokenIn))
      const tokenOut = traded(protocols, tokenOfLeg(pool, said.tokenOut, pool.seen?.tokenOut))
      const reason = unusable(tokenIn, tokenOut, evidence)
      if (reason !== undefined) drop(scope, item, reason)
      else if (!isRoute(said, tx, out.swaps))
        out.swaps.push(
          swapOf({ tx, item, said, protocol: pool.protocol, trader, tokenIn, tokenOut }),
        )
      continue
    }
    const tokenOf = (leg: Leg): string | null =>
      isPaid(leg)
        ? paidCoin(paidToken(said, leg.paidOutRaw, flowsIn(scope, sortable)), pool)
        : traded(protocols, tokenOfLeg(pool, leg))
    const changes = changesOf(said, { coins: coinsOf(pool), tokenOf, reserves })
    if (changes === undefined) drop(scope, item, 'unknown-token')
    else {
      const { vault } = said
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
  readonly seen?: SwapTokens
}

const UNKNOWN = { tokenA: null, tokenB: null } as const

const coinsOf = ({ coins, tokenA, tokenB }: Identity): readonly (string | null)[] =>
  coins ?? [tokenA, tokenB]

/** Which pool this is, or why it does not count. */
const identify = (
  scope: Scope,
  { said, family, reserves, holder }: Waiting,
  flows: Flows | undefined,
): Identity | string => {
  const fact = poolFact(scope, said.pool)
  if (fact !== undefined && isProven(fact)) {
    const row = protocolRow(fact.protocol)
    return row && speaks(row, family) ? fact : 'unlisted-contract'
  }
  const protocol = holder?.id ?? said.usual
  if (holder !== undefined && tellsTokens(said)) return { protocol, ...UNKNOWN }
  if (flows === undefined) return fact === undefined ? 'unknown-pool' : 'unproven-pool'
  if (said.kind === 'change') {
    const coins = changedTokens(said, flows)
    return coins === undefined
      ? 'no-matching-transfers'
      : { protocol, tokenA: coins[0] ?? null, tokenB: coins[1] ?? null, coins }
  }
  const seen = swapTokens(said, flows)
  if (seen !== undefined) return { protocol, ...UNKNOWN, seen }
  return holder !== undefined || reserves !== undefined
    ? { protocol, ...UNKNOWN }
    : 'no-matching-transfers'
}

/** What is known of a pool so far, in this block or before it. */
export const poolFact = ({ made, books }: Scope, address: string): PoolMetadata | undefined =>
  (made.size > 0 ? made.get(address) : undefined) ?? books.pool(address)

const isProven = (fact: PoolMetadata): fact is PoolMetadata & { readonly protocol: string } =>
  fact.proven && fact.protocol !== null

/** The event names its tokens itself. */
const tellsTokens = (said: SaidSwap | SaidChange): boolean =>
  said.kind === 'swap'
    ? typeof said.tokenIn === 'string' && typeof said.tokenOut === 'string'
    : said.legs?.every((leg) => typeof leg === 'string') === true

/** Address behind a leg of a pool's event. What the event does not name itself may have been seen in transfers. */
const tokenOfLeg = (pool: Identity, leg: Leg, seen?: string | null): string | null | undefined => {
  if (typeof leg === 'string') return leg
  return seen === undefined ? placed(pool, leg) : seen
}

/** The token as trades name it; null where it is not known. */
const traded = (protocols: ProtocolBook, token: string | null | undefined): string | null =>
  token === null || token === undefined ? null : protocols.traded(token)

const placed = (pool: Identity, leg: Exclude<Leg, string>): string | null | undefined => {
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
): string | undefined => {
  if (tokenIn !== null && tokenIn === tokenOut) return 'same-token'
  return !evidence && (tokenIn === null || tokenOut === null) ? 'unknown-token' : undefined
}

interface Taken {
  readonly tx: Transaction
  readonly item: Waiting
  readonly said: SaidSwap
  readonly protocol: string
  readonly trader: string
  readonly tokenIn: string | null
  readonly tokenOut: string | null
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

const swapOf = (taken: Taken): Swap => {
  const { tx, item, said } = taken
  const swap: Writable<Swap> = {
    kind: 'swap',
    txIndex: tx.index,
    logIndex: item.logIndex,
    pool: said.pool,
    protocol: taken.protocol,
    trader: taken.trader,
    tokenIn: taken.tokenIn,
    tokenOut: taken.tokenOut,
    amountInRaw: said.amountInRaw,
    amountOutRaw: said.amountOutRaw,
  }
  if (said.vault !== undefined) swap.vault = said.vault
  if (item.reserves !== undefined) swap.reserves = item.reserves
  if (said.reservesInOut !== undefined) swap.reservesInOut = said.reservesInOut
  if (said.sqrtPriceX96 !== undefined) swap.sqrtPriceX96 = said.sqrtPriceX96
  if (said.liquidityRaw !== undefined) swap.liquidityRaw = said.liquidityRaw
  return swap
}

/** Notes that the log was not taken, and why. */
export const drop = ({ tx, out }: Scope, { family, logIndex }: Place, reason: string): void => {
  out.dropped.push({ reason, txHash: tx.hash, logIndex, protocol: family })
}
