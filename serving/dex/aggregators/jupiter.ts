import { formatDecimal } from '../../../core/amounts.ts'
import { Fault } from '../../../core/errors.ts'
import { MAX_IMPACT_PERCENT, type QuotedHop } from '../quote.ts'
import { maxAmountIn, minAmountOut } from '../route.ts'
import type { SwapRequest } from '../search.ts'
import {
  readUnsignedSolanaTransaction,
  type UnsignedSolanaTransaction,
} from '../solana-signed-transaction.ts'
import { type AggregatedQuote, fieldReader } from './aggregated-quote.ts'
import {
  type AggregatorCaller,
  type AggregatorClient,
  bodyWith,
  openAggregatorClient,
} from './aggregator-client.ts'

/** What is asked of Jupiter. */
export interface JupiterOrder {
  readonly request: SwapRequest
  readonly slippageBps: number
  readonly owner: string
  /** Lamports for the whole transaction, and to one of Jito's tip accounts; it takes one of both. */
  readonly priorityFee: bigint
  readonly tip: bigint
}

/** An unsigned transaction of Jupiter and what it is to do. */
export interface JupiterSwap {
  readonly quote: AggregatedQuote
  /** Base 64. */
  readonly transaction: string
  /** What it calls. */
  readonly message: UnsignedSolanaTransaction
  readonly blockhash: string
  readonly lastValidBlockHeight: number
  readonly slot: number
}

/** Routes of Jupiter's swap API. Source: dev.jup.ag, swap API v1. */
export interface Jupiter {
  /**
   * Throws `Fault` JUPITER_API_UNAUTHORIZED, JUPITER_API_RATE_LIMIT, JUPITER_API_BAD_REQUEST where it has no such route, JUPITER_API_ERROR for
   * an answer that is not what was asked for, FEE_PARAMETER_ERROR, PRICE_IMPACT_TOO_HIGH.
   */
  swap(order: JupiterOrder): Promise<JupiterSwap>
  close(): Promise<void>
}

/** Opens Jupiter's swap API at an address. */
export const openJupiter = (url: string, key: string, caller: () => AggregatorCaller): Jupiter => {
  const client = openAggregatorClient({
    url,
    caller,
    headers: key === '' ? {} : { 'x-api-key': key },
    faults: {
      unauthorized: 'JUPITER_API_UNAUTHORIZED',
      rateLimit: 'JUPITER_API_RATE_LIMIT',
      badRequest: 'JUPITER_API_BAD_REQUEST',
      other: 'JUPITER_API_ERROR',
    },
  })
  return { swap: (order) => swapOver(client, order), close: () => client.close() }
}

const swapOver = async (client: AggregatorClient, order: JupiterOrder): Promise<JupiterSwap> => {
  const { request, slippageBps, owner, priorityFee, tip } = order
  if (priorityFee > 0n && tip > 0n) {
    const message = 'Jupiter takes a priority fee or a tip, not both'
    throw new Fault('FEE_PARAMETER_ERROR', message, { parameter: 'tipFee' })
  }
  const asked = new URLSearchParams({
    inputMint: request.tokenIn,
    outputMint: request.tokenOut,
    amount: request.amountRaw.toString(),
    slippageBps: String(slippageBps),
    swapMode: request.mode === 'exact_in' ? 'ExactIn' : 'ExactOut',
    // The instructions whose amounts can be read.
    instructionVersion: 'V2',
  })
  const quoted = await client.ask(`/quote?${asked}`)
  const quote = readQuote(client, order, quoted.fields)
  const { fields: answer } = await client.ask(
    '/swap',
    bodyWith('quoteResponse', quoted.text, {
      userPublicKey: owner,
      wrapAndUnwrapSol: true,
      // Where it is missing, Jupiter chooses a fee. Source: jup-ag/metis-binary, changes of v6.0.4.
      prioritizationFeeLamports: tip > 0n ? { jitoTipLamports: Number(tip) } : Number(priorityFee),
    }),
  )
  const fields = fieldReader(client.invalid)
  const { swapTransaction } = answer
  const { message, blockhash } = await readTransaction(client, owner, swapTransaction)
  return {
    quote,
    transaction: String(swapTransaction),
    message,
    blockhash,
    lastValidBlockHeight: fields.count(answer.lastValidBlockHeight, 'lastValidBlockHeight'),
    slot: fields.count(quoted.fields.contextSlot, 'contextSlot'),
  }
}

const readQuote = (
  { invalid }: AggregatorClient,
  { request, slippageBps }: JupiterOrder,
  answer: Readonly<Record<string, unknown>>,
): AggregatedQuote => {
  const fields = fieldReader(invalid)
  if (answer.inputMint !== request.tokenIn || answer.outputMint !== request.tokenOut)
    throw invalid('the quote is of other tokens')
  const inAmountRaw = fields.amount(answer.inAmount, 'inAmount')
  const outAmountRaw = fields.amount(answer.outAmount, 'outAmount')
  const limit = fields.amount(answer.otherAmountThreshold, 'otherAmountThreshold')
  const isExactIn = request.mode === 'exact_in'
  const isAsked = (isExactIn ? inAmountRaw : outAmountRaw) === request.amountRaw
  const isWithin = isExactIn
    ? limit >= minAmountOut(outAmountRaw, slippageBps) && limit <= outAmountRaw
    : limit <= maxAmountIn(inAmountRaw, slippageBps) && limit >= inAmountRaw
  if (!isAsked) throw invalid('the quote is of another amount')
  if (!isWithin) throw invalid('its limit is not that of the slippage')
  return {
    inAmountRaw,
    outAmountRaw,
    minOutRaw: isExactIn ? limit : outAmountRaw,
    maxInRaw: isExactIn ? inAmountRaw : limit,
    priceImpact: impactOf(invalid, answer.priceImpactPct, slippageBps),
    hops: fields.list(answer.routePlan, 'routePlan').map((step) => hopOf(fields, step)),
  }
}

/**
 * Jupiter tells the impact as a part of one, whatever its name says; null: it tells none. Source: clients of the interface, which show a hundred
 * times of it as percent. Throws `Fault` PRICE_IMPACT_TOO_HIGH as the own router.
 */
const impactOf = (
  invalid: AggregatorClient['invalid'],
  given: unknown,
  slippageBps: number,
): string | null => {
  if (given === undefined || given === null) return null
  if (!/^-?\d{1,20}(?:\.\d{1,60})?(?:e-?\d{1,2})?$/i.test(String(given)))
    throw invalid('priceImpactPct is not a number')
  const percent = Math.max(0, Number(given) * 100)
  const maximum = Math.max(MAX_IMPACT_PERCENT, slippageBps / 100)
  const text = formatDecimal(Number(percent.toFixed(4)))
  if (percent <= maximum) return text
  const details = { price_impact: text, maximum: String(maximum) }
  throw new Fault('PRICE_IMPACT_TOO_HIGH', undefined, details)
}

const hopOf = (fields: ReturnType<typeof fieldReader>, step: unknown): QuotedHop => {
  const { swapInfo, percent, bps } = fields.object(step, 'routePlan')
  const info = fields.object(swapInfo, 'swapInfo')
  return {
    pool: fields.text(info.ammKey, 'ammKey'),
    dex: fields.text(info.label ?? 'unknown', 'label'),
    inputMint: fields.text(info.inputMint, 'inputMint'),
    outputMint: fields.text(info.outputMint, 'outputMint'),
    inAmount: fields.amount(info.inAmount, 'inAmount').toString(),
    outAmount: fields.amount(info.outAmount, 'outAmount').toString(),
    shareBps: Math.min(10_000, fields.count(bps ?? Number(percent ?? 100) * 100, 'percent')),
  }
}

/** A transaction that the owner alone pays and signs, and that is not signed. */
const readTransaction = async (
  { invalid }: AggregatorClient,
  owner: string,
  text: unknown,
): Promise<{ readonly message: UnsignedSolanaTransaction; readonly blockhash: string }> => {
  const read = await readUnsignedSolanaTransaction(typeof text === 'string' ? text : '')
  if (read === undefined) throw invalid('no transaction that a packet takes')
  const { signers, isSigned, blockhash } = read
  if (signers.length !== 1 || signers[0] !== owner)
    throw invalid('the transaction has another signer')
  if (isSigned) throw invalid('the transaction is signed')
  if (blockhash === undefined) throw invalid('the transaction has a durable nonce')
  return { message: read, blockhash }
}
