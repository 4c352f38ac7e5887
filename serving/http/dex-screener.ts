import { Type } from 'typebox'
import {
  DEX_SCREENER_QUERY,
  DEX_SCREENER_ROWS,
  DexScreenerToken,
} from '../../schemas/api/dex-screener.ts'
import { TOKEN_PARAM } from '../../schemas/api/token-history.ts'
import { type ChainRoute, defineReadRoute } from './chain-route.ts'

/** Lists of an advertising site: no part of a chain, and nothing feeds them here. */
const dexScreenerLists = (['ads', 'boosts', 'link-updates', 'trending'] as const).map((segment) =>
  defineReadRoute({
    path: `/dexscr/:chain/${segment}`,
    summary: 'Advertisements of another site; this installation has none',
    tag: 'dexscreener',
    params: {},
    query: DEX_SCREENER_QUERY,
    response: Type.Array(DEX_SCREENER_ROWS[segment]),
    absent: 'list',
    answer: async () => [],
  }),
)

const token = defineReadRoute({
  path: '/dexscr/:chain/token/:tokenAddress',
  summary: 'Advertisements of another site for a token; this installation has none',
  tag: 'dexscreener',
  params: TOKEN_PARAM,
  query: {},
  response: DexScreenerToken,
  absent: 'empty',
  answer: async ({ chain, params }) => ({
    chain: chain.word,
    tokenAddress: params.tokenAddress,
    ad: null,
    boost: null,
    linkUpdate: null,
  }),
})

/** What another site says of tokens. */
export const dexScreenerRoutes: readonly ChainRoute[] = [...dexScreenerLists, token]
