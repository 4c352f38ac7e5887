/**
 * How a short key is written: `d` decimal, `ds` decimal that is text whatever the option, `n` integer, `ms` epoch milliseconds,
 * `s` text, `l` list of texts, `o` an object of its own keys.
 */
type ChannelKeyType = 'd' | 'ds' | 'n' | 'ms' | 's' | 'l' | 'o'

/** One short key of a payload with the name that filters and documents use for it. */
export interface ChannelKey {
  readonly type: ChannelKeyType
  readonly long: string
  /** Its unit, where the name does not say it. */
  readonly unit?: string
  /** Keys of an object. */
  readonly keys?: Readonly<Record<string, ChannelKey>>
  /** In every frame, because stock clients demand it: unknown text is "". */
  readonly required?: true
  /** Filters may name the object's keys by their long names alone, and the root's keys as if they were its own. */
  readonly inline?: true
}

const decimalKey = (long: string): ChannelKey => ({ type: 'd', long })
const integerKey = (long: string): ChannelKey => ({ type: 'n', long })
const timeKey = (long: string): ChannelKey => ({ type: 'ms', long })
const textKey = (long: string): ChannelKey => ({ type: 's', long })
const requiredText = (long: string): ChannelKey => ({ type: 's', long, required: true })
const requiredDecimal = (long: string): ChannelKey => ({ type: 'd', long, required: true })
const exactKey = (long: string): ChannelKey => ({ type: 'ds', long })

/** Payload of the candle families. */
export const CANDLE_KEYS = {
  a: textKey('address'),
  o: decimalKey('open'),
  c: decimalKey('close'),
  h: decimalKey('high'),
  l: decimalKey('low'),
  v: { type: 'd', long: 'volume', unit: 'tokens' },
  r: textKey('resolution'),
  t: timeKey('time'),
  n: integerKey('number'),
} as const

/** Payload of the trade families; `op` is present on retractions, `cm` on trades of blocks that are not confirmed yet. */
export const TRADE_KEYS = {
  a: requiredText('tokenAddress'),
  t: timeKey('timestamp'),
  k: requiredText('kind'),
  ba: requiredDecimal('buyAmount'),
  sa: requiredDecimal('sellAmount'),
  baiu: requiredDecimal('buyAmountInUsd'),
  saiu: requiredDecimal('sellAmountInUsd'),
  btma: requiredText('buyTokenAddress'),
  stma: requiredText('sellTokenAddress'),
  btn: requiredText('buyTokenName'),
  bts: requiredText('buyTokenSymbol'),
  stn: requiredText('sellTokenName'),
  sts: requiredText('sellTokenSymbol'),
  bwa: requiredText('buyWalletAddress'),
  swa: requiredText('sellWalletAddress'),
  h: requiredText('txHash'),
  cm: textKey('commitment'),
  op: textKey('op'),
} as const

/** Key of a candle payload. */
export type CandleKey = keyof typeof CANDLE_KEYS
/** Key of a trade payload. */
export type TradeKey = keyof typeof TRADE_KEYS

const WINDOW_STAT_KEYS = {
  b: integerKey('buys'),
  s: integerKey('sells'),
  be: integerKey('buyers'),
  se: integerKey('sellers'),
  tr: integerKey('trades'),
  bviu: decimalKey('buyVolumeInUsd'),
  sviu: decimalKey('sellVolumeInUsd'),
  p: decimalKey('price'),
  oiu: decimalKey('openInUsd'),
  ciu: decimalKey('closeInUsd'),
  vpc: decimalKey('volumeChangeRatio'),
  dpc: integerKey('dappProgramCount'),
  pc: integerKey('poolCount'),
  liq: decimalKey('liquidityInUsd'),
  lpc: decimalKey('liquidityChangeRatio'),
} as const
const STAT_WINDOWS = ['1m', '5m', '15m', '30m', '1h', '4h', '6h', '24h'] as const

/** Stem of a key that every window of the token statistics has. */
export type WindowStatKey = keyof typeof WINDOW_STAT_KEYS

/** Payload of token statistics: each stem once per window. */
export const STAT_KEYS: Readonly<Record<string, ChannelKey>> = {
  a: textKey('address'),
  t: timeKey('timestamp'),
  p: decimalKey('price'),
  ...Object.fromEntries(
    STAT_WINDOWS.flatMap((window) =>
      Object.entries(WINDOW_STAT_KEYS).map(
        ([stem, { type, long }]) =>
          [`${stem}${window}`, { type, long: `${long}${window}` }] as const,
      ),
    ),
  ),
}

/** Payload of holder statistics. */
export const HOLDING_KEYS = {
  a: textKey('tokenAddress'),
  h: integerKey('holders'),
  t10a: decimalKey('top10Amount'),
  t100a: decimalKey('top100Amount'),
  t10h: integerKey('top10Holders'),
  t100h: integerKey('top100Holders'),
  t10r: decimalKey('top10Ratio'),
  t100r: decimalKey('top100Ratio'),
  ch: integerKey('creatorsHolders'),
  ca: decimalKey('creatorsAmount'),
  cr: decimalKey('creatorsRatio'),
  ts: timeKey('timestamp'),
} as const

const LAUNCH_KEYS = {
  pa: textKey('programAddress'),
  pf: textKey('protocolFamily'),
  pn: textKey('protocolName'),
} as const

/** Links of a project; the long name is the network's. */
export const SOCIAL_KEYS = {
  tw: textKey('twitter'),
  tg: textKey('telegram'),
  w: textKey('website'),
  tt: textKey('tiktok'),
  dc: textKey('discord'),
  fb: textKey('facebook'),
  gh: textKey('github'),
  ig: textKey('instagram'),
  li: textKey('linkedin'),
  md: textKey('medium'),
  rd: textKey('reddit'),
  yt: textKey('youtube'),
  bb: textKey('bitbucket'),
} as const

/** Payload of new tokens; `op` is present on retractions. */
export const NEW_TOKEN_KEYS = {
  a: textKey('tokenAddress'),
  n: requiredText('name'),
  s: requiredText('symbol'),
  dec: integerKey('decimals'),
  iu: textKey('imageUrl'),
  de: textKey('description'),
  cgi: textKey('coingeckoCoinId'),
  cts: timeKey('createdAtMs'),
  sm: { type: 'o', long: 'socialMedia', keys: SOCIAL_KEYS },
  lf: { type: 'o', long: 'launchFrom', keys: LAUNCH_KEYS },
  mt: { type: 'o', long: 'migratedTo', keys: LAUNCH_KEYS },
  op: textKey('op'),
} as const satisfies Readonly<Record<string, ChannelKey>>

/** Payload of wallet balances. */
export const BALANCE_KEYS = {
  a: textKey('walletAddress'),
  ta: textKey('tokenAddress'),
  b: requiredDecimal('balance'),
  tpiu: requiredDecimal('tokenPriceInUsd'),
  t: timeKey('timestamp'),
} as const

/** Payload of token supplies. */
export const SUPPLY_KEYS = {
  a: textKey('tokenAddress'),
  s: decimalKey('supply'),
  mc: decimalKey('marketCapInUsd'),
  mciu: decimalKey('marketCapInUsd'),
  ts: timeKey('timestamp'),
} as const

/** Payload of a token's deepest pool. */
export const MAX_LIQUIDITY_KEYS = {
  a: textKey('tokenAddress'),
  p: textKey('poolAddress'),
  liu: exactKey('liquidityInUsd'),
  lin: exactKey('liquidityInNative'),
  ts: timeKey('timestamp'),
} as const

/** Payload of a token's liquidity over its pools. */
export const LIQUIDITY_KEYS = {
  a: textKey('tokenAddress'),
  liu: exactKey('liquidityInUsd'),
  lin: exactKey('liquidityInNative'),
  pc: integerKey('poolCount'),
  ts: timeKey('timestamp'),
} as const

/** Payload of a pool's balances. */
export const POOL_KEYS = {
  a: textKey('poolAddress'),
  taa: textKey('tokenAAddress'),
  taliu: decimalKey('tokenALiquidityInUsd'),
  tba: textKey('tokenBAddress'),
  tbliu: decimalKey('tokenBLiquidityInUsd'),
} as const

/** Payload of a wallet's profit and loss per token. */
export const PNL_KEYS = {
  a: textKey('walletAddress'),
  ta: textKey('tokenAddress'),
  tpiu: decimalKey('tokenPriceInUsd'),
  t: timeKey('timestamp'),
  ot: timeKey('opentime'),
  lt: timeKey('lasttime'),
  ct: timeKey('closetime'),
  ba: decimalKey('buyAmount'),
  baiu: decimalKey('buyAmountInUsd'),
  bs: integerKey('buyCount'),
  bs7d: integerKey('buyCount7d'),
  bs30d: integerKey('buyCount30d'),
  sa: decimalKey('sellAmount'),
  saiu: decimalKey('sellAmountInUsd'),
  ss: integerKey('sellCount'),
  ss7d: integerKey('sellCount7d'),
  ss30d: integerKey('sellCount30d'),
  hdts: integerKey('heldDurationTimestamp'),
  abpiu: decimalKey('averageBuyPriceInUsd'),
  aspiu: decimalKey('averageSellPriceInUsd'),
  upiu: decimalKey('unrealizedProfitInUsd'),
  upr: decimalKey('unrealizedProfitRatio'),
  rpiu: decimalKey('realizedProfitInUsd'),
  rpr: decimalKey('realizedProfitRatio'),
  trpiu: decimalKey('totalRealizedProfitInUsd'),
  trr: decimalKey('totalRealizedProfitRatio'),
} as const

/** Payload of a transfer. */
export const TRANSFER_KEYS = {
  a: textKey('tokenAddress'),
  f: textKey('fromAddress'),
  r: textKey('toAddress'),
  am: decimalKey('amount'),
  aiu: decimalKey('amountInUsd'),
  h: textKey('txHash'),
} as const

/** Payload of a price that crossed a level. */
export const PRICE_CROSSING_KEYS = {
  a: textKey('tokenAddress'),
  lv: decimalKey('levelInUsd'),
  d: textKey('direction'),
  piu: decimalKey('priceInUsd'),
  ppiu: decimalKey('previousPriceInUsd'),
} as const

/** Payload of what a wallet did: a side of a trade, or an end of a transfer. */
export const ACTIVITY_KEYS = {
  a: textKey('walletAddress'),
  k: textKey('kind'),
  ta: textKey('tokenAddress'),
  am: decimalKey('amount'),
  aiu: decimalKey('amountInUsd'),
  ota: textKey('otherTokenAddress'),
  cp: textKey('counterparty'),
  h: textKey('txHash'),
} as const

/** Payload of single numbers of a token; `t` names the number. */
export const GENERAL_STAT_KEYS = {
  a: textKey('tokenAddress'),
  t: textKey('metricType'),
  v: decimalKey('value'),
  ts: timeKey('timestamp'),
} as const

/** How much of a launch curve is sold. */
export const CURVE_KEYS = {
  a: textKey('tokenAddress'),
  pr: exactKey('progressRatio'),
} as const

/** Element of a ranking: what is known of a token, in parts. */
export const RANKING_KEYS = {
  t: { type: 'o', long: 'metadata', keys: NEW_TOKEN_KEYS },
  bc: { type: 'o', long: 'bondingCurve', keys: { pr: exactKey('progressRatio') } },
  h: { type: 'o', long: 'holder', keys: HOLDING_KEYS },
  s: { type: 'o', long: 'supply', keys: SUPPLY_KEYS },
  ts: { type: 'o', long: 'stat', keys: STAT_KEYS },
} as const satisfies Readonly<Record<string, ChannelKey>>

/** Element of a wallet's profit and loss by resolution; `ts` counts tokens. */
export const PNL_SUMMARY_KEYS = {
  a: textKey('walletAddress'),
  bs: integerKey('buys'),
  ba: decimalKey('buyAmount'),
  baiu: decimalKey('buyAmountInUsd'),
  abpiu: decimalKey('averageBuyPriceInUsd'),
  sa: decimalKey('sellAmount'),
  saiu: decimalKey('sellAmountInUsd'),
  ss: integerKey('sells'),
  ws: integerKey('wins'),
  wr: decimalKey('winRatio'),
  piu: decimalKey('pnlInUsd'),
  apiu: decimalKey('averagePnlInUsd'),
  pr: decimalKey('pnlRatio'),
  pd: integerKey('profitableDays'),
  ld: integerKey('losingDays'),
  ts: integerKey('tokens'),
  r: textKey('resolution'),
} as const

/** What happened on a prediction market; decimals are text whatever the option. */
const PREDICTION_ACTIVITY_KEYS = {
  id: textKey('activityId'),
  ty: textKey('type'),
  rt: textKey('rawType'),
  src: textKey('source'),
  cid: textKey('conditionId'),
  mid: textKey('marketId'),
  mq: textKey('marketQuestion'),
  mi: textKey('marketIcon'),
  es: textKey('eventSlug'),
  tid: textKey('tokenId'),
  oc: textKey('outcome'),
  ocs: { type: 'l', long: 'outcomes' },
  as: { type: 'l', long: 'assetIds' },
  p: exactKey('price'),
  pps: exactKey('pricePerShare'),
  q: exactKey('quantity'),
  amt: exactKey('amount'),
  aiu: exactKey('amountInUsd'),
  ca: exactKey('collateralAmount'),
  cau: exactKey('collateralAmountInUsd'),
  cs: textKey('collateralTokenSymbol'),
  cad: textKey('collateralTokenAddress'),
  fa: exactKey('feeAmount'),
  fau: exactKey('feeAmountInUsd'),
  fs: textKey('feeTokenSymbol'),
  fad: textKey('feeTokenAddress'),
  fp: textKey('feePayer'),
  fr: textKey('feeRecipient'),
  eo: textKey('economicOutcome'),
  ea: exactKey('economicAmount'),
  eau: exactKey('economicAmountInUsd'),
  ep: exactKey('economicPrice'),
  etid: textKey('economicTokenId'),
  ra: exactKey('rawAmount'),
  ro: textKey('rawOutcome'),
  rp: exactKey('rawPrice'),
  rtid: textKey('rawTokenId'),
  w: textKey('wallet'),
  rl: textKey('participantRole'),
  cp: textKey('counterparty'),
  tk: textKey('taker'),
  ta: timeKey('takerAge'),
  tn: textKey('takerName'),
  tp: textKey('takerPseudonym'),
  ti: textKey('takerImage'),
  tt: { type: 'l', long: 'takerTags' },
  toh: textKey('takerOrderHash'),
  bn: integerKey('blockNumber'),
  li: integerKey('logIndex'),
  tx: textKey('txHash'),
  ts: timeKey('timestamp'),
} as const satisfies Readonly<Record<string, ChannelKey>>

/** Payload of prediction markets; `op` is present on retractions. */
export const PREDICTION_KEYS = {
  seq: integerKey('seqIndex'),
  a: { type: 'o', long: 'activity', keys: PREDICTION_ACTIVITY_KEYS, inline: true },
  op: textKey('op'),
} as const satisfies Readonly<Record<string, ChannelKey>>
