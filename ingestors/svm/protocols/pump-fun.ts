import {
  fieldOffsets,
  isDefaultPubkey,
  readPubkey,
  readStrings,
  u64,
} from '../layout/borsh-layout.ts'
import { postCompleteBuyEvent, tradeEvent } from './pump-fun-trade.ts'
import { mintedRawBelow } from './spl-token.ts'
import { instructionPath, registerPool, WRAPPED_SOL } from './tx-context.ts'
import { EVENT_FIELDS_OFFSET, type EventType, readCpiEvents, type SvmFamily } from './types.ts'

/** Behind name, symbol and address of the metadata; the first layout ended with the user. */
const CREATE = fieldOffsets({ mint: 'key', curve: 'key', user: 'key' })

const CREATE_CURVE = fieldOffsets({
  creator: 'key',
  timestamp: 'i64',
  virtualToken: 'u64',
  virtualSol: 'u64',
  realToken: 'u64',
  totalSupply: 'u64',
})

const CREATE_MODES = fieldOffsets({ tokenProgram: 'key', mayhemMode: 'bool', cashback: 'bool' })

const CREATE_QUOTE = fieldOffsets({ mint: 'key', virtual: 'u64' })

/** What every token started with before events said it. Source: pump-public-docs, PUMP_PROGRAM_README.md. */
const DEFAULT_REAL_TOKENS = 793_100_000_000_000n
const DEFAULT_SUPPLY = 1_000_000_000_000_000n
const DECIMALS = 6

const readCreate: EventType['read'] = (scope, event) => {
  const { data, view, caller, row } = event
  const reported = readStrings(data, EVENT_FIELDS_OFFSET, 3)
  if (reported === undefined || data.length < reported.end + CREATE.end) return 'truncated-data'
  const [name = '', symbol = '', uri = ''] = reported.texts
  const curveAt = reported.end + CREATE.end
  const modesAt = curveAt + CREATE_CURVE.end
  const quoteAt = modesAt + CREATE_MODES.end
  const has = (start: number, { end }: { readonly end: number }) => data.length >= start + end
  const [mint, pool, user] = [
    readPubkey(data, reported.end + CREATE.mint),
    readPubkey(data, reported.end + CREATE.curve),
    readPubkey(data, reported.end + CREATE.user),
  ]
  const withCurve = has(curveAt, CREATE_CURVE)
  const creator = withCurve ? readPubkey(data, curveAt + CREATE_CURVE.creator) : user
  const ownQuote = has(quoteAt, CREATE_QUOTE) && !isDefaultPubkey(view, quoteAt + CREATE_QUOTE.mint)
  const quoteMint = ownQuote ? readPubkey(data, quoteAt + CREATE_QUOTE.mint) : WRAPPED_SOL
  const set = scope.newMints.mints.get(mint)
  const program = has(modesAt, CREATE_MODES) ? readPubkey(data, modesAt) : set?.program
  const txIndex = scope.tx.index
  const logIndex = event.callerIndex
  const path = instructionPath(caller)
  const saidRaw = withCurve ? u64(view, curveAt + CREATE_CURVE.totalSupply) : DEFAULT_SUPPLY
  // In mayhem mode as much again is made for the agent, of which the event does not speak.
  const mintedRaw = mintedRawBelow(scope, event.callerIndex, mint)
  const suppliedRaw = mintedRaw > saidRaw ? mintedRaw : saidRaw
  scope.newMints.launchpadMints.add(mint)
  registerPool(scope, event, { address: pool, tokenA: mint, tokenB: quoteMint })
  scope.out.tokenCreations.push({
    kind: 'token-created',
    txIndex,
    logIndex,
    path,
    metadata: {
      address: mint,
      decimals: set?.decimals ?? DECIMALS,
      name,
      symbol,
      totalSupplyRaw: suppliedRaw,
      uri,
      ...(program !== undefined && { program }),
    },
    dev: user,
    creators: [creator],
    launch: { protocol: row.id, pool },
  })
  const realRaw = withCurve ? u64(view, curveAt + CREATE_CURVE.realToken) : DEFAULT_REAL_TOKENS
  scope.out.poolChanges.push({
    kind: 'initialize',
    txIndex,
    logIndex,
    path,
    pool,
    protocol: row.id,
    owner: user,
    tokenA: mint,
    tokenB: quoteMint,
    amountARaw: realRaw,
    amountBRaw: 0n,
    reserves: [realRaw, 0n],
    ...(withCurve && {
      curve: {
        virtualQuoteRaw: has(quoteAt, CREATE_QUOTE)
          ? u64(view, quoteAt + CREATE_QUOTE.virtual)
          : u64(view, curveAt + CREATE_CURVE.virtualSol),
        virtualTokenRaw: u64(view, curveAt + CREATE_CURVE.virtualToken),
        realQuoteRaw: 0n,
        realTokenRaw: realRaw,
      },
    }),
  })
  return undefined
}

const MIGRATED = fieldOffsets({
  user: 'key',
  mint: 'key',
  mintAmount: 'u64',
  solAmount: 'u64',
  migrationFee: 'u64',
  curve: 'key',
  timestamp: 'i64',
  pool: 'key',
})

const readMigrated: EventType['read'] = (scope, { data, row, caller, callerIndex }) => {
  scope.out.migrations.push({
    kind: 'migration',
    txIndex: scope.tx.index,
    logIndex: callerIndex,
    path: instructionPath(caller),
    token: readPubkey(data, EVENT_FIELDS_OFFSET + MIGRATED.mint),
    from: { protocol: row.id, pool: readPubkey(data, EVENT_FIELDS_OFFSET + MIGRATED.curve) },
    to: { protocol: 'pumpswap', pool: readPubkey(data, EVENT_FIELDS_OFFSET + MIGRATED.pool) },
  })
  return undefined
}

/** The pump.fun launchpad and its curves. Source: pump-fun/pump-public-docs idl/pump.json. */
export const pumpFun: SvmFamily = {
  family: 'pump_fun',
  reader: readCpiEvents({
    bddb7fd34ee661ee: tradeEvent,
    '6fb06d8b316cd5fb': postCompleteBuyEvent,
    '1b72a94ddeeb6376': { bytes: CREATE.end, read: readCreate }, // CreateEvent
    bde95db95c94ea94: { bytes: MIGRATED.end, read: readMigrated }, // CompletePumpAmmMigrationEvent
  }),
}
