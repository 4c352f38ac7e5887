import { CHAINS, type ChainRow, type QuoteAsset } from '../chains.ts'
import { BUCKET_FIELDS, ROW_LIMIT, unknownLeaf, usdLeaf } from './fields.ts'
import { CANDLES_SQL } from './pairs.ts'
import type { Cube, Leaf } from './types.ts'

/** What an asset is called whatever its wrapped form: `eth` for WETH, `usdc` for USDC.e and USDbC, `btc` for every wrapped bitcoin. */
const currencyId = ({ kind, symbol }: QuoteAsset): string => {
  const word = symbol.toLowerCase()
  if (kind === 'btc') return 'btc'
  if (kind === 'native') return word.replace(/^w(?=.)/, '')
  return word.replace(/\.e$/, '').replace(/^usdbc$/, 'usdc')
}

/** Which asset a row of a chain's candles is of, and how many decimal places it has. */
const formsSql = ({ quotes }: ChainRow): Readonly<Record<'id' | 'places' | 'forms', string>> => {
  const forms = quotes.map(({ address }) => `'${address}'`).join(', ')
  const ids = quotes.map((asset) => `'${currencyId(asset)}'`).join(', ')
  const places = quotes.map(({ decimals }) => decimals).join(', ')
  return {
    forms,
    id: `transform(token_address, [${forms}], [${ids}], '')`,
    places: `transform(token_address, [${forms}], [${places}], 0)`,
  }
}
const ofChains = (part: 'id' | 'places' | 'forms'): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.values<ChainRow>(CHAINS).map((row) => [row.id, formsSql(row)[part]]))

/** Candles of the forms on one chain. */
const SOURCE_SQL = `(SELECT {id} AS currency, bucket, open AS o, high AS h, low AS l, close AS c, volume_usd AS v, trades AS n,
  toFloat64(volume) / exp10({places}) AS u
FROM ${CANDLES_SQL} WHERE token_address IN ({forms}))`

const MERGED_SQL = `(SELECT currency, bucket, argMax(o, v) AS open, max(h) AS high, min(l) AS low, argMax(c, v) AS close,
  sum(u) AS units, sum(v) AS volume_usd, sum(n) AS trades
FROM {union} GROUP BY currency, bucket)`

const idLeaf: Leaf = {
  sql: 'currency',
  type: 'String',
  folds: true,
  about: 'Such as eth, usdc, btc: one for all wrapped forms.',
}
const priceLeaf = (sql: string, rollup: string, about: string): Leaf => ({
  sql,
  rollup,
  type: 'Float',
  about,
})

/** Candles of an asset over all chains and wrapped forms. */
export const CURRENCIES: Cube = {
  name: 'Currencies',
  about:
    'One candle per asset and minute over its forms on all chains: of the quote assets, as base of a pair. Open and close are those of the form with the largest volume.',
  groups: ['Trading'],
  layer: 'DWM',
  baseCost: 1_200,
  source: SOURCE_SQL,
  merged: MERGED_SQL,
  constants: { id: ofChains('id'), places: ofChains('places'), forms: ofChains('forms') },
  time: 'bucket',
  lookups: {},
  dimensions: {
    Currency: {
      Id: idLeaf,
      Symbol: { sql: 'upper(currency)', type: 'String', folds: true, about: 'Symbol.' },
      Name: unknownLeaf('String', 'Names of assets are not stored.'),
    },
    ...BUCKET_FIELDS,
    Price: {
      Ohlc: {
        Open: priceLeaf('open', 'argMin(open, bucket)', 'First price, USD.'),
        High: priceLeaf('high', 'max(high)', 'Highest price, USD.'),
        Low: priceLeaf('low', 'min(low)', 'Lowest price, USD.'),
        Close: priceLeaf('close', 'argMax(close, bucket)', 'Last price, USD.'),
      },
      IsQuotedInUsd: { sql: 'true', type: 'Boolean', about: 'Always: prices are in USD.' },
    },
    Volume: {
      Usd: { ...usdLeaf('volume_usd', 'Traded value in USD.'), rollup: 'sum(volume_usd)' },
      Base: priceLeaf('units', 'sum(units)', 'Traded amount, whole units of the asset.'),
    },
    Stats: {
      TradeCount: { sql: 'trades', rollup: 'sum(trades)', type: 'Int', about: 'Trades.' },
    },
  },
  selectors: { currencyId: ['Currency.Id'], date: ['Block.Time'] },
  defaults: {},
  order: ['bucket', 'currency'],
  newest: 'Block.Time',
  rowKey: ['currency'],
  limit: ROW_LIMIT,
  aliases: [],
}
