import type { DecodedBlock, EvmBlock, PoolMetadata, Transfer } from '../../../schemas/events.ts'
import { type ProtocolRow, protocolRow } from '../../../schemas/protocols.ts'
import type { RedPacketReport } from '../../../schemas/red-packet-reports.ts'
import {
  type DecodeContext,
  emptyDecodedBlock,
  type PriceLookup,
  type RequiredLookups,
} from '../../decode/contract.ts'
import type { ProtocolRegistry } from '../../decode/protocol-registry.ts'
import { wordCount } from '../abi/words.ts'
import { effectiveLogs } from '../normalize/fee-logs.ts'
import { eventOf, eventOfEmitter } from '../protocols/families.ts'
import type {
  DecodedEvent,
  DecodedLiquidityChange,
  DecodedPoolCreated,
  DecodedSync,
  DecodedTokenLaunch,
  DecodedTransfer,
} from '../protocols/types.ts'
import { type Launch, takeLaunches } from './launches.ts'
import { positionChange } from './positions.ts'
import { type Predicted, takePredictions } from './predictions.ts'
import {
  drop,
  type Operation,
  poolMetadata,
  resolveSwaps,
  type Scope,
  type SwapPosition,
  type Waiting,
} from './resolve-swaps.ts'
import { supplyChange, tokenCreation } from './token-creations.ts'

/**
 * Events of a block in log order, one swap per pool hop. Pure. What has the shape of a known event and
 * cannot be taken is in `dropped`: nothing that a chain says throws.
 */
export const decodeEvmBlock = (block: EvmBlock, context: DecodeContext): DecodedBlock => {
  const out = emptyDecodedBlock()
  const made = new Map<string, PoolMetadata>()
  const prices = new Map<string, bigint>()
  const { protocols } = context
  for (const tx of block.transactions) {
    const logs = effectiveLogs(block.chain, tx)
    if (logs.length === 0) continue
    const standing = tx.success ? tx : { ...tx, logs }
    decodeTransaction({ tx: standing, out, context, protocols, made, prices })
  }
  return out
}

/**
 * Pools and tokens that events of the block name, each once; what is already known is the caller's to leave out. Whom a
 * contract that is not listed speaks for is not asked about: it would be asked as a pool of the wrong kind. Prices are those that
 * no swap tells earlier in the block.
 */
export const evmLookups = (block: EvmBlock, protocols: ProtocolRegistry): RequiredLookups => {
  const pools = new Map<string, string>()
  const tokens = new Set<string>()
  const prices = new Map<string, PriceLookup>()
  const reported = new Set<string>()
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
        const resolved = eventOfEmitter(found, row)
        if (row?.family !== resolved.name || wordCount(log.data) < resolved.words) continue
        const pool = event.pool(log)
        pools.set(pool, resolved.name)
        for (const token of event.tokens?.(log) ?? [])
          tokens.add(protocols.canonicalForTrades(token))
        if (event.price === 'emitted') reported.add(pool)
        else if (event.price === 'requested' && !reported.has(pool)) {
          prices.set(pool, { pool, manager: log.address, family: resolved.name })
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
const SHORT: DecodedEvent = { kind: 'invalid', reason: 'truncated-data' }

/** What was read from a transaction and waits for its end. Most hold one swap or nothing: no list is made ahead. */
interface PendingEvents {
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
  const pending: PendingEvents = {
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
    const resolved = by === 'singleton' || by === 'factory' || by === 'listed'
    const row = resolved ? protocols.factory(log.address) : undefined
    const found = resolved ? eventOfEmitter(shape, row) : shape
    const family = found.name
    if (by === 'listed' && row?.family !== family) continue
    const decoded = wordCount(log.data) < found.words ? SHORT : found.read(log)
    if (decoded === undefined) continue
    const decodedLog: DecodedLog = { family, logIndex: log.index, decoded, row, from: log.address }
    if (by === 'singleton' && row?.family !== family) drop(scope, decodedLog, 'unlisted-contract')
    else take(scope, pending, decodedLog)
  }
  if (tx.contractAddress !== null) {
    const creation = tokenCreation(tx, out.transfers.slice(firstTransfer), scope.context)
    if (creation !== undefined) out.tokenCreations.push(creation)
  }
  const { waiting, operations = NONE, launches, predicted } = pending
  if (waiting) resolveSwaps(scope, { waiting, operations, firstTransfer })
  if (launches) takeLaunches(scope, launches, { swap: firstSwap, change: firstChange })
  if (predicted) takePredictions(scope, predicted, out.transfers.slice(firstTransfer))
}

/** What a log says, who said it, and the protocol that lists it where that counts. */
interface DecodedLog extends SwapPosition {
  readonly decoded: DecodedEvent
  readonly from: string
  readonly row: ProtocolRow | undefined
}

/** Hot: one object per log and no copies of it. */
const take = (scope: Scope, pending: PendingEvents, decodedLog: DecodedLog): void => {
  const { decoded, row } = decodedLog
  switch (decoded.kind) {
    case 'transfer':
      takeTransfer(scope, decoded, decodedLog.logIndex)
      break
    case 'reserves':
      takeReserves(pending, decoded)
      break
    case 'operation':
      pending.operations ??= []
      pending.operations.push({ sender: decoded.sender, logIndex: decodedLog.logIndex })
      break
    case 'pool':
      wait(pending, takePool(scope, decoded, swapPosition(decodedLog)))
      break
    case 'token-created':
      if (row === undefined) break
      pending.launches ??= []
      pending.launches.push({ ...swapPosition(decodedLog), decoded, row })
      wait(
        pending,
        takeCurve(scope, { ...swapPosition(decodedLog), decoded, row }, decodedLog.from),
      )
      break
    case 'migration':
      if (row === undefined) break
      pending.launches ??= []
      pending.launches.push({ ...swapPosition(decodedLog), decoded, row })
      break
    case 'prediction-trade':
    case 'prediction-management':
    case 'prediction-settlement':
    case 'outcomes':
    case 'market-maker-trade':
    case 'fee-refund':
      pending.predicted ??= []
      pending.predicted.push({
        ...swapPosition(decodedLog),
        contract: decodedLog.from,
        decoded,
        row,
      })
      break
    case 'packet-created':
    case 'packet-claimed':
    case 'packet-refunded':
      takeRedPacket(scope, decoded, decodedLog)
      break
    case 'addresses-labelled':
      scope.out.labelChanges.push({
        ...decoded,
        txIndex: scope.tx.index,
        logIndex: decodedLog.logIndex,
        contract: decodedLog.from,
        protocol: row?.id ?? '',
      })
      break
    case 'invalid':
      drop(scope, decodedLog, decoded.reason)
      break
    case 'position':
      wait(pending, positionChange(scope, decoded, decodedLog))
      break
    default:
      if (decoded.kind === 'swap' && decoded.sqrtPriceX96 !== undefined && row !== undefined) {
        scope.prices.set(decoded.pool, decoded.sqrtPriceX96)
      }
      takeMove(scope, pending, {
        family: decodedLog.family,
        logIndex: decodedLog.logIndex,
        decoded,
        reserves: pending.synced?.get(decoded.pool),
        holder: row,
      })
  }
}

/** Only listed contracts are heard, so the row is there. */
const takeRedPacket = (scope: Scope, decoded: RedPacketReport, decodedLog: DecodedLog): void => {
  const { tx, out, protocols } = scope
  const { logIndex, from, row } = decodedLog
  const position = { txIndex: tx.index, logIndex, contract: from, protocol: row?.id ?? '' }
  const named = isNativePacket(scope, decoded, decodedLog) ? NATIVE_PLACEHOLDER : decoded.token
  if (decoded.kind === 'packet-created') {
    const token = protocols.canonicalForTrades(named ?? NATIVE_PLACEHOLDER)
    out.redPackets.push({ ...decoded, ...position, token })
  } else {
    const token = named === null ? null : protocols.canonicalForTrades(named)
    out.redPackets.push({ ...decoded, ...position, token })
  }
}

/** The chain's native token, as contracts that take tokens too name it. */
const NATIVE_PLACEHOLDER = `0x${'0'.repeat(40)}`

/**
 * HappyRedPacket logs the token that its caller names, also of a packet of the native token, which needs none: only a packet of a token moves it,
 * right before it is logged. Source: DimensionDev/RedPacket contracts/redpacket.sol.
 */
const isNativePacket = (
  { tx, out, protocols }: Scope,
  { kind, token: named }: RedPacketReport,
  { family, from: contract }: DecodedLog,
): boolean => {
  if (family !== 'happy_red_packet' || named === null || named === NATIVE_PLACEHOLDER) return false
  const token = protocols.canonicalForBalances(named)
  const last = out.redPackets.at(-1)
  const since = last?.txIndex === tx.index ? last.logIndex : -1
  const moved = out.transfers.findLast(
    (transfer) =>
      transfer.txIndex !== tx.index ||
      transfer.logIndex < since ||
      (transfer.token === token &&
        (kind === 'packet-created' ? transfer.to : transfer.from) === contract),
  )
  return moved === undefined || moved.txIndex !== tx.index || moved.logIndex < since
}

/** Each statement of reserves serves one event: the pool's swap that waits for it, or the pool's next event. */
const takeReserves = (pending: PendingEvents, { pool, reserves }: DecodedSync): void => {
  const swap = pending.unsynced?.get(pool)
  if (swap === undefined) {
    pending.synced ??= new Map()
    pending.synced.set(pool, reserves)
    return
  }
  swap.reserves = reserves
  pending.unsynced?.delete(pool)
}

const takeMove = (scope: Scope, pending: PendingEvents, item: Waiting): void => {
  const { pool, kind } = item.decoded
  pending.synced?.delete(pool)
  pending.unsynced?.delete(pool)
  if (kind === 'swap' && scope.protocols.swapsFirst && isSwapFirst(scope, pool)) {
    item.reserves = undefined
    pending.unsynced ??= new Map()
    pending.unsynced.set(pool, item)
  }
  wait(pending, item)
}

const isSwapFirst = (scope: Scope, pool: string): boolean => {
  const protocol = poolMetadata(scope, pool)?.protocol ?? null
  return protocol !== null && protocolRow(protocol)?.swapsFirst === true
}

const wait = (pending: PendingEvents, item: Waiting | undefined): void => {
  if (item === undefined) return
  if (pending.waiting === undefined) pending.waiting = [item]
  else pending.waiting.push(item)
}

const swapPosition = ({ family, logIndex }: DecodedLog): SwapPosition => ({ family, logIndex })

const takeTransfer = (
  { tx, protocols, out }: Scope,
  { token: logger, from, to, amountRaw, wrap, leaves }: DecodedTransfer,
  logIndex: number,
): void => {
  if (wrap && !protocols.isWrappedNative(logger)) return
  if (leaves && !protocols.isNativeToken(logger)) return
  const token = protocols.canonicalForBalances(logger)
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

/** A pool that a listed factory of its family made is verified from here on; some pools trade at once. */
const takePool = (
  { protocols, made, out, prices }: Scope,
  { pool, tokens, factory, vault, feePips, opens, sqrtPriceX96, bins }: DecodedPoolCreated,
  place: SwapPosition,
): Waiting | undefined => {
  const row = protocols.factory(factory)
  const coins = tokens.map(protocols.canonicalForTrades)
  const [tokenA, tokenB] = coins
  if (row?.family !== place.family || tokenA === undefined || tokenB === undefined) {
    return undefined
  }
  const metadata: PoolMetadata = {
    address: pool,
    tokenA,
    tokenB,
    ...(coins.length > 2 && { coins }),
    protocol: row.id,
    factory,
    feePips: feePips ?? row.feePips ?? null,
    verified: true,
  }
  made.set(pool, metadata)
  out.pools.push(metadata)
  if (sqrtPriceX96 !== undefined) prices.set(pool, sqrtPriceX96)
  const opened = {
    ...({ kind: 'change', pool, defaultProtocol: row.id, change: 'initialize' } as const),
    ...(bins && { bins }),
  }
  const decoded = vault === undefined ? opened : { ...opened, vault }
  const waits = { reserves: undefined, holder: undefined }
  return opens ? { ...place, decoded: { ...decoded, amountsRaw: [0n, 0n] }, ...waits } : undefined
}

/** A curve that a listed launchpad made is verified where it says what the curve is paid in; some open at once. */
const takeCurve = (
  { protocols, made, out }: Scope,
  { decoded, row, family, logIndex }: Launch & { readonly decoded: DecodedTokenLaunch },
  factory: string,
): Waiting | undefined => {
  const { token, pool, vault = factory, quote, opens } = decoded
  if (pool === null) return undefined
  if (quote !== undefined) {
    const metadata: PoolMetadata = {
      address: pool,
      tokenA: token,
      tokenB: protocols.canonicalForTrades(quote),
      protocol: row.id,
      factory,
      feePips: row.feePips ?? null,
      verified: true,
    }
    made.set(pool, metadata)
    out.pools.push(metadata)
  }
  if (opens === undefined) return undefined
  const { tokensRaw } = opens
  const change: DecodedLiquidityChange = {
    kind: 'change',
    pool,
    vault,
    defaultProtocol: row.id,
    change: 'initialize',
    amountsRaw: [tokensRaw ?? 0n, 0n],
    legs: [token, 1],
  }
  const reserves = tokensRaw === null ? undefined : ([tokensRaw, 0n] as const)
  return { family, logIndex, decoded: change, reserves, holder: row }
}
