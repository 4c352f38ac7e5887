/** A synthetic market in the tables' own rows, for tests of what is read from them. */

/** One trade of `token` against `quote`, as a row of `{chain}_dex_trades` and as the numbers a fold needs. */
export interface MarketTrade {
  readonly timeMs: number
  readonly slot: number
  readonly index: number
  readonly token: string
  readonly quote: string
  readonly pool: string
  readonly side: 'BUY' | 'SELL'
  readonly amountRaw: bigint
  /** null = unknown. */
  readonly priceUsd: number | null
  readonly priceNative: number | null
  /** Decimal text with 12 places at most. */
  readonly valueUsd: string | null
  readonly valueNative: string | null
  readonly suspect: boolean
}

/** An address from a small number. */
export const addressFromNumber = (number: number): string =>
  `0x${number.toString(16).padStart(40, '0')}`

/** The two legs as the sink writes them; `version` and `deleted` say which of several rows wins. */
export const marketTradeRows = (trade: MarketTrade, version = 1, deleted = false): object => {
  const base = {
    token: trade.token,
    decimals: 18,
    amount: trade.amountRaw.toString(),
    price_usd: trade.priceUsd,
    price_native: trade.priceNative,
    amount_usd: trade.valueUsd,
    amount_native: trade.valueNative,
    owner: addressFromNumber(0xfeed),
  }
  const quote = {
    token: trade.quote,
    decimals: 6,
    amount: '1',
    price_usd: trade.valueUsd === null ? null : 1,
    price_native: null,
    amount_usd: trade.valueUsd,
    amount_native: trade.valueNative,
    owner: addressFromNumber(0xfeed),
  }
  const leg = (name: string, fields: object): object =>
    Object.fromEntries(Object.entries(fields).map(([key, value]) => [`${name}_${key}`, value]))
  const [buy, sell] = trade.side === 'BUY' ? [base, quote] : [quote, base]
  return {
    block_time: new Date(trade.timeMs).toISOString(),
    block_slot: trade.slot,
    block_height: trade.slot,
    block_hash: `0x${trade.slot}`,
    tx_hash: `0x${trade.slot}-${trade.index}`,
    tx_index: trade.index,
    event_index: trade.index,
    tx_status: 'SUCCESS',
    protocol_family: 'uniswap_v2',
    pool_address: trade.pool,
    base_is_buy: trade.side === 'BUY' ? 1 : 0,
    is_suspect: trade.suspect ? 1 : 0,
    _ver: version,
    _del: deleted ? 1 : 0,
    ...leg('buy', buy),
    ...leg('sell', sell),
  }
}

/** Numbers from 0 up to 1 that a seed decides (mulberry32). */
export const createSeededRandom = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
