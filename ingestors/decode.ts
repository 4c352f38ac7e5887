import type { Block, Decoded, PoolFact, Transaction, Transfer } from '../schemas/events.ts'
import { protocolRow } from '../schemas/protocols.ts'
import { type Flows, flowsOf, poolTokens, swapTokens } from './evidence.ts'
import { eventOf } from './protocols/all.ts'
import type { ProtocolBook } from './protocols/book.ts'
import type { EvmFamily, Leg, Said, SaidChange, SaidPool, SaidSwap } from './protocols/types.ts'
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

const decodeTransaction = (scope: Scope): void => {
  const { tx, books, out } = scope
  const firstTransfer = out.transfers.length
  const waiting: Waiting[] = []
  const operations: Operation[] = []
  const synced = new Map<string, readonly [bigint, bigint]>()
  for (const log of tx.logs) {
    const found = eventOf(log)
    if (found === undefined) continue
    const { family } = found.family
    const said = wordCount(log.data) < found.event.words ? SHORT : found.event.read(log)
    if (said === undefined) continue
    if (said.kind === 'transfer') {
      if (said.wrap && !books.protocols.isWrappedNative(said.token)) continue
      out.transfers.push({ ...said, txIndex: tx.index, logIndex: log.index })
    } else if (said.kind === 'reserves') synced.set(said.pool, said.reserves)
    else if (said.kind === 'operation') operations.push({ ...said, logIndex: log.index })
    else if (said.kind === 'refused') drop(scope, { family, logIndex: log.index }, said.reason)
    else if (said.kind === 'pool') {
      waiting.push(...takePool(scope, said, { family, logIndex: log.index }))
    } else {
      waiting.push({ said, family, logIndex: log.index, reserves: synced.get(said.pool) })
      synced.delete(said.pool)
    }
  }
  if (waiting.length > 0) {
    settle(scope, { waiting, operations, transfers: out.transfers.slice(firstTransfer) })
  }
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
  readonly transfers: readonly Transfer[]
}

/** Takes or drops what waited, in log order. An ERC-4337 operation is logged after all that it did. */
const settle = (scope: Scope, { waiting, operations, transfers }: Ended): void => {
  const flows = scope.books.proof === 'evidence' ? flowsOf(transfers) : undefined
  let next = 0
  for (const item of waiting) {
    while ((operations[next]?.logIndex ?? Number.POSITIVE_INFINITY) < item.logIndex) next += 1
    const trader = operations[next]?.sender ?? scope.tx.from
    const identity = identify(scope, item, flows)
    if (typeof identity === 'string') drop(scope, item, identity)
    else if (item.said.kind === 'swap')
      takeSwap(scope, item, { ...identity, said: item.said, trader })
    else takeChange(scope, item, { ...identity, said: item.said, trader })
  }
}

/** Protocol row id of a pool and its tokens in its own order, null where they are not known. */
interface Identity {
  readonly protocol: string
  readonly tokens: readonly [string | null, string | null]
}

/** Which pool this is, or why it does not count; contract/chains.md 2.8 and 2.9. */
const identify = (
  { made, books }: Scope,
  { said, family, reserves }: Waiting,
  flows: Flows | undefined,
): Identity | string => {
  const fact = made.get(said.pool) ?? books.pool(said.pool)
  if (fact?.proven && fact.protocol !== null) {
    if (protocolRow(fact.protocol)?.family !== family) return 'foreign-event'
    return { protocol: fact.protocol, tokens: [fact.tokenA, fact.tokenB] }
  }
  if (flows === undefined) return fact === undefined ? 'unknown-pool' : 'unproven-pool'
  const tokens = said.kind === 'swap' ? swapTokens(said, flows) : poolTokens(said.pool, flows)
  if (tokens !== undefined) return { protocol: said.usual, tokens }
  if (said.kind === 'swap' && reserves) return { protocol: said.usual, tokens: [null, null] }
  return 'no-evidence'
}

const takeSwap = (
  { tx, out }: Scope,
  { logIndex, reserves }: Waiting,
  { said, tokens, protocol, trader }: Identity & { said: SaidSwap; trader: string },
): void => {
  const token = (leg: Leg): string | null => (typeof leg === 'number' ? tokens[leg] : leg)
  out.swaps.push({
    kind: 'swap',
    txIndex: tx.index,
    logIndex,
    pool: said.pool,
    protocol,
    trader,
    tokenIn: token(said.tokenIn),
    tokenOut: token(said.tokenOut),
    amountInRaw: said.amountInRaw,
    amountOutRaw: said.amountOutRaw,
    ...(reserves && { reserves }),
    ...(said.sqrtPriceX96 !== undefined && { sqrtPriceX96: said.sqrtPriceX96 }),
    ...(said.liquidityRaw !== undefined && { liquidityRaw: said.liquidityRaw }),
  })
}

const takeChange = (
  scope: Scope,
  item: Waiting,
  { said, tokens, protocol, trader }: Identity & { said: SaidChange; trader: string },
): void => {
  const [tokenA, tokenB] = tokens
  if (tokenA === null || tokenB === null) return drop(scope, item, 'unknown-token')
  scope.out.poolChanges.push({
    kind: said.change,
    txIndex: scope.tx.index,
    logIndex: item.logIndex,
    pool: said.pool,
    protocol,
    owner: trader,
    tokenA,
    tokenB,
    amountARaw: said.amountsRaw[0],
    amountBRaw: said.amountsRaw[1],
    ...(item.reserves && { reserves: item.reserves }),
  })
}

const drop = ({ tx, out }: Scope, { family, logIndex }: Place, reason: string): void => {
  out.dropped.push({ reason, txHash: tx.hash, logIndex, protocol: family })
}
