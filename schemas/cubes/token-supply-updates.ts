import {
  addressLeaf,
  BLOCK_FIELDS,
  countLeaf,
  currencyFields,
  numberLeaf,
  ROW_LIMIT,
  rawLeaf,
  TRANSACTION_FIELDS,
} from './fields.ts'
import type { Cube } from './types.ts'

const AFTER_SQL = 'toFloat64(post_supply)'
const CHANGE_SQL = `if(event_type = 'BURN', -1, 1) * toFloat64(amount) / exp10(decimals)`

const supplyLeaf = numberLeaf(AFTER_SQL, 'Supply after the event, token units.')
const priceLeaf = numberLeaf(
  `market_cap_usd / nullIf(${AFTER_SQL}, 0)`,
  'USD per token at that time.',
)
const marketCapLeaf = numberLeaf('market_cap_usd', 'Supply times price at that time, USD.')

/** What was minted and burned of each token. */
export const TOKEN_SUPPLY_UPDATES: Cube = {
  name: 'TokenSupplyUpdates',
  about:
    'One row per mint and burn, and per start of a mint (Amount 0), with the supply after it. A supply that was never read is null.',
  groups: ['EVM', 'Solana'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_token_supplies FINAL',
  time: 'block_time',
  lookups: { own: { key: 'token_address' } },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    Token: { Address: addressLeaf('token_address', 'Token address.') },
    PriceUSD: priceLeaf,
    MarketCapUSD: marketCapLeaf,
    FDVUSD: marketCapLeaf,
    TotalSupply: supplyLeaf,
    LastSeen: { sql: 'block_time', type: 'DateTime', about: 'Block time, UTC.' },
    TokenSupplyUpdate: {
      Currency: currencyFields('own', 'token_address', 'decimals'),
      PreBalance: numberLeaf(
        `${AFTER_SQL} - (${CHANGE_SQL})`,
        'Supply before the event, token units.',
      ),
      PostBalance: supplyLeaf,
      TotalSupply: supplyLeaf,
      Amount: numberLeaf(CHANGE_SQL, 'Signed change, token units.'),
      AmountRaw: rawLeaf('amount', 'What was minted or burned, base units without sign.'),
      PriceInUSD: priceLeaf,
      MarketCapInUSD: marketCapLeaf,
      FDVInUSD: marketCapLeaf,
      EventType: {
        sql: `lower(toString(event_type))`,
        type: 'String',
        folds: true,
        about:
          'mint, burn, initialize_mint, or initialize_mint_from_rpc for a supply that was read.',
      },
      Index: countLeaf('event_index', 'Event index in the block.'),
    },
  },
  selectors: { tokenAddress: ['TokenSupplyUpdate.Currency.MintAddress'], date: ['Block.Time'] },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index', 'token_address'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: ['TokenMarketCap'],
}
