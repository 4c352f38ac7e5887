import { optionalQueryTime } from '../../core/time.ts'
import type { KeysetList, OrderColumn } from './keyset-list.ts'
import { walletsWithTagsSql } from './trader-tags.ts'
import { baseTradesSelect, optionalFlag, TRADE_COLUMNS, windowsOf } from './trades.ts'

/** What narrows and orders activities; bounds exclusive but those of amounts. */
export interface ActivityRequest {
  readonly tokenAddress?: string | undefined
  readonly walletAddress?: string | undefined
  readonly poolAddress?: string | undefined
  readonly transactionsSignature?: string | undefined
  readonly type?: string | undefined
  readonly isSuspect?: boolean | undefined
  readonly beforeTimestamp?: number | undefined
  readonly afterTimestamp?: number | undefined
  readonly beforeBlockHeight?: number | undefined
  readonly afterBlockHeight?: number | undefined
  readonly minAmountUsd?: string | undefined
  readonly maxAmountUsd?: string | undefined
  /** undefined = any trader. */
  readonly traderTags?: readonly string[] | undefined
  readonly sort: 'time' | 'value'
  readonly descending: boolean
}

/** Columns that trades and changes of liquidity share. */
const COMMON_COLUMNS = `block_time, block_slot, block_height, tx_hash, tx_index, tx_fee, tx_fee_native, tx_fee_usd, toString(tx_status) AS tx_status, event_index,
    toString(program_address) AS program_address, toString(protocol_family) AS protocol_family, pool_address`

const LIQUIDITY_EVENT_SQL = `multiIf(event_type = 'INITIALIZE', 'LIQUIDITY_INITIALIZE', event_type = 'INCREASE_LIQUIDITY', 'LIQUIDITY_ADD', 'LIQUIDITY_REMOVE')`

/** One leg of a change of liquidity by the names of a trade's. */
const legColumns = (
  token: 'base' | 'quote',
  side: 'base' | 'quote',
  isBase: 0 | 1,
): string => `${token}_token AS token_address,
    ${token}_decimals AS decimals, abs(${token}_change) AS amount, ${token}_price_usd AS price_usd, ${side}_token AS side_token,
    ${side}_decimals AS side_decimals, abs(${side}_change) AS side_amount, ${side}_price_usd AS side_price_usd, toUInt8(${isBase}) AS is_base`

/** Value of both sides, null where one is not known. */
const LIQUIDITY_VALUE_SQL = `toDecimal128OrNull(toString(round(toFloat64(abs(base_change)) / exp10(base_decimals) * base_price_usd
    + toFloat64(abs(quote_change)) / exp10(quote_decimals) * quote_price_usd, 12)), 12)`

/** Changes of liquidity of a wallet, of a token as one leg, or of the chain; those of a pool alone are kept with its swaps. */
const liquidityTable = (
  chain: string,
  request: ActivityRequest,
  token: 'base' | 'quote',
): string => {
  const table = `${chain}_liquidity_changes FINAL WHERE`
  const ofToken = `${token}_token = {token:String}`
  if (request.walletAddress !== undefined) {
    const ofWallet = `${table} subject_kind = 'WALLET' AND subject = {wallet:String}`
    return request.tokenAddress === undefined ? ofWallet : `${ofWallet} AND ${ofToken}`
  }
  if (request.tokenAddress !== undefined)
    return `${table} subject_kind = '${token === 'base' ? 'BASE' : 'QUOTE'}' AND subject = {token:String}`
  return request.poolAddress === undefined
    ? `${table} subject_kind = 'CHAIN' AND subject = ''`
    : `${chain}_dex_pool_events_enriched FINAL WHERE event_type != 'SWAP'`
}

const liquiditySelect = (
  chain: string,
  request: ActivityRequest,
  token: 'base' | 'quote',
): string => {
  const isBase = token === 'base'
  return `SELECT ${COMMON_COLUMNS}, lp_wallet AS owner, ${LIQUIDITY_EVENT_SQL} AS side, ${legColumns(token, isBase ? 'quote' : 'base', isBase ? 1 : 0)},
    toUInt8(1) AS is_liquidity, CAST(NULL, 'Nullable(UInt8)') AS is_suspect, CAST(NULL, 'Nullable(Float64)') AS price_native, ${LIQUIDITY_VALUE_SQL} AS amount_usd, CAST(NULL, 'Nullable(Decimal(38,12))') AS amount_native
  FROM ${liquidityTable(chain, request, token)}`
}

/** The table of trades whose order fits a request, seen from the token that is asked for, else from the base token. */
const tradeTable = (chain: string, { tokenAddress, walletAddress }: ActivityRequest): string => {
  const side = tokenAddress === undefined ? 'is_base = 1' : 'token_address = {token:String}'
  if (walletAddress !== undefined) return `${chain}_dex_trades_by_wallet FINAL WHERE ${side}`
  return tokenAddress === undefined
    ? `(${baseTradesSelect(chain)})`
    : `${chain}_dex_trades_enriched FINAL WHERE ${side}`
}

const tradeSelect = (
  chain: string,
  request: ActivityRequest,
): string => `SELECT ${COMMON_COLUMNS}, owner, toString(side) AS side, token_address, decimals, toInt256(amount) AS amount, price_usd, side_token,
    side_decimals, toInt256(side_amount) AS side_amount, side_price_usd, is_base, toUInt8(0) AS is_liquidity, toNullable(is_suspect) AS is_suspect, price_native, amount_usd, amount_native
  FROM ${tradeTable(chain, request)}`

/** A block counts its trades and its changes of liquidity apart, so that one of each may have the same numbers. */
const POSITION_ORDER: readonly OrderColumn[] = [
  { sql: 't.block_slot', type: 'UInt64' },
  { sql: 't.tx_index', type: 'UInt32' },
  { sql: 't.event_index', type: 'UInt32' },
  { sql: 'toUInt32(t.is_base)', type: 'UInt32' },
  { sql: 'toUInt32(t.is_liquidity)', type: 'UInt32' },
]

interface Condition {
  readonly sql: string
  readonly value: unknown
}

const activityConditions = (request: ActivityRequest): Readonly<Record<string, Condition>> => ({
  wallet: { sql: 't.owner = {wallet:String}', value: request.walletAddress },
  pool: { sql: 't.pool_address = {pool:String}', value: request.poolAddress },
  tx: { sql: 't.tx_hash = {tx:String}', value: request.transactionsSignature },
  type: { sql: 't.side = {type:String}', value: request.type },
  suspect: { sql: 't.is_suspect = {suspect:UInt8}', value: optionalFlag(request.isSuspect) },
  before: {
    sql: 't.block_time < fromUnixTimestamp64Milli({before:Int64})',
    value: optionalQueryTime(request.beforeTimestamp),
  },
  after: {
    sql: 't.block_time > fromUnixTimestamp64Milli({after:Int64})',
    value: optionalQueryTime(request.afterTimestamp),
  },
  below: { sql: 't.block_height < {below:UInt64}', value: request.beforeBlockHeight },
  above: { sql: 't.block_height > {above:UInt64}', value: request.afterBlockHeight },
  least: { sql: 't.amount_usd >= toDecimal256({least:String}, 12)', value: request.minAmountUsd },
  most: { sql: 't.amount_usd <= toDecimal256({most:String}, 12)', value: request.maxAmountUsd },
})

/** Trades and changes of liquidity: seen from the token that is asked for, else from the base token of each. */
export const activityList = (chain: string, request: ActivityRequest): KeysetList => {
  const { tokenAddress, traderTags, sort, descending } = request
  const asked = Object.entries(activityConditions(request)).filter(
    ([, { value }]) => value !== undefined,
  )
  const isToken = tokenAddress !== undefined
  const rows = [
    tradeSelect(chain, request),
    liquiditySelect(chain, request, 'base'),
    ...(isToken ? [liquiditySelect(chain, request, 'quote')] : []),
  ]
  const tagged =
    traderTags === undefined
      ? []
      : [
          isToken
            ? `t.owner IN (SELECT wallet FROM (${walletsWithTagsSql(chain, traderTags)}))`
            : '0',
        ]
  return {
    columns: TRADE_COLUMNS,
    // Wallets with tags are found once for the whole list.
    from: tagged.length === 0 ? rows : `(${rows.join('\n  UNION ALL ')}) AS t`,
    where: [...asked.map(([, { sql }]) => sql), ...tagged],
    order:
      sort === 'time'
        ? POSITION_ORDER
        : [
            { sql: 'toDecimal256(ifNull(t.amount_usd, -1), 12)', type: 'Decimal256(12)' },
            ...POSITION_ORDER,
          ],
    ...(sort === 'time' && { time: 't.block_time', ...windowsOf(request) }),
    descending,
    params: {
      ...Object.fromEntries(asked.map(([name, { value }]) => [name, value])),
      ...(isToken && { token: tokenAddress }),
    },
  }
}
