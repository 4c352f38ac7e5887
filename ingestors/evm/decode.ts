import type { Decoded, EvmBlock, PoolFact, TokenFact, Transfer } from '../../schemas/events.ts'
import { type Books, emptyDraft, type Subjects } from '../decode-contract.ts'
import { eventOf } from '../protocols/all.ts'
import type { ProtocolBook } from '../protocols/book.ts'
import type { Said, SaidPool, SaidTransfer } from '../protocols/types.ts'
import { wordCount } from '../protocols/words.ts'
import { supplyChange, tokenBirth } from './births.ts'
import { drop, type Operation, type Place, type Scope, settle, type Waiting } from './settle.ts'

/**
 * Events of a block in log order, one swap per pool hop; contract/chains.md 2. Pure. What has the shape of a known event and
 * cannot be taken is in `dropped`: nothing that a chain says throws.
 */
export const decodeEvmBlock = (block: EvmBlock, books: Books): Decoded => {
  const out = emptyDraft()
  const made = new Map<string, PoolFact>()
  const { protocols } = books
  const evidence = books.proof === 'evidence'
  const poolFact = (address: string) =>
    (made.size > 0 ? made.get(address) : undefined) ?? books.pool(address)
  const tokenFact = (address: string) => books.token?.(address)
  for (const tx of block.transactions) {
    if (!tx.success || tx.logs.length === 0) continue
    decodeTransaction({ tx, out, evidence, poolFact, protocols, made, tokenFact })
  }
  return out
}

/**
 * Pools and tokens that events of the block name, each once; what is already known is the caller's to leave out. Whom a
 * contract that is not listed speaks for is not asked about: it would be asked as a pool of the wrong kind.
 */
export const evmSubjects = (block: EvmBlock, protocols: ProtocolBook): Subjects => {
  const pools = new Map<string, string>()
  const tokens = new Set<string>()
  for (const { success, logs } of block.transactions) {
    if (!success) continue
    for (const log of logs) {
      const found = eventOf(log)
      if (found === undefined) continue
      const { event, family } = found
      if (event.by === 'pool') pools.set(log.address, family.family)
      else if (event.by === 'token') tokens.add(log.address)
      else if (
        event.pool !== undefined &&
        protocols.factory(log.address)?.family === family.family
      ) {
        pools.set(event.pool(log), family.family)
      }
    }
  }
  return {
    pools: [...pools].map(([address, family]) => ({ address, family })),
    tokens: [...tokens],
  }
}

interface BlockScope extends Scope {
  readonly protocols: ProtocolBook
  /** Pools that listed factories made in this block so far. */
  readonly made: Map<string, PoolFact>
  readonly tokenFact: (address: string) => TokenFact | undefined
}

const SHORT: Said = { kind: 'refused', reason: 'short-data' }
const NONE: readonly never[] = []

const decodeTransaction = (scope: BlockScope): void => {
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
    const row = found.event.by === 'singleton' ? scope.protocols.factory(log.address) : undefined
    if (found.event.by === 'singleton' && row?.family !== family) {
      drop(scope, { family, logIndex }, 'foreign-event')
      continue
    }
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
        waiting.push({ said, family, logIndex, reserves: synced?.get(said.pool), holder: row })
        synced?.delete(said.pool)
    }
  }
  if (tx.contractAddress !== null) {
    const birth = tokenBirth(tx, out.transfers.slice(firstTransfer), scope.tokenFact)
    if (birth !== undefined) out.births.push(birth)
  }
  if (waiting.length === 0) return
  const transfers = out.transfers.slice(firstTransfer)
  settle(scope, { waiting, operations: operations ?? NONE, transfers })
}

const takeTransfer = (
  { tx, protocols, out }: BlockScope,
  { token: logger, from, to, amountRaw, wrap, leaves }: SaidTransfer,
  logIndex: number,
): void => {
  if (wrap && !protocols.isWrappedNative(logger)) return
  if (leaves && !protocols.isCoin(logger)) return
  const token = protocols.held(logger)
  const transfer: Transfer = {
    kind: 'transfer',
    txIndex: tx.index,
    logIndex,
    token,
    from,
    to,
    amountRaw,
    wrap,
  }
  out.transfers.push(transfer)
  const supply = token === logger ? supplyChange(transfer) : undefined
  if (supply !== undefined) out.supplies.push(supply)
}

/** A pool that a listed factory of its family made is proven from here on; some pools trade at once. */
const takePool = (
  { protocols, made, out }: BlockScope,
  { pool, tokens, factory, feePips, opens }: SaidPool,
  place: Place,
): readonly Waiting[] => {
  const row = protocols.factory(factory)
  const coins = tokens.map(protocols.traded)
  const [tokenA, tokenB] = coins
  if (row?.family !== place.family || tokenA === undefined || tokenB === undefined) return []
  const fact: PoolFact = {
    address: pool,
    tokenA,
    tokenB,
    ...(coins.length > 2 && { coins }),
    protocol: row.id,
    factory,
    feePips: feePips ?? row.feePips ?? null,
    proven: true,
  }
  made.set(pool, fact)
  out.pools.push(fact)
  const said = { kind: 'change', pool, usual: row.id, change: 'initialize' } as const
  const waits = { reserves: undefined, holder: undefined }
  return opens ? [{ ...place, said: { ...said, amountsRaw: [0n, 0n] }, ...waits }] : []
}
