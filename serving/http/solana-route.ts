import type { Static } from 'typebox'
import { Fault } from '../../core/errors.ts'
import type { SwapRouteInput } from '../../schemas/api/swap.ts'
import type { ChainMarket } from '../dex/chain-market.ts'
import { quoteOverPools } from '../dex/pool-swap.ts'
import type { SwapQuote } from '../dex/quote.ts'
import type { SolanaReader } from '../dex/solana-node.ts'
import { buildSolanaSwap, isBuildable } from '../dex/solana-swap.ts'
import {
  parseAmount,
  parseDeadline,
  parseFees,
  parseLamports,
  parseSlippage,
  parseSwapMode,
} from '../dex/swap-terms.ts'
import { parseVenue } from '../dex/venue-words.ts'
import { parseWalletAddress } from './chain-parameters.ts'
import { readSwapTokens } from './dex-swaps.ts'

/** What a request asks for, on Solana. Throws the `Fault` of each way in which it is wrong. */
export const readSolanaOrder = (
  market: ChainMarket,
  body: Static<typeof SwapRouteInput>,
  terms: { readonly nowMs: number; readonly slippage: string },
) => {
  const { chain, venues } = market
  const wanted = parseVenue(body.dex, chain.vm, venues)
  const owner = parseWalletAddress(chain.id, body.userAddress, 'userAddress')
  const recipient = body.recipientAddress ?? body.userAddress
  const { request } = readSwapTokens(market, body)
  if (parseFees(body) !== undefined || body.gasLimit !== undefined) {
    throw new Fault('FEE_PARAMETER_ERROR', 'Solana has no gas: priorityFee is what can be paid')
  }
  parseDeadline(body.deadline, terms.nowMs)
  const isSpecial = body.isAntiMev === true || body.tipFee !== undefined
  const isElsewhere = parseWalletAddress(chain.id, recipient, 'recipientAddress') !== owner
  if (isSpecial || isElsewhere || body.permit !== undefined) throw new Fault('NOT_IMPLEMENTED')
  return {
    ...{ owner, wanted, priorityFee: parseLamports(body.priorityFee ?? '0') },
    request: {
      ...request,
      mode: parseSwapMode(body.swapMode ?? 'ExactIn'),
      amountRaw: parseAmount(body.amount),
    },
    slippageBps: parseSlippage(terms.slippage),
  }
}

/** The best quote over one pool that a transaction can be built for. Throws as `quoteSwap`. */
export const quoteOverOnePool = (
  { book }: ChainMarket,
  { wanted, request, slippageBps }: ReturnType<typeof readSolanaOrder>,
  nowMs: number,
): SwapQuote => {
  const pools = book
    .graph(nowMs)
    .poolsOf(request.tokenIn, request.tokenOut)
    .filter(
      ({ protocol, tokens }) => (wanted?.has(protocol) ?? true) && isBuildable(protocol, tokens),
    )
  return quoteOverPools(pools, request, slippageBps)
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
