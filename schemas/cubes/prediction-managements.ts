import { BLOCK_FIELDS, ROW_LIMIT, TRANSACTION_FIELDS, textLeaf } from './fields.ts'
import {
  COLLATERAL_FIELDS,
  CONDITION_FIELDS,
  eventTypeLeaf,
  QUESTION_FIELDS,
  TRANSACTION_STATUS_FIELDS,
  UNNAMED_MARKETPLACE_FIELDS,
} from './prediction-fields.ts'
import type { Cube } from './types.ts'

/** How prediction markets were set up and decided. */
export const PREDICTION_MANAGEMENTS: Cube = {
  name: 'PredictionManagements',
  about: 'One row per condition that was prepared or resolved, market or question that was made.',
  groups: ['EVM'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_prediction_managements FINAL',
  time: 'block_time',
  timeless: true,
  feed: 'predictions',
  lookups: { collateral: { key: 'collateral_token' } },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    TransactionStatus: TRANSACTION_STATUS_FIELDS,
    Management: {
      EventType: eventTypeLeaf('Event of the contract, such as ConditionResolution.'),
      Description: textLeaf('description', 'What was said about it; null: nothing.'),
      Group: textLeaf('group_id', 'Group of questions; null: none.'),
      Payouts: {
        sql: 'payouts',
        type: 'StringList',
        about: 'Shares of the payout by outcome; empty until it is decided.',
      },
      OutcomeTokenIds: {
        sql: 'outcome_token_ids',
        type: 'StringList',
        about: 'Outcome tokens, 256-bit ids in decimal.',
      },
      Prediction: {
        Condition: CONDITION_FIELDS,
        Question: QUESTION_FIELDS,
        Marketplace: UNNAMED_MARKETPLACE_FIELDS,
        CollateralToken: COLLATERAL_FIELDS,
      },
    },
  },
  selectors: {
    eventType: ['Management.EventType'],
    conditionId: ['Management.Prediction.Condition.Id'],
    questionId: ['Management.Prediction.Question.Id'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
