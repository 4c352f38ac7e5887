import { formatRatio } from '../../../core/amounts.ts'
import type { EvmBlock } from '../../../schemas/events.ts'
import type {
  Prediction,
  PredictionManagement,
  PredictionSettlement,
  PredictionTrade,
} from '../../../schemas/prediction-events.ts'
import { protocolRow } from '../../../schemas/protocols.ts'
import type * as Wire from '../../../schemas/wire.ts'
import type { Keyed } from '../../to-wire/context.ts'
import { transactionFields } from '../../to-wire/flat.ts'
import type { Outcomes } from '../predictions/outcome-tokens.ts'

/** Decimals of the price of an outcome token, as many as collateral and outcome tokens have. */
const PRICE_DECIMALS = 6

/** Prediction events of a block by their topics. */
export interface PredictionEvents {
  readonly predictionTrades: readonly Keyed<Wire.PredictionTradeEvent>[]
  readonly predictionManagements: readonly Keyed<Wire.PredictionManagementEvent>[]
  readonly predictionSettlements: readonly Keyed<Wire.PredictionSettlementEvent>[]
}

/**
 * Maps what happened in prediction markets. Keyed by the condition; where none is known by the outcome token of a trade, by the
 * group or the question of anything else.
 */
export const predictionEvents = (
  block: EvmBlock,
  predictions: readonly Prediction[],
  outcomes: Outcomes,
): PredictionEvents => {
  const transactions = new Map(block.transactions.map((tx) => [tx.index, transactionFields(tx)]))
  const predictionPosition = (event: Prediction, index: number) => ({
    ...transactions.get(event.txIndex),
    block_height: block.height,
    event_index: index,
    log_index: event.logIndex,
    marketplace: protocolRow(event.protocol)?.name ?? event.protocol,
    protocol_family: event.protocol,
  })
  const questionIdOf = (conditionId: string | null): string =>
    conditionId === null ? '' : (outcomes.question(conditionId) ?? '')
  const groupOf = (conditionId: string | null): string =>
    conditionId === null ? '' : (outcomes.group(conditionId) ?? '')
  const trades = predictions.filter((each) => each.kind === 'prediction-trade')
  const managements = predictions.filter((each) => each.kind === 'prediction-management')
  const settlements = predictions.filter((each) => each.kind === 'prediction-settlement')
  return {
    predictionTrades: trades.map((trade, index) => {
      const metadata = outcomes.outcome(trade.tokenId)
      const { conditionId = '' } = metadata ?? {}
      return {
        key: conditionId || trade.tokenId.toString(),
        event: {
          ...predictionPosition(trade, index),
          condition_id: conditionId,
          question_id: questionIdOf(conditionId || null),
          market_id: groupOf(conditionId || null),
          outcome: metadata?.index?.toString() ?? '',
          ...tradeFields(trade),
        },
      }
    }),
    predictionManagements: managements.map((event, index) => ({
      key: event.conditionId ?? event.marketId ?? event.questionId ?? '',
      event: {
        ...predictionPosition(event, index),
        question_id: event.questionId ?? questionIdOf(event.conditionId),
        ...managementFields(event),
      },
    })),
    predictionSettlements: settlements.map((event, index) => ({
      key: event.conditionId ?? event.marketId ?? '',
      event: {
        ...predictionPosition(event, index),
        question_id: questionIdOf(event.conditionId),
        ...settlementFields(event),
        market_id: event.marketId ?? groupOf(event.conditionId),
      },
    })),
  }
}

/** The taker is the buyer and the maker the seller, whichever of them gets the outcome tokens: the mark tells. */
const tradeFields = (trade: PredictionTrade) => ({
  collateral_token: trade.collateral,
  buyer: trade.taker,
  seller: trade.maker,
  is_outcome_buy: trade.side === 'BUY',
  amount: trade.sharesRaw.toString(),
  collateral_amount: trade.collateralRaw.toString(),
  price: trade.sharesRaw === 0n ? '' : priceText(trade),
  fee: trade.feeRaw.toString(),
  fee_in: trade.feeIn,
  outcome_token: trade.tokenId.toString(),
  order_id: trade.orderHash ?? '',
  exchange: trade.exchange,
})

const priceText = ({ collateralRaw, sharesRaw }: PredictionTrade): string =>
  formatRatio(collateralRaw, sharesRaw, PRICE_DECIMALS)

const managementFields = (event: PredictionManagement) => ({
  condition_id: event.conditionId ?? '',
  market_id: event.marketId ?? '',
  event_type: event.type,
  description: event.description ?? '',
  group_id: event.marketId ?? '',
  oracle: event.oracle ?? '',
  outcome_count: event.outcomes ?? 0,
  payouts: event.payouts.map(String),
  outcome_token_ids: event.tokenIds.map(String),
})

const settlementFields = (event: PredictionSettlement) => ({
  condition_id: event.conditionId ?? '',
  collateral_token: event.collateral ?? '',
  event_type: event.type,
  holder: event.holder,
  collateral_amount: event.amountRaw.toString(),
  outcome_token_ids: event.moved.map(({ tokenId }) => tokenId.toString()),
  amounts: event.moved.map(({ amountRaw }) => amountRaw.toString()),
})
