import { type Static, Type } from 'typebox'
import { ChainParam, namedObject, nullable } from './common.ts'

const decimal = (about: string) => Type.String({ description: about })
const LAST_MS = Date.UTC(9999, 11, 31)
const time = (about: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: LAST_MS,
      description: `${about}; epoch seconds or milliseconds`,
    }),
  )

/** One bar; buckets without trades are absent. */
export const Candle = namedObject('TokenCandle', {
  timestamp: Type.Integer({ description: 'Start of the bucket, epoch ms' }),
  open: decimal('Price of the first trade'),
  high: decimal('Highest price'),
  low: decimal('Lowest price'),
  close: decimal('Price of the last trade'),
  volume: decimal('Value of the trades, in USD or in the native token'),
  trades: Type.Integer(),
  volumeInTokenAmount: nullable(Type.String({ description: 'Amount of the priced token' })),
})
export type Candle = Static<typeof Candle>

/** Answer of every candle route: oldest first. */
export const Candles = Type.Array(Candle)

/** Query of every candle route. */
export const candleQuery = (resolutions: readonly string[]) =>
  Type.Object({
    resolution: Type.Enum([...resolutions], { description: '1m is a minute, 1M a month' }),
    priceType: Type.Optional(Type.Enum(['usd', 'native'], { default: 'usd' })),
    from: time('First bucket start, inclusive'),
    to: time('Bucket starts before this; default now'),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 100 })),
    fillGaps: Type.Optional(
      Type.Boolean({ default: false, description: 'Flat bars for buckets without trades' }),
    ),
  })
export type CandleQuery = Static<ReturnType<typeof candleQuery>>

/** Path of one pool. */
export const PoolParams = Type.Object({
  chain: ChainParam,
  poolAddress: Type.String({ maxLength: 256 }),
})

/** Path of one pair: two token addresses joined by `-`. */
export const PairParams = Type.Object({ chain: ChainParam, pair: Type.String({ maxLength: 512 }) })
