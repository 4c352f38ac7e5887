import { type Static, Type } from 'typebox'
import {
  ChainParam,
  DIRECTION,
  decimalOrNull,
  makePage,
  namedObject,
  nullable,
  PAGE_QUERY,
} from './common.ts'
import { TokenStats } from './stats.ts'

const text = (about: string) => nullable(Type.String({ description: about }))
const flag = (about: string) => nullable(Type.Boolean({ description: about }))
const count = (about: string) => nullable(Type.Integer({ description: about }))
const timeMs = (about: string) => nullable(Type.Integer({ description: `${about}, epoch ms` }))

const fieldsOf = <const Name extends string, Schema>(
  names: readonly Name[],
  schemaOf: (name: Name) => Schema,
): Record<Name, Schema> =>
  Object.fromEntries(names.map((name) => [name, schemaOf(name)])) as Record<Name, Schema>

/** Groups of holders in market data. */
export const HOLDER_GROUPS = [
  'top10',
  'top50',
  'top100',
  'bluechip',
  'bundle',
  'creators',
  'dev',
  'fresh',
  'insider',
  'kol',
  'phishing',
  'pro',
  'rat',
  'sandwish',
  'smart',
  'sniper',
] as const

/** Every number of a token's market data, each a decimal text or null (`sandwish` is the spelling that clients know). */
export const MARKET_FIELDS = [
  'priceInUsd',
  'priceInSol',
  'priceInNative',
  'totalSupply',
  'circulatingSupply',
  'maxSupply',
  'marketCapInUsd',
  'marketCapInSol',
  'fdvInUsd',
  'fdvInSol',
  'athMarketCapInUsd',
  'totalTvlInUsd',
  'totalTvlInSol',
  'maxPoolTvlInUsd',
  'maxPoolTvlInSol',
  'completionRatio',
  'holders',
  ...HOLDER_GROUPS.flatMap(
    (group) => [`${group}TotalHolders`, `${group}TotalHoldings`, `${group}HoldingsRatio`] as const,
  ),
] as const
export type MarketField = (typeof MARKET_FIELDS)[number]

/** Market data of a token. */
export const TokenMarketData = namedObject(
  'TokenMarketData',
  fieldsOf(MARKET_FIELDS, decimalOrNull),
)
export type TokenMarketData = Static<typeof TokenMarketData>

const TokenCreator = namedObject('TokenCreator', {
  address: text('Creator'),
  share: count('Percent'),
  isVerified: flag('Signed by the creator'),
})

const TokenExtra = namedObject('TokenExtra', {
  programAddress: text('Token program'),
  tokenStandard: text('Standard that the token follows'),
  mintAuthority: text('Who may mint'),
  freezeAuthority: text('Who may freeze'),
  updateAuthority: text('Who may change the metadata'),
  isMutable: flag('Metadata may change'),
  isNative: flag('The native token of the chain'),
  launchFromProgramAddress: text('Launchpad program'),
  launchFromProtocolFamily: text('Launchpad family'),
  migratedToProgramAddress: text('Program of the pool after migration'),
  migratedToProtocolFamily: text('Family of the pool after migration'),
  migratedToPoolAddress: text('Pool after migration'),
  migratedAt: timeMs('Migration'),
})

/** Links of a project by network. */
export const SOCIAL_NETWORKS = [
  'twitter',
  'telegram',
  'website',
  'tiktok',
  'discord',
  'facebook',
  'github',
  'instagram',
  'linkedin',
  'medium',
  'reddit',
  'youtube',
  'bitbucket',
  'farcaster',
] as const

const SocialMedias = namedObject('TokenSocialMedias', fieldsOf(SOCIAL_NETWORKS, text))

/** A token with everything this build knows of it; what it cannot know is null. */
export const Token = namedObject('Token', {
  address: Type.String(),
  chain: Type.String({ description: 'As the caller spelled it' }),
  name: Type.String({ description: 'Empty when unknown' }),
  symbol: Type.String({ description: 'Empty when unknown' }),
  decimals: Type.Integer({ description: 'Decimal places; 0 when unknown' }),
  description: text('From the metadata document'),
  imageUrl: text('From the metadata document'),
  uri: text('Metadata document'),
  metadataAddress: text('Metadata account'),
  coingeckoCoinId: text('Not known to this installation'),
  tokenCreatedAt: timeMs('Creation, when it was seen'),
  tokenCreatedBlockHeight: text('Block of the creation'),
  tokenCreatedSlot: text('Slot of the creation'),
  tokenCreatedTxSignature: text('Transaction of the creation'),
  tokenCreators: Type.Array(TokenCreator),
  devTotalTokens: decimalOrNull('Tokens made by the same creator'),
  devLastTokenCreatedAt: text('Time of the newest of them'),
  market: text('Pair label'),
  extra: nullable(TokenExtra),
  extension: nullable(TokenExtra),
  socialMedias: nullable(SocialMedias),
  marketData: nullable(TokenMarketData),
  stats: nullable(TokenStats),
  security: Type.Null(),
  score: nullable(Type.Number({ description: 'Search only: how well the token fits' })),
  scoreBreakdown: Type.Null(),
  tier: Type.Null(),
  warningBadge: Type.Null(),
})
export type Token = Static<typeof Token>

/** What a token is: names, links and creation, without numbers of its market. */
export const TokenMetadata = namedObject('TokenMetadata', {
  address: Type.String(),
  chain: Type.String({ description: 'As the caller spelled it' }),
  name: Type.String({ description: 'Empty when unknown' }),
  symbol: Type.String({ description: 'Empty when unknown' }),
  decimals: Type.String({ description: 'Decimal places; "0" when unknown' }),
  description: text('From the metadata document'),
  imageUrl: text('From the metadata document'),
  uri: text('Metadata document'),
  metadataAddress: text('Metadata account'),
  coingeckoCoinId: text('Not known to this installation'),
  tokenCreatedAt: timeMs('Creation, when it was seen'),
  tokenCreatedBlockHeight: text('Block of the creation'),
  tokenCreatedSlot: text('Slot of the creation'),
  tokenCreatedTxSignature: text('Transaction of the creation'),
  tokenCreators: Type.Array(TokenCreator),
  devTotalTokens: decimalOrNull('Tokens made by the same creator'),
  devLastTokenCreatedAt: text('Time of the newest of them, UTC'),
  extra: nullable(TokenExtra),
  socialMedias: nullable(SocialMedias),
})
export type TokenMetadata = Static<typeof TokenMetadata>

/** Metadata by address; unknown tokens are missing. */
export const TokenMetadataMap = Type.Record(Type.String(), TokenMetadata)

/** What search results may be sorted by. */
const SEARCH_SORTS = [
  'marketCapInUsd',
  'liquidityInUsd',
  'priceInUsd',
  'holderCount',
  'h24VolumeInUsd',
  'h24Transactions',
  'tokenCreatedAt',
] as const
export type SearchSort = (typeof SEARCH_SORTS)[number]

const textList = (about: string) =>
  Type.Optional(
    Type.Array(Type.String({ maxLength: 512 }), {
      maxItems: 64,
      description: `${about}: repeated, or separated by commas`,
    }),
  )

/** Query of the token search. */
export const SearchQuery = Type.Object({
  keyword: Type.Optional(
    Type.String({ maxLength: 128, description: 'Address, or part of symbol or name' }),
  ),
  q: Type.Optional(Type.String({ maxLength: 128, description: 'Same as keyword, which wins' })),
  chain: Type.Optional(ChainParam),
  chains: textList('Chains'),
  protocols: textList('Protocol families that have a pool of the token'),
  sortBy: Type.Optional(Type.Enum(SEARCH_SORTS, { description: 'Default: by relevance' })),
  sort: Type.Optional(DIRECTION),
  mode: Type.Optional(Type.Enum(['fast', 'normal'], { default: 'fast' })),
  ...PAGE_QUERY,
})
export type SearchQuery = Static<typeof SearchQuery>

/** One page of tokens. */
export const TokenPage = makePage(Token)
export type TokenPage = Static<typeof TokenPage>

/** Path of one token. */
export const TokenParams = Type.Object({
  chain: ChainParam,
  tokenAddress: Type.String({ maxLength: 256 }),
})
