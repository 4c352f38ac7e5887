import { LIMIT } from './shared.ts'
import type { Cube, Leaf } from './types.ts'

const usd = (sql: string, about: string): Leaf => ({ sql, type: 'Float', exact: true, about })
const count = (sql: string, about: string): Leaf => ({ sql, type: 'Int', about })
const time = (sql: string, about: string): Leaf => ({ sql, type: 'DateTime', about })

const bought = usd('buy_amount_usd', 'USD spent.')
const sold = usd('sell_amount_usd', 'USD received.')
const buys = count('buys', 'Number of buys.')
const sells = count('sells', 'Number of sells.')
const first = time('first_time', 'First trade.')
const last = time('last_time', 'Last trade.')

/** What each wallet made of each token, over all of its trades. */
export const WALLET_TOKEN_PNL: Cube = {
  name: 'WalletTokenPnL',
  about:
    'One row per wallet and base token, cumulative. Realized by moving average cost; unrealized at the last good price.',
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
  lookups: {},
  dimensions: {
    Wallet: { Address: { sql: 'wallet', type: 'String', address: true, about: 'Wallet.' } },
    Token: {
      Address: { sql: 'token_address', type: 'String', address: true, about: 'Token address.' },
    },
    BuyVolumeUSDState: bought,
    SellVolumeUSDState: sold,
    BuyCountState: buys,
    SellCountState: sells,
    FirstTradeState: first,
    LastTradeState: last,
    BuyVolumeUSD: bought,
    SellVolumeUSD: sold,
    BuyCount: buys,
    SellCount: sells,
    FirstTrade: first,
    LastTrade: last,
    RealizedPnLUSD: usd('total_realized_usd', 'Realized over all cycles, moving average cost.'),
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
  limit: LIMIT,
  aliases: ['WalletTokenPnl'],
}
