import { Fault } from '../../core/errors.ts'
import { makeQuoteAssets, orientPair } from '../../core/prices/quote-assets.ts'
import { isResolution, normalizeQueryTime, RESOLUTION_NAMES } from '../../core/time.ts'
import {
  type Candle,
  type CandleQuery,
  Candles,
  candleQuery as candleQuerySchema,
  PairParams,
  PoolParams,
} from '../../schemas/api/candle.ts'
import { TokenParams } from '../../schemas/api/token.ts'
import { chainRow } from '../../schemas/chains.ts'
import {
  type CandleRequest,
  type CandleRow,
  type CandleSeries,
  candleBody,
  candleQuery,
  fillCandleGaps,
} from '../queries/candles.ts'
import {
  parseChain,
  parseTokenAddress,
  type RequestedChain,
  setFreshnessHeaders,
} from './chain-parameters.ts'
import type { RouteDeps, ServerDeps } from './deps.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'

/** What candles need beyond the usual: the configured quote assets decide which token of a pair is priced. */
export type CandleDeps = RouteDeps & Pick<ServerDeps, 'config'>

const QUERY_SCHEMA = candleQuerySchema(RESOLUTION_NAMES)

const routeSchema = (summary: string) => ({
  summary,
  tags: ['candles'],
  querystring: QUERY_SCHEMA,
  response: { 200: Candles },
})

/** Candles of a token over all its pools, of one pool, and of a pair over all pools that hold both. */
export const candleRoutes =
  (deps: CandleDeps): RoutePlugin =>
  async (app) => {
    app.get(
      '/token/:chain/:tokenAddress/candles',
      {
        schema: { ...routeSchema('Candles of a token'), params: TokenParams },
        config: pricedRoute('GET /token/:chain/:tokenAddress/candles'),
      },
      ({ params, query }, reply) => {
        const chain = parseChain(params.chain, deps.chains)
        const token = parseTokenAddress(chain.id, params.tokenAddress, 'tokenAddress')
        return readCandles(deps, chain, { kind: 'token', token }, query, reply)
      },
    )
    app.get(
      '/token/:chain/pool/:poolAddress/candles',
      {
        schema: { ...routeSchema('Candles of a pool'), params: PoolParams },
        config: pricedRoute('GET /token/:chain/pool/:poolAddress/candles'),
      },
      ({ params, query }, reply) => {
        const chain = parseChain(params.chain, deps.chains)
        const pool = parseTokenAddress(chain.id, params.poolAddress, 'poolAddress')
        return readCandles(deps, chain, { kind: 'pool', pool }, query, reply)
      },
    )
    app.get(
      '/token/:chain/pair/:pair/candles',
      {
        schema: { ...routeSchema('Candles of a pair'), params: PairParams },
        config: pricedRoute('GET /token/:chain/pair/:pair/candles'),
      },
      ({ params, query }, reply) => {
        const chain = parseChain(params.chain, deps.chains)
        return readCandles(deps, chain, pairSeries(deps, chain, params.pair), query, reply)
      },
    )
  }

/** The pair's series: the leg that is not a quote asset is priced, whatever the order in the path. */
const pairSeries = ({ config }: CandleDeps, { id }: RequestedChain, pair: string): CandleSeries => {
  const [left = '', right = '', ...rest] = pair.split('-')
  if (rest.length > 0) {
    throw new Fault('INVALID_TOKEN_ADDRESS', undefined, { parameter: 'pair', value: pair })
  }
  const [a, b] = [parseTokenAddress(id, left, 'pair'), parseTokenAddress(id, right, 'pair')]
  const row = chainRow(id)
  if (!row) return { kind: 'pair', token: a, side: b }
  const { base, quote } = orientPair(a, b, makeQuoteAssets(row, config.chainExtra[id]))
  return { kind: 'pair', token: base, side: quote }
}

const readCandles = async (
  deps: CandleDeps,
  chain: RequestedChain,
  series: CandleSeries,
  query: CandleQuery,
  reply: Parameters<typeof setFreshnessHeaders>[0],
): Promise<Candle[]> => {
  if (!chain.enabled) return []
  const lookup = toCandleRequest(chain.id, series, query, deps.nowMs())
  await setFreshnessHeaders(reply, deps.freshness, chain.id)
  const statement = candleQuery(lookup)
  if (!statement) return []
  const { rows } = await deps.warehouse.query<CandleRow>(statement)
  const candles = rows.map(candleBody).toReversed()
  return query.fillGaps === true ? [...fillCandleGaps(candles, lookup)] : candles
}

const toCandleRequest = (
  chain: string,
  series: CandleSeries,
  { resolution, priceType = 'usd', from = 0, to, limit = 100, fillGaps }: CandleQuery,
  nowMs: number,
): CandleRequest => {
  if (!isResolution(resolution)) throw new Fault('INVALID_RESOLUTION')
  const toMs = to === undefined ? nowMs : normalizeQueryTime(to)
  return {
    chain,
    series,
    resolution,
    priceType,
    limit,
    fromMs: normalizeQueryTime(from),
    toMs: fillGaps === true ? Math.min(toMs, nowMs) : toMs,
  }
}
