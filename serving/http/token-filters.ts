import { type Static, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { CompareFilter, RangeFilter, TOKEN_FIELDS } from '../../schemas/api/ranking.ts'
import { SOCIAL_NETWORKS, type Token } from '../../schemas/api/token.ts'
import { isDescending, splitList } from './body-values.ts'

/** Filters of rankings and look-ups over the bodies of tokens. */

/** A number of a token by its field; null when it is not known. */
const tokenField = (token: Token, field: string): number | null => {
  const place = TOKEN_FIELDS.get(field)
  if (place === undefined) return null
  if (place.of === 'tokenCreatedAt') return token.tokenCreatedAt
  const values: Readonly<Record<string, string | null>> | null | undefined =
    place.of === 'marketData' ? token.marketData : token.stats?.periods[place.window]
  const text = values?.[place.name] ?? null
  return text === null ? null : Number(text)
}

/** Most filters of one request. */
const MAX_FILTERS = 64

/** Reads filters: each text is a JSON object or a list of them. Throws `Fault` INVALID_PARAMETER. */
const parseFilters = <Schema extends TSchema>(
  schema: Schema,
  texts: readonly string[] | undefined,
  parameter: string,
): readonly Static<Schema>[] => {
  const refused = () =>
    new Fault('INVALID_PARAMETER', `${parameter} is not JSON of the documented format`, {
      parameter,
    })
  const read = (text: string): readonly unknown[] => {
    try {
      return [parseJson(text)].flat()
    } catch {
      throw refused()
    }
  }
  const filters = (texts ?? []).filter((text) => text.trim() !== '').flatMap(read)
  const List = Type.Array(schema, { maxItems: MAX_FILTERS })
  if (!Value.Check(List, filters)) throw refused()
  return filters as readonly Static<Schema>[]
}

type TokenPredicate = (token: Token) => boolean

/** A number that is not known fits no filter. */
const rangeTest =
  ({ field, min, max }: Static<typeof RangeFilter>): TokenPredicate =>
  (token) => {
    const value = tokenField(token, field)
    if (value === null) return min === undefined && max === undefined
    return (
      (min === undefined || value >= Number(min)) && (max === undefined || value <= Number(max))
    )
  }

const COMPARISONS: Readonly<
  Record<Static<typeof CompareFilter>['operator'], (value: number, other: number) => boolean>
> = {
  gt: (value, other) => value > other,
  gte: (value, other) => value >= other,
  lt: (value, other) => value < other,
  lte: (value, other) => value <= other,
  eq: (value, other) => value === other,
  ne: (value, other) => value !== other,
}

const compareTest =
  ({ field, operator, value }: Static<typeof CompareFilter>): TokenPredicate =>
  (token) => {
    const known = tokenField(token, field)
    return known !== null && COMPARISONS[operator](known, Number(value))
  }

const AnyFilter = Type.Union([CompareFilter, RangeFilter])

/** Filters of a look-up, in either form. Throws `Fault` INVALID_PARAMETER. */
export const parseLookupFilters = (
  filterBy: readonly string[] | undefined,
): readonly TokenPredicate[] =>
  parseFilters(AnyFilter, filterBy, 'filterBy').map((filter) =>
    'operator' in filter ? compareTest(filter) : rangeTest(filter),
  )

/** Spellings of one family are the same without case, `_` and the words that differ between services. */
export const normalizeFamily = (text: string): string => text.toLowerCase().replaceAll('_', '')

/** Launches by the words of other services. */
const LAUNCHPAD_ALIASES: Readonly<Record<string, string>> = {
  raydiumlaunchpad: 'raydiumlaunchlab',
  meteoradynamicboundingcurve: 'meteoradbc',
  moonitfun: 'moonshot',
}

const normalizeLaunchpad = (text: string): string => {
  const word = normalizeFamily(text)
  return LAUNCHPAD_ALIASES[word] ?? word
}

const launchpadTest = (platforms: readonly string[]): TokenPredicate => {
  const families = new Set(platforms.map(normalizeLaunchpad))
  return ({ extra }) => families.has(normalizeFamily(extra?.launchFromProtocolFamily ?? ''))
}

const socialLinkTest =
  (filter: string): TokenPredicate =>
  ({ socialMedias }) => {
    if (socialMedias === null) return false
    const links: Readonly<Record<string, string | null>> = socialMedias
    return filter === 'has_social_media'
      ? SOCIAL_NETWORKS.some((network) => links[network] !== null)
      : links[filter.slice('has_'.length)] != null
  }

const SOCIAL_LINK_FILTERS: ReadonlySet<string> = new Set([
  'has_social_media',
  ...SOCIAL_NETWORKS.map((network) => `has_${network}`),
])

/** Whether one of the words is part of what a token is called, in any case. */
const keywordTest = (keywords: readonly string[]): TokenPredicate => {
  const words = keywords.map((keyword) => keyword.toLowerCase())
  return ({ name, symbol, address }) => {
    const texts = [name, symbol, address].map((text) => text.toLowerCase())
    return words.some((word) => texts.some((text) => text.includes(word)))
  }
}

/** What a ranking is narrowed by. */
export interface RankingFilter {
  readonly sortBy?: string
  readonly sortDirection?: string
  readonly tag?: string
  readonly rangeFilters?: readonly string[]
  readonly filters?: readonly string[]
  readonly launchpadPlatform?: readonly string[]
  readonly searchKeywords?: readonly string[]
  readonly excludeKeywords?: readonly string[]
}

const parseSocialLinkFilters = (
  filters: readonly string[] | undefined,
): readonly TokenPredicate[] =>
  splitList(filters, 'filters').map((filter) => {
    if (!SOCIAL_LINK_FILTERS.has(filter)) {
      const details = {
        parameter: 'filters',
        value: filter.slice(0, 64),
        allowed_values: [...SOCIAL_LINK_FILTERS],
      }
      throw new Fault('INVALID_PARAMETER', 'filters has an unknown value', details)
    }
    return socialLinkTest(filter)
  })

/** Tests of a ranking; all have to hold. Throws `Fault` INVALID_PARAMETER. */
const parseRankingFilters = (filter: RankingFilter): readonly TokenPredicate[] => {
  const platforms = splitList(filter.launchpadPlatform, 'launchpadPlatform')
  const wanted = splitList(filter.searchKeywords, 'searchKeywords')
  const unwanted = keywordTest(splitList(filter.excludeKeywords, 'excludeKeywords'))
  return [
    ...(filter.tag === undefined ? [] : [launchpadTest([filter.tag])]),
    ...(platforms.length === 0 ? [] : [launchpadTest(platforms)]),
    ...parseFilters(RangeFilter, filter.rangeFilters, 'rangeFilters').map(rangeTest),
    ...parseSocialLinkFilters(filter.filters),
    ...(wanted.length === 0 ? [] : [keywordTest(wanted)]),
    (token: Token) => !unwanted(token),
  ]
}

/** Tokens by a field, those without it last; without a field as they are. */
export const sortTokens = (
  tokens: readonly Token[],
  sortBy: string | undefined,
  direction: string | undefined,
): readonly Token[] => {
  if (sortBy === undefined) return tokens
  const sign = isDescending(direction) ? -1 : 1
  return tokens.toSorted((one, other) => {
    const [left, right] = [tokenField(one, sortBy), tokenField(other, sortBy)]
    if (left === null || right === null) return Number(left === null) - Number(right === null)
    return sign * (left - right)
  })
}

/** Prepares a ranking's filters before anything is read. Throws `Fault` INVALID_PARAMETER. */
export const createRankingFilter = (
  filter: RankingFilter,
): ((tokens: readonly Token[]) => readonly Token[]) => {
  const tests = parseRankingFilters(filter)
  return (tokens) => tokens.filter((token) => tests.every((test) => test(token)))
}
