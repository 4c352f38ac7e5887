import { type Static, Type } from 'typebox'
import { decimalOrNull, namedObject, nullable, queryTime } from './common.ts'

/** Groups of holders whose shares a trend shows. */
export const HOLDER_TREND_GROUPS = [
  ...(['bluechip', 'bundle', 'creators', 'dev', 'fresh', 'insider', 'kol'] as const),
  ...(['phishing', 'pro', 'rat', 'sandwich', 'smart', 'sniper'] as const),
] as const

const HOLDER_TREND_RATIOS = [
  ...(['top10HoldersRatio', 'top50HoldersRatio', 'top100HoldersRatio'] as const),
  ...HOLDER_TREND_GROUPS.map((group) => `${group}AmountRatio` as const),
] as const

/** A share of the supply by the name of its field. */
export type HolderTrendRatio = (typeof HOLDER_TREND_RATIOS)[number]

/** Parameters of a trend. */
export const HOLDER_TREND_QUERY = {
  resolution: Type.Optional(Type.Enum(['1h', '1d'], { default: '1h' })),
  from: queryTime('First bucket; default: 30 days before the end'),
  to: queryTime('End; default: now'),
}

/** Holders of a token at the end of an hour or day; fractions of the supply, "0" for groups that are not known. */
export const TokenHolderTrendPoint = namedObject('TokenHolderTrendPoint', {
  timestamp: Type.Integer({ description: 'Start of the hour or day, epoch ms' }),
  holders: Type.String(),
  ...(Object.fromEntries(HOLDER_TREND_RATIOS.map((name) => [name, Type.String()])) as Record<
    HolderTrendRatio,
    ReturnType<typeof Type.String>
  >),
})
export type TokenHolderTrendPoint = Static<typeof TokenHolderTrendPoint>

const flag = (about: string) => nullable(Type.Boolean({ description: about }))

/** What is known of a token's safety from its chain; what other services say is not known here. */
export const TokenSecurity = namedObject('TokenSecurityResponse', {
  address: Type.String(),
  chain: Type.String(),
  isMintable: flag('An authority may mint; null where the chain does not tell'),
  isFreezable: flag('An authority may freeze; null where the chain does not tell'),
  isShowAlert: flag('One of the two'),
  privileges: Type.Array(
    namedObject('TokenPrivilege', {
      name: nullable(Type.String({ description: 'mint, freeze or update' })),
      address: nullable(Type.String({ description: 'Who has it' })),
      isRenounced: flag('No account holds it'),
    }),
  ),
  lockInfo: Type.Null({ description: 'Locked liquidity is not known' }),
  devTokenBurnAmount: decimalOrNull('Token units that the maker burnt'),
  devTokenBurnRatio: decimalOrNull('The same, fraction of the supply'),
  sourcesAvailable: Type.Array(Type.String()),
  goplus: Type.Null(),
  honeypot: Type.Null(),
  serialized: Type.Null(),
  isHoneypot: Type.Null(),
  hasMintAuthority: flag('As isMintable'),
  hasFreezeAuthority: flag('As isFreezable'),
  topHolderConcentration: decimalOrNull('Percent of the supply that the ten largest hold'),
})
export type TokenSecurity = Static<typeof TokenSecurity>

/** Fees of recent trades of a token, in native tokens. */
export const FeeEstimates = namedObject('FeeEstimates', {
  tradeFeeInNative: decimalOrNull('Not known apart from the whole'),
  priorityFeeInNative: decimalOrNull('Not known apart from the whole'),
  tipFeeInNative: decimalOrNull('Not known apart from the whole'),
  totalFeeInNative: decimalOrNull('Median of the newest 100 transactions'),
})
export type FeeEstimates = Static<typeof FeeEstimates>

/** Tokens with the picture of a token. */
export const LogoDuplicates = namedObject('LogoDuplicates', {
  sameImageTokenCount: Type.Integer({
    description: 'Other tokens of the chain whose document names the same picture',
  }),
})
export type LogoDuplicates = Static<typeof LogoDuplicates>

/** Parameters of tokens alike. */
export const SIMILAR_QUERY = {
  type: Type.Optional(Type.Enum(['name', 'image'], { default: 'name' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
}
