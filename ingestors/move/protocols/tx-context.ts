import { type MoveType, parseMoveType } from '../../../core/move-type.ts'
import { CHAINS } from '../../../schemas/chains.ts'
import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type {
  MoveEvent,
  MoveObject,
  MoveTransaction,
  PoolMetadata,
} from '../../../schemas/events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import type { DecodeContext, DecodedBlockBuilder } from '../../decode/contract.ts'

/** The chain's coin: trades, balances and transfers name it alike, it has no wrapped form. */
export const { nativeAddress: SUI_COIN_TYPE } = CHAINS.sui

/** One transaction while its events are read in order. */
export interface MoveTxContext {
  readonly tx: MoveTransaction
  readonly out: DecodedBlockBuilder
  readonly context: DecodeContext
  /** Pools that the block showed so far. */
  readonly poolsInBlock: Map<string, PoolMetadata>
  /** Objects that the transaction wrote by id, made when the first one is asked for. */
  writtenObjects: ReadonlyMap<string, MoveObject> | undefined
}

/** An event of a listed package. */
export interface ListedEvent {
  readonly row: ProtocolRow
  readonly event: MoveEvent
}

/** Coins in the pool's own order. */
export type CoinPair = readonly [a: string, b: string]

/**
 * Coins of a pool: the block showed it, its object's type names them, a fact is known, or, without a node to ask, the calls
 * that take it agree on them. undefined: nothing tells.
 */
export const poolCoins = (
  scope: MoveTxContext,
  listed: ListedEvent,
  pool: string,
): CoinPair | undefined => {
  const { context, poolsInBlock } = scope
  const shown = verifiedCoins(poolsInBlock.get(pool))
  if (shown !== undefined) return shown
  const typed = coinsFromWrittenObject(scope, listed.row, pool)
  if (typed !== undefined) {
    registerPool(scope, listed, { pool, coins: typed })
    return typed
  }
  const known = verifiedCoins(context.pool(pool))
  if (known !== undefined) return known
  return context.verification === 'evidence' ? coinsFromCalls(scope, pool) : undefined
}

/** Coins of a pool that the block showed or a fact tells. */
export const knownCoins = (
  { context, poolsInBlock }: MoveTxContext,
  pool: string,
): CoinPair | undefined =>
  verifiedCoins(poolsInBlock.get(pool)) ?? verifiedCoins(context.pool(pool))

const verifiedCoins = (metadata: PoolMetadata | undefined): CoinPair | undefined =>
  metadata?.verified === true ? [metadata.tokenA, metadata.tokenB] : undefined

/** A listed package shows a pool, which proves it: keeps what is not known yet. */
export const registerPool = (
  { out, context, poolsInBlock }: MoveTxContext,
  { row, event }: ListedEvent,
  { pool, coins: [tokenA, tokenB], feePips }: RegisteredPool,
): void => {
  const metadata: PoolMetadata = {
    address: pool,
    tokenA,
    tokenB,
    protocol: row.id,
    factory: definingPackage(row, event),
    feePips: feePips ?? row.feePips ?? null,
    verified: true,
  }
  poolsInBlock.set(pool, metadata)
  const known = context.pool(pool)
  if (known?.verified !== true || known.tokenA !== tokenA) out.pools.push(metadata)
}

/** The package that defines a row's pools stands first; later ones only define some of its events. */
const definingPackage = ({ factories }: ProtocolRow, event: MoveEvent): string => {
  const [first = event.package, ...later] = factories.sui ?? []
  return later.includes(event.package) ? first : event.package
}

interface RegisteredPool {
  readonly pool: string
  readonly coins: CoinPair
  /** Hundredths of a basis point. */
  readonly feePips?: number | undefined
}

/** A fee in millionths as an event says it; undefined for one that cannot be. */
export const feePipsOf = (fee: bigint | undefined): number | undefined =>
  fee !== undefined && fee > 0n && fee <= 1_000_000n ? Number(fee) : undefined

/** Pools of all families but Aftermath's are objects of the type `pool::Pool<A, B, …>` of the package that logs for them. */
const POOL_TYPE = 'pool::Pool'

/** Coins by the type of the pool's object, where the transaction wrote it. */
export const coinsFromWrittenObject = (
  scope: MoveTxContext,
  row: ProtocolRow,
  pool: string,
): CoinPair | undefined => {
  scope.writtenObjects ??= new Map(scope.tx.objects.map((object) => [object.id, object]))
  const type = parseMoveType(scope.writtenObjects.get(pool)?.type ?? '')
  if (type === undefined || scope.context.protocols.factory(type.package)?.id !== row.id)
    return undefined
  return coinsFromPoolType(type)
}

/** Coins of a pool by the type of its object; undefined for an object that is not a pool. Who defined the type is the caller's to check. */
export const coinsFromPoolType = ({ name, typeArguments }: MoveType): CoinPair | undefined =>
  name === POOL_TYPE ? firstTwoCoins(typeArguments) : undefined

/** The first two of a pool's types are its coins; a third is a fee. */
const firstTwoCoins = ([a, b]: readonly string[]): CoinPair | undefined =>
  a === undefined || b === undefined ? undefined : [a, b]

/** Routers may call for several pools at once: only calls for two coins, and a fee perhaps, tell something. */
const coinsFromCalls = ({ tx }: MoveTxContext, pool: string): CoinPair | undefined => {
  let found: CoinPair | undefined
  for (const { objects, typeArguments } of tx.calls) {
    if (!objects.includes(pool)) continue
    const coins = typeArguments.length > 3 ? undefined : firstTwoCoins(typeArguments)
    if (coins === undefined) return undefined
    if (found !== undefined && String(found) !== String(coins)) return undefined
    found = coins
  }
  return found
}

/** Notes that an event was not taken, and why. */
export const recordDropped = (
  { tx, out }: MoveTxContext,
  { row, event }: ListedEvent,
  reason: DropReason,
): void => {
  out.dropped.push({ reason, txHash: tx.hash, logIndex: event.index, protocol: row.id })
}
