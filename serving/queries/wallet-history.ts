import type { Query } from '../../core/clickhouse/client.ts'
import { optionalQueryTime } from '../../core/time.ts'
import { chainRow } from '../../schemas/chains.ts'
import { type KeysetList, type KeysetRow, POSITION_ORDER } from './keyset-list.ts'
import { WALLET_WINDOWS_MS } from './read-in-windows.ts'

/** A change of a balance; amounts in base units. */
export interface BalanceUpdateRow extends KeysetRow {
  readonly account: string
  readonly token: string
  readonly decimals: number | null
  readonly instruction: number
  readonly tx_hash: string
  readonly block_hash: string
  readonly height: string
  readonly slot: string
  readonly time_ms: string
  readonly pre_raw: string
  readonly post_raw: string
  readonly pre_usd: string | null
  readonly post_usd: string | null
  readonly pre_native: string | null
  readonly post_native: string | null
}

interface Condition {
  readonly sql: string
  readonly value: unknown
}

/** Those of the conditions that are asked for, with their parameters. */
const activeConditions = (conditions: Readonly<Record<string, Condition>>) => {
  const given = Object.entries(conditions).filter(([, { value }]) => value !== undefined)
  return {
    where: given.map(([, { sql }]) => sql),
    params: Object.fromEntries(given.map(([name, { value }]) => [name, value])),
  }
}

/** What narrows changes of balances. */
export interface BalanceUpdateFilter {
  readonly tokenAddress?: string | undefined
  readonly timeFrom?: number | undefined
  readonly timeTo?: number | undefined
  readonly type?: 'SOL' | 'SPL' | undefined
  readonly changeType?: 'INCREASE' | 'DECREASE' | undefined
}

const nativeTokenAddress = (chain: string): string => chainRow(chain)?.nativeAddress ?? ''

/** Changes of a wallet's balances, newest first. */
export const balanceUpdateList = (
  chain: string,
  wallet: string,
  filter: BalanceUpdateFilter,
): KeysetList => {
  const { where, params } = activeConditions({
    token: { sql: 't.token_address = {token:String}', value: filter.tokenAddress },
    from: {
      sql: 't.block_time >= fromUnixTimestamp64Milli({from:Int64})',
      value: optionalQueryTime(filter.timeFrom),
    },
    to: {
      sql: 't.block_time <= fromUnixTimestamp64Milli({to:Int64})',
      value: optionalQueryTime(filter.timeTo),
    },
    nativeToken: {
      sql: `t.token_address ${filter.type === 'SOL' ? '=' : '!='} {nativeToken:String}`,
      value: filter.type === undefined ? undefined : nativeTokenAddress(chain),
    },
  })
  const change = {
    INCREASE: ['t.post_balance > t.pre_balance'],
    DECREASE: ['t.post_balance < t.pre_balance'],
    any: [],
  }[filter.changeType ?? 'any']
  return {
    columns: `t.token_account AS account, t.token_address AS token, t.decimals AS decimals, t.ix_index AS instruction, t.tx_hash AS tx_hash,
  t.block_hash AS block_hash, toString(t.block_height) AS height, toString(t.block_slot) AS slot,
  toString(toUnixTimestamp64Milli(t.block_time)) AS time_ms, toString(t.pre_balance) AS pre_raw, toString(t.post_balance) AS post_raw,
  toString(t.pre_balance_usd) AS pre_usd, toString(t.post_balance_usd) AS post_usd,
  toString(t.pre_balance_native) AS pre_native, toString(t.post_balance_native) AS post_native`,
    from: `${chain}_balance_updates AS t FINAL`,
    where: ['t.owner = {wallet:String}', ...where, ...change],
    order: POSITION_ORDER,
    time: 't.block_time',
    windowsMs: WALLET_WINDOWS_MS,
    descending: true,
    params: { wallet, ...params },
  }
}

/** A transfer of a wallet; amount in base units. */
export interface WalletTransferRow extends KeysetRow {
  readonly token: string
  readonly sender: string
  readonly receiver: string
  readonly amount_raw: string
  readonly decimals: number | null
  readonly amount_usd: string | null
  readonly time_ms: string
  readonly tx_hash: string
  readonly event_index: number
}

/** What narrows transfers; bounds inclusive, amounts as decimal text in token units and USD. */
export interface WalletTransferFilter {
  readonly tokenAddress?: string | undefined
  readonly fromTimestamp?: number | undefined
  readonly toTimestamp?: number | undefined
  readonly minTokenAmount?: string | undefined
  readonly maxTokenAmount?: string | undefined
  readonly minTokenAmountInUsd?: string | undefined
  readonly maxTokenAmountInUsd?: string | undefined
}

const AMOUNT_UNITS_SQL = 'toFloat64(t.amount) / exp10(ifNull(t.decimals, 0))'

const transferConditions = (wallet: string, filter: WalletTransferFilter) => {
  const { where, params } = activeConditions({
    token: { sql: 't.token_address = {token:String}', value: filter.tokenAddress },
    from: {
      sql: 't.block_time >= fromUnixTimestamp64Milli({from:Int64})',
      value: optionalQueryTime(filter.fromTimestamp),
    },
    to: {
      sql: 't.block_time <= fromUnixTimestamp64Milli({to:Int64})',
      value: optionalQueryTime(filter.toTimestamp),
    },
    least: {
      sql: `${AMOUNT_UNITS_SQL} >= toFloat64({least:String})`,
      value: filter.minTokenAmount,
    },
    most: { sql: `${AMOUNT_UNITS_SQL} <= toFloat64({most:String})`, value: filter.maxTokenAmount },
    least_usd: {
      sql: 't.amount_usd >= toDecimal256({least_usd:String}, 18)',
      value: filter.minTokenAmountInUsd,
    },
    most_usd: {
      sql: 't.amount_usd <= toDecimal256({most_usd:String}, 18)',
      value: filter.maxTokenAmountInUsd,
    },
  })
  return {
    where: [
      '(t.sender = {wallet:String} OR t.receiver = {wallet:String})',
      't.success = 1',
      ...where,
    ],
    params: { wallet, ...params },
  }
}

/** Transfers that a wallet made or got, newest first. */
export const walletTransferList = (
  chain: string,
  wallet: string,
  filter: WalletTransferFilter,
): KeysetList => ({
  columns: `t.token_address AS token, t.sender AS sender, t.receiver AS receiver, toString(t.amount) AS amount_raw, t.decimals AS decimals,
  toString(t.amount_usd) AS amount_usd, toString(toUnixTimestamp64Milli(t.block_time)) AS time_ms, t.tx_hash AS tx_hash,
  t.event_index AS event_index`,
  from: `${chain}_transfers AS t FINAL`,
  order: POSITION_ORDER,
  time: 't.block_time',
  windowsMs: WALLET_WINDOWS_MS,
  descending: true,
  ...transferConditions(wallet, filter),
})

/** How many transfers a wallet made or got. */
export const walletTransferTotalQuery = (
  chain: string,
  wallet: string,
  filter: WalletTransferFilter,
): Query => {
  const { where, params } = transferConditions(wallet, filter)
  return {
    sql: `SELECT toString(count()) AS total FROM ${chain}_transfers AS t FINAL WHERE ${where.join(' AND ')}`,
    params,
  }
}

/** The transaction that first gave a wallet native tokens. */
export interface FirstTransactionRow {
  readonly wallet: string
  readonly tx_hash: string
  readonly height: string
  readonly time_ms: string
  readonly decimals: number | null
  readonly change_raw: string
}

/** First transactions of wallets that gave them native tokens; wallets without one are missing. */
export const firstTransactionsQuery = (chain: string, wallets: readonly string[]): Query => ({
  sql: `SELECT t.owner AS wallet, t.tx_hash AS tx_hash, toString(t.block_height) AS height,
  toString(toUnixTimestamp64Milli(t.block_time)) AS time_ms, t.decimals AS decimals,
  toString(t.post_balance - t.pre_balance) AS change_raw
FROM ${chain}_balance_updates AS t FINAL
WHERE t.owner IN {wallets:Array(String)} AND t.token_address = {nativeToken:String} AND t.post_balance > t.pre_balance
ORDER BY t.block_slot, t.tx_index, t.event_index LIMIT 1 BY t.owner`,
  params: { wallets, nativeToken: nativeTokenAddress(chain) },
})
