import { countLeaf, ROW_LIMIT, usdLeaf } from './fields.ts'
import type { Cube, Leaf } from './types.ts'

const timeLeaf = (sql: string, about: string): Leaf => ({ sql, type: 'DateTime', about })

const boughtLeaf = usdLeaf('buy_amount_usd', 'USD spent.')
const soldLeaf = usdLeaf('sell_amount_usd', 'USD received.')
const buysLeaf = countLeaf('buys', 'Number of buys.')
const sellsLeaf = countLeaf('sells', 'Number of sells.')
const firstTradeLeaf = timeLeaf('first_time', 'First trade.')
const lastTradeLeaf = timeLeaf('last_time', 'Last trade.')

/** What each wallet made of each token, over all of its trades. */
export const WALLET_TOKEN_PNL: Cube = {
  name: 'WalletTokenPnL',
  about:
    'One row per wallet and base token, cumulative. Trades of a quote asset (SOL against USDC) make no position. Realized by moving average cost; unrealized at the last good price.',
  groups: ['EVM', 'Solana'],
  layer: 'DWS',
  baseCost: 1_000,
  source: `(SELECT capped.*, price.price_usd AS price_usd FROM (
  SELECT pnl.*, least(toFloat64(pnl.position_amount), ifNull(held.units, inf)) AS open_amount
  FROM (SELECT * FROM {chain}_wallet_token_pnl FINAL) AS pnl
  LEFT JOIN (SELECT holder AS wallet, token_address, toFloat64(balance) / exp10(decimals) AS units
    FROM {chain}_wallet_balances FINAL) AS held USING (wallet, token_address)) AS capped
LEFT JOIN (SELECT token_address, price_usd FROM {chain}_token_prices FINAL) AS price USING (token_address))`,
  time: 'last_time',
  timeless: true,
  versionBits: 16,
  lookups: {},
  dimensions: {
    Wallet: { Address: { sql: 'wallet', type: 'String', address: true, about: 'Wallet.' } },
    Token: {
      Address: { sql: 'token_address', type: 'String', address: true, about: 'Token address.' },
    },
    BuyVolumeUSDState: boughtLeaf,
    SellVolumeUSDState: soldLeaf,
    BuyCountState: buysLeaf,
    SellCountState: sellsLeaf,
    FirstTradeState: firstTradeLeaf,
    LastTradeState: lastTradeLeaf,
    BuyVolumeUSD: boughtLeaf,
    SellVolumeUSD: soldLeaf,
    BuyCount: buysLeaf,
    SellCount: sellsLeaf,
    FirstTrade: firstTradeLeaf,
    LastTrade: lastTradeLeaf,
    RealizedPnLUSD: usdLeaf('total_realized_usd', 'Realized over all cycles, moving average cost.'),
    UnrealizedPnLUSD: {
      sql: `open_amount * price_usd -
  if(position_amount > 0, toFloat64(position_cost_usd) * open_amount / toFloat64(position_amount), 0)`,
      type: 'Float',
      about:
        'Open position, of which no more counts than the wallet holds, at the last good price, less its cost.',
    },
  },
  selectors: { walletAddress: ['Wallet.Address'], tokenAddress: ['Token.Address'] },
  defaults: {},
  order: ['last_time', 'wallet', 'token_address'],
  newest: 'LastTradeState',
  limit: ROW_LIMIT,
  aliases: ['WalletTokenPnl'],
}
