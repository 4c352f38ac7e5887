import type { PredictionActivityType } from '../../schemas/api/prediction.ts'
import type { KeysetList, KeysetRow } from './keyset-list.ts'

/** What narrows and orders the activities of prediction markets. */
export interface PredictionActivityRequest {
  readonly conditionIds?: readonly string[] | undefined
  /** Group of questions, of which each has a condition. */
  readonly marketIds?: readonly string[] | undefined
  readonly tokenId?: string | undefined
  readonly wallet?: string | undefined
  readonly type?: PredictionActivityType | undefined
  readonly descending: boolean
}

/** What a wallet did in a prediction market; amounts in base units. */
export interface PredictionActivityRow extends KeysetRow {
  readonly time_ms: string
  readonly height: string
  readonly tx: string
  readonly log: number
  readonly source: string
  readonly condition_id: string
  readonly market_id: string
  readonly collateral_token: string
  readonly actor: string
  /** Empty where there is none. */
  readonly counterparty: string
  readonly role: 'taker' | 'maker' | ''
  readonly taker: string
  readonly type: PredictionActivityType
  /** Kind of settlement; empty for a trade. */
  readonly raw_type: string
  readonly tokens: readonly string[]
  readonly amounts: readonly string[]
  readonly collateral: string
  readonly price: number | null
  readonly outcome: string
  /** What a trade cost beside its price, where that is in collateral; null otherwise. */
  readonly fee: string | null
}

const PLACE_COLUMNS = `block_time, block_slot, block_height, tx_hash, tx_index, log_index, toString(protocol_family) AS source,
    condition_id, market_id, collateral_token`

/** Conditions of the questions of a group: the adapter tells the questions, the contract of outcome tokens their conditions. */
const groupSql = (
  chain: string,
): string => `SELECT condition_id FROM ${chain}_prediction_managements FINAL
      WHERE condition_id != '' AND question_id IN (SELECT question_id FROM ${chain}_prediction_managements FINAL
        WHERE question_id != '' AND market_id IN {markets:Array(String)})`

const tradeSql = (chain: string, where: string, hasWallet: boolean): string => {
  const isTaker = hasWallet ? 'buyer = {wallet:String}' : '1'
  return `SELECT ${PLACE_COLUMNS},
    if(${isTaker}, buyer, seller) AS actor, if(${isTaker}, seller, buyer) AS counterparty, if(${isTaker}, 'taker', 'maker') AS role,
    buyer AS taker, if((${isTaker}) != is_outcome_buy, 'buy', 'sell') AS type, '' AS raw_type, [outcome_token] AS tokens,
    [amount] AS amounts, collateral_amount AS collateral, price, toString(outcome) AS outcome_index,
    if(fee_in = 'collateral', toNullable(fee), NULL) AS fee_raw
  FROM ${chain}_prediction_trades FINAL WHERE ${where}`
}

const settlementSql = (chain: string, where: string): string => `SELECT ${PLACE_COLUMNS},
    holder AS actor, '' AS counterparty, '' AS role, '' AS taker,
    if(event_type = 'Redemption', 'redeem', 'inventory_adjust') AS type, toString(event_type) AS raw_type, outcome_token_ids AS tokens,
    amounts, collateral_amount AS collateral, CAST(NULL, 'Nullable(Float64)') AS price, '' AS outcome_index,
    CAST(NULL, 'Nullable(UInt256)') AS fee_raw
  FROM ${chain}_prediction_settlements FINAL WHERE ${where}`

const joined = (conditions: readonly (string | false)[]): string =>
  ['1', ...conditions.filter((condition) => condition !== false)].join(' AND ')

/**
 * Trades, as their takers made them, and settlements, in the order of the chain. With a wallet: what it did, as taker or as
 * maker.
 */
export const predictionActivityList = (
  chain: string,
  request: PredictionActivityRequest,
): KeysetList => {
  const { conditionIds, marketIds, tokenId, wallet, type, descending } = request
  const hasWallet = wallet !== undefined
  const ofCondition = conditionIds !== undefined && 'condition_id IN {conditions:Array(String)}'
  const ofGroup = `condition_id IN (${groupSql(chain)})`
  const trades = joined([
    ofCondition,
    marketIds !== undefined && ofGroup,
    tokenId !== undefined && 'outcome_token = {token:String}',
    hasWallet && '(buyer = {wallet:String} OR seller = {wallet:String})',
  ])
  const settlements = joined([
    ofCondition,
    // A conversion is of a group, not of a condition.
    marketIds !== undefined &&
      `(${ofGroup} OR (condition_id = '' AND market_id IN {markets:Array(String)}))`,
    tokenId !== undefined && 'has(outcome_token_ids, {token:String})',
    hasWallet && 'holder = {wallet:String}',
  ])
  return {
    columns: `toString(toUnixTimestamp64Milli(t.block_time)) AS time_ms, toString(t.block_height) AS height, t.tx_hash AS tx, t.log_index AS log,
  t.source AS source, t.condition_id AS condition_id, t.market_id AS market_id, t.collateral_token AS collateral_token,
  t.actor AS actor, t.counterparty AS counterparty, t.role AS role, t.taker AS taker, t.type AS type, t.raw_type AS raw_type,
  t.tokens AS tokens, arrayMap(one -> toString(one), t.amounts) AS amounts, toString(t.collateral) AS collateral, t.price AS price,
  t.outcome_index AS outcome, toString(t.fee_raw) AS fee`,
    from: [tradeSql(chain, trades, hasWallet), settlementSql(chain, settlements)],
    where: type === undefined ? [] : ['t.type = {type:String}'],
    order: [
      { sql: 't.block_slot', type: 'UInt64' },
      { sql: 't.tx_index', type: 'UInt32' },
      { sql: 't.log_index', type: 'UInt32' },
    ],
    time: 't.block_time',
    descending,
    params: {
      ...(conditionIds && { conditions: conditionIds }),
      ...(marketIds && { markets: marketIds }),
      ...(tokenId !== undefined && { token: tokenId }),
      ...(hasWallet && { wallet }),
      ...(type !== undefined && { type }),
    },
  }
}
