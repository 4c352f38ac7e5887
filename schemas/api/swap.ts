import { type Static, Type } from 'typebox'
import { decimalOrNull, namedObject } from './common.ts'

/** Words that are checked by the handler, which has an error code for each way in which they are wrong. */
const word = (description: string, maxLength: number, examples: readonly string[]) =>
  Type.String({ maxLength, description, examples: [...examples] })

const DEX = word('auto, kyberswap (EVM), jupiter (Solana) or the id of a venue', 64, ['auto'])
const AMOUNT = word('Whole number of base units', 128, ['1000000000000000000'])
const SWAP_AMOUNT = word(
  'Whole number of base units; of what is sold also a part of the balance: 50% or, for all of it, auto',
  128,
  ['1000000000000000000'],
)
const TOKEN = (what: string) =>
  word(`${what}; the zero address is the chain's own coin`, 128, [
    '0x0000000000000000000000000000000000000000',
  ])

/** Query of a quote. */
export const QUOTE_QUERY = {
  dex: DEX,
  amount: AMOUNT,
  inputMint: TOKEN('Token that is sold'),
  outputMint: TOKEN('Token that is bought'),
  exactIn: Type.Boolean({
    description: 'true: amount is what is sold; false: what is bought',
    examples: [true],
  }),
  slippage: word('Percent, above 0 and at most 50, two decimals', 16, ['0.5']),
}

/** A swap within a route. */
const SwapHop = namedObject('SwapHop', {
  pool: Type.String(),
  dex: Type.String({ description: 'Id of the venue' }),
  inputMint: Type.String(),
  outputMint: Type.String(),
  inAmount: Type.String({ description: 'Base units' }),
  outAmount: Type.String({ description: 'Base units' }),
  shareBps: Type.Integer({ description: 'Part of the input that goes this way, basis points' }),
})

/** What a swap would give at the newest block. */
export const DexQuote = namedObject('DexQuote', {
  amountIn: Type.String({ description: 'Base units' }),
  amountOut: Type.String({ description: 'Base units' }),
  minAmountOut: Type.String({ description: 'What the slippage leaves of it, base units' }),
  maxAmountIn: Type.String({ description: 'What the slippage allows to be sold, base units' }),
  currentPrice: decimalOrNull('Units bought for one unit sold before the swap, without fees'),
  executionPrice: decimalOrNull('Units bought for one unit sold by this swap, fees included'),
  priceImpact: Type.String({ description: 'Percent, fees apart' }),
  fee: Type.String({ description: 'Fees of the pools in base units of the token that is sold' }),
  hops: Type.Array(SwapHop),
  block: Type.Integer({ description: 'Height of the newest block that the quote knows' }),
})
export type DexQuote = Static<typeof DexQuote>

const WEI = Type.Optional(Type.String({ maxLength: 32, description: 'Wei per unit of gas' }))

const SIGNER = word('Account that signs and pays', 128, [])
const SWAP_MODE = Type.Optional(
  Type.String({
    maxLength: 32,
    default: 'ExactIn',
    description: 'ExactIn: amount is what is sold; ExactOut: what is bought',
  }),
)
const PRIORITY_FEE = Type.Optional(
  Type.String({
    maxLength: 32,
    description: 'Solana: lamports for the whole transaction, or SOL if it has a point',
  }),
)
const slippage = (byDefault: number) =>
  Type.Optional(
    Type.Union([Type.Number(), Type.String({ maxLength: 16 })], {
      default: byDefault,
      description: 'Percent, above 0 and at most 50, two decimals',
    }),
  )

/** What is to be swapped, by whom. */
export const SwapRouteInput = namedObject('SwapRouteInput', {
  dex: DEX,
  userAddress: SIGNER,
  amount: SWAP_AMOUNT,
  swapMode: SWAP_MODE,
  slippage: slippage(5),
  inputMint: TOKEN('Token that is sold'),
  outputMint: TOKEN('Token that is bought'),
  recipientAddress: Type.Optional(
    Type.String({ maxLength: 128, description: 'Who gets what is bought; default: userAddress' }),
  ),
  priorityFee: PRIORITY_FEE,
  tipFee: Type.Optional(Type.String({ maxLength: 32, description: 'Not offered yet' })),
  permit: Type.Optional(Type.String({ maxLength: 4_096, description: 'Not offered yet' })),
  isAntiMev: Type.Optional(Type.Boolean({ description: 'Not offered yet' })),
  deadline: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 4_102_444_800_000,
      description: 'seconds or ms; default: in 20 minutes',
    }),
  ),
  gasPrice: WEI,
  maxFeePerGas: WEI,
  maxPriorityFeePerGas: WEI,
  gasLimit: Type.Optional(Type.String({ maxLength: 16, pattern: '^[1-9]\\d*$' })),
})

/** Fields of an unsigned EVM transaction. */
export const UnsignedEvmTransaction = namedObject('UnsignedEvmTransaction', {
  chainId: Type.Integer(),
  nonce: Type.Integer(),
  to: Type.String(),
  data: Type.String(),
  value: Type.String({ description: 'Wei' }),
  gas: Type.String(),
  gasPrice: Type.Optional(Type.String()),
  maxFeePerGas: Type.Optional(Type.String()),
  maxPriorityFeePerGas: Type.Optional(Type.String()),
})

/** A transaction and what it is to do. */
const BUILT_SWAP = {
  serializedTx: Type.String({
    description:
      'The unsigned transaction in base 64: RLP, or on Solana the wire format of version 0',
  }),
  recentBlockhash: Type.Optional(Type.String({ description: 'Solana' })),
  lastValidBlockHeight: Type.Optional(
    Type.Integer({ description: 'Solana: height of the last block that can take it' }),
  ),
  txHex: Type.Optional(Type.String({ description: 'EVM: the same in hex' })),
  tx: Type.Optional(UnsignedEvmTransaction),
  approval: Type.Optional(
    namedObject('SwapApproval', {
      token: Type.String({ description: 'Whom to call' }),
      spender: Type.String({ description: 'The router' }),
      data: Type.String({ description: 'The call that lets the router take what is sold' }),
    }),
  ),
  routeInfo: namedObject('SwapRouteInfo', {
    inAmount: Type.String({ description: 'Base units' }),
    outAmount: Type.String({ description: 'Base units' }),
    minOutAmount: Type.String({ description: 'What the slippage leaves, base units' }),
    maxInAmount: Type.String({ description: 'What the slippage allows, base units' }),
    priceImpact: Type.String({ description: 'Percent, fees apart' }),
    feeAmount: Type.String({ description: 'Fees of the pools in base units of the input' }),
    route: Type.Array(Type.String(), {
      description: 'Symbols of the tokens; addresses if unknown',
    }),
    hops: Type.Array(SwapHop),
    block: Type.Integer({ description: 'Height of the newest block that the quote knows' }),
    simulated: Type.Boolean({ description: 'The transaction was run against the newest block' }),
  }),
  elapsedTime: Type.Integer({ description: 'Milliseconds' }),
}

/** A transaction that is ready to be signed. */
export const SwapRouteResponse = namedObject('SwapRouteResponse', {
  args: Type.Record(Type.String(), Type.Unknown(), { description: 'The request as it was sent' }),
  ...BUILT_SWAP,
})
export type SwapRouteResponse = Static<typeof SwapRouteResponse>

/** What is to be swapped over one pool, by whom. */
export const SwapInput = namedObject('SwapInput', {
  dex: DEX,
  userAddress: SIGNER,
  amount: SWAP_AMOUNT,
  swapMode: SWAP_MODE,
  slippage: slippage(10),
  poolAddress: Type.Optional(
    word('The pool; default: the best of the venue that trades both tokens', 128, []),
  ),
  inputMint: Type.Optional(TOKEN('Token that is sold; default: the other token of the pool')),
  outputMint: Type.Optional(TOKEN('Token that is bought; default: the other token of the pool')),
  priorityFee: PRIORITY_FEE,
})

/** The transaction of a swap over one pool. */
export const SwapResponse = namedObject('SwapResponse', BUILT_SWAP)
export type SwapResponse = Static<typeof SwapResponse>
