import { Fault } from '../../core/errors.ts'
import { Token } from '../../schemas/api/token.ts'
import { TOKEN_PARAM } from '../../schemas/api/token-history.ts'
import { type ChainRoute, defineReadRoute } from './chain-route.ts'
import { readTokens } from './read-tokens.ts'

const tokenLookup = defineReadRoute({
  path: '/token/:chain/:tokenAddress',
  summary: 'One token with everything known of it',
  tag: 'token',
  params: TOKEN_PARAM,
  query: {},
  response: Token,
  absent: 'NOT_FOUND',
  answer: async (request) => {
    const [token] = await readTokens(request, [request.params.tokenAddress])
    if (token === undefined) throw new Fault('NOT_FOUND', 'No such token')
    return token
  },
})

/** One token. */
export const tokenLookupRoutes: readonly ChainRoute[] = [tokenLookup]
