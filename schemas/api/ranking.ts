import { Type } from 'typebox'
import { DIRECTION } from './common.ts'
import { SOCIAL_NETWORKS } from './token.ts'

/** Numbers of market data that tokens can be filtered and sorted by, and where a body has them. */
const MARKET_FIELD_BY_NAME = {
  priceInUsd: 'priceInUsd',
  marketCapInUsd: 'marketCapInUsd',
  maxPoolTvlInUsd: 'maxPoolTvlInUsd',
  totalTvlInUsd: 'totalTvlInUsd',
  tvlInUsd: 'totalTvlInUsd',
  top10TotalHoldings: 'top10TotalHoldings',
  top10HoldingsRatio: 'top10HoldingsRatio',
  top100TotalHoldings: 'top100TotalHoldings',
  top100HoldingsRatio: 'top100HoldingsRatio',
  holders: 'holders',
  creatorHoldings: 'creatorsTotalHoldings',
  creatorHoldingsRatio: 'creatorsHoldingsRatio',
  athMarketCapInUsd: 'athMarketCapInUsd',
} as const

const STAT_FIELD_BY_NAME = {
  priceChangeRatioInUsd: 'priceChangeRatioInUsd',
  trades: 'trades',
  traders: 'traders',
  volumesInUsd: 'totalVolumeInUsd',
  buys: 'buys',
  sells: 'sells',
} as const

const LONG_WINDOWS = ['1m', '5m', '15m', '30m', '1h', '4h', '6h', '24h'] as const

/** Where a body has a number: in its market data, or in a window of its statistics. */
export type TokenFieldLocation =
  | { readonly of: 'marketData'; readonly name: string }
  | { readonly of: 'stats'; readonly window: string; readonly name: string }
  | { readonly of: 'tokenCreatedAt' }

/** Every number that tokens can be filtered and sorted by, by the name that requests use. */
export const TOKEN_FIELDS: ReadonlyMap<string, TokenFieldLocation> = new Map<
  string,
  TokenFieldLocation
>([
  ...Object.entries(MARKET_FIELD_BY_NAME).map(
    ([word, name]) => [`marketData.${word}`, { of: 'marketData', name }] as const,
  ),
  ...Object.entries(STAT_FIELD_BY_NAME).flatMap(([word, name]) =>
    LONG_WINDOWS.map(
      (window) => [`stats.${word}${window}`, { of: 'stats', window, name }] as const,
    ),
  ),
  ['tokenCreatedAt', { of: 'tokenCreatedAt' }],
])

const tokenField = Type.Enum([...TOKEN_FIELDS.keys()])

/** Families of launches that a ranking can be narrowed to. */
const RANKING_TAGS = [
  ...['pump_fun', 'raydium_launchpad', 'meteora_dynamic_bounding_curve', 'bonk_fun', 'moonit_fun'],
  'boop_fun',
] as const

/** Links that a token has to have. */
const REQUIRED_LINK_NETWORKS = SOCIAL_NETWORKS.filter((network) => network !== 'farcaster')
const TOKEN_FILTERS = [
  'has_social_media',
  ...REQUIRED_LINK_NETWORKS.map((network) => `has_${network}`),
] as const

const decimal = Type.String({ pattern: '^-?\\d{1,40}(\\.\\d{1,18})?$' })

/** A number within bounds, both inclusive. */
export const RangeFilter = Type.Object(
  { field: tokenField, min: Type.Optional(decimal), max: Type.Optional(decimal) },
  { additionalProperties: false },
)

/** A number compared with a value. */
export const CompareFilter = Type.Object(
  {
    field: tokenField,
    operator: Type.Enum(['gt', 'gte', 'lt', 'lte', 'eq', 'ne']),
    value: decimal,
  },
  { additionalProperties: false },
)

const textList = (about: string) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 8_192 }), { maxItems: 64, description: about }))

/** Parameters of every ranking. */
export const RANKING_QUERY = {
  sortBy: Type.Optional(tokenField),
  sortDirection: Type.Optional(DIRECTION),
  tag: Type.Optional(Type.Enum(RANKING_TAGS)),
  rangeFilters: textList('JSON: {"field","min","max"}, repeated or as a list'),
  filters: textList(`Links that a token has to have: ${TOKEN_FILTERS.join(', ')}`),
  launchpadPlatform: textList('Families of launches, repeated or separated by commas'),
  searchKeywords: textList('One of them is part of the name, symbol or address'),
  excludeKeywords: textList('None of them is part of the name, symbol or address'),
}

/** Windows of the hottest tokens. */
export const HOT_WINDOWS = ['1m', '5m', '1h', '4h', '6h', '24h'] as const

/** Parameters of the look-up of several tokens. */
export const TOKEN_MULTI_QUERY = {
  tokenAddresses: Type.String({ maxLength: 16_384, description: 'Comma-joined, at most 100' }),
  sortBy: Type.Optional(tokenField),
  sortDirection: Type.Optional(DIRECTION),
  filterBy: textList('JSON: {"field","operator","value"} or {"field","min","max"}'),
}

/** Windows of lists by the word that parameters use. */
export const LIST_WINDOWS = {
  h24: '24h',
  h4: '4h',
  h1: '1h',
  m30: '30m',
  m15: '15m',
  m5: '5m',
  m1: '1m',
} as const

/** Numbers of lists by the word that sorting uses, with the word of the bounds. */
const LIST_NUMBERS = {
  VolumeInUsd: 'volume_in_usd',
  PriceChangeRatio: 'price_change_ratio',
  Buys: 'buys',
  Sells: 'sells',
  Trades: 'trades',
  Buyers: 'buyers',
  Sellers: 'sellers',
  BuyVolumeInUsd: 'buy_volume_in_usd',
  SellVolumeInUsd: 'sell_volume_in_usd',
} as const
/** A number of a list. */
export type ListNumber = keyof typeof LIST_NUMBERS
/** A window of a list. */
export type ListWindow = keyof typeof LIST_WINDOWS

const listWindows = Object.keys(LIST_WINDOWS) as readonly ListWindow[]
const listNumbers = Object.keys(LIST_NUMBERS) as readonly ListNumber[]

/** A bound of a list: a number of a window. */
export interface ListBound {
  readonly parameter: string
  readonly side: 'min' | 'max'
  readonly window: ListWindow
  readonly number: ListNumber
}

/** All bounds of lists. */
export const LIST_BOUNDS: readonly ListBound[] = (['min', 'max'] as const).flatMap((side) =>
  listWindows.flatMap((window) =>
    listNumbers.map((number) => ({
      side,
      window,
      number,
      parameter: `${side}_${window}_${LIST_NUMBERS[number]}`,
    })),
  ),
)

/** Parameters of the list of tokens; bounds are inclusive. */
export const TOKEN_LIST_QUERY = {
  sort: Type.Optional(DIRECTION),
  sortBy: Type.Optional(
    Type.Enum(
      listWindows.flatMap((window) => listNumbers.map((number) => `${window}${number}`)),
      { default: 'h24VolumeInUsd' },
    ),
  ),
  ...Object.fromEntries(LIST_BOUNDS.map(({ parameter }) => [parameter, Type.Optional(decimal)])),
}
