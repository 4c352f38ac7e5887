import { HOUR_MS } from '../../core/time.ts'
import type {
  BalanceEvents,
  TokenHoldingEvent,
  TokenHoldingEvents,
  WalletTokenPnlEvents,
} from '../../schemas/wire.ts'
import {
  clampUint256,
  nullableDecimal,
  POSITION_DECIMAL,
  saturatedDecimal,
  VALUE_DECIMAL,
} from './column-limits.ts'
import {
  nativeTokenPrice,
  positionColumns,
  priceColumn,
  type Row,
  timeText,
  transactionColumns,
  valueColumn,
  versionColumns,
} from './columns.ts'

/** Base units; sums of lying tokens may leave the column's range on both sides. */
const saturatedAmountColumn = clampUint256

/** Token units as text; null when unknown, or more than any token has. */
const tokenUnitsColumn = (text: string): string | null => nullableDecimal(text, POSITION_DECIMAL)

/** A sum in USD as text, never more than the column holds; 0 when unknown. */
const saturatedUsdColumn = (text: string): string => saturatedDecimal(text, VALUE_DECIMAL)

/** A value in USD as text; null when unknown, or more money than there is. */
const nullableUsdColumn = (text: string): string | null => nullableDecimal(text, VALUE_DECIMAL)

/** Rows of `{c}_balance_updates`. */
export const balanceRows = ({ meta, events }: BalanceEvents): readonly Row[] =>
  events.flatMap((event) => {
    const { balance, balance_processed: processed, instruction } = event
    if (meta === null || balance === null) return []
    const value = (text: string | undefined) => valueColumn(priceColumn(text ?? ''))
    return [
      {
        ix_index: instruction?.index ?? 0,
        ...positionColumns(meta, event),
        ...transactionColumns(meta, event, nativeTokenPrice('', '')),
        token_address: balance.token_address,
        decimals: balance.decimals,
        token_account: balance.token_account_address,
        owner: balance.account_owner_address,
        pre_balance: balance.pre_amount,
        post_balance: balance.post_amount,
        owner_balance: saturatedAmountColumn(processed?.owner_post_amount || balance.post_amount),
        pre_balance_usd: value(processed?.pre_amount_in_usd),
        post_balance_usd: value(processed?.post_amount_in_usd),
        pre_balance_native: value(processed?.pre_amount_in_native),
        post_balance_native: value(processed?.post_amount_in_native),
        price_usd: priceColumn(processed?.token_price_in_usd ?? ''),
        lifecycle: balance.lifecycle.replace('ACCOUNT_LIFECYCLE_', ''),
        ...versionColumns(meta, instruction?.event_index ?? 0),
      },
    ]
  })

/**
 * Rows of `{c}_token_holders` and `{c}_wallet_balances`: the owner as the change left it. A retraction writes the owner as the
 * change had found it, or removes an owner that was never seen before.
 */
export const holderRows = ({ meta, events }: BalanceEvents): readonly Row[] =>
  events.flatMap(({ balance, balance_processed: processed, instruction }) => {
    if (meta === null || balance === null || processed === null) return []
    const reverted = meta.op === 'OP_REVERT'
    const version = versionColumns(meta, instruction?.event_index ?? 0)
    return [
      {
        token_address: balance.token_address,
        holder: balance.account_owner_address,
        decimals: balance.decimals,
        balance: saturatedAmountColumn(
          reverted ? processed.owner_pre_amount : processed.owner_post_amount,
        ),
        first_seen: timeText(processed.owner_first_time),
        last_seen: timeText(reverted ? processed.owner_pre_time : meta.block_time),
        ...version,
        _del: reverted && processed.owner_pre_time === 0 ? 1 : 0,
      },
    ]
  })

const HOLDER_GROUPS = [
  'creators',
  'fresh',
  'sandwich',
  'bundle',
  'sniper',
  'dev',
  'pro',
  'insider',
  'smart',
  'kol',
  'phishing',
  'bluechip',
  'rat',
] as const

/** Groups that are known: [count, amount, ratio] by name. */
const groupsColumn = (event: TokenHoldingEvent): Row =>
  Object.fromEntries(
    HOLDER_GROUPS.flatMap((name) => {
      const [amount, ratio] = [event[`${name}_amount`], event[`${name}_ratio`]]
      if (amount === '') return []
      return [
        [
          name,
          {
            count: event[`${name}_count`],
            amount: saturatedAmountColumn(amount),
            ratio: Number(ratio),
          },
        ],
      ]
    }),
  )

/** Rows of `{c}_token_holdings`. A state without any holder is none: it stands for an hour that a reorg emptied. */
export const holdingRows = ({ events }: TokenHoldingEvents): readonly Row[] =>
  events.map((event) => ({
    token_address: event.token_address,
    hour: Math.floor(event.timestamp / HOUR_MS) * (HOUR_MS / 1_000),
    changed_at: timeText(event.timestamp),
    holders: event.holders,
    top10_holders: event.top10_holders,
    top10_amount: saturatedAmountColumn(event.top10_amount),
    top10_ratio: priceColumn(event.top10_ratio),
    top50_holders: event.top50_holders,
    top50_amount: saturatedAmountColumn(event.top50_amount),
    top50_ratio: priceColumn(event.top50_ratio),
    top100_holders: event.top100_holders,
    top100_amount: saturatedAmountColumn(event.top100_amount),
    top100_ratio: priceColumn(event.top100_ratio),
    groups: groupsColumn(event),
    _ver: String(event.version),
    _del: event.holders === 0 ? 1 : 0,
  }))

/** Rows of `{c}_wallet_token_pnl`. A position without any trade is none: a reorg took them all. */
export const pnlRows = ({ events }: WalletTokenPnlEvents): readonly Row[] =>
  events.map((event) => ({
    wallet: event.wallet_address,
    token_address: event.token_address,
    buy_amount: tokenUnitsColumn(event.buy_amount),
    buy_amount_usd: saturatedUsdColumn(event.buy_amount_in_usd),
    buys: event.buys,
    sell_amount: tokenUnitsColumn(event.sell_amount),
    sell_amount_usd: saturatedUsdColumn(event.sell_amount_in_usd),
    sells: event.sells,
    realized_usd: saturatedUsdColumn(event.realized_profit_in_usd),
    total_realized_usd: saturatedUsdColumn(event.total_realized_profit_in_usd),
    position_amount: tokenUnitsColumn(event.position_amount),
    position_cost_usd: saturatedUsdColumn(event.position_cost_in_usd),
    last_price_usd: priceColumn(event.token_price_in_usd),
    open_time: timeText(event.open_time),
    close_time: timeText(event.close_time),
    first_time: timeText(event.first_time),
    last_time: timeText(event.last_time),
    wins: event.wins,
    losses: event.losses,
    valued_buy_amount: tokenUnitsColumn(event.valued_buy_amount),
    valued_sell_amount: tokenUnitsColumn(event.valued_sell_amount),
    _ver: String(event.version),
    _del: event.buys + event.sells === 0 ? 1 : 0,
  }))

/** Rows of `{c}_wallet_pnl_trades`; a retracted trade is the same row with `_del = 1` and a newer version. */
export const pnlTradeRows = ({ meta, trades }: WalletTokenPnlEvents): readonly Row[] =>
  meta === null
    ? []
    : trades.map((trade) => ({
        block_time: timeText(meta.block_time),
        block_slot: meta.slot,
        block_height: meta.height,
        block_hash: meta.hash,
        tx_hash: trade.tx,
        event_index: trade.event_index,
        wallet: trade.wallet_address,
        token_address: trade.token_address,
        side: trade.side,
        amount: tokenUnitsColumn(trade.amount),
        amount_usd: nullableUsdColumn(trade.amount_in_usd),
        realized_usd: saturatedUsdColumn(trade.realized_profit_in_usd),
        cost_usd: saturatedUsdColumn(trade.cost_in_usd),
        unknown_amount: tokenUnitsColumn(trade.unknown_amount),
        position_amount: tokenUnitsColumn(trade.position_amount),
        position_cost_usd: saturatedUsdColumn(trade.position_cost_in_usd),
        ...versionColumns(meta, trade.event_index),
      }))
