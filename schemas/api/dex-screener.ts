import { type Static, Type } from 'typebox'

/** Parameters of lists of a site's advertisements. */
export const DEX_SCREENER_QUERY = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
}

/** What a site says of a token; nothing is fed to this installation. */
export const DexScreenerToken = Type.Object({
  chain: Type.String(),
  tokenAddress: Type.String(),
  ad: Type.Null(),
  boost: Type.Null(),
  linkUpdate: Type.Null(),
})
export type DexScreenerToken = Static<typeof DexScreenerToken>

/** Rows of a site's list: none. */
export const DexScreenerRows = Type.Array(Type.Object({}))
