import {
  addressLeaf,
  BLOCK_FIELDS,
  countLeaf,
  DEX_FIELDS,
  optionalAddressLeaf,
  ROW_LIMIT,
  rawLeaf,
  TRANSACTION_FIELDS,
  textLeaf,
} from './fields.ts'
import type { Cube } from './types.ts'

const TYPE_SQL = `transform(event_type, ['OPEN', 'UPDATE', 'CANCEL', 'FILL'], ['place', 'update', 'cancel', 'fill'], lower(event_type))`
const marketLeaf = addressLeaf('market_address', 'Market.')

/** What happened to orders of order books. */
export const DEX_ORDERS: Cube = {
  name: 'DEXOrders',
  about: 'One row per event of an order in an order book.',
  groups: ['Solana'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_dex_orders FINAL',
  time: 'block_time',
  feed: 'orders',
  lookups: {},
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    OrderEvent: {
      Type: { sql: TYPE_SQL, type: 'String', folds: true, about: 'place, update, cancel or fill.' },
      Market: { Address: marketLeaf, MarketAddress: marketLeaf },
      Order: {
        Id: textLeaf('order_id', 'Id in the market; null where the event names none.'),
        Mint: optionalAddressLeaf('mint', 'Token of the order; null where the event names none.'),
        Owner: optionalAddressLeaf('owner', 'Who owns it.'),
        Account: optionalAddressLeaf('account', 'Account of the order book.'),
        Payer: optionalAddressLeaf('payer', 'Who paid for the transaction.'),
        BuySide: { sql: 'buy_side', type: 'Boolean', about: 'True for a bid.' },
        LimitPrice: {
          sql: 'limit_price',
          type: 'Float',
          about: 'Quote per base; null: not known.',
        },
        LimitAmount: { sql: 'limit_amount', type: 'Float', about: 'Base units; null: not known.' },
        PriceInTicks: rawLeaf('price_ticks', 'Price in ticks of the market.'),
        SizeInLots: rawLeaf('size_lots', 'Size in lots of the market.'),
      },
      Dex: DEX_FIELDS,
      Index: countLeaf('event_index', 'Event index in the block.'),
    },
  },
  selectors: {
    marketAddress: ['OrderEvent.Market.Address'],
    orderType: ['OrderEvent.Type'],
    ownerAddress: ['OrderEvent.Order.Owner'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
