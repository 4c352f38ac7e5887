import { type Static, Type } from 'typebox'
import { namedObject, nullable } from './common.ts'

/** Parameters of lists of a site's advertisements. */
export const DEX_SCREENER_QUERY = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
}

/** What a site says of a token; nothing is fed to this installation. */
export const DexScreenerToken = namedObject('DexscrToken', {
  chain: Type.String(),
  tokenAddress: Type.String(),
  ad: Type.Null(),
  boost: Type.Null(),
  linkUpdate: Type.Null(),
})
export type DexScreenerToken = Static<typeof DexScreenerToken>

const text = nullable(Type.String())

const LINK_UPDATE = {
  chain: Type.String(),
  tokenAddress: Type.String(),
  description: text,
  header: text,
  icon: text,
  openGraph: text,
  url: text,
  links: Type.Unknown(),
}

/** A row of each of the site's lists, which are empty here. */
export const DEX_SCREENER_ROWS = {
  ads: namedObject('DexscrAd', {
    chain: Type.String(),
    tokenAddress: Type.String(),
    adType: text,
    date: text,
    url: text,
    durationHours: nullable(Type.Integer()),
    impressions: nullable(Type.Integer()),
  }),
  boosts: namedObject('DexscrBoost', {
    ...LINK_UPDATE,
    totalAmount: Type.Number(),
    amount: nullable(Type.Number()),
  }),
  'link-updates': namedObject('DexscrLinkUpdate', LINK_UPDATE),
  trending: namedObject('DexscrTrendingMeta', {
    slug: Type.String(),
    name: text,
    description: text,
    iconType: text,
    iconValue: text,
    tokenCount: nullable(Type.Integer()),
    liquidity: nullable(Type.Number()),
    marketCap: nullable(Type.Number()),
    volume: nullable(Type.Number()),
    marketCapChange: Type.Unknown(),
  }),
} as const
