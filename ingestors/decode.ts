import type { Block, Decoded, PoolChange, PoolFact, Swap, Transaction } from '../schemas/events.ts'
import { protocolRow } from '../schemas/protocols.ts'
import { type Flows, flowsOf, poolTokens, swapTokens } from './evidence.ts'
import { eventOf } from './protocols/all.ts'
import type { ProtocolBook } from './protocols/book.ts'
import type {
  EvmFamily,
  Leg,
  Said,
  SaidChange,
  SaidPool,
  SaidSwap,
  SaidTransfer,
} from './protocols/types.ts'
import { wordCount } from './protocols/words.ts'

/** What decoding may look up. */
export interface Books {
  /**
   * `facts`: a pool counts when its fact is `proven`. `evidence` (no node, R39): also when its transaction shows tokens going
   * in and out of it, or, V2-shaped, its own `Sync`.
   */
  readonly proof: 'facts' | 'evidence'
  readonly protocols: ProtocolBook
  pool(address: string): PoolFact | undefined
}

/** Whose facts a block's events need. */
export interface Subjects {
  readonly pools: readonly { readonly address: string; readonly family: string }[]
  readonly tokens: readonly string[]
}

/**
 * Events of a block in log order, one swap per pool hop; contract/chains.md 2. Pure. What has the shape of a known event and
 * cannot be taken is in `dropped`: nothing that a chain says throws.
 */
export const decodeBlock = (block: Block, books: Books): Decoded => {
  const out: Draft = {
    swaps: [],
    poolChanges: [],
    transfers: [],
    pools: [],
    dropped: [],
  }
  const made = new Map<string, PoolFact>()
  for (const tx of block.transactions) {
    if (tx.success && tx.logs.length > 0) decodeTransaction({ tx, books, made, out })
  }
  return out
}

/** Pools and tokens that events of the block name, each once; what is already known is the caller's to leave out. */
export const subjectsOf = (block: Block): Subjects => {
  const pools = new Map<string, string>()
  const tokens = new Set<string>()
  for (const { success, logs } of block.transactions) {
    if (!success) continue
    for (const log of logs) {
      const found = eventOf(log)
      if (found?.event.by === 'pool') pools.set(log.address, found.family.family)
      else if (found?.event.by === 'token') tokens.add(log.address)
    }
  }
  return {
    pools: [...pools].map(([address, family]) => ({ address, family })),
    tokens: [...tokens],
  }
}

type Draft = { [K in keyof Decoded]: Decoded[K][number][] }

interface Scope {
  readonly tx: Transaction
  readonly books: Books
  /** Pools that listed factories made in this block so far. */
  readonly made: Map<string, PoolFact>
  readonly out: Draft
}

interface Place {
  readonly family: EvmFamily['family']
  readonly logIndex: number
}

/** A swap or change that waits until its transaction has been read to the end. */
interface Waiting extends Place {
  readonly said: SaidSwap | SaidChange
  readonly reserves: readonly [bigint, bigint] | undefined
}

interface Operation {
  readonly sender: string
  readonly logIndex: number
}

const SHORT: Said = { kind: 'refused', reason: 'short-data' }
const NONE: readonly never[] = []

const decodeTransaction = (scope: Scope): void => {
  const { tx, out } = scope
  const firstTransfer = out.transfers.length
  const waiting: Waiting[] = []
  let operations: Operation[] | undefined
  let synced: Map<string, readonly [bigint, bigint]> | undefined
  for (const log of tx.logs) {
    const found = eventOf(log)
    if (found === undefined) continue
    const said = wordCount(log.data) < found.event.words ? SHORT : found.event.read(log)
    if (said === undefined) continue
    const { family } = found.family
    const logIndex = log.index
    switch (said.kind) {
      case 'transfer':
        takeTransfer(scope, said, logIndex)
        break
      case 'reserves':
        synced ??= new Map()
        synced.set(said.pool, said.reserves)
        break
      case 'operation':
        operations ??= []
        operations.push({ sender: said.sender, logIndex })
        break
      case 'pool':
        waiting.push(...takePool(scope, said, { family, logIndex }))
        break
      case 'refused':
        drop(scope, { family, logIndex }, said.reason)
        break
      default:
        waiting.push({ said, family, logIndex, reserves: synced?.get(said.pool) })
        synced?.delete(said.pool)
    }
  }
  if (waiting.length > 0) settle(scope, { waiting, operations: operations ?? NONE, firstTransfer })
}

const takeTransfer = (
  { tx, books, out }: Scope,
  { token, from, to, amountRaw, wrap }: SaidTransfer,
  logIndex: number,
): void => {
  if (wrap && !books.protocols.isWrappedNative(token)) return
  out.transfers.push({
    kind: 'transfer',
    txIndex: tx.index,
    logIndex,
    token,
    from,
    to,
    amountRaw,
    wrap,
  })
}

/** A pool that a listed factory of its family made is proven from here on; some pools trade at once. */
const takePool = (
  { books, made, out }: Scope,
  { pool, tokens, factory, feePips, opens }: SaidPool,
  place: Place,
): readonly Waiting[] => {
  const row = books.protocols.factory(factory)
  if (row?.family !== place.family) return []
  const fact: PoolFact = {
    address: pool,
    tokenA: tokens[0],
    tokenB: tokens[1],
    protocol: row.id,
    factory,
    feePips: feePips ?? row.feePips ?? null,
    proven: true,
  }
  made.set(pool, fact)
  out.pools.push(fact)
  const said = { kind: 'change', pool, usual: row.id, change: 'initialize' } as const
  return opens ? [{ ...place, said: { ...said, amountsRaw: [0n, 0n] }, reserves: undefined }] : []
}

interface Ended {
  readonly waiting: readonly Waiting[]
  readonly operations: readonly Operation[]
  /** Where the transaction's transfers start in the block's. */
  readonly firstTransfer: number
}

/** Takes or drops what waited, in log order. An ERC-4337 operation is logged after all that it did. */
const settle = (scope: Scope, { waiting, operations, firstTransfer }: Ended): void => {
  const { tx, books, out } = scope
  const flows = books.proof === 'evidence' ? flowsOf(out.transfers.slice(firstTransfer)) : undefined
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
  { made, books }: Scope,
  { said, family, reserves }: Waiting,
  flows: Flows | undefined,
): Identity | string => {
  const fact = made.get(said.pool) ?? books.pool(said.pool)
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

const drop = ({ tx, out }: Scope, { family, logIndex }: Place, reason: string): void => {
  out.dropped.push({ reason, txHash: tx.hash, logIndex, protocol: family })
}
