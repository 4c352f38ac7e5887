import { Fault } from '../../../core/errors.ts'
import { memberText } from '../../../core/json.ts'
import type { ChainRow } from '../../../schemas/chains.ts'
import type { UnsignedTransaction } from '../evm-calls.ts'
import type { QuotedHop } from '../quote.ts'
import { minAmountOut } from '../route.ts'
import { type AggregatedQuote, fieldReader } from './aggregated-quote.ts'
import {
  type AggregatorCaller,
  type AggregatorClient,
  bodyWith,
  openAggregatorClient,
} from './aggregator-client.ts'
import { NATIVE, readKyberswapCall } from './kyberswap-call.ts'

/** What is asked of KyberSwap: a swap that sells an exact amount. */
export interface KyberswapOrder {
  /** Its chains have the same names in its paths as in those of this interface. */
  readonly chain: Pick<ChainRow, 'apiName' | 'kyberswapRouter'>
  /** null: the native token. */
  readonly tokenIn: string | null
  readonly tokenOut: string | null
  readonly amountRaw: bigint
  readonly slippageBps: number
  readonly owner: string
  readonly recipient: string
  /** Unix seconds. */
  readonly deadline: number
}

/** A call of KyberSwap's router and what it is to do. */
export interface KyberswapSwap {
  readonly quote: AggregatedQuote
  readonly router: string
  readonly data: UnsignedTransaction['data']
  readonly valueRaw: bigint
  /** What it takes the gas of the call to be. */
  readonly gas: bigint
}

/** Routes of KyberSwap's aggregator API. Source: docs.kyberswap.com, Aggregator API v1. */
export interface Kyberswap {
  /** Throws `Fault` EXTERNAL_API_ERROR with the reason. */
  swap(order: KyberswapOrder): Promise<KyberswapSwap>
  close(): Promise<void>
}

/** Longest call of its router, bytes. */
const MAX_DATA_BYTES = 65_536

/** Opens KyberSwap's aggregator API at an address. */
export const openKyberswap = (
  url: string,
  clientId: string,
  caller: () => AggregatorCaller,
): Kyberswap => {
  const client = openAggregatorClient({
    url,
    caller,
    headers: clientId === '' ? {} : { 'x-client-id': clientId },
    faults: {
      unauthorized: 'EXTERNAL_API_ERROR',
      rateLimit: 'EXTERNAL_API_ERROR',
      badRequest: 'EXTERNAL_API_ERROR',
      other: 'EXTERNAL_API_ERROR',
    },
  })
  return { swap: (order) => swapOver(client, order), close: () => client.close() }
}

const swapOver = async (
  client: AggregatorClient,
  order: KyberswapOrder,
): Promise<KyberswapSwap> => {
  const { chain, tokenIn, amountRaw, slippageBps, owner, recipient, deadline } = order
  const { invalid } = client
  const fields = fieldReader(invalid)
  const { apiName: word, kyberswapRouter: router } = chain
  if (router === undefined) throw new Fault('DEX_NOT_SUPPORTED')
  const { summary, summaryText, routerAddress } = await routeOf(client, word, order)
  const quotedRaw = fields.amount(summary.amountOut, 'amountOut')
  const terms = { sender: owner, recipient, slippageTolerance: slippageBps, deadline }
  const path = `/${word}/api/v1/route/build`
  const { fields: answer } = await client.ask(path, bodyWith('routeSummary', summaryText, terms))
  const built = dataOf(client, answer)
  if (fields.amount(built.amountIn, 'amountIn') !== amountRaw)
    throw invalid('the call is of another amount')
  const routers = [routerAddress, built.routerAddress].map((each) => String(each).toLowerCase())
  if (routers.some((each) => each !== router)) throw invalid('the router is not the known one')
  const builtRaw = fields.amount(built.amountOut, 'amountOut')
  if (builtRaw < minAmountOut(quotedRaw, slippageBps)) throw invalid('the price has moved')
  const valueRaw = tokenIn === null ? amountRaw : 0n
  if (fields.amount(built.transactionValue ?? valueRaw.toString(), 'transactionValue') !== valueRaw)
    throw invalid('the call pays another amount')
  const data = callData(built.data, invalid)
  const call = readKyberswapCall(data, order)
  if (typeof call === 'string') throw invalid(call)
  // The smaller of its two quotes: between what is shown and the least there is the slippage and not more.
  const outAmountRaw = smaller(builtRaw, quotedRaw)
  if (call.minOutRaw < minAmountOut(outAmountRaw, slippageBps))
    throw invalid('the call allows more slippage')
  return {
    quote: {
      inAmountRaw: amountRaw,
      outAmountRaw,
      minOutRaw: call.minOutRaw,
      maxInRaw: amountRaw,
      priceImpact: null,
      hops: hopsOf(client, summary.route, amountRaw),
    },
    router,
    data,
    valueRaw,
    gas: fields.amount(built.gas ?? 0, 'gas'),
  }
}

/** What an answer holds. Its code is 0 where it is none of an error. */
const dataOf = ({ invalid }: AggregatorClient, answer: Readonly<Record<string, unknown>>) => {
  if ((answer.code ?? 0) !== 0) throw invalid('it has no such route')
  return fieldReader(invalid).object(answer.data, 'data')
}

const routeOf = async (
  client: AggregatorClient,
  word: string,
  { tokenIn, tokenOut, amountRaw }: KyberswapOrder,
) => {
  const { invalid } = client
  const fields = fieldReader(invalid)
  const tokens = { tokenIn: tokenIn ?? NATIVE, tokenOut: tokenOut ?? NATIVE }
  const asked = new URLSearchParams({ ...tokens, amountIn: amountRaw.toString() })
  const routes = await client.ask(`/${word}/api/v1/routes?${asked}`)
  const { routeSummary, routerAddress } = dataOf(client, routes.fields)
  const summary = fields.object(routeSummary, 'routeSummary')
  const summaryText = memberText(memberText(routes.text, 'data') ?? '', 'routeSummary')
  if (summaryText === undefined) throw invalid('routeSummary is not an object')
  if (fields.amount(summary.amountIn, 'amountIn') !== amountRaw)
    throw invalid('the route is of another amount')
  const isOf = (name: 'tokenIn' | 'tokenOut') =>
    fields.text(summary[name], name).toLowerCase() === tokens[name].toLowerCase()
  if (!isOf('tokenIn') || !isOf('tokenOut')) throw invalid('the route is of other tokens')
  return { summary, summaryText, routerAddress }
}

const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other)

const callData = (
  value: unknown,
  invalid: AggregatorClient['invalid'],
): UnsignedTransaction['data'] => {
  const isData = typeof value === 'string' && /^0x(?:[0-9a-fA-F]{2})+$/.test(value)
  if (isData && value.length <= 2 * MAX_DATA_BYTES) return value as UnsignedTransaction['data']
  throw invalid('the call has no data')
}

const hopsOf = (
  { invalid }: AggregatorClient,
  route: unknown,
  amountRaw: bigint,
): readonly QuotedHop[] => {
  const fields = fieldReader(invalid)
  return fields.list(route, 'route').flatMap((path) => {
    const steps = fields.list(path, 'path').map((step) => fields.object(step, 'step'))
    const shareRaw = fields.amount(steps[0]?.swapAmount, 'swapAmount')
    return steps.map((step) => ({
      pool: fields.text(step.pool, 'pool'),
      dex: fields.text(step.exchange, 'exchange'),
      inputMint: fields.text(step.tokenIn, 'tokenIn').toLowerCase(),
      outputMint: fields.text(step.tokenOut, 'tokenOut').toLowerCase(),
      inAmount: fields.amount(step.swapAmount, 'swapAmount').toString(),
      outAmount: fields.amount(step.amountOut, 'amountOut').toString(),
      shareBps: Math.min(10_000, Number((shareRaw * 10_000n) / amountRaw)),
    }))
  })
}
