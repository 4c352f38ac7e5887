import type { PoolChange } from '../../../schemas/events.ts'
import { byTag, i128, keyAt, offsetsOf } from '../layout/layout.ts'
import { amount, type Form, hopOf, type Named, TRADED, takeTrade } from './pumpswap-trade.ts'
import { pathOf, type SvmScope, showPool } from './tx-context.ts'
import { type CpiEvent, EVENT_START, type EventRow, type SvmFamily, selfCalls } from './types.ts'

const TRADE: Form = {
  pool: 0,
  user: 1,
  base: 3,
  quote: 4,
  userBase: 5,
  userQuote: 6,
  baseVault: 7,
  quoteVault: 8,
}

/** A pool's own funds buy its token, which is burnt where it lies: nobody gets it. */
const BOOST: Form = {
  pool: 0,
  user: 7,
  base: 3,
  quote: 4,
  userBase: 7,
  userQuote: 8,
  baseVault: 5,
  quoteVault: 6,
}

const LIQUIDITY: Form = {
  pool: 0,
  user: 2,
  base: 3,
  quote: 4,
  userBase: 6,
  userQuote: 7,
  baseVault: 9,
  quoteVault: 10,
}

const formOf = byTag<Form | 'route'>({
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

const LAST_PLACE: ReadonlyMap<Form, number> = new Map(
  [TRADE, BOOST, LIQUIDITY].map((form) => [form, Math.max(...Object.values(form))]),
)

const namedBy = ({ caller }: CpiEvent, form: Form): Named | string => {
  const { accounts } = caller
  if (accounts.length <= (LAST_PLACE.get(form) ?? 0)) return 'missing-account'
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
  (buys: boolean): EventRow['read'] =>
  (scope, event) => {
    const form = formOf(event.caller.data, 0)
    if (form === undefined || form === LIQUIDITY) return 'unknown-instruction'
    const named = form === 'route' ? hopOf(scope, event) : namedBy(event, form)
    if (typeof named === 'string') return named
    return takeTrade(scope, event, { named, buys, at: form === 'route' ? 'event' : 'caller' })
  }

/** Deposits and withdrawals, reserves before them. */
const MOVED = offsetsOf({
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

const CREATED = offsetsOf({
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

interface Change {
  readonly kind: PoolChange['kind']
  readonly layout: Readonly<Record<'baseAmount' | 'quoteAmount' | 'poolBase' | 'poolQuote', number>>
  /** What the amounts do to the reserves that the event states. */
  readonly sign: bigint
}

const readChange =
  ({ kind, layout, sign }: Change): EventRow['read'] =>
  (scope, event) => {
    if (formOf(event.caller.data, 0) !== LIQUIDITY) return 'unknown-instruction'
    const named = namedBy(event, LIQUIDITY)
    if (typeof named === 'string') return named
    const { pool, user: owner, base: tokenA, quote: tokenB } = named
    showPool(scope, event, { address: pool, tokenA, tokenB })
    const amountARaw = amount(event, layout.baseAmount)
    const amountBRaw = amount(event, layout.quoteAmount)
    scope.out.poolChanges.push({
      kind,
      txIndex: scope.tx.index,
      logIndex: event.callerAt,
      path: pathOf(event.caller),
      pool,
      protocol: event.row.id,
      owner,
      tokenA,
      tokenB,
      amountARaw,
      amountBRaw,
      reserves: [
        amount(event, layout.poolBase) + sign * amountARaw,
        amount(event, layout.poolQuote) + sign * amountBRaw,
      ],
    })
    return undefined
  }

const BOOSTED = offsetsOf({
  timestamp: 'i64',
  mint: 'key',
  curve: 'key',
  pool: 'key',
  virtualQuote: 'i128',
  quoteAfter: 'u64',
})

/** A part of what a new pool holds goes aside to buy its token later; the pool prices as if it were still there. */
const readBoosted: EventRow['read'] = (scope, event) => {
  const pool = keyAt(event.data, EVENT_START + BOOSTED.pool)
  const opened = openedBefore(scope, pool)
  if (opened?.reserves === undefined) return 'unknown-reserves'
  const [baseRaw, quoteRaw] = opened.reserves
  const leftRaw = amount(event, BOOSTED.quoteAfter)
  if (leftRaw > quoteRaw) return 'impossible-amount'
  scope.out.poolChanges.push({
    kind: 'decrease',
    txIndex: scope.tx.index,
    logIndex: event.callerAt,
    path: pathOf(event.caller),
    pool,
    protocol: event.row.id,
    owner: opened.owner,
    tokenA: opened.tokenA,
    tokenB: opened.tokenB,
    amountARaw: 0n,
    amountBRaw: quoteRaw - leftRaw,
    reserves: [baseRaw, leftRaw],
    curve: {
      virtualQuoteRaw: leftRaw + i128(event.view, EVENT_START + BOOSTED.virtualQuote),
      virtualTokenRaw: baseRaw,
      realQuoteRaw: leftRaw,
      realTokenRaw: baseRaw,
    },
  })
  return undefined
}

/** What moved a pool last in this transaction. */
const openedBefore = (scope: SvmScope, pool: string): PoolChange | undefined =>
  scope.out.poolChanges.findLast(
    (change) => change.pool === pool && change.txIndex === scope.tx.index,
  )

/** The PumpSwap AMM; contract/chains.md 4.3. Source: pump-fun/pump-public-docs idl/pump_amm.json. */
export const pumpSwap: SvmFamily = {
  family: 'pumpswap',
  reader: selfCalls({
    '67f4521f2cf57777': { bytes: TRADED.end, read: readTrade(true) }, // BuyEvent
    '3e2f370aa503dc2a': { bytes: TRADED.end, read: readTrade(false) }, // SellEvent
    ae7c4af90451f611: { bytes: BOOSTED.end, read: readBoosted }, // InitBoostEvent
    b1310cd2a076a774: {
      bytes: CREATED.end,
      read: readChange({ kind: 'initialize', layout: CREATED, sign: 0n }),
    }, // CreatePoolEvent
    '78f83d531f8e6b90': {
      bytes: MOVED.end,
      read: readChange({ kind: 'increase', layout: MOVED, sign: 1n }),
    }, // DepositEvent
    '1609851aa02c47c0': {
      bytes: MOVED.end,
      read: readChange({ kind: 'decrease', layout: MOVED, sign: -1n }),
    }, // WithdrawEvent
  }),
}
