import { addressLeaf, BLOCK_FIELDS, ROW_LIMIT, rawLeaf, TRANSACTION_FIELDS } from './fields.ts'
import {
  COLLATERAL_FIELDS,
  CONDITION_FIELDS,
  eventTypeLeaf,
  OUTCOME_PLACES,
  outcomeAmountLeaf,
  QUESTION_FIELDS,
  TRANSACTION_STATUS_FIELDS,
  UNNAMED_MARKETPLACE_FIELDS,
} from './prediction-fields.ts'
import type { Cube } from './types.ts'

/** Collateral that became outcome tokens, and the reverse. */
export const PREDICTION_SETTLEMENTS: Cube = {
  name: 'PredictionSettlements',
  about: 'One row per split, merge, redemption and conversion of outcome tokens.',
  groups: ['EVM'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_prediction_settlements FINAL',
  time: 'block_time',
  timeless: true,
  feed: 'predictions',
  lookups: { collateral: { key: 'collateral_token' } },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    TransactionStatus: TRANSACTION_STATUS_FIELDS,
    Settlement: {
      EventType: eventTypeLeaf('Split, Merge, Redemption or Conversion.'),
      Holder: addressLeaf('holder', 'Whose tokens they are.'),
      OutcomeTokenIds: {
        sql: 'outcome_token_ids',
        type: 'StringList',
        about: 'Outcome tokens that moved, 256-bit ids in decimal.',
      },
      Amounts: {
        sql: `arrayMap(raw -> toFloat64(raw) / 1e${OUTCOME_PLACES}, amounts)`,
        type: 'FloatList',
        about: 'What moved of each, token units.',
      },
      AmountsRaw: {
        sql: 'arrayMap(raw -> toString(raw), amounts)',
        type: 'StringList',
        about: 'The same in base units.',
      },
      CollateralAmount: outcomeAmountLeaf(
        'collateral_amount',
        'Collateral put in or paid out; of a conversion the outcome tokens given up of each question.',
      ),
      CollateralAmountRaw: rawLeaf('collateral_amount'),
      Prediction: {
        Condition: CONDITION_FIELDS,
        Question: QUESTION_FIELDS,
        CollateralToken: COLLATERAL_FIELDS,
        Marketplace: UNNAMED_MARKETPLACE_FIELDS,
      },
    },
  },
  selectors: {
    eventType: ['Settlement.EventType'],
    conditionId: ['Settlement.Prediction.Condition.Id'],
    holder: ['Settlement.Holder'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
