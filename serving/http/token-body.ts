import { formatUnits, parseUnits } from '../../core/amounts.ts'
import type { TokenStats } from '../../schemas/api/stats.ts'
import {
  HOLDER_GROUPS,
  MARKET_FIELDS,
  type MarketField,
  SOCIAL_NETWORKS,
  type Token,
  type TokenMarketData,
  type TokenMetadata,
} from '../../schemas/api/token.ts'
import { chainRow } from '../../schemas/chains.ts'
import type { HoldingColumns, TokenRow } from '../queries/tokens.ts'
import {
  formatTime,
  numberOrNull,
  numberTextOrNull,
  productOrNull,
  textOrNull,
} from './body-values.ts'

const timeOrNull = (text: string | null): number | null =>
  text === null || text === '0' ? null : Number(text)

/** A price times an amount. */
const marketValue = (price: number | null, amount: string | null): string | null =>
  numberTextOrNull(productOrNull(price, numberOrNull(amount)))

const EMPTY_MARKET_FIELDS = Object.fromEntries(
  MARKET_FIELDS.map((name) => [name, null]),
) as Readonly<Record<MarketField, null>>

type HolderGroup = (typeof HOLDER_GROUPS)[number]

/** Count, amount in token units and share of one group of holders. */
const holderGroupFields = (
  name: HolderGroup,
  columns: HoldingColumns | null,
  decimals: number | null,
) => {
  const [count, raw, ratio] = columns ?? [null, null, null]
  const amount = raw === null || decimals === null ? null : formatUnits(BigInt(raw), decimals)
  return {
    [`${name}TotalHolders`]: count,
    [`${name}TotalHoldings`]: amount,
    [`${name}HoldingsRatio`]: numberTextOrNull(ratio),
  } as Partial<Record<MarketField, string | null>>
}

const holdingFields = (row: TokenRow): Partial<Record<MarketField, string | null>> => {
  if (row.holders === null) return {}
  const columns: Readonly<Record<string, HoldingColumns | null>> = {
    ...row.groups,
    sandwish: row.groups.sandwich ?? null,
    top10: row.top10,
    top50: row.top50,
    top100: row.top100,
  }
  const groups = HOLDER_GROUPS.map((name) =>
    holderGroupFields(name, columns[name] ?? null, row.decimals),
  )
  return Object.assign({ holders: row.holders }, ...groups)
}

/** Supply without what lies at burn addresses, token units. Nothing says which tokens are locked: those circulate. */
const circulatingSupply = (supply: string | null, row: TokenRow): string | null => {
  const burntRaw = BigInt(row.burnt_amount || 0)
  if (supply === null || row.decimals === null || burntRaw === 0n) return supply
  const leftRaw = parseUnits(supply, row.decimals) - burntRaw
  return formatUnits(leftRaw > 0n ? leftRaw : 0n, row.decimals)
}

/** Market data that blocks alone tell. */
export const marketDataBody = (row: TokenRow): TokenMarketData => {
  const facts =
    row.total_supply === null || row.decimals === null
      ? null
      : formatUnits(BigInt(row.total_supply), row.decimals)
  const supply = row.market_supply ?? facts
  const priceNative = numberTextOrNull(row.price_native)
  const circulating = circulatingSupply(supply, row)
  return {
    ...EMPTY_MARKET_FIELDS,
    priceInUsd: numberTextOrNull(row.price_usd),
    priceInSol: priceNative,
    priceInNative: priceNative,
    totalSupply: supply,
    circulatingSupply: circulating,
    marketCapInUsd: marketValue(row.price_usd, circulating),
    marketCapInSol: marketValue(row.price_native, circulating),
    fdvInUsd: marketValue(row.price_usd, supply),
    fdvInSol: marketValue(row.price_native, supply),
    totalTvlInUsd: row.tvl_usd,
    totalTvlInSol: row.tvl_native,
    maxPoolTvlInUsd: row.max_tvl_usd,
    maxPoolTvlInSol: row.max_tvl_native,
    completionRatio: row.migrated_at_ms === null ? numberTextOrNull(row.curve_progress) : '1',
    ...holdingFields(row),
  }
}

const extraBody = (row: TokenRow): Token['extra'] => ({
  programAddress: textOrNull(row.program_address),
  tokenStandard: textOrNull(row.standard),
  mintAuthority: textOrNull(row.mint_authority),
  freezeAuthority: textOrNull(row.freeze_authority),
  updateAuthority: textOrNull(row.update_authority),
  isMutable: row.is_mutable === 1,
  isNative: row.is_native === 1,
  launchFromProgramAddress: textOrNull(row.launch_program),
  launchFromProtocolFamily: textOrNull(row.launch_family),
  migratedToProgramAddress: textOrNull(row.migrated_program),
  migratedToProtocolFamily: textOrNull(row.migrated_family),
  migratedToPoolAddress: textOrNull(row.migrated_pool),
  migratedAt: timeOrNull(row.migrated_at_ms),
})

const socialMediaBody = ({ social }: TokenRow): Token['socialMedias'] =>
  Object.fromEntries(
    SOCIAL_NETWORKS.map((name) => [name, textOrNull(social[name] ?? '')]),
  ) as NonNullable<Token['socialMedias']>

/** What else the maker of a token made. */
export interface TokenCreator {
  readonly tokens: string
  readonly lastMs: number
}

/** Row to metadata; `resolveChainAlias` is the caller's word for the chain. */
export const metadataBody = (
  row: TokenRow,
  chainWord: string,
  maker: TokenCreator | undefined,
): TokenMetadata => {
  const slot = row.created_slot === '0' ? null : row.created_slot
  const slotIsHeight = chainRow(row.chain)?.vm !== 'svm'
  return {
    address: row.token_address,
    chain: chainWord,
    name: row.name,
    symbol: row.symbol,
    decimals: String(row.decimals ?? 0),
    description: textOrNull(row.description),
    imageUrl: textOrNull(row.image_url),
    uri: textOrNull(row.uri),
    metadataAddress: textOrNull(row.metadata_address),
    coingeckoCoinId: null,
    tokenCreatedAt: timeOrNull(row.created_at_ms),
    tokenCreatedBlockHeight: slotIsHeight ? slot : null,
    tokenCreatedSlot: slot,
    tokenCreatedTxSignature: textOrNull(row.created_tx),
    tokenCreators: row.creators.map(({ address, share, verified }) => ({
      address: textOrNull(address),
      share,
      isVerified: verified === 1,
    })),
    devTotalTokens: maker?.tokens ?? null,
    devLastTokenCreatedAt:
      maker === undefined || maker.lastMs === 0 ? null : formatTime(maker.lastMs),
    extra: extraBody(row),
    socialMedias: socialMediaBody(row),
  }
}

/** What is shown of a token beside its row. */
export interface TokenExtras {
  readonly stats?: TokenStats | undefined
  readonly maker?: TokenCreator | undefined
  /** Relevance in a search. */
  readonly score?: number
}

/** Row to body; `resolveChainAlias` is the caller's word for the chain. */
export const tokenBody = (
  row: TokenRow,
  chainWord: string,
  { stats, maker, score }: TokenExtras = {},
): Token => {
  const metadata = metadataBody(row, chainWord, maker)
  return {
    ...metadata,
    decimals: row.decimals ?? 0,
    market: null,
    extension: metadata.extra,
    marketData: marketDataBody(row),
    stats: stats ?? null,
    security: null,
    score: score ?? null,
    scoreBreakdown: null,
    tier: null,
    warningBadge: null,
  }
}
