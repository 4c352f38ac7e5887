import type { Static } from 'typebox'
import { Fault } from '../../core/errors.ts'
import type { SwapRouteInput } from '../../schemas/api/swap.ts'
import type { AggregatedQuote } from '../dex/aggregators/aggregated-quote.ts'
import type { Jupiter } from '../dex/aggregators/jupiter.ts'
import { requireJupiterTrial } from '../dex/aggregators/jupiter-trial.ts'
import type { Kyberswap } from '../dex/aggregators/kyberswap.ts'
import type { Aggregators } from '../dex/aggregators/open-aggregators.ts'
import { isTriedRouterCall } from '../dex/aggregators/router-trial.ts'
import type { ChainMarket } from '../dex/chain-market.ts'
import type { EvmAccountReader } from '../dex/evm-account.ts'
import { approveData } from '../dex/evm-calls.ts'
import { type BuiltSwap, type SwapOrder, unsignedCall, withGasMargin } from '../dex/evm-swap.ts'
import type { SwapRequest } from '../dex/search.ts'
import type { SolanaReader } from '../dex/solana-node.ts'
import { requireBalance } from '../dex/swap-terms.ts'

/** Least and most gas of a swap of an aggregator that cannot be run yet, because its approval is missing. */
const [LEAST_GAS, MOST_GAS] = [600_000n, 10_000_000n]

/** The aggregator that a request is for; undefined: the own router answers it. */
export const aggregatorOf = <Name extends keyof Aggregators>(
  name: Name,
  {
    aggregators,
    chain,
    dex,
  }: { aggregators: Aggregators; chain: ChainMarket['chain']; dex: string },
): Aggregators[Name] | undefined => {
  const isServed = name === 'jupiter' ? chain.vm === 'svm' : chain.kyberswapRouter !== undefined
  return dex === name && isServed ? aggregators[name] : undefined
}

/** What a route of an aggregator comes to, as answers have it: its symbols are read from `symbols`. */
export const aggregatedInfo = async (
  symbols: (tokens: readonly string[]) => Promise<ReadonlyMap<string, string>>,
  quote: AggregatedQuote,
  request: Pick<SwapRequest, 'tokenIn' | 'tokenOut'>,
  seen: { readonly block: number; readonly simulated: boolean },
) => {
  const tokens = [...new Set([request.tokenIn, request.tokenOut])]
  const known = await symbols(tokens)
  return {
    inAmount: quote.inAmountRaw.toString(),
    outAmount: quote.outAmountRaw.toString(),
    minOutAmount: quote.minOutRaw.toString(),
    maxInAmount: quote.maxInRaw.toString(),
    priceImpact: quote.priceImpact,
    feeAmount: null,
    hops: [...quote.hops],
    route: tokens.map((token) => known.get(token) ?? token),
    block: seen.block,
    simulated: seen.simulated,
  }
}

/** The transaction of Jupiter's route, read and run at a node. Throws as `Jupiter.swap`, `requireJupiterTrial`, and NOT_IMPLEMENTED for another recipient. */
export const jupiterSwap = async (
  jupiter: Jupiter,
  reader: SolanaReader | undefined,
  order: Parameters<Jupiter['swap']>[0] & { readonly recipient: string },
) => {
  if (order.recipient !== order.owner) {
    const reason = 'a route of Jupiter pays the signer'
    throw new Fault('NOT_IMPLEMENTED', undefined, { parameter: 'recipientAddress', reason })
  }
  if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
  const swap = await jupiter.swap(order)
  await requireJupiterTrial(reader, order, swap)
  return swap
}

/** What a swap over KyberSwap is made with. */
interface KyberswapTerms extends Pick<SwapOrder, 'chainId' | 'fees' | 'gas' | 'owner'> {
  readonly request: SwapRequest
  readonly slippageBps: number
  readonly recipient: string
  readonly deadline: number
  readonly sellsNativeToken: boolean
  readonly buysNativeToken: boolean
}

/** Throws `Fault` where a request has what KyberSwap's route does not take: an exact output, a permit, a router. */
export const requireKyberswapTerms = (
  body: Static<typeof SwapRouteInput>,
  { request }: Pick<KyberswapTerms, 'request'>,
): void => {
  if (request.mode === 'exact_out') {
    const details = { parameter: 'swapMode', allowed_values: ['ExactIn'] }
    throw new Fault('UNSUPPORTED_SWAP_MODE', 'KyberSwap sells exact amounts only', details)
  }
  const given = (['permit', 'permitData', 'router'] as const).find(
    (name) => body[name] !== undefined,
  )
  if (given === undefined) return
  const reason = 'a route of KyberSwap takes an approval'
  throw new Fault('NOT_IMPLEMENTED', undefined, { parameter: given, reason })
}

/**
 * The unsigned transaction of KyberSwap's route, tried with its approval, and run where that is there; `simulated` is false
 * where the node cannot try it. Throws as `Kyberswap.swap`,
 * `isTriedRouterCall`, `unsignedCall`, INSUFFICIENT_BALANCE.
 */
export const kyberswapSwap = async (
  kyberswap: Kyberswap,
  reader: EvmAccountReader | undefined,
  chain: ChainMarket['chain'],
  order: KyberswapTerms,
): Promise<{ readonly quote: AggregatedQuote; readonly built: BuiltSwap }> => {
  if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
  const { request, owner, sellsNativeToken, buysNativeToken } = order
  const { amountRaw, tokenIn, tokenOut } = request
  const { quote, router, data, valueRaw, gas } = await kyberswap.swap({
    ...order,
    chain,
    amountRaw,
    tokenIn: sellsNativeToken ? null : tokenIn,
    tokenOut: buysNativeToken ? null : tokenOut,
  })
  const account = await reader.account(owner, sellsNativeToken ? null : tokenIn, router)
  requireBalance(account.balanceRaw, amountRaw)
  const call = { to: router, data, valueRaw }
  const isTried = await isTriedRouterCall(reader, { ...order, ...request, ...quote, call })
  const isAllowed = sellsNativeToken || account.allowanceRaw >= amountRaw
  const built = await unsignedCall(reader, order, {
    ...call,
    nonce: account.nonce,
    isRunnable: isAllowed,
    defaultGas: defaultGas(gas),
  })
  const approval = { token: tokenIn, spender: router, data: approveData(router, amountRaw) }
  const simulated = isTried && built.simulated
  return { quote, built: { ...built, simulated, approval: isAllowed ? null : approval } }
}

const defaultGas = (gas: bigint): bigint => {
  const wanted = withGasMargin(gas)
  if (wanted < LEAST_GAS) return LEAST_GAS
  return wanted > MOST_GAS ? MOST_GAS : wanted
}
