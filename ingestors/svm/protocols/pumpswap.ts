import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import { fieldOffsets, i128, matchDiscriminator, readPubkey } from '../layout/borsh-layout.ts'
import {
  type AccountLayout,
  type AccountsByName,
  addTrade,
  hopAccounts,
  TRADE_EVENT,
} from './pumpswap-trade.ts'
import { instructionPath, registerPool, type SvmTxContext } from './tx-context.ts'
import {
  EVENT_FIELDS_OFFSET,
  type EventType,
  eventU64,
  type ProgramEvent,
  readCpiEvents,
  type SvmFamily,
} from './types.ts'

const TRADE: AccountLayout = {
  pool: 0,
  user: 1,
  base: 3,
  quote: 4,
  userBase: 5,
  userQuote: 6,
  baseVault: 7,
  quoteVault: 8,
}

/** A pool's own funds buy its token, which is burnt where it lies: it has no recipient. */
const BOOST: AccountLayout = {
  pool: 0,
  user: 7,
  base: 3,
  quote: 4,
  userBase: 7,
  userQuote: 8,
  baseVault: 5,
  quoteVault: 6,
}

const LIQUIDITY: AccountLayout = {
  pool: 0,
  user: 2,
  base: 3,
  quote: 4,
  userBase: 6,
  userQuote: 7,
  baseVault: 9,
  quoteVault: 10,
}

const accountLayoutOf = matchDiscriminator<AccountLayout | 'route'>({
  '66063d1201daebea': TRADE, // buy
  c62e1552b4d9e870: TRADE, // buy_exact_quote_in
  '33e685a4017f83ad': TRADE, // sell
  b817ee6167c5d33d: TRADE, // buy_v2
  c2ab1c46684d5b2f: TRADE, // buy_exact_quote_in_v2
  '5df6823ce7e940b2': TRADE, // sell_v2
  '694406af000723a2': BOOST, // boost_buy_and_burn
  '2b644913e9f66f94': 'route', // multi_hop_swap
  e992d18ecf6840bc: LIQUIDITY, // create_pool
  f223c68952e1f2b6: LIQUIDITY, // deposit
  b712469c946da122: LIQUIDITY, // withdraw
})

const LAST_ACCOUNT_INDEX: ReadonlyMap<AccountLayout, number> = new Map(
  [TRADE, BOOST, LIQUIDITY].map((form) => [form, Math.max(...Object.values(form))]),
)

const accountsByName = (
  { caller }: ProgramEvent,
  form: AccountLayout,
): AccountsByName | DropReason => {
  const { accounts } = caller
  if (accounts.length <= (LAST_ACCOUNT_INDEX.get(form) ?? 0)) return 'missing-account'
  const named = (place: number): string => accounts[place] ?? ''
  return {
    pool: named(form.pool),
    user: named(form.user),
    base: named(form.base),
    quote: named(form.quote),
    userBase: named(form.userBase),
    userQuote: named(form.userQuote),
    baseVault: named(form.baseVault),
    quoteVault: named(form.quoteVault),
  }
}

const readTrade =
  (buys: boolean): EventType['read'] =>
  (scope, event) => {
    const form = accountLayoutOf(event.caller.data, 0)
    if (form === undefined || form === LIQUIDITY) return 'unknown-instruction'
    const named = form === 'route' ? hopAccounts(scope, event) : accountsByName(event, form)
    if (typeof named === 'string') return named
    const at = form === 'route' ? 'event' : 'caller'
    return addTrade(scope, event, { named, buys, at, isCharged: form !== BOOST })
  }

/** Deposits and withdrawals, reserves before them. */
const LIQUIDITY_EVENT = fieldOffsets({
  timestamp: 'i64',
  lpAmount: 'u64',
  baseLimit: 'u64',
  quoteLimit: 'u64',
  userBase: 'u64',
  userQuote: 'u64',
  poolBase: 'u64',
  poolQuote: 'u64',
  baseAmount: 'u64',
  quoteAmount: 'u64',
})

const POOL_CREATED_EVENT = fieldOffsets({
  timestamp: 'i64',
  index: 'u16',
  creator: 'key',
  baseMint: 'key',
  quoteMint: 'key',
  baseDecimals: 'u8',
  quoteDecimals: 'u8',
  baseAmount: 'u64',
  quoteAmount: 'u64',
  poolBase: 'u64',
  poolQuote: 'u64',
})

interface LiquidityEvent {
  readonly kind: PoolLiquidityChange['kind']
  readonly layout: Readonly<Record<'baseAmount' | 'quoteAmount' | 'poolBase' | 'poolQuote', number>>
  /** What the amounts do to the reserves that the event states. */
  readonly sign: bigint
}

const readChange =
  ({ kind, layout, sign }: LiquidityEvent): EventType['read'] =>
  (scope, event) => {
    if (accountLayoutOf(event.caller.data, 0) !== LIQUIDITY) return 'unknown-instruction'
    const named = accountsByName(event, LIQUIDITY)
    if (typeof named === 'string') return named
    const { pool, user: owner, base: tokenA, quote: tokenB } = named
    registerPool(scope, event, { address: pool, tokenA, tokenB })
    const amountARaw = eventU64(event, layout.baseAmount)
    const amountBRaw = eventU64(event, layout.quoteAmount)
    const [base, quote] = [eventU64(event, layout.poolBase), eventU64(event, layout.poolQuote)]
    const reserves = [base + sign * amountARaw, quote + sign * amountBRaw] as const
    scope.out.poolChanges.push({
      kind,
      txIndex: scope.tx.index,
      logIndex: event.callerIndex,
      path: instructionPath(event.caller),
      pool,
      protocol: event.row.id,
      owner,
      tokenA,
      tokenB,
      amountARaw,
      amountBRaw,
      reserves,
      pricing: { reserves, found: [base, quote], feePips: [], feeToken: tokenB },
    })
    return undefined
  }

const BOOST_EVENT = fieldOffsets({
  timestamp: 'i64',
  mint: 'key',
  curve: 'key',
  pool: 'key',
  virtualQuote: 'i128',
  quoteAfter: 'u64',
})

/** A part of what a new pool holds goes aside to buy its token later; the pool prices as if it were still there. */
const readBoostStart: EventType['read'] = (scope, event) => {
  const pool = readPubkey(event.data, EVENT_FIELDS_OFFSET + BOOST_EVENT.pool)
  const opened = lastPoolChange(scope, pool)
  if (opened?.reserves === undefined) return 'unknown-reserves'
  const [baseRaw, quoteRaw] = opened.reserves
  const leftRaw = eventU64(event, BOOST_EVENT.quoteAfter)
  if (leftRaw > quoteRaw) return 'impossible-amount'
  const pricedRaw = leftRaw + i128(event.view, EVENT_FIELDS_OFFSET + BOOST_EVENT.virtualQuote)
  scope.out.poolChanges.push({
    kind: 'decrease',
    txIndex: scope.tx.index,
    logIndex: event.callerIndex,
    path: instructionPath(event.caller),
    pool,
    protocol: event.row.id,
    owner: opened.owner,
    tokenA: opened.tokenA,
    tokenB: opened.tokenB,
    amountARaw: 0n,
    amountBRaw: quoteRaw - leftRaw,
    reserves: [baseRaw, leftRaw],
    curve: {
      virtualQuoteRaw: pricedRaw,
      virtualTokenRaw: baseRaw,
      realQuoteRaw: leftRaw,
      realTokenRaw: baseRaw,
    },
    pricing: {
      reserves: [baseRaw, pricedRaw],
      found: opened.reserves,
      feePips: [],
      feeToken: opened.tokenB,
    },
  })
  return undefined
}

/** What moved a pool last in this transaction. */
const lastPoolChange = (scope: SvmTxContext, pool: string): PoolLiquidityChange | undefined =>
  scope.out.poolChanges.findLast(
    (change) => change.pool === pool && change.txIndex === scope.tx.index,
  )

/** The PumpSwap AMM. Source: pump-fun/pump-public-docs idl/pump_amm.json. */
export const pumpSwap: SvmFamily = {
  family: 'pumpswap',
  reader: readCpiEvents({
    '67f4521f2cf57777': { bytes: TRADE_EVENT.end, read: readTrade(true) }, // BuyEvent
    '3e2f370aa503dc2a': { bytes: TRADE_EVENT.end, read: readTrade(false) }, // SellEvent
    ae7c4af90451f611: { bytes: BOOST_EVENT.end, read: readBoostStart }, // InitBoostEvent
    b1310cd2a076a774: {
      bytes: POOL_CREATED_EVENT.end,
      read: readChange({ kind: 'initialize', layout: POOL_CREATED_EVENT, sign: 0n }),
    }, // CreatePoolEvent
    '78f83d531f8e6b90': {
      bytes: LIQUIDITY_EVENT.end,
      read: readChange({ kind: 'increase', layout: LIQUIDITY_EVENT, sign: 1n }),
    }, // DepositEvent
    '1609851aa02c47c0': {
      bytes: LIQUIDITY_EVENT.end,
      read: readChange({ kind: 'decrease', layout: LIQUIDITY_EVENT, sign: -1n }),
    }, // WithdrawEvent
  }),
}
