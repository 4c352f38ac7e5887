import type { SwapAccounts } from '../../../schemas/events.ts'
import { fieldOffsets, matchDiscriminator, readStrings, u64 } from '../layout/borsh-layout.ts'
import { instructionPath, registerPool } from './tx-context.ts'
import {
  EVENT_FIELDS_OFFSET,
  type EventType,
  type InstructionReader,
  type ProgramEvent,
  readByInstruction,
  readCpiEvents,
  type SvmFamily,
} from './types.ts'
import { accountsByName } from './vault-hops.ts'

/** Where every trade names its accounts. */
const TRADE = {
  user: 0,
  pool: 4,
  userBase: 5,
  userQuote: 6,
  baseVault: 7,
  quoteVault: 8,
  base: 9,
  quote: 10,
} as const

type TradeAccounts = Readonly<Record<keyof typeof TRADE, string>>

/** The event says it as well, but behind fields that were put in later. */
const tradeSideOf = matchDiscriminator<{ readonly buys: boolean }>({
  faea0d7bd59c13ec: { buys: true }, // buy_exact_in
  '18d3742869039938': { buys: true }, // buy_exact_out
  '9527de9bd37c981a': { buys: false }, // sell_exact_in
  '5fc8472208090ba6': { buys: false }, // sell_exact_out
})

/**
 * Up to the fees, of which there are more in later layouts. `realBase` is what the curve has sold of `totalBase`; amounts are the
 * user's: fees are inside of what is paid and no longer in what is got.
 */
const TRADE_EVENT = fieldOffsets({
  pool: 'key',
  totalBase: 'u64',
  virtualBase: 'u64',
  virtualQuote: 'u64',
  realBaseBefore: 'u64',
  realQuoteBefore: 'u64',
  realBase: 'u64',
  realQuote: 'u64',
  amountIn: 'u64',
  amountOut: 'u64',
})

const swapAccountsOf = (traded: TradeAccounts, buys: boolean): SwapAccounts => {
  const { userBase, userQuote, baseVault, quoteVault } = traded
  return buys
    ? { userIn: userQuote, userOut: userBase, vaultIn: quoteVault, vaultOut: baseVault }
    : { userIn: userBase, userOut: userQuote, vaultIn: baseVault, vaultOut: quoteVault }
}

/** Virtual amounts of curves that are not constant product may be less than what is sold. */
const subtractOrZero = (whole: bigint, part: bigint): bigint => (whole > part ? whole - part : 0n)

const readTrade: EventType['read'] = (scope, event) => {
  const { row, program, view, caller, callerIndex } = event
  const side = tradeSideOf(caller.data, 0)
  if (side === undefined) return 'unknown-instruction'
  const traded = accountsByName(
    { scope, row, program, instruction: caller, at: callerIndex },
    TRADE,
  )
  if (traded === undefined) return 'missing-account'
  const at = (offset: number): bigint => u64(view, EVENT_FIELDS_OFFSET + offset)
  const amountInRaw = at(TRADE_EVENT.amountIn)
  const amountOutRaw = at(TRADE_EVENT.amountOut)
  if (amountInRaw === 0n && amountOutRaw === 0n) return 'zero-amount'
  const { buys } = side
  const { pool, user: trader, base, quote } = traded
  const realTokenRaw = subtractOrZero(at(TRADE_EVENT.totalBase), at(TRADE_EVENT.realBase))
  const realQuoteRaw = at(TRADE_EVENT.realQuote)
  registerPool(scope, event, { address: pool, tokenA: base, tokenB: quote })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: callerIndex,
    path: instructionPath(caller),
    pool,
    protocol: row.id,
    trader,
    tokenIn: buys ? quote : base,
    tokenOut: buys ? base : quote,
    amountInRaw,
    amountOutRaw,
    reservesInOut: buys ? [realQuoteRaw, realTokenRaw] : [realTokenRaw, realQuoteRaw],
    curve: {
      virtualQuoteRaw: at(TRADE_EVENT.virtualQuote) + realQuoteRaw,
      virtualTokenRaw: subtractOrZero(at(TRADE_EVENT.virtualBase), at(TRADE_EVENT.realBase)),
      realQuoteRaw,
      realTokenRaw,
    },
    accounts: swapAccountsOf(traded, buys),
  })
  return undefined
}

/** Where a launch names its accounts. */
const LAUNCH = { creator: 1, pool: 5, base: 6, quote: 7 } as const

/** Where it names the token's program. */
const tokenProgramIndex = matchDiscriminator<{ readonly tokenProgram: number }>({
  afaf6d1f0d989bed: { tokenProgram: 11 }, // initialize
  '4399af27da102620': { tokenProgram: 11 }, // initialize_v2
  '25be7ede2c9aab11': { tokenProgram: 10 }, // initialize_with_token_2022
})

/** Up to the texts: name, symbol and address of the metadata. */
const LAUNCH_EVENT = fieldOffsets({ pool: 'key', creator: 'key', config: 'key', decimals: 'u8' })

/** Behind the texts. Kinds of curves: 0 constant product, 1 fixed price, 2 linear; only the first says how much it sells. */
const CURVE_PARAMS = fieldOffsets({ kind: 'u8', supply: 'u64', totalBase: 'u64' })
const CONSTANT_PRODUCT = 0

interface CurveParams {
  readonly supplyRaw: bigint | null
  readonly totalBaseRaw: bigint | null
}

const readCurveParams = (view: DataView, start: number): CurveParams => {
  const has = (end: number): boolean => view.byteLength >= start + end
  return {
    supplyRaw: has(CURVE_PARAMS.totalBase) ? u64(view, start + CURVE_PARAMS.supply) : null,
    totalBaseRaw:
      has(CURVE_PARAMS.end) && view.getUint8(start) === CONSTANT_PRODUCT
        ? u64(view, start + CURVE_PARAMS.totalBase)
        : null,
  }
}

interface LaunchedCurve extends CurveParams {
  readonly creator: string
  readonly pool: string
  readonly base: string
  readonly quote: string
}

const readLaunch: EventType['read'] = (scope, event) => {
  const { row, program, data, view, caller, callerIndex } = event
  const form = tokenProgramIndex(caller.data, 0)
  if (form === undefined) return 'unknown-instruction'
  const reading = { scope, row, program, instruction: caller, at: callerIndex }
  const named = accountsByName(reading, { ...LAUNCH, ...form })
  if (named === undefined) return 'missing-account'
  const reported = readStrings(data, EVENT_FIELDS_OFFSET + LAUNCH_EVENT.end, 3)
  if (reported === undefined) return 'truncated-data'
  const [name = '', symbol = '', uri = ''] = reported.texts
  const { creator, pool, base, tokenProgram } = named
  const curve = readCurveParams(view, reported.end)
  scope.newMints.launchpadMints.add(base)
  scope.out.tokenCreations.push({
    kind: 'token-created',
    txIndex: scope.tx.index,
    logIndex: callerIndex,
    path: instructionPath(caller),
    metadata: {
      address: base,
      decimals: view.getUint8(EVENT_FIELDS_OFFSET + LAUNCH_EVENT.decimals),
      name,
      symbol,
      totalSupplyRaw: curve.supplyRaw,
      uri,
      program: tokenProgram,
    },
    dev: creator,
    creators: [creator],
    launch: { protocol: row.id, pool },
  })
  addCurveOpening(event, scope, { ...named, ...curve })
  return undefined
}

/** A curve whose first amount is not told opens without reserves: its first trade says them. */
const addCurveOpening = (
  event: ProgramEvent,
  scope: Parameters<EventType['read']>[0],
  { creator, pool, base, quote, totalBaseRaw }: LaunchedCurve,
): void => {
  registerPool(scope, event, { address: pool, tokenA: base, tokenB: quote })
  scope.out.poolChanges.push({
    kind: 'initialize',
    txIndex: scope.tx.index,
    logIndex: event.callerIndex,
    path: instructionPath(event.caller),
    pool,
    protocol: event.row.id,
    owner: creator,
    tokenA: base,
    tokenB: quote,
    amountARaw: totalBaseRaw ?? 0n,
    amountBRaw: 0n,
    ...(totalBaseRaw !== null && { reserves: [totalBaseRaw, 0n] as const }),
  })
}

/** Where a migration names its accounts: the curve it leaves and the pool it makes. */
type MigrationLayout = Readonly<Record<'token' | 'curve' | 'pool', number>>

const TO_AMM: MigrationLayout = { token: 1, curve: 23, pool: 13 }
const TO_CPMM: MigrationLayout = { token: 1, curve: 17, pool: 5 }

/** No event tells of a migration: its instruction is all there is. */
const readMigration =
  (protocol: 'raydium_amm_v4' | 'raydium_cpmm', form: MigrationLayout): InstructionReader =>
  (reading) => {
    const named = accountsByName(reading, form)
    if (named === undefined) return 'missing-account'
    const { scope, row, instruction, at } = reading
    scope.out.migrations.push({
      kind: 'migration',
      txIndex: scope.tx.index,
      logIndex: at,
      path: instructionPath(instruction),
      token: named.token,
      from: { protocol: row.id, pool: named.curve },
      to: { protocol, pool: named.pool },
    })
    return undefined
  }

const readEvents = readCpiEvents({
  bddb7fd34ee661ee: { bytes: TRADE_EVENT.end, read: readTrade }, // TradeEvent
  '97d7e20976a173ae': { bytes: LAUNCH_EVENT.end, read: readLaunch }, // PoolCreateEvent
})

const readInstructions = readByInstruction({
  cf52c091fecf91df: readMigration('raydium_amm_v4', TO_AMM), // migrate_to_amm
  '885cc8671cda908c': readMigration('raydium_cpmm', TO_CPMM), // migrate_to_cpswap
})

/**
 * Raydium's launchpad, letsbonk and others on it too, and its curves. Source: the program's IDL in
 * chainstacklabs/pumpfun-bonkfun-bot idl/raydium_launchlab_idl.json.
 */
export const raydiumLaunchLab: SvmFamily = {
  family: 'raydium_launchlab',
  reader: (row, program) => {
    const events = readEvents(row, program)
    const instructions = readInstructions(row, program)
    return (scope, instruction, at) =>
      instructions(scope, instruction, at) ?? events(scope, instruction, at)
  },
}
