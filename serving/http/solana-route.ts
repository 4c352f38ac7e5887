import type { Static } from 'typebox'
import { Fault } from '../../core/errors.ts'
import type { SwapRouteInput } from '../../schemas/api/swap.ts'
import { parseSwapAmount, resolveAmount } from '../dex/balance-share.ts'
import type { ChainMarket } from '../dex/chain-market.ts'
import type { PoolGraph } from '../dex/pool-graph.ts'
import { requirePools } from '../dex/quote.ts'
import type { SolanaReader } from '../dex/solana-node.ts'
import { buildSolanaSwap, readSolanaHolding } from '../dex/solana-swap.ts'
import { parseTip } from '../dex/solana-tip.ts'
import {
  parseDeadline,
  parseFees,
  parseLamports,
  parseSlippage,
  parseSwapMode,
} from '../dex/swap-terms.ts'
import { parseVenue } from '../dex/venue-words.ts'
import { parseSolanaKey } from './chain-parameters.ts'
import { readSwapTokens } from './dex-swaps.ts'

/** What a request asks for, on Solana. Throws the `Fault` of each way in which it is wrong. */
export const readSolanaOrder = (
  market: ChainMarket,
  body: Static<typeof SwapRouteInput>,
  terms: { readonly nowMs: number; readonly slippage: string },
) => {
  const { chain, venues } = market
  const wanted = parseVenue(body.dex, chain.vm, venues)
  const owner = parseSolanaKey(chain.id, body.userAddress, 'userAddress')
  const recipient = parseSolanaKey(
    chain.id,
    body.recipientAddress ?? body.userAddress,
    'recipientAddress',
  )
  const { request } = readSwapTokens(market, body)
  const mode = parseSwapMode(body.swapMode ?? 'ExactIn')
  const amount = parseSwapAmount(body.amount, mode)
  if (parseFees(body) !== undefined || body.gasLimit !== undefined) {
    throw new Fault('FEE_PARAMETER_ERROR', 'Solana has no gas price: use priorityFee')
  }
  parseDeadline(body.deadline, terms.nowMs)
  const isOfEvm = [body.permit, body.permitData, body.router].some((given) => given !== undefined)
  if (isOfEvm) throw new Fault('NOT_IMPLEMENTED')
  return {
    owner,
    recipient,
    tip: parseTip(body),
    wanted,
    priorityFee: parseLamports(body.priorityFee ?? '0'),
    request: { ...request, mode },
    amount,
    slippageBps: parseSlippage(terms.slippage),
  }
}

/** As `withEvmAmount`. */
export const withSolanaAmount = async (
  reader: SolanaReader | undefined,
  order: ReturnType<typeof readSolanaOrder>,
  graph: PoolGraph,
) => {
  const { amount, request } = order
  const amountRaw = await resolveAmount(amount, async () => {
    requirePools(graph, request)
    if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
    return readSolanaHolding(reader, order, request.tokenIn)
  })
  return { ...order, request: { ...request, amountRaw } }
}

/** The unsigned transaction of a quote as an answer has it. Throws as `buildSolanaSwap`. */
export const solanaTransactionBody = async (
  reader: SolanaReader,
  order: Parameters<typeof buildSolanaSwap>[1],
) => {
  const { transaction, lifetime } = await buildSolanaSwap(reader, order)
  return {
    serializedTx: transaction,
    recentBlockhash: lifetime.blockhash,
    lastValidBlockHeight: lifetime.lastValidBlockHeight,
  }
}
