import type { Query } from '../../core/clickhouse/client.ts'
import type {
  PredictionHolderSort,
  PredictionTraderSort,
  PredictionWalletSort,
} from '../../schemas/api/prediction-positions.ts'
import { type KeysetList, type KeysetRow, moneyColumn, type OrderColumn } from './keyset-list.ts'

/** Which positions: those of a condition, or of at most a page of wallets. */
export type PositionScope =
  | { readonly conditionId: string; readonly tokenId?: string | undefined }
  | {
      readonly wallets: readonly string[]
      readonly conditionId?: string | undefined
      readonly tokenId?: string | undefined
    }

const scopeParams = (scope: PositionScope): Readonly<Record<string, unknown>> => ({
  ...('wallets' in scope && { wallets: scope.wallets }),
  ...(scope.tokenId !== undefined && { token: scope.tokenId }),
  ...(scope.conditionId !== undefined && { condition: scope.conditionId }),
})

const heldSql = (chain: string, scope: PositionScope): string => {
  const byWallet = 'wallets' in scope
  const conditions = [
    ...(byWallet ? ['wallet IN {wallets:Array(String)}'] : []),
    ...(scope.conditionId === undefined ? [] : ['condition_id = {condition:String}']),
    ...(scope.tokenId === undefined ? [] : ['outcome_token = {token:String}']),
  ]
  const table = byWallet ? 'prediction_wallet_positions' : 'prediction_positions'
  return `SELECT * FROM ${chain}_${table} FINAL WHERE ${conditions.join(' AND ')}`
}

/** Collateral of so many tokens at the mark, in base units: a mark is of a million of them. */
const atMark = (quantity: string): string => `intDiv(${quantity} * assumeNotNull(mark), 1000000)`

/** Positions with their value: at the payout of the outcome once that is decided, else at the last price of the token. */
const positionsSql = (
  chain: string,
  scope: PositionScope,
): string => `held AS (${heldSql(chain, scope)}),
  prices AS (SELECT outcome_token, toNullable(price) AS last_price FROM ${chain}_prediction_prices FINAL
    WHERE outcome_token IN (SELECT outcome_token FROM held)),
  decided AS (SELECT condition_id, argMax(arrayMap(one -> toUInt256OrZero(one), payouts), block_slot) AS shares
    FROM ${chain}_prediction_managements FINAL
    WHERE event_type = 'ConditionResolution' AND condition_id != '' AND condition_id IN (SELECT condition_id FROM held)
    GROUP BY condition_id),
  positions AS (SELECT h.wallet AS wallet, h.outcome_token AS token, h.condition_id AS condition_id, toString(h.outcome) AS outcome,
      h.quantity AS quantity, h.known_quantity AS known, h.cost AS cost, h.bought AS bought, h.paid AS paid, h.sold AS sold,
      h.received AS received, h.redeemed AS redeemed, h.volume AS volume, h.realized AS realized, h.entries AS entries,
      h.first_paid AS first_paid, h.first_time AS first_time, h.last_time AS last_time,
      arraySum(d.shares) > 0 AND h.outcome != '' AS is_decided,
      if(is_decided, toNullable(intDiv(d.shares[toUInt32OrZero(toString(h.outcome)) + 1] * toUInt256(1000000),
        if(is_decided, toUInt256(arraySum(d.shares)), toUInt256(1)))), p.last_price) AS mark,
      if(mark IS NULL, toInt256(0), toInt256(${atMark('h.quantity')})) AS worth,
      if(mark IS NULL, toInt256(0), toInt256(${atMark('h.known_quantity')}) - toInt256(h.cost)) AS unrealized
    FROM held AS h
    LEFT JOIN prices AS p ON p.outcome_token = h.outcome_token
    LEFT JOIN decided AS d ON d.condition_id = h.condition_id)`

const texts = (names: readonly string[]): string =>
  names.map((name) => `toString(t.${name}) AS ${name}`).join(', ')

/** A wallet in a condition; amounts in base units. */
export interface PredictionWalletRow extends KeysetRow {
  readonly wallet: string
  readonly balance: string
  readonly known: string
  readonly cost: string
  readonly worth: string
  readonly bought: string
  readonly paid: string
  readonly volume: string
  readonly realized: string
  readonly unrealized: string
  readonly last_ms: string
  /** Outcome token of which the wallet has most, and how much. */
  readonly net_token: string
  readonly net_balance: string
}

const WALLET_SUMS = [
  ...(['balance', 'known', 'cost', 'worth', 'bought', 'paid', 'volume', 'realized'] as const),
  ...(['unrealized', 'last_ms', 'net_balance'] as const),
]

const walletList = (
  chain: string,
  scope: PositionScope & { readonly conditionId: string },
  having: string,
  order: { readonly by: OrderColumn; readonly descending: boolean },
): KeysetList => ({
  with: positionsSql(chain, scope),
  columns: `t.wallet AS wallet, t.net_token AS net_token, ${texts(WALLET_SUMS)}`,
  from: `(SELECT wallet, sum(p.quantity) AS balance, sum(p.known) AS known, sum(p.cost) AS cost, sum(p.worth) AS worth,
    sum(p.bought) AS bought, sum(p.paid) AS paid, sum(p.volume) AS volume, sum(p.realized) AS realized,
    sum(p.unrealized) AS unrealized, toUnixTimestamp64Milli(max(p.last_time)) AS last_ms,
    argMax((p.token, p.quantity), (p.quantity, p.token)) AS net, net.1 AS net_token, net.2 AS net_balance
  FROM positions AS p GROUP BY wallet HAVING ${having}) AS t`,
  where: [],
  order: [order.by, { sql: 't.wallet', type: 'String' }],
  descending: order.descending,
  params: scopeParams(scope),
})

const HOLDER_SORTS: Readonly<Record<PredictionHolderSort, OrderColumn>> = {
  balance: moneyColumn('t.balance'),
  holding_value: moneyColumn('t.worth'),
  total_pnl: moneyColumn('t.realized + t.unrealized'),
}

/** Wallets that hold outcome tokens of a condition. */
export const predictionHolderList = (
  chain: string,
  scope: { readonly conditionId: string; readonly tokenId?: string | undefined },
  { sort, descending }: { readonly sort: PredictionHolderSort; readonly descending: boolean },
): KeysetList => walletList(chain, scope, 'balance > 0', { by: HOLDER_SORTS[sort], descending })

const TRADER_SORTS: Readonly<Record<PredictionTraderSort, OrderColumn>> = {
  realized_pnl: moneyColumn('t.realized'),
  total_pnl: moneyColumn('t.realized + t.unrealized'),
  total_volume: moneyColumn('t.volume'),
}

/** Wallets that traded outcome tokens of a condition. */
export const predictionTraderList = (
  chain: string,
  conditionId: string,
  { sort, descending }: { readonly sort: PredictionTraderSort; readonly descending: boolean },
): KeysetList =>
  walletList(chain, { conditionId }, 'volume > 0', { by: TRADER_SORTS[sort], descending })

/** The wallets of one outcome token together; amounts in base units. */
export interface PredictionOutcomeRow {
  readonly token: string
  readonly outcome: string
  readonly wallets: string
  readonly holders: string
  readonly balance: string
  readonly largest: string
  readonly worth: string
  readonly cost: string
  readonly paid: string
  readonly realized: string
  readonly unrealized: string
  readonly profit: string
  /** Collateral, rounded to a double. */
  readonly median_pnl: number
  readonly median_yield: number | null
  readonly top100: string
  /** Holders and their value. */
  readonly whale: readonly [string, string]
  readonly shark: readonly [string, string]
  readonly dolphin: readonly [string, string]
}

const cohortSql = (from: number, below: number | undefined): string => {
  const inside = `p.worth >= ${from}${below === undefined ? '' : ` AND p.worth < ${below}`}`
  return `(toString(countIf(${inside})), toString(sumIf(p.worth, ${inside})))`
}

/** From which value a holder counts to a cohort, base units of collateral. */
export const COHORT_FLOORS = {
  whale: 100_000_000_000,
  shark: 10_000_000_000,
  dolphin: 1_000_000_000,
} as const

/** Holders of a condition by outcome token. */
export const predictionOutcomeStatsQuery = (chain: string, conditionId: string): Query => ({
  sql: `WITH ${positionsSql(chain, { conditionId })}
SELECT p.token AS token, max(p.outcome) AS outcome, toString(count()) AS wallets, toString(countIf(p.quantity > 0)) AS holders,
  toString(sum(p.quantity)) AS balance, toString(max(p.quantity)) AS largest, toString(sum(p.worth)) AS worth,
  toString(sum(p.cost)) AS cost, toString(sum(p.paid)) AS paid, toString(sum(p.realized)) AS realized,
  toString(sum(p.unrealized)) AS unrealized, toString(sumIf(p.realized + p.unrealized, p.realized + p.unrealized > 0)) AS profit,
  quantileExactLow(0.5)(toFloat64(p.realized + p.unrealized)) / 1e6 AS median_pnl,
  if(countIf(p.paid > 0) = 0, NULL, toNullable(quantileExactLowIf(0.5)(toFloat64(p.realized + p.unrealized) / greatest(toFloat64(p.paid), 1), p.paid > 0))) AS median_yield,
  toString(arraySum(arraySlice(arrayReverseSort(groupArray(p.worth)), 1, 100))) AS top100,
  ${cohortSql(COHORT_FLOORS.whale, undefined)} AS whale, ${cohortSql(COHORT_FLOORS.shark, COHORT_FLOORS.whale)} AS shark,
  ${cohortSql(COHORT_FLOORS.dolphin, COHORT_FLOORS.shark)} AS dolphin
FROM positions AS p GROUP BY p.token ORDER BY outcome, token`,
  params: { condition: conditionId },
})

/** A wallet's position in an outcome token; amounts in base units. */
export interface PredictionPositionRow extends KeysetRow {
  readonly token: string
  readonly condition_id: string
  readonly outcome: string
  readonly quantity: string
  readonly cost: string
  readonly bought: string
  readonly paid: string
  readonly sold: string
  readonly received: string
  readonly redeemed: string
  readonly volume: string
  readonly worth: string
  readonly realized: string
  readonly unrealized: string
  /** Value of a million base units; null: no price is known. */
  readonly mark: string | null
  readonly first_ms: string
  readonly last_ms: string
}

const POSITION_SORTS: Readonly<Record<PredictionWalletSort, OrderColumn>> = {
  realizedPnl: moneyColumn('t.realized'),
  unrealizedPnl: moneyColumn('t.unrealized'),
  totalPnl: moneyColumn('t.realized + t.unrealized'),
  lastActive: { sql: 'toUnixTimestamp64Milli(t.last_time)', type: 'Int64' },
}

/** Positions of a wallet. */
export const predictionPositionList = (
  chain: string,
  scope: Extract<PositionScope, { readonly wallets: readonly string[] }>,
  { sort, descending }: { readonly sort: PredictionWalletSort; readonly descending: boolean },
): KeysetList => ({
  with: positionsSql(chain, scope),
  columns: `t.token AS token, t.condition_id AS condition_id, t.outcome AS outcome, ${texts([
    ...['quantity', 'cost', 'bought', 'paid', 'sold', 'received', 'redeemed', 'volume', 'worth'],
    ...['realized', 'unrealized', 'mark'],
  ])},
  toString(toUnixTimestamp64Milli(t.first_time)) AS first_ms, toString(toUnixTimestamp64Milli(t.last_time)) AS last_ms`,
  from: 'positions AS t',
  where: [],
  order: [POSITION_SORTS[sort], { sql: 't.token', type: 'String' }],
  descending,
  params: scopeParams(scope),
})

/** All positions of a wallet together; amounts in base units. */
export interface PredictionTotalsRow {
  readonly wallet: string
  readonly tokens: string
  readonly markets: string
  readonly open_positions: string
  readonly wins: string
  readonly losses: string
  readonly decided: string
  readonly decided_wins: string
  readonly entries: string
  readonly paid: string
  readonly received: string
  readonly redeemed: string
  readonly volume: string
  readonly worth: string
  readonly gained: string
  readonly lost: string
  readonly realized: string
  readonly unrealized: string
  readonly first_paid: string
  readonly held_ms: string
  readonly last_ms: string
  /** Token, condition, outcome and realized profit of the best and of the worst position. */
  readonly best: readonly [string, string, string, string]
  readonly worst: readonly [string, string, string, string]
}

/** Sums of the positions of each wallet. */
export const predictionTotalsQuery = (
  chain: string,
  scope: Extract<PositionScope, { readonly wallets: readonly string[] }>,
): Query => ({
  sql: `WITH ${positionsSql(chain, scope)}
SELECT p.wallet AS wallet, toString(count()) AS tokens, toString(uniqExactIf(p.condition_id, p.condition_id != '')) AS markets,
  toString(countIf(p.quantity > 0)) AS open_positions, toString(countIf(p.realized > 0)) AS wins, toString(countIf(p.realized < 0)) AS losses,
  toString(countIf(p.is_decided)) AS decided, toString(countIf(p.is_decided AND p.realized + p.unrealized > 0)) AS decided_wins,
  toString(sum(p.entries)) AS entries, toString(sum(p.paid)) AS paid, toString(sum(p.received)) AS received,
  toString(sum(p.redeemed)) AS redeemed, toString(sum(p.volume)) AS volume, toString(sum(p.worth)) AS worth,
  toString(sumIf(p.realized, p.realized > 0)) AS gained, toString(sumIf(p.realized, p.realized < 0)) AS lost,
  toString(sum(p.realized)) AS realized, toString(sum(p.unrealized)) AS unrealized, toString(sum(p.first_paid)) AS first_paid,
  toString(sum(toUnixTimestamp64Milli(p.last_time) - toUnixTimestamp64Milli(p.first_time))) AS held_ms,
  toString(toUnixTimestamp64Milli(max(p.last_time))) AS last_ms,
  argMax((p.token, p.condition_id, p.outcome, toString(p.realized)), (p.realized, p.token)) AS best,
  argMin((p.token, p.condition_id, p.outcome, toString(p.realized)), (p.realized, p.token)) AS worst
FROM positions AS p GROUP BY p.wallet`,
  params: scopeParams(scope),
})
