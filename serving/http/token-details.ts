import { Type } from 'typebox'
import { unitsToNumber } from '../../core/amounts.ts'
import { Fault } from '../../core/errors.ts'
import { normalizeQueryTime } from '../../core/time.ts'
import { Token } from '../../schemas/api/token.ts'
import {
  FeeEstimates,
  HOLDER_TREND_GROUPS,
  HOLDER_TREND_QUERY,
  LogoDuplicates,
  SIMILAR_QUERY,
  TokenHolderTrendPoint,
  TokenSecurity,
} from '../../schemas/api/token-details.ts'
import { TOKEN_PARAM } from '../../schemas/api/token-history.ts'
import { chainRow } from '../../schemas/chains.ts'
import {
  type BurnedRow,
  burnedByCreatorQuery,
  type HolderTrendRow,
  holderTrendQuery,
  medianFeeQuery,
  sameImageQuery,
} from '../queries/token-details.ts'
import { readHits, type TokenSearch } from '../queries/token-search.ts'
import type { TokenRow } from '../queries/tokens.ts'
import {
  numberOrNull,
  numberTextOrNull,
  productOrNull,
  ratioOrNull,
  textOrNull,
} from './body-values.ts'
import { type ChainRequest, type ChainRoute, defineReadRoute } from './chain-route.ts'
import { readTokenRows, tokenKey } from './read-token-rows.ts'
import { marketDataBody, tokenBody } from './token-body.ts'

const DAY_S = 86_400
const RESOLUTION_SECONDS = { '1h': 3_600, '1d': DAY_S } as const
const TREND_DAYS = 30
/** Most points of an answer: three months of hours. */
const MAX_POINTS = 2_232

const pointBody = (startS: number, row: HolderTrendRow): TokenHolderTrendPoint => {
  const share = (value: number | null | undefined): string => numberTextOrNull(value ?? 0) ?? '0'
  const groups = Object.fromEntries(
    HOLDER_TREND_GROUPS.map((group) => [`${group}AmountRatio`, share(row.groups[group])]),
  ) as Record<`${(typeof HOLDER_TREND_GROUPS)[number]}AmountRatio`, string>
  return {
    timestamp: startS * 1_000,
    holders: row.holders,
    top10HoldersRatio: share(row.top10),
    top50HoldersRatio: share(row.top50),
    top100HoldersRatio: share(row.top100),
    ...groups,
  }
}

const holderTrend = defineReadRoute({
  path: '/token/:chain/:tokenAddress/holderTrend',
  summary: 'Holders of a token at the end of each hour or day',
  tag: 'token',
  params: TOKEN_PARAM,
  query: HOLDER_TREND_QUERY,
  response: Type.Array(TokenHolderTrendPoint),
  absent: 'list',
  answer: async ({ chain, params, query, nowMs, rows }) => {
    const stepS = RESOLUTION_SECONDS[query.resolution ?? '1h']
    const toS = Math.floor((query.to === undefined ? nowMs : normalizeQueryTime(query.to)) / 1_000)
    const wantedS =
      query.from === undefined
        ? toS - TREND_DAYS * DAY_S
        : Math.ceil(normalizeQueryTime(query.from) / 1_000)
    const firstS = Math.ceil(Math.max(wantedS, toS - MAX_POINTS * stepS) / stepS) * stepS
    const window = { fromS: firstS, toS, stepS }
    const changes = await rows<HolderTrendRow>(
      holderTrendQuery(chain.id, params.tokenAddress, window),
    )
    const byBucket = new Map(changes.map((row) => [Number(row.bucket), row]))
    const points: TokenHolderTrendPoint[] = []
    let last = byBucket.get(firstS - stepS)
    for (let startS = firstS; startS < toS; startS += stepS) {
      last = byBucket.get(startS) ?? last
      if (last !== undefined) points.push(pointBody(startS, last))
    }
    return points
  },
})

/** The row of the token that a path names. Throws `Fault` NOT_FOUND. */
const requireTokenRow = async ({
  chain,
  params,
  deps,
}: ChainRequest<{ readonly tokenAddress: string }, object>): Promise<TokenRow> => {
  const address = params.tokenAddress
  const row = (await readTokenRows(deps, [{ chain: chain.id, address }])).get(
    tokenKey(chain.id, address),
  )
  if (row === undefined) throw new Fault('NOT_FOUND', 'No such token')
  return row
}

/** Whether an authority has a right, where the chain keeps one for every token: Solana's mints do. */
const hasAuthority = (row: TokenRow, holder: string): boolean | null =>
  chainRow(row.chain)?.vm === 'svm' && row.program_address !== '' ? holder !== '' : null

const privilegeBodies = (row: TokenRow): TokenSecurity['privileges'] =>
  (
    [
      ['mint', row.mint_authority],
      ['freeze', row.freeze_authority],
      ['update', row.update_authority],
    ] as const
  ).flatMap(([name, holder]) => {
    const isHeld = hasAuthority(row, holder)
    return isHeld === null ? [] : [{ name, address: textOrNull(holder), isRenounced: !isHeld }]
  })

const security = defineReadRoute({
  path: '/token/:chain/:tokenAddress/security',
  summary: 'Who may mint and freeze a token, what its maker burnt, and how its holders are spread',
  tag: 'token',
  params: TOKEN_PARAM,
  query: {},
  response: TokenSecurity,
  absent: 'NOT_FOUND',
  answer: async (request) => {
    const { chain, params, rows } = request
    const [row, [burnt]] = await Promise.all([
      requireTokenRow(request),
      rows<BurnedRow>(burnedByCreatorQuery(chain.id, params.tokenAddress)),
    ])
    return securityBody(row, chain.word, burnt?.burnt_raw ?? '0')
  },
})

const securityBody = (row: TokenRow, chain: string, burntRaw: string): TokenSecurity => {
  const mintable = hasAuthority(row, row.mint_authority)
  const freezable = hasAuthority(row, row.freeze_authority)
  const burnt = row.decimals === null ? null : unitsToNumber(BigInt(burntRaw), row.decimals)
  const supply = numberOrNull(marketDataBody(row).totalSupply)
  return {
    address: row.token_address,
    chain,
    isMintable: mintable,
    isFreezable: freezable,
    isShowAlert:
      mintable === null && freezable === null ? null : mintable === true || freezable === true,
    privileges: privilegeBodies(row),
    lockInfo: null,
    devTokenBurnAmount: numberTextOrNull(burnt),
    devTokenBurnRatio: numberTextOrNull(ratioOrNull(burnt, supply)),
    sourcesAvailable: ['chain'],
    goplus: null,
    honeypot: null,
    serialized: null,
    isHoneypot: null,
    hasMintAuthority: mintable,
    hasFreezeAuthority: freezable,
    topHolderConcentration: numberTextOrNull(productOrNull(row.top10?.[2] ?? null, 100)),
  }
}

const feeEstimates = defineReadRoute({
  path: '/token/:chain/:tokenAddress/fee-estimates',
  summary: 'What recent trades of a token paid for their transactions',
  tag: 'token',
  params: TOKEN_PARAM,
  query: {},
  response: FeeEstimates,
  absent: 'NOT_FOUND',
  answer: async ({ chain, params, rows }) => {
    const [row] = await rows<{ readonly fee: string }>(
      medianFeeQuery(chain.id, params.tokenAddress),
    )
    return {
      tradeFeeInNative: null,
      priorityFeeInNative: null,
      tipFeeInNative: null,
      totalFeeInNative: row?.fee ?? null,
    }
  },
})

const similarTokens = defineReadRoute({
  path: '/token/:chain/:tokenAddress/similar',
  summary: 'Tokens whose name or symbol contains that of a token, best first',
  tag: 'token',
  params: TOKEN_PARAM,
  query: SIMILAR_QUERY,
  response: Type.Array(Token),
  absent: 'NOT_FOUND',
  answer: async (request) => {
    const { chain, params, query, deps, rows } = request
    if (query.type === 'image')
      throw new Fault('NOT_IMPLEMENTED', 'This installation does not compare images')
    const { symbol, name } = await requireTokenRow(request)
    const keyword = symbol === '' ? name : symbol
    if (keyword === '') return []
    const { limit = 20 } = query
    const search: TokenSearch = {
      chains: [chain.id],
      keyword,
      protocols: [],
      sortBy: 'relevance',
      descending: true,
      direction: 'next',
      after: undefined,
      rows: limit + 1,
    }
    const places = await readHits(search, rows)
    const others = places.filter(({ address }) => address !== params.tokenAddress).slice(0, limit)
    const found = await readTokenRows(deps, others)
    return others.flatMap((place) => {
      const row = found.get(tokenKey(place.chain, place.address))
      return row ? [tokenBody(row, chain.word, { score: place.rank })] : []
    })
  },
})

const logoDuplicates = defineReadRoute({
  path: '/token/:chain/:tokenAddress/logo-duplicates',
  summary:
    'How many other tokens have the picture of a token, by its address: pictures are not compared',
  tag: 'token',
  params: TOKEN_PARAM,
  query: {},
  response: LogoDuplicates,
  absent: 'NOT_FOUND',
  answer: async (request) => {
    const { chain, params, rows } = request
    const [, [row]] = await Promise.all([
      requireTokenRow(request),
      rows<{ readonly others: string }>(sameImageQuery(chain.id, params.tokenAddress)),
    ])
    return { sameImageTokenCount: Number(row?.others ?? 0) }
  },
})

/** What else is known of one token. */
export const tokenDetailRoutes: readonly ChainRoute[] = [
  ...[holderTrend, security, feeEstimates, similarTokens, logoDuplicates],
]
