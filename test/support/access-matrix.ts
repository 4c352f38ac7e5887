/** Who may call what, on every plane. A route that is not here fails `test/contract/access-matrix.test.ts`. */

import type { Scope } from '../../schemas/scopes.ts'

/**
 * What a route of the public plane asks for: nothing, any good credential, or one with a scope; `owner` = with
 * every scope.
 */
export type PublicAccess = 'open' | 'account' | Scope | 'owner'

/** Routes of the public plane without their version, by what they ask for. */
export const PUBLIC_ROUTES: Readonly<Record<PublicAccess, readonly string[]>> = {
  open: [
    ...['GET /openapi.json', 'GET /health', 'GET /ready', 'POST /oauth/token'],
    ...['GET /.well-known/jwks.json', 'GET /.well-known/oauth-authorization-server'],
    ...['GET /.well-known/openid-configuration', 'GET /docs', 'GET /docs/', 'GET /docs/start.js'],
    ...['GET /x402/pricing', 'GET /x402/status', 'GET /x402/purchase', 'POST /x402/purchase'],
    ...['GET /docs/swagger-ui.css', 'GET /docs/swagger-ui-bundle.js'],
    ...['start.js', 'start.css', 'graphiql.css', 'graphiql.js', 'react.js', 'react-dom.js'].map(
      (name) => `GET /graphql/${name}`,
    ),
  ],
  account: [
    ...['GET /token/search', 'GET /token/:chain/:tokenAddress'],
    ...['GET /token/:chain/:tokenAddress/stats', 'GET /token/:chain/stats/multi'],
    ...['GET /token/:chain/:tokenAddress/holders', 'GET /token/:chain/:tokenAddress/topHolders'],
    'GET /token/:chain/:tokenAddress/holders/multi',
    ...['GET /token/:chain/:tokenAddress/marketData', 'GET /token/:chain/marketData/multi'],
    ...['GET /wallet/:chain/:walletAddress/stats', 'GET /wallet/v1/:chain/:walletAddress/stats'],
    ...['GET /token/:chain/:tokenAddress/candles', 'GET /token/:chain/pool/:poolAddress/candles'],
    ...['GET /token/:chain/pair/:pair/candles', 'GET /account/usage', 'GET /account/plan'],
    ...['GET /dex/:chain/quote', 'POST /dex/:chain/route', 'POST /dex/:chain/swap'],
    'POST /dex/:chain/create',
    'GET /token/:chain/metadata/multi',
    'GET /token/:chain/:tokenAddress/metadata',
    'GET /token/:chain/:tokenAddress/price',
    'GET /token/:chain/:tokenAddress/prices',
    'GET /token/:chain/:tokenAddress/creation',
    'GET /token/:chain/:tokenAddress/mintAndBurn',
    'GET /token/:chain/:tokenAddress/mintandburn',
    'GET /token/:chain/:tokenAddress/transfers',
    'GET /token/:chain/:tokenAddress/transfer-total',
    'GET /token/:chain/dev/:devAddress/tokens',
    'GET /blockchain',
    'GET /blockchain/:chain/latest_block',
    'GET /dex',
    'GET /transaction/:chain/gas-price',
    'POST /transaction/:chain/estimate-gas-limit',
    'POST /transaction/:chain/send',
    ...['GET /job/:id', 'GET /job/:id/streaming', 'GET /jobs/:id', 'GET /jobs/:id/streaming'],
    'GET /wallet/:chain/:walletAddress/pnl',
    'GET /wallet/:chain/:walletAddress/pnl-by-token',
    'GET /wallet/:chain/:walletAddress/pnl-details',
    'GET /wallet/:chain/pnl-by-wallet',
    'POST /wallet/:chain/:walletAddress/calculate-pnl',
    'POST /watchlist/:chain/:walletAddress',
    'GET /wallet/:chain/:walletAddress',
    'GET /wallet/:chain/:walletAddress/balance',
    'GET /wallet/:chain/:walletAddress/tokens-balance',
    'GET /wallet/:chain/:walletAddress/net-worth',
    'GET /wallet/:chain/:walletAddress/net-worth/tokens',
    'GET /wallet/:chain/:walletAddress/net-worth-details',
    'GET /wallet/:chain/:walletAddress/net-worth-chart',
    'GET /wallet/:chain/net-worth-summary',
    'GET /wallet/:chain/:walletAddress/balance-updates',
    'GET /wallet/:chain/:walletAddress/transfers',
    'GET /wallet/:chain/:walletAddress/transfer-total',
    'GET /wallet/:chain/first-tx',
    'GET /dexpools/:chain/:poolAddress',
    'GET /dexpools/:chain/:poolAddress/snapshots',
    'GET /token/:chain/:tokenAddress/pools',
    'GET /token/:chain/:tokenAddress/liquiditySnapshots',
    'GET /token/:chain/:tokenAddress/liquiditysnapshots',
    'GET /token/:chain/:tokenAddress/holderTrend',
    'GET /token/:chain/:tokenAddress/security',
    'GET /token/:chain/:tokenAddress/similar',
    'GET /token/:chain/:tokenAddress/fee-estimates',
    'GET /ranking-pools/:chain/:rankingType',
    'GET /token/:chain/list',
    'GET /token/:chain/multi',
    'GET /ranking/:chain/hotTokens/:duration',
    'GET /ranking/:chain/hottokens/:duration',
    'GET /ranking/:chain/newTokens',
    'GET /ranking/:chain/newtokens',
    'GET /ranking/:chain/finalStretch',
    'GET /ranking/:chain/finalstretch',
    'GET /ranking/:chain/migrated',
    'GET /ranking/:chain/stocks',
    'GET /token/:chain/:tokenAddress/traders',
    'GET /token/:chain/:tokenAddress/topTraders',
    'GET /token/:chain/:tokenAddress/toptraders',
    'GET /token/:chain/:tokenAddress/traders/:tag',
    'GET /trade/:chain/activities',
    'GET /trade/:chain/gainers-losers',
    'GET /dexscr/:chain/ads',
    'GET /dexscr/:chain/boosts',
    'GET /dexscr/:chain/link-updates',
    'GET /dexscr/:chain/trending',
    'GET /dexscr/:chain/token/:tokenAddress',
    'GET /trade/:chain',
    'GET /trade/:chain/top-traders',
    'GET /trade/:chain/trader-gainers-losers',
    'POST /ipfs/presign',
    'GET /token/:chain/:tokenAddress/logo-duplicates',
    'GET /prediction/events/:eventSlug/activities',
    'GET /prediction/markets/:conditionId/activities',
    'GET /prediction/markets/:conditionId/holders',
    'GET /prediction/markets/:conditionId/holder-stats',
    'GET /prediction/markets/:conditionId/traders',
    'GET /prediction/wallets/:wallet/pnl',
    'GET /prediction/leaderboard',
    ...['GET /redpacket', 'GET /redpacket/:id', 'GET /redpacket/:id/claims'],
    'GET /redpacket/wallet/:address/claims',
    'GET /redpacket/wallet/:address/redpackets',
    ...['POST /redpacket/:chain/create', 'POST /redpacket/:chain/claim'],
    'POST /redpacket/:chain/send',
    ...['POST /graphql', 'GET /graphql', 'PUT /graphql', 'PATCH /graphql', 'DELETE /graphql'],
  ],
  'webhook.read': [
    ...['GET /webhook/endpoint', 'GET /webhook/endpoint/:id', 'GET /webhook/endpoint/:id/secret'],
    ...['GET /webhook/endpoint/:id/attempt', 'GET /webhook/message/:msgId'],
    ...['GET /webhook/message/:msgId/attempt', 'GET /webhook/endpoint/:id/message'],
    ...['GET /webhook/endpoint/:id/stats', 'GET /webhook/endpoint/:id/task'],
    'GET /webhook/endpoint/:id/task/:taskId',
  ],
  'webhook.write': [
    ...['POST /webhook/endpoint', 'DELETE /webhook/endpoint/:id', 'PATCH /webhook/endpoint'],
    ...['POST /webhook/endpoint/:id/secret/rotate', 'PATCH /webhook/endpoint/:id'],
    ...['PUT /webhook/endpoint/:id', 'POST /webhook/message/:msgId/endpoint/:id/resend'],
    ...['POST /webhook/endpoint/:id/recover', 'POST /webhook/endpoint/:id/replay'],
    'POST /webhook/endpoint/:id/send-example',
  ],
  'kyt.read': [
    'GET /kyt/addresses/:address/risk',
    'GET /kyt/transfers/:transferId/summary',
    'GET /kyt/transfers/:transferId/alerts',
    'GET /kyt/transfers/:transferId/exposures/direct',
    'GET /kyt/transfers/:transferId/network-identifications',
    'GET /kyt/withdrawal/:withdrawalId/summary',
    'GET /kyt/withdrawal/:withdrawalId/alerts',
    'GET /kyt/withdrawal/:withdrawalId/exposures/direct',
    'GET /kyt/withdrawal/:withdrawalId/network-identifications',
    'GET /kyt/withdrawal/:withdrawalId/address-identifications',
    'GET /kyt/withdrawal/:withdrawalId/fraud-assessment',
  ],
  'kyt.write': [
    ...['POST /kyt/address', 'POST /kyt/transfer', 'POST /kyt/withdrawal'],
    'POST /kya/address/verify',
  ],
  owner: [
    ...['POST /account/keys', 'GET /account/keys', 'DELETE /account/keys/:keyId'],
    ...['GET /account/wallets', 'DELETE /account/wallets/:wallet/:address'],
    'POST /x402/link-address',
  ],
}

/** The least role that a route of the admin plane asks for. */
export type AdminAccessLevel = 'open' | 'read' | 'write' | 'owner'

/** Routes of the admin plane without their prefix, by the least role. */
export const ADMIN_ROUTES: Readonly<Record<AdminAccessLevel, readonly string[]>> = {
  open: ['GET /openapi.json'],
  read: [
    ...['GET /orgs', 'GET /orgs/:orgId', 'GET /orgs/:orgId/usage', 'GET /apps', 'GET /apps/:appId'],
    ...['GET /apps/:appId/keys', 'GET /signing-keys', 'GET /tokens'],
  ],
  write: [
    ...['POST /orgs', 'PATCH /orgs/:orgId', 'DELETE /orgs/:orgId', 'POST /apps'],
    ...['PATCH /apps/:appId', 'DELETE /apps/:appId', 'POST /apps/:appId/tokens/revoke'],
    ...['POST /apps/:appId/secret/rotate', 'POST /apps/:appId/keys'],
    ...['DELETE /apps/:appId/keys/:keyId', 'POST /signing-keys/rotate'],
  ],
  owner: ['POST /tokens', 'DELETE /tokens/:tokenId'],
}

/** Paths of the operators' plane: probes are open, the rest asks for OPS_TOKEN where it is set. */
export const OPS_PATHS = {
  open: ['/health', '/ready'],
  token: ['/metrics', '/status', '/checksum'],
} as const

/** What a table asks for of a route; HEAD is what GET is. */
export const requiredAccess = <Need extends string>(
  table: Readonly<Record<Need, readonly string[]>>,
  route: string,
): Need | undefined => {
  const name = route.replace(/^HEAD /, 'GET ')
  return (Object.keys(table) as Need[]).find((need) => table[need].includes(name))
}
