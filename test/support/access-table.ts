/** Who may call what, on every plane. A route that is not here fails `test/contract/access-matrix.test.ts`. */

/** What a route of the public plane asks for: nothing, any good credential, or one with a scope. */
export type PublicNeed = 'open' | 'account' | 'webhook.read' | 'webhook.write'

/** Routes of the public plane without their version, by what they ask for. */
export const PUBLIC_ROUTES: Readonly<Record<PublicNeed, readonly string[]>> = {
  open: [
    ...['GET /openapi.json', 'GET /health', 'GET /ready', 'POST /oauth/token'],
    ...['GET /.well-known/jwks.json', 'GET /.well-known/oauth-authorization-server'],
    'GET /.well-known/openid-configuration',
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
    ...['POST /graphql', 'GET /graphql', 'PUT /graphql', 'PATCH /graphql', 'DELETE /graphql'],
  ],
  'webhook.read': [
    ...['GET /webhook/endpoint', 'GET /webhook/endpoint/:id', 'GET /webhook/endpoint/:id/secret'],
    ...['GET /webhook/endpoint/:id/attempt', 'GET /webhook/message/:msgId'],
    'GET /webhook/message/:msgId/attempt',
  ],
  'webhook.write': [
    ...['POST /webhook/endpoint', 'DELETE /webhook/endpoint/:id', 'PATCH /webhook/endpoint'],
    ...['POST /webhook/endpoint/:id/secret/rotate', 'PATCH /webhook/endpoint/:id'],
    ...['PUT /webhook/endpoint/:id', 'POST /webhook/message/:msgId/endpoint/:id/resend'],
  ],
}

/** The least role that a route of the admin plane asks for. */
export type AdminNeed = 'open' | 'read' | 'write' | 'owner'

/** Routes of the admin plane without their prefix, by the least role. */
export const ADMIN_ROUTES: Readonly<Record<AdminNeed, readonly string[]>> = {
  open: ['GET /openapi.json'],
  read: [
    ...['GET /orgs', 'GET /orgs/:orgId', 'GET /apps', 'GET /apps/:appId'],
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
export const needOf = <Need extends string>(
  table: Readonly<Record<Need, readonly string[]>>,
  route: string,
): Need | undefined => {
  const name = route.replace(/^HEAD /, 'GET ')
  return (Object.keys(table) as Need[]).find((need) => table[need].includes(name))
}
