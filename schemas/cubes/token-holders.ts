import {
  addressLeaf,
  approximateUnitsSql,
  ROW_LIMIT,
  rawLeaf,
  tokenFields,
  unitsLeaf,
  unknownLeaf,
  withRawTwins,
} from './fields.ts'
import type { Cube, Leaf } from './types.ts'

const balanceLeaf = unitsLeaf('balance', 'decimals')
const balanceUsdLeaf: Leaf = {
  sql: `${approximateUnitsSql('balance', 'decimals')} * price_usd`,
  type: 'Float',
  about: 'USD at the last good price of the token.',
}
const firstSeenLeaf: Leaf = { sql: 'first_seen', type: 'DateTime', about: 'First balance.' }
const lastSeenLeaf: Leaf = { sql: 'last_seen', type: 'DateTime', about: 'Last change.' }

const holdersSql = (rows: string): string =>
  `(SELECT token_address, holder, decimals, balance, first_seen, last_seen, _ver, price.price_usd AS price_usd
FROM (SELECT * FROM ${rows}) AS held
LEFT JOIN (SELECT token_address, price_usd FROM {chain}_token_prices FINAL) AS price USING (token_address))`

/** Who holds what now; no row for a balance of zero; subscriptions send it as the last state of a holder. */
export const TOKEN_HOLDERS: Cube = {
  name: 'TokenHolders',
  about: 'Current balances per token and wallet. A wallet without any is not a holder.',
  groups: ['EVM', 'Solana'],
  layer: 'DWS',
  baseCost: 800,
  source: holdersSql('{chain}_token_holders FINAL WHERE balance > 0'),
  liveSource: holdersSql('{chain}_token_holders FINAL'),
  time: 'last_seen',
  timeless: true,
  versionBits: 24,
  lookups: { own: { key: 'token_address' } },
  dimensions: {
    Token: tokenFields('own', 'token_address'),
    Holder: { Address: addressLeaf('holder', 'Wallet.') },
    LatestBalance: balanceLeaf,
    LatestBalanceUSD: balanceUsdLeaf,
    LatestBalanceRaw: rawLeaf('balance'),
    Balance: {
      leaf: 'Amount',
      tree: withRawTwins({ Amount: balanceLeaf, AmountInUSD: balanceUsdLeaf }),
    },
    BalanceUSD: balanceUsdLeaf,
    FirstSeen: firstSeenLeaf,
    LastSeen: lastSeenLeaf,
    LastUpdated: lastSeenLeaf,
    BalanceUpdate: {
      FirstDate: firstSeenLeaf,
      LastDate: lastSeenLeaf,
      InCount: unknownLeaf('Int', 'Changes are not counted by direction.'),
      OutCount: unknownLeaf('Int', 'Changes are not counted by direction.'),
    },
  },
  selectors: { tokenAddress: ['Token.Address'], walletAddress: ['Holder.Address'] },
  defaults: {},
  order: ['balance', 'token_address', 'holder'],
  newest: 'LatestBalance',
  limit: ROW_LIMIT,
  aliases: [],
}
