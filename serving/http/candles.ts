import { Fault } from '../../core/errors.ts'
import { orient, quoteBook } from '../../core/prices/quote-assets.ts'
import { isResolution, queryTimeMs, RESOLUTION_NAMES } from '../../core/time.ts'
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
  type CandleQuestion,
  type CandleRow,
  candleOf,
  candleQuery,
  type Series,
  withFlatBars,
} from '../queries/candles.ts'
import { addressOf, chainOf, type NamedChain, stampFreshness } from './chain.ts'
import type { RouteDeps, ServerDeps } from './deps.ts'
import { type Family, priced } from './routing.ts'

/** What candles need beyond the usual: the configured quote assets decide which token of a pair is priced. */
export type CandleDeps = RouteDeps & Pick<ServerDeps, 'config'>

const QUERY = candleQuerySchema(RESOLUTION_NAMES)

const schema = (summary: string) => ({
  summary,
  tags: ['candles'],
  querystring: QUERY,
  response: { 200: Candles },
})

/** Candles of a token over all its pools, of one pool, and of a pair over all pools that hold both. */
export const candleRoutes =
  (deps: CandleDeps): Family =>
  async (app) => {
    app.get(
      '/token/:chain/:tokenAddress/candles',
      {
        schema: { ...schema('Candles of a token'), params: TokenParams },
        config: priced('GET /token/:chain/:tokenAddress/candles'),
      },
      ({ params, query }, reply) => {
        const chain = chainOf(params.chain, deps.chains)
        const token = addressOf(chain.id, params.tokenAddress, 'tokenAddress')
        return answer(deps, chain, { kind: 'token', token }, query, reply)
      },
    )
    app.get(
      '/token/:chain/pool/:poolAddress/candles',
      {
        schema: { ...schema('Candles of a pool'), params: PoolParams },
        config: priced('GET /token/:chain/pool/:poolAddress/candles'),
      },
      ({ params, query }, reply) => {
        const chain = chainOf(params.chain, deps.chains)
        const pool = addressOf(chain.id, params.poolAddress, 'poolAddress')
        return answer(deps, chain, { kind: 'pool', pool }, query, reply)
      },
    )
    app.get(
      '/token/:chain/pair/:pair/candles',
      {
        schema: { ...schema('Candles of a pair'), params: PairParams },
        config: priced('GET /token/:chain/pair/:pair/candles'),
      },
      ({ params, query }, reply) => {
        const chain = chainOf(params.chain, deps.chains)
        return answer(deps, chain, pairOf(deps, chain, params.pair), query, reply)
      },
    )
  }

/** The pair's series: the leg that is not a quote asset is priced, whatever the order in the path. */
const pairOf = ({ config }: CandleDeps, { id }: NamedChain, pair: string): Series => {
  const [left = '', right = '', ...rest] = pair.split('-')
  if (rest.length > 0) {
    throw new Fault('INVALID_TOKEN_ADDRESS', undefined, { parameter: 'pair', value: pair })
  }
  const [a, b] = [addressOf(id, left, 'pair'), addressOf(id, right, 'pair')]
  const row = chainRow(id)
  if (!row) return { kind: 'pair', token: a, side: b }
  const { base, quote } = orient(a, b, quoteBook(row, config.chainExtra[id]))
  return { kind: 'pair', token: base, side: quote }
}

const answer = async (
  deps: CandleDeps,
  chain: NamedChain,
  series: Series,
  query: CandleQuery,
  reply: Parameters<typeof stampFreshness>[0],
): Promise<Candle[]> => {
  if (!chain.enabled) return []
  const question = questionOf(chain.id, series, query, deps.nowMs())
  await stampFreshness(reply, deps.freshness, chain.id)
  const statement = candleQuery(question)
  if (!statement) return []
  const { rows } = await deps.warehouse.query<CandleRow>(statement)
  const candles = rows.map(candleOf).toReversed()
  return query.fillGaps === true ? [...withFlatBars(candles, question)] : candles
}

const questionOf = (
  chain: string,
  series: Series,
  { resolution, priceType = 'usd', from = 0, to, limit = 100, fillGaps }: CandleQuery,
  nowMs: number,
): CandleQuestion => {
  if (!isResolution(resolution)) throw new Fault('INVALID_RESOLUTION')
  const toMs = to === undefined ? nowMs : queryTimeMs(to)
  return {
    chain,
    series,
    resolution,
    priceType,
    limit,
    fromMs: queryTimeMs(from),
    toMs: fillGaps === true ? Math.min(toMs, nowMs) : toMs,
  }
}
