import type { DecodedBlock, EvmBlock, PoolMetadata, Transfer } from '../../../schemas/events.ts'
import { type ProtocolRow, protocolRow } from '../../../schemas/protocols.ts'
import { type Books, emptyDraft, type PriceSubject, type Subjects } from '../../decode/contract.ts'
import type { ProtocolBook } from '../../decode/protocol-registry.ts'
import { wordCount } from '../abi/words.ts'
import { standingLogs } from '../normalize/fee-logs.ts'
import { eventOf, spokenEvent } from '../protocols/families.ts'
import type {
  Said,
  SaidBirth,
  SaidChange,
  SaidPool,
  SaidReserves,
  SaidTransfer,
} from '../protocols/types.ts'
import { type Launch, takeLaunches } from './launches.ts'
import { positionChange } from './positions.ts'
import { type Predicted, takePredictions } from './predictions.ts'
import {
  drop,
  type Operation,
  type Place,
  poolFact,
  type Scope,
  settle,
  type Waiting,
} from './resolve-swaps.ts'
import { supplyChange, tokenBirth } from './token-creations.ts'

/**
 * Events of a block in log order, one swap per pool hop. Pure. What has the shape of a known event and
 * cannot be taken is in `dropped`: nothing that a chain says throws.
 */
export const decodeEvmBlock = (block: EvmBlock, books: Books): DecodedBlock => {
  const out = emptyDraft()
  const made = new Map<string, PoolMetadata>()
  const prices = new Map<string, bigint>()
  const { protocols } = books
  for (const tx of block.transactions) {
    const logs = standingLogs(block.chain, tx)
    if (logs.length === 0) continue
    const standing = tx.success ? tx : { ...tx, logs }
    decodeTransaction({ tx: standing, out, books, protocols, made, prices })
  }
  return out
}

/**
 * Pools and tokens that events of the block name, each once; what is already known is the caller's to leave out. Whom a
 * contract that is not listed speaks for is not asked about: it would be asked as a pool of the wrong kind. Prices are those that
 * no swap tells earlier in the block.
 */
export const evmSubjects = (block: EvmBlock, protocols: ProtocolBook): Subjects => {
  const pools = new Map<string, string>()
  const tokens = new Set<string>()
  const prices = new Map<string, PriceSubject>()
  const told = new Set<string>()
  for (const { success, logs } of block.transactions) {
    if (!success) continue
    for (const log of logs) {
      const found = eventOf(log)
      if (found === undefined) continue
      const { event, family } = found
      if (event.by === 'pool') pools.set(log.address, family.family)
      else if (event.by === 'token') tokens.add(log.address)
      else if (event.pool !== undefined) {
        const row = protocols.factory(log.address)
        const spoken = spokenEvent(found, row)
        if (row?.family !== spoken.name || wordCount(log.data) < spoken.words) continue
        const pool = event.pool(log)
        pools.set(pool, spoken.name)
        for (const token of event.tokens?.(log) ?? []) tokens.add(protocols.traded(token))
        if (event.price === 'told') told.add(pool)
        else if (event.price === 'asked' && !told.has(pool)) {
          prices.set(pool, { pool, manager: log.address, family: spoken.name })
        }
      }
    }
  }
  return {
    pools: [...pools].map(([address, family]) => ({ address, family })),
    tokens: [...tokens],
    ...(prices.size > 0 && { prices: [...prices.values()] }),
  }
}

const NONE: readonly never[] = []
const SHORT: Said = { kind: 'refused', reason: 'truncated-data' }

/** What was read from a transaction and waits for its end. Most hold one swap or nothing: no list is made ahead. */
interface Held {
  waiting: Waiting[] | undefined
  operations: Operation[] | undefined
  launches: Launch[] | undefined
  predicted: Predicted[] | undefined
  /** By pool: reserves that wait for the event that left them. */
  synced: Map<string, readonly [bigint, bigint]> | undefined
  /** By pool: a swap that waits for the reserves that it left. */
  unsynced: Map<string, Waiting> | undefined
}

const decodeTransaction = (scope: Scope): void => {
  const { tx, out, protocols } = scope
  const firstTransfer = out.transfers.length
  const firstSwap = out.swaps.length
  const firstChange = out.poolChanges.length
  const held: Held = {
    waiting: undefined,
    operations: undefined,
    launches: undefined,
    predicted: undefined,
    synced: undefined,
    unsynced: undefined,
  }
  for (const log of tx.logs) {
    const shape = eventOf(log)
    if (shape === undefined) continue
    const { by } = shape
    const spoken = by === 'singleton' || by === 'factory' || by === 'listed'
    const row = spoken ? protocols.factory(log.address) : undefined
    const found = spoken ? spokenEvent(shape, row) : shape
    const family = found.name
    if (by === 'listed' && row?.family !== family) continue
    const said = wordCount(log.data) < found.words ? SHORT : found.read(log)
    if (said === undefined) continue
    const heard: Heard = { family, logIndex: log.index, said, row, from: log.address }
    if (by === 'singleton' && row?.family !== family) drop(scope, heard, 'unlisted-contract')
    else take(scope, held, heard)
  }
  if (tx.contractAddress !== null) {
    const birth = tokenBirth(tx, out.transfers.slice(firstTransfer), scope.books)
    if (birth !== undefined) out.births.push(birth)
  }
  const { waiting, operations = NONE, launches, predicted } = held
  if (waiting) settle(scope, { waiting, operations, firstTransfer })
  if (launches) takeLaunches(scope, launches, { swap: firstSwap, change: firstChange })
  if (predicted) takePredictions(scope, predicted, out.transfers.slice(firstTransfer))
}

/** What a log says, who said it, and the protocol that lists it where that counts. */
interface Heard extends Place {
  readonly said: Said
  readonly from: string
  readonly row: ProtocolRow | undefined
}

/** Hot: one object per log and no copies of it. */
const take = (scope: Scope, held: Held, heard: Heard): void => {
  const { said, row } = heard
  switch (said.kind) {
    case 'transfer':
      takeTransfer(scope, said, heard.logIndex)
      break
    case 'reserves':
      takeReserves(held, said)
      break
    case 'operation':
      held.operations ??= []
      held.operations.push({ sender: said.sender, logIndex: heard.logIndex })
      break
    case 'pool':
      wait(held, takePool(scope, said, placeOf(heard)))
      break
    case 'birth':
      if (row === undefined) break
      held.launches ??= []
      held.launches.push({ ...placeOf(heard), said, row })
      wait(held, takeCurve(scope, { ...placeOf(heard), said, row }, heard.from))
      break
    case 'migration':
      if (row === undefined) break
      held.launches ??= []
      held.launches.push({ ...placeOf(heard), said, row })
      break
    case 'prediction-trade':
    case 'prediction-management':
    case 'prediction-settlement':
    case 'outcomes':
    case 'deal':
      held.predicted ??= []
      held.predicted.push({ ...placeOf(heard), said, row })
      break
    case 'refused':
      drop(scope, heard, said.reason)
      break
    case 'position':
      wait(held, positionChange(scope, said, heard))
      break
    default:
      if (said.kind === 'swap' && said.sqrtPriceX96 !== undefined && row !== undefined) {
        scope.prices.set(said.pool, said.sqrtPriceX96)
      }
      takeMove(scope, held, {
        family: heard.family,
        logIndex: heard.logIndex,
        said,
        reserves: held.synced?.get(said.pool),
        holder: row,
      })
  }
}

/** Each statement of reserves serves one event: the pool's swap that waits for it, or the pool's next event. */
const takeReserves = (held: Held, { pool, reserves }: SaidReserves): void => {
  const swap = held.unsynced?.get(pool)
  if (swap === undefined) {
    held.synced ??= new Map()
    held.synced.set(pool, reserves)
    return
  }
  swap.reserves = reserves
  held.unsynced?.delete(pool)
}

const takeMove = (scope: Scope, held: Held, item: Waiting): void => {
  const { pool, kind } = item.said
  held.synced?.delete(pool)
  held.unsynced?.delete(pool)
  if (kind === 'swap' && scope.protocols.swapsFirst && isSwapFirst(scope, pool)) {
    item.reserves = undefined
    held.unsynced ??= new Map()
    held.unsynced.set(pool, item)
  }
  wait(held, item)
}

const isSwapFirst = (scope: Scope, pool: string): boolean => {
  const protocol = poolFact(scope, pool)?.protocol ?? null
  return protocol !== null && protocolRow(protocol)?.swapsFirst === true
}

const wait = (held: Held, item: Waiting | undefined): void => {
  if (item === undefined) return
  if (held.waiting === undefined) held.waiting = [item]
  else held.waiting.push(item)
}

const placeOf = ({ family, logIndex }: Heard): Place => ({ family, logIndex })

const takeTransfer = (
  { tx, protocols, out }: Scope,
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
  { protocols, made, out, prices }: Scope,
  { pool, tokens, factory, vault, feePips, opens, sqrtPriceX96 }: SaidPool,
  place: Place,
): Waiting | undefined => {
  const row = protocols.factory(factory)
  const coins = tokens.map(protocols.traded)
  const [tokenA, tokenB] = coins
  if (row?.family !== place.family || tokenA === undefined || tokenB === undefined) {
    return undefined
  }
  const fact: PoolMetadata = {
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
  if (sqrtPriceX96 !== undefined) prices.set(pool, sqrtPriceX96)
  const opened = { kind: 'change', pool, usual: row.id, change: 'initialize' } as const
  const said = vault === undefined ? opened : { ...opened, vault }
  const waits = { reserves: undefined, holder: undefined }
  return opens ? { ...place, said: { ...said, amountsRaw: [0n, 0n] }, ...waits } : undefined
}

/** A curve that a listed launchpad made is proven where it says what the curve is paid in; some open at once. */
const takeCurve = (
  { protocols, made, out }: Scope,
  { said, row, family, logIndex }: Launch & { readonly said: SaidBirth },
  factory: string,
): Waiting | undefined => {
  const { token, pool, vault = factory, quote, opens } = said
  if (pool === null) return undefined
  if (quote !== undefined) {
    const fact: PoolMetadata = {
      address: pool,
      tokenA: token,
      tokenB: protocols.traded(quote),
      protocol: row.id,
      factory,
      feePips: row.feePips ?? null,
      proven: true,
    }
    made.set(pool, fact)
    out.pools.push(fact)
  }
  if (opens === undefined) return undefined
  const { tokensRaw } = opens
  const change: SaidChange = {
    kind: 'change',
    pool,
    vault,
    usual: row.id,
    change: 'initialize',
    amountsRaw: [tokensRaw ?? 0n, 0n],
    legs: [token, 1],
  }
  const reserves = tokensRaw === null ? undefined : ([tokensRaw, 0n] as const)
  return { family, logIndex, said: change, reserves, holder: row }
}
