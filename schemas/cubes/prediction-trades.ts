import { CHAINS, type ChainRow } from '../chains.ts'
import {
  addressLeaf,
  BLOCK_FIELDS,
  optionalAddressLeaf,
  ROW_LIMIT,
  rawLeaf,
  TRANSACTION_FIELDS,
  textLeaf,
  unknownLeaf,
  withRawTwins,
} from './fields.ts'
import {
  COLLATERAL_FIELDS,
  CONDITION_FIELDS,
  marketplaceFields,
  OUTCOME_PLACES,
  outcomeAmountLeaf,
  QUESTION_FIELDS,
  TRANSACTION_STATUS_FIELDS,
} from './prediction-fields.ts'
import type { Cube, Leaf, Tree } from './types.ts'

/** Tokens that count as a dollar, of every chain. */
const STABLES_SQL = [
  ...new Set(
    Object.values<ChainRow>(CHAINS).flatMap(({ quotes }) =>
      quotes.filter(({ kind }) => kind === 'stable').map(({ address }) => `'${address}'`),
    ),
  ),
].join(', ')
const inUsd = (sql: string): string => `if(collateral_token IN (${STABLES_SQL}), ${sql}, NULL)`

const buyerLeaf = addressLeaf('buyer', 'Taker.')
const sellerLeaf = addressLeaf('seller', 'Maker.')
const amountLeaf = outcomeAmountLeaf('amount', 'Outcome tokens.')
const priceLeaf: Leaf = {
  sql: 'price',
  type: 'Float',
  about: 'Collateral per outcome token, 0 to 1.',
}
const collateralAmountLeaf = outcomeAmountLeaf('collateral_amount', 'Collateral that was paid.')
const feeLeaf: Leaf = {
  sql: `toFloat64(fee) / 1e${OUTCOME_PLACES} * if(fee_in = 'shares', price, 1)`,
  type: 'Float',
  about: 'Fee in collateral; one that was taken in outcome tokens at the price of the trade.',
}
const assetLeaf = textLeaf('outcome_token', 'Id of the outcome token, 256 bits in decimal.')

const shared: Tree = {
  Condition: CONDITION_FIELDS,
  Question: QUESTION_FIELDS,
  OutcomeToken: {
    leaf: 'AssetId',
    tree: {
      AssetId: assetLeaf,
      SmartContract: unknownLeaf('String', 'One contract holds the outcome tokens of all markets.'),
      MintAddress: unknownLeaf('String', 'One contract holds the outcome tokens of all markets.'),
      Symbol: unknownLeaf('String', 'Outcome tokens have no symbol.'),
      Name: unknownLeaf('String', 'Outcome tokens have no name.'),
    },
  },
  Marketplace: marketplaceFields(addressLeaf('exchange', 'Contract that matched the orders.')),
  CollateralToken: COLLATERAL_FIELDS,
}

/** Outcome tokens that changed hands. */
export const PREDICTION_TRADES: Cube = {
  name: 'PredictionTrades',
  about:
    'One row per order that was matched, or per trade with a market maker. IsOutcomeBuy tells who pays: true, the seller.',
  groups: ['EVM'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_prediction_trades FINAL',
  time: 'block_time',
  timeless: true,
  feed: 'predictions',
  lookups: { collateral: { key: 'collateral_token' } },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    TransactionStatus: TRANSACTION_STATUS_FIELDS,
    Trade: {
      Buyer: buyerLeaf,
      Seller: sellerLeaf,
      Amount: amountLeaf,
      AmountRaw: rawLeaf('amount'),
      Price: priceLeaf,
      Fee: feeLeaf,
      OutcomeTrade: withRawTwins({
        Buyer: buyerLeaf,
        Seller: sellerLeaf,
        Amount: amountLeaf,
        Price: priceLeaf,
        PriceInUSD: { ...priceLeaf, sql: inUsd('price'), about: 'USD; a stablecoin counts as 1.' },
        CollateralAmount: collateralAmountLeaf,
        CollateralAmountInUSD: {
          sql: inUsd(collateralAmountLeaf.fast ?? collateralAmountLeaf.sql),
          type: 'Float',
          about: 'USD; a stablecoin counts as 1.',
        },
        IsOutcomeBuy: {
          sql: 'is_outcome_buy',
          type: 'Boolean',
          about: 'True: the seller pays and the buyer gives outcome tokens; false: the reverse.',
        },
        OrderId: optionalAddressLeaf('order_id', 'Hash of the order; null of a market maker.'),
      }),
      Prediction: {
        ...shared,
        Outcome: {
          Id: assetLeaf,
          Label: unknownLeaf('String', 'Labels are not on the chain.'),
          Index: {
            sql: 'toInt64OrNull(outcome)',
            type: 'Int',
            about: 'Place among the outcomes; null where the condition was not seen.',
          },
        },
      },
    },
    Prediction: {
      ...shared,
      Outcome: textLeaf('outcome', 'Place among the outcomes; null where it is not known.'),
    },
  },
  selectors: {
    conditionId: ['Prediction.Condition.Id'],
    questionId: ['Prediction.Question.Id'],
    marketplace: ['Prediction.Marketplace.ProtocolName'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
