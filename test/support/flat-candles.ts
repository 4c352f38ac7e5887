import { candleSeriesOf, type EventCandle, expandCandles } from '../../core/candlestick-events.ts'
import type { CandlestickDimension, CandlestickEvent } from '../../schemas/wire.ts'

/** A candle of one series and one resolution, as a reader of the topic keeps it. */
export interface FlatCandle extends EventCandle {
  readonly dimension: CandlestickDimension
  readonly token: string
  readonly address: string
  readonly isFinal: boolean
  /** The event itself where it is of this resolution: it tells more. */
  readonly event: CandlestickEvent | undefined
}

/** All candles that an event tells. */
export const toFlatCandles = (event: CandlestickEvent): readonly FlatCandle[] =>
  candleSeriesOf(event).flatMap(({ dimension, address }) =>
    expandCandles(event).map((candle, index) => ({
      ...candle,
      dimension,
      address,
      token: event.token_address,
      isFinal: event.is_final,
      event: index === 0 ? event : undefined,
    })),
  )

/** What tells a candle from all others. */
export const candleKey = ({ dimension, token, address, resolution, startMs }: FlatCandle): string =>
  [dimension.replace('CANDLESTICK_DIMENSION_', ''), token, address, resolution, startMs].join('|')
