import type { PoolChange, PoolFact, Swap, Transaction, Transfer } from '../../schemas/events.ts'
import { protocolRow } from '../../schemas/protocols.ts'
import type { Draft } from '../decode-contract.ts'
import type { EvmFamily, Leg, SaidChange, SaidSwap } from '../protocols/types.ts'
import { type Flows, flowsOf, poolTokens, swapTokens } from './evidence.ts'

/** One transaction, where its events go, and what is known of pools at this point of the chain. */
export interface Scope {
  readonly tx: Transaction
  readonly out: Draft
  readonly evidence: boolean
  readonly poolFact: (address: string) => PoolFact | undefined
}

/** Which log of which family. */
export interface Place {
  readonly family: EvmFamily['family']
  readonly logIndex: number
}

/** A swap or change that waits until its transaction has been read to the end. */
export interface Waiting extends Place {
  readonly said: SaidSwap | SaidChange
  readonly reserves: readonly [bigint, bigint] | undefined
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
  readonly transfers: readonly Transfer[]
}

/** Takes or drops what waited, in log order. An ERC-4337 operation is logged after all that it did. */
export const settle = (scope: Scope, { waiting, operations, transfers }: Ended): void => {
  const { tx, out } = scope
  const flows = scope.evidence ? flowsOf(transfers) : undefined
  let next = 0
  for (const item of waiting) {
    while ((operations[next]?.logIndex ?? Number.POSITIVE_INFINITY) < item.logIndex) next += 1
    const trader = operations[next]?.sender ?? tx.from
    const pool = identify(scope, item, flows)
    const { said } = item
    if (typeof pool === 'string') drop(scope, item, pool)
    else if (said.kind === 'swap') out.swaps.push(swapOf({ tx, item, said, pool, trader }))
    else if (isNamed(pool)) out.poolChanges.push(changeOf({ tx, item, said, pool, trader }))
    else drop(scope, item, 'unknown-token')
  }
}

/** Protocol row id of a pool and its tokens in its own order, null where they are not known. */
interface Identity {
  readonly protocol: string
  readonly tokenA: string | null
  readonly tokenB: string | null
}

/** Which pool this is, or why it does not count; contract/chains.md 2.8 and 2.9. */
const identify = (
  { poolFact }: Scope,
  { said, family, reserves }: Waiting,
  flows: Flows | undefined,
): Identity | string => {
  const fact = poolFact(said.pool)
  if (fact !== undefined && isProven(fact)) {
    return protocolRow(fact.protocol)?.family === family ? fact : 'foreign-event'
  }
  if (flows === undefined) return fact === undefined ? 'unknown-pool' : 'unproven-pool'
  const tokens = said.kind === 'swap' ? swapTokens(said, flows) : poolTokens(said.pool, flows)
  if (tokens !== undefined) {
    return { protocol: said.usual, tokenA: tokens[0], tokenB: tokens[1] }
  }
  if (said.kind === 'swap' && reserves) return { protocol: said.usual, tokenA: null, tokenB: null }
  return 'no-evidence'
}

const isProven = (fact: PoolFact): fact is PoolFact & { readonly protocol: string } =>
  fact.proven && fact.protocol !== null

type Named = Identity & { readonly tokenA: string; readonly tokenB: string }

const isNamed = (pool: Identity): pool is Named => pool.tokenA !== null && pool.tokenB !== null

interface Taken<What, Pool> {
  readonly tx: Transaction
  readonly item: Waiting
  readonly said: What
  readonly pool: Pool
  readonly trader: string
}

const tokenOf = (leg: Leg, { tokenA, tokenB }: Identity): string | null =>
  leg === 0 ? tokenA : leg === 1 ? tokenB : leg

type Writable<T> = { -readonly [K in keyof T]: T[K] }

const swapOf = ({ tx, item, said, pool, trader }: Taken<SaidSwap, Identity>): Swap => {
  const swap: Writable<Swap> = {
    kind: 'swap',
    txIndex: tx.index,
    logIndex: item.logIndex,
    pool: said.pool,
    protocol: pool.protocol,
    trader,
    tokenIn: tokenOf(said.tokenIn, pool),
    tokenOut: tokenOf(said.tokenOut, pool),
    amountInRaw: said.amountInRaw,
    amountOutRaw: said.amountOutRaw,
  }
  if (item.reserves !== undefined) swap.reserves = item.reserves
  if (said.sqrtPriceX96 !== undefined) swap.sqrtPriceX96 = said.sqrtPriceX96
  if (said.liquidityRaw !== undefined) swap.liquidityRaw = said.liquidityRaw
  return swap
}

const changeOf = ({ tx, item, said, pool, trader }: Taken<SaidChange, Named>): PoolChange => ({
  kind: said.change,
  txIndex: tx.index,
  logIndex: item.logIndex,
  pool: said.pool,
  protocol: pool.protocol,
  owner: trader,
  tokenA: pool.tokenA,
  tokenB: pool.tokenB,
  amountARaw: said.amountsRaw[0],
  amountBRaw: said.amountsRaw[1],
  ...(item.reserves && { reserves: item.reserves }),
})

/** Notes that the log was not taken, and why. */
export const drop = ({ tx, out }: Scope, { family, logIndex }: Place, reason: string): void => {
  out.dropped.push({ reason, txHash: tx.hash, logIndex, protocol: family })
}
