/** How a short key is written: `d` decimal, `n` integer, `ms` epoch milliseconds, `s` text, `o` an object of its own keys. */
type KeyType = 'd' | 'n' | 'ms' | 's' | 'o'

/** One short key of a payload with the name that filters and documents use for it. */
export interface ChannelKey {
  readonly type: KeyType
  readonly long: string
  /** Keys of an object. */
  readonly keys?: Readonly<Record<string, ChannelKey>>
}

const d = (long: string): ChannelKey => ({ type: 'd', long })
const n = (long: string): ChannelKey => ({ type: 'n', long })
const ms = (long: string): ChannelKey => ({ type: 'ms', long })
const s = (long: string): ChannelKey => ({ type: 's', long })

/** Payload of the candle families. */
export const CANDLE_KEYS = {
  a: s('address'),
  o: d('open'),
  c: d('close'),
  h: d('high'),
  l: d('low'),
  v: d('volume'),
  r: s('resolution'),
  t: ms('time'),
  n: n('number'),
} as const

/** Payload of the trade families; `op` is present on retractions. */
export const TRADE_KEYS = {
  a: s('tokenAddress'),
  t: ms('timestamp'),
  k: s('kind'),
  ba: d('buyAmount'),
  sa: d('sellAmount'),
  baiu: d('buyAmountInUsd'),
  saiu: d('sellAmountInUsd'),
  btma: s('buyTokenAddress'),
  stma: s('sellTokenAddress'),
  btn: s('buyTokenName'),
  bts: s('buyTokenSymbol'),
  stn: s('sellTokenName'),
  sts: s('sellTokenSymbol'),
  bwa: s('buyWalletAddress'),
  swa: s('sellWalletAddress'),
  h: s('txHash'),
  op: s('op'),
} as const

/** Key of a candle payload. */
export type CandleKey = keyof typeof CANDLE_KEYS
/** Key of a trade payload. */
export type TradeKey = keyof typeof TRADE_KEYS

const WINDOW_STEMS = {
  b: n('buys'),
  s: n('sells'),
  be: n('buyers'),
  se: n('sellers'),
  tr: n('trades'),
  bviu: d('buyVolumeInUsd'),
  sviu: d('sellVolumeInUsd'),
  p: d('price'),
  oiu: d('openInUsd'),
  ciu: d('closeInUsd'),
  vpc: d('volumeChangeRatio'),
  dpc: n('dappProgramCount'),
  pc: n('poolCount'),
  liq: d('liquidityInUsd'),
  lpc: d('liquidityChangeRatio'),
} as const
const STAT_WINDOWS = ['1m', '5m', '15m', '30m', '1h', '4h', '6h', '24h'] as const

/** Stem of a key that every window of the token statistics has. */
export type StatStem = keyof typeof WINDOW_STEMS

/** Payload of token statistics: each stem once per window. */
export const STAT_KEYS: Readonly<Record<string, ChannelKey>> = {
  a: s('address'),
  t: ms('timestamp'),
  p: d('price'),
  ...Object.fromEntries(
    STAT_WINDOWS.flatMap((window) =>
      Object.entries(WINDOW_STEMS).map(
        ([stem, { type, long }]) =>
          [`${stem}${window}`, { type, long: `${long}${window}` }] as const,
      ),
    ),
  ),
}

/** Payload of holder statistics. */
export const HOLDING_KEYS = {
  a: s('tokenAddress'),
  h: n('holders'),
  t10a: d('top10Amount'),
  t100a: d('top100Amount'),
  t10h: n('top10Holders'),
  t100h: n('top100Holders'),
  t10r: d('top10Ratio'),
  t100r: d('top100Ratio'),
  ch: n('creatorsHolders'),
  ca: d('creatorsAmount'),
  cr: d('creatorsRatio'),
  ts: ms('timestamp'),
} as const

const PLATFORM_KEYS = {
  pa: s('programAddress'),
  pf: s('protocolFamily'),
  pn: s('protocolName'),
} as const

/** Links of a project; the long name is the network's. */
export const SOCIAL_KEYS = {
  tw: s('twitter'),
  tg: s('telegram'),
  w: s('website'),
  tt: s('tiktok'),
  dc: s('discord'),
  fb: s('facebook'),
  gh: s('github'),
  ig: s('instagram'),
  li: s('linkedin'),
  md: s('medium'),
  rd: s('reddit'),
  yt: s('youtube'),
  bb: s('bitbucket'),
} as const

/** Payload of new tokens; `op` is present on retractions. */
export const NEW_TOKEN_KEYS = {
  a: s('tokenAddress'),
  n: s('name'),
  s: s('symbol'),
  dec: n('decimals'),
  iu: s('imageUrl'),
  de: s('description'),
  cts: ms('createdAtMs'),
  sm: { type: 'o', long: 'socialMedia', keys: SOCIAL_KEYS },
  lf: { type: 'o', long: 'launchFrom', keys: PLATFORM_KEYS },
  mt: { type: 'o', long: 'migratedTo', keys: PLATFORM_KEYS },
  op: s('op'),
} as const satisfies Readonly<Record<string, ChannelKey>>

/** Payload of wallet balances. */
export const BALANCE_KEYS = {
  a: s('walletAddress'),
  ta: s('tokenAddress'),
  b: d('balance'),
  tpiu: d('tokenPriceInUsd'),
  t: ms('timestamp'),
} as const

/** Payload of token supplies. */
export const SUPPLY_KEYS = {
  a: s('tokenAddress'),
  s: d('supply'),
  mc: d('marketCapInUsd'),
  mciu: d('marketCapInUsd'),
  ts: ms('timestamp'),
} as const

/** Payload of a token's deepest pool. */
export const MAX_LIQUIDITY_KEYS = {
  a: s('tokenAddress'),
  p: s('poolAddress'),
  liu: d('liquidityInUsd'),
  lin: d('liquidityInNative'),
  ts: ms('timestamp'),
} as const

/** Payload of a token's liquidity over its pools. */
export const LIQUIDITY_KEYS = {
  a: s('tokenAddress'),
  liu: d('liquidityInUsd'),
  lin: d('liquidityInNative'),
  pc: n('poolCount'),
  ts: ms('timestamp'),
} as const

/** Payload of a pool's balances. */
export const POOL_KEYS = {
  a: s('poolAddress'),
  taa: s('tokenAAddress'),
  taliu: d('tokenALiquidityInUsd'),
  tba: s('tokenBAddress'),
  tbliu: d('tokenBLiquidityInUsd'),
} as const

/** Payload of a wallet's profit and loss per token. */
export const PNL_KEYS = {
  a: s('walletAddress'),
  ta: s('tokenAddress'),
  tpiu: d('tokenPriceInUsd'),
  t: ms('timestamp'),
  ot: ms('opentime'),
  lt: ms('lasttime'),
  ct: ms('closetime'),
  ba: d('buyAmount'),
  baiu: d('buyAmountInUsd'),
  bs: n('buyCount'),
  bs7d: n('buyCount7d'),
  bs30d: n('buyCount30d'),
  sa: d('sellAmount'),
  saiu: d('sellAmountInUsd'),
  ss: n('sellCount'),
  ss7d: n('sellCount7d'),
  ss30d: n('sellCount30d'),
  hdts: n('heldDurationTimestamp'),
  abpiu: d('averageBuyPriceInUsd'),
  aspiu: d('averageSellPriceInUsd'),
  upiu: d('unrealizedProfitInUsd'),
  upr: d('unrealizedProfitRatio'),
  rpiu: d('realizedProfitInUsd'),
  rpr: d('realizedProfitRatio'),
  trpiu: d('totalRealizedProfitInUsd'),
  trr: d('totalRealizedProfitRatio'),
} as const
