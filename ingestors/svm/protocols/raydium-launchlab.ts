import type { SwapAccounts } from '../../../schemas/events.ts'
import { byTag, offsetsOf, textsAt, u64 } from '../layout/layout.ts'
import { pathOf, showPool } from './tx-context.ts'
import {
  byInstruction,
  type CpiEvent,
  EVENT_START,
  type EventRow,
  type InstructionReader,
  type SvmFamily,
  selfCalls,
} from './types.ts'
import { namedBy } from './vault-hops.ts'

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

type Traded = Readonly<Record<keyof typeof TRADE, string>>

/** The event says it as well, but behind fields that were put in later. */
const sideOf = byTag<{ readonly buys: boolean }>({
  faea0d7bd59c13ec: { buys: true }, // buy_exact_in
  '18d3742869039938': { buys: true }, // buy_exact_out
  '9527de9bd37c981a': { buys: false }, // sell_exact_in
  '5fc8472208090ba6': { buys: false }, // sell_exact_out
})

/**
 * Up to the fees, of which there are more in later layouts. `realBase` is what the curve has sold of `totalBase`; amounts are the
 * user's: fees are inside of what is paid and no longer in what is got.
 */
const TRADE_EVENT = offsetsOf({
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

const accountsOf = (traded: Traded, buys: boolean): SwapAccounts => {
  const { userBase, userQuote, baseVault, quoteVault } = traded
  return buys
    ? { userIn: userQuote, userOut: userBase, vaultIn: quoteVault, vaultOut: baseVault }
    : { userIn: userBase, userOut: userQuote, vaultIn: baseVault, vaultOut: quoteVault }
}

/** Virtual amounts of curves that are no constant product may be less than what is sold. */
const without = (whole: bigint, part: bigint): bigint => (whole > part ? whole - part : 0n)

const readTrade: EventRow['read'] = (scope, event) => {
  const { row, program, view, caller, callerAt } = event
  const side = sideOf(caller.data, 0)
  if (side === undefined) return 'unknown-instruction'
  const traded = namedBy({ scope, row, program, instruction: caller, at: callerAt }, TRADE)
  if (traded === undefined) return 'missing-account'
  const at = (offset: number): bigint => u64(view, EVENT_START + offset)
  const amountInRaw = at(TRADE_EVENT.amountIn)
  const amountOutRaw = at(TRADE_EVENT.amountOut)
  if (amountInRaw === 0n && amountOutRaw === 0n) return 'zero-amount'
  const { buys } = side
  const { pool, user: trader, base, quote } = traded
  const realTokenRaw = without(at(TRADE_EVENT.totalBase), at(TRADE_EVENT.realBase))
  const realQuoteRaw = at(TRADE_EVENT.realQuote)
  showPool(scope, event, { address: pool, tokenA: base, tokenB: quote })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: callerAt,
    path: pathOf(caller),
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
      virtualTokenRaw: without(at(TRADE_EVENT.virtualBase), at(TRADE_EVENT.realBase)),
      realQuoteRaw,
      realTokenRaw,
    },
    accounts: accountsOf(traded, buys),
  })
  return undefined
}

/** Where a launch names its accounts. */
const LAUNCH = { creator: 1, pool: 5, base: 6, quote: 7 } as const

/** Where it names the token's program. */
const programAt = byTag<{ readonly tokenProgram: number }>({
  afaf6d1f0d989bed: { tokenProgram: 11 }, // initialize
  '4399af27da102620': { tokenProgram: 11 }, // initialize_v2
  '25be7ede2c9aab11': { tokenProgram: 10 }, // initialize_with_token_2022
})

/** Up to the texts: name, symbol and address of the metadata. */
const LAUNCH_EVENT = offsetsOf({ pool: 'key', creator: 'key', config: 'key', decimals: 'u8' })

/** Behind the texts. Kinds of curves: 0 constant product, 1 fixed price, 2 linear; only the first says how much it sells. */
const CURVE = offsetsOf({ kind: 'u8', supply: 'u64', totalBase: 'u64' })
const CONSTANT_PRODUCT = 0

interface Curve {
  readonly supplyRaw: bigint | null
  readonly totalBaseRaw: bigint | null
}

const curveAt = (view: DataView, start: number): Curve => {
  const has = (end: number): boolean => view.byteLength >= start + end
  return {
    supplyRaw: has(CURVE.totalBase) ? u64(view, start + CURVE.supply) : null,
    totalBaseRaw:
      has(CURVE.end) && view.getUint8(start) === CONSTANT_PRODUCT
        ? u64(view, start + CURVE.totalBase)
        : null,
  }
}

interface Launched extends Curve {
  readonly creator: string
  readonly pool: string
  readonly base: string
  readonly quote: string
}

const readLaunch: EventRow['read'] = (scope, event) => {
  const { row, program, data, view, caller, callerAt } = event
  const form = programAt(caller.data, 0)
  if (form === undefined) return 'unknown-instruction'
  const reading = { scope, row, program, instruction: caller, at: callerAt }
  const named = namedBy(reading, { ...LAUNCH, ...form })
  if (named === undefined) return 'missing-account'
  const told = textsAt(data, EVENT_START + LAUNCH_EVENT.end, 3)
  if (told === undefined) return 'short-data'
  const [name = '', symbol = '', uri = ''] = told.texts
  const { creator, pool, base, tokenProgram } = named
  const curve = curveAt(view, told.end)
  scope.newborn.launched.add(base)
  scope.out.births.push({
    kind: 'birth',
    txIndex: scope.tx.index,
    logIndex: callerAt,
    path: pathOf(caller),
    fact: {
      address: base,
      decimals: view.getUint8(EVENT_START + LAUNCH_EVENT.decimals),
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
  openCurve(event, scope, { ...named, ...curve })
  return undefined
}

/** A curve whose first amount is not told opens without reserves: its first trade says them. */
const openCurve = (
  event: CpiEvent,
  scope: Parameters<EventRow['read']>[0],
  { creator, pool, base, quote, totalBaseRaw }: Launched,
): void => {
  showPool(scope, event, { address: pool, tokenA: base, tokenB: quote })
  scope.out.poolChanges.push({
    kind: 'initialize',
    txIndex: scope.tx.index,
    logIndex: event.callerAt,
    path: pathOf(event.caller),
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
type Migrating = Readonly<Record<'token' | 'curve' | 'pool', number>>

const TO_AMM: Migrating = { token: 1, curve: 23, pool: 13 }
const TO_CPMM: Migrating = { token: 1, curve: 17, pool: 5 }

/** No event tells of a migration: its instruction is all there is. */
const readMigration =
  (protocol: 'raydium_amm_v4' | 'raydium_cpmm', form: Migrating): InstructionReader =>
  (reading) => {
    const named = namedBy(reading, form)
    if (named === undefined) return 'missing-account'
    const { scope, row, instruction, at } = reading
    scope.out.migrations.push({
      kind: 'migration',
      txIndex: scope.tx.index,
      logIndex: at,
      path: pathOf(instruction),
      token: named.token,
      from: { protocol: row.id, pool: named.curve },
      to: { protocol, pool: named.pool },
    })
    return undefined
  }

const EVENTS = selfCalls({
  bddb7fd34ee661ee: { bytes: TRADE_EVENT.end, read: readTrade }, // TradeEvent
  '97d7e20976a173ae': { bytes: LAUNCH_EVENT.end, read: readLaunch }, // PoolCreateEvent
})

const INSTRUCTIONS = byInstruction({
  cf52c091fecf91df: readMigration('raydium_amm_v4', TO_AMM), // migrate_to_amm
  '885cc8671cda908c': readMigration('raydium_cpmm', TO_CPMM), // migrate_to_cpswap
})

/**
 * Raydium's launchpad, letsbonk and others on it too, and its curves; contract/chains.md 4.4. Source: the program's IDL in
 * chainstacklabs/pumpfun-bonkfun-bot idl/raydium_launchlab_idl.json.
 */
export const raydiumLaunchLab: SvmFamily = {
  family: 'raydium_launchlab',
  reader: (row, program) => {
    const events = EVENTS(row, program)
    const instructions = INSTRUCTIONS(row, program)
    return (scope, instruction, at) =>
      instructions(scope, instruction, at) ?? events(scope, instruction, at)
  },
}
