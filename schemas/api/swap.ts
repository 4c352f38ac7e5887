import { type Static, Type } from 'typebox'
import { closedObject, decimalOrNull, namedObject, nullable } from './common.ts'

/** Words that are checked by the handler, which has an error code for each way in which they are wrong. */
export const word = (description: string, maxLength: number, examples: readonly string[]) =>
  Type.String({ maxLength, description, examples: [...examples] })

const DEX = word('auto, kyberswap (EVM), jupiter (Solana) or the id of a venue', 64, ['auto'])
const AMOUNT = word('Whole number of base units', 128, ['1000000000'])
const SWAP_AMOUNT = word(
  'Whole number of base units; of what is sold also a part of the balance: 50% or, for all of it, auto',
  128,
  ['1000000000000000000'],
)
/** A token in a query; the document has an example of its own for it. */
const tokenParameter = (what: string) =>
  Type.String({
    maxLength: 128,
    description: `${what}; of EVM chains the zero address is the native token, of Solana 11111111111111111111111111111111`,
  })
const TOKEN = (what: string) =>
  word(`${what}; the zero address is the chain's native token`, 128, [
    '0x0000000000000000000000000000000000000000',
  ])

/** Query of a quote. */
export const QUOTE_QUERY = {
  dex: DEX,
  amount: AMOUNT,
  inputMint: tokenParameter('Token that is sold'),
  outputMint: tokenParameter('Token that is bought'),
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
  block: Type.Integer({
    description:
      'Newest block whose pool events are all in the quote: its height, on Solana its slot',
  }),
})
export type DexQuote = Static<typeof DexQuote>

const WEI = Type.Optional(Type.String({ maxLength: 32, description: 'Wei per unit of gas' }))

/** Who asks for a transaction. */
export const SIGNER = word('Account that signs and pays', 128, [])
const SWAP_MODE = Type.Optional(
  Type.String({
    maxLength: 32,
    description: 'ExactIn, the default: amount is what is sold; ExactOut: what is bought',
  }),
)
/** What is paid for a place in a block. */
export const PRIORITY_FEE = Type.Optional(
  Type.String({
    maxLength: 32,
    description: 'Solana: lamports for the whole transaction, or SOL if it has a point',
  }),
)
/** What is paid to Jito's validators. */
const TIP_FEE = Type.Optional(
  Type.String({
    maxLength: 32,
    description:
      "Solana: lamports to one of Jito's tip accounts, or SOL if it has a point; at least 1000 lamports",
  }),
)
const IS_ANTI_MEV = Type.Optional(
  Type.Boolean({
    description:
      'Solana: adds a tip of 1000 lamports where tipFee names none, which alone protects from nothing; EVM: not offered, true answers 501',
  }),
)
const DEADLINE = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 4_102_444_800_000,
    description: 'seconds or ms; default: in 20 minutes',
  }),
)
const GAS_LIMIT = Type.Optional(Type.String({ maxLength: 16, pattern: '^[1-9]\\d*$' }))
const MAX_PERMIT = 4_096
/** A slippage that a request may name. */
export const slippage = (byDefault: number) =>
  Type.Optional(
    Type.Union([Type.Number(), Type.String({ maxLength: 16 })], {
      description: `Percent, above 0 and at most 50, two decimals; default: ${byDefault}`,
    }),
  )

const ADDRESS = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })
const UNIX_SECONDS = Type.Integer({ minimum: 0, maximum: 2 ** 48 - 1, description: 'Unix seconds' })
const PERMIT_MESSAGE = namedObject('PermitMessage', {
  details: namedObject('PermitDetails', {
    token: ADDRESS,
    amount: Type.String({ pattern: '^\\d{1,49}$', description: 'Base units' }),
    expiration: UNIX_SECONDS,
    nonce: Type.Integer({ minimum: 0, maximum: 2 ** 48 - 1 }),
  }),
  spender: ADDRESS,
  sigDeadline: Type.String({ pattern: '^\\d{1,78}$', description: 'Unix seconds' }),
})
const UINT256 = (description: string) => Type.String({ pattern: '^\\d{1,78}$', description })
const TOKEN_PERMIT_MESSAGE = namedObject('TokenPermitMessage', {
  owner: ADDRESS,
  spender: ADDRESS,
  value: UINT256('Base units'),
  nonce: UINT256('That of the next permit of the owner'),
  deadline: UINT256('Unix seconds'),
})
const DAI_PERMIT_MESSAGE = namedObject('DaiPermitMessage', {
  holder: ADDRESS,
  spender: ADDRESS,
  nonce: UINT256('That of the next permit of the holder'),
  expiry: UINT256('Unix seconds; 0, which the token takes for ever, is refused'),
  allowed: Type.Boolean({
    description:
      'true: the spender may take everything until that is revoked; false, which revokes it, is refused',
  }),
})
const ANY_TOKEN_PERMIT_MESSAGE = Type.Union([TOKEN_PERMIT_MESSAGE, DAI_PERMIT_MESSAGE], {
  description: "In the form that the token takes: EIP-2612's, or DAI's",
})
const PERMIT_DOMAIN = namedObject('PermitDomain', {
  name: Type.Optional(Type.String({ maxLength: 128 })),
  version: Type.Optional(Type.String({ maxLength: 128, description: 'Of a token' })),
  chainId: Type.Integer({ minimum: 1 }),
  verifyingContract: { ...ADDRESS, description: 'Permit2, or the token' },
})

/** Typed data of a permit of Permit2 as it was signed; its types are known. */
const PermitWords = namedObject('SignedPermitData', {
  domain: PERMIT_DOMAIN,
  primaryType: Type.Optional(Type.Literal('PermitSingle')),
  message: PERMIT_MESSAGE,
})
export type PermitWords = Static<typeof PermitWords>

/** Typed data of a permit of a token (of EIP-2612 or of DAI's form) as it was signed. */
const TokenPermitWords = namedObject('SignedTokenPermitData', {
  domain: PERMIT_DOMAIN,
  primaryType: Type.Literal('Permit'),
  message: ANY_TOKEN_PERMIT_MESSAGE,
})
export type TokenPermitWords = Static<typeof TokenPermitWords>

const DATA_TYPES = Type.Record(
  Type.String(),
  Type.Array(namedObject('TypedDataField', { name: Type.String(), type: Type.String() })),
)

/** What is to be swapped, by whom. */
export const SwapRouteInput = closedObject('SwapRouteInput', {
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
  tipFee: TIP_FEE,
  permit: Type.Optional(
    Type.String({
      maxLength: MAX_PERMIT,
      description:
        "EVM: hex of the signature of permitData, or without permitData of a call of the permit function of Permit2 or of the token that is sold (EIP-2612 or DAI's form)",
    }),
  ),
  permitData: Type.Optional(
    Type.Union([PermitWords, TokenPermitWords], {
      description: 'Typed data that was signed; primaryType tells of what: Permit is of a token',
    }),
  ),
  router: Type.Optional(
    word(
      'EVM: protocol (one router of one protocol) or universal (Universal Router); default: protocol, and universal where that has no route or a permit of Permit2 is given',
      64,
      ['universal'],
    ),
  ),
  isAntiMev: IS_ANTI_MEV,
  deadline: DEADLINE,
  gasPrice: WEI,
  maxFeePerGas: WEI,
  maxPriorityFeePerGas: WEI,
  gasLimit: GAS_LIMIT,
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
      spender: Type.String({ description: 'The router, or Permit2' }),
      data: Type.String({ description: 'The call that lets the spender take what is sold' }),
    }),
  ),
  permitData: Type.Optional(
    Type.Union([
      namedObject('PermitData', {
        domain: PERMIT_DOMAIN,
        types: DATA_TYPES,
        primaryType: Type.Literal('PermitSingle'),
        message: PERMIT_MESSAGE,
      }),
      namedObject('TokenPermitData', {
        domain: PERMIT_DOMAIN,
        types: DATA_TYPES,
        primaryType: Type.Literal('Permit'),
        message: ANY_TOKEN_PERMIT_MESSAGE,
      }),
    ]),
  ),
  routeInfo: namedObject('SwapRouteInfo', {
    inAmount: Type.String({ description: 'Base units' }),
    outAmount: Type.String({ description: 'Base units' }),
    minOutAmount: Type.String({ description: 'What the slippage leaves, base units' }),
    maxInAmount: Type.String({ description: 'What the slippage allows, base units' }),
    priceImpact: nullable(
      Type.String({ description: 'Percent, fees apart; null: an aggregator that does not say' }),
    ),
    feeAmount: nullable(
      Type.String({
        description: 'Fees of the pools in base units of the input; null: of an aggregator',
      }),
    ),
    route: Type.Array(Type.String(), {
      description: 'Symbols of the tokens; addresses if unknown',
    }),
    hops: Type.Array(SwapHop),
    block: Type.Integer({
      description:
        'Newest block whose pool events are all in the quote: its height, on Solana its slot',
    }),
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
export const SwapInput = closedObject('SwapInput', {
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
  recipientAddress: Type.Optional(
    Type.String({ maxLength: 128, description: 'userAddress: another one answers 501' }),
  ),
  priorityFee: PRIORITY_FEE,
  tipFee: TIP_FEE,
  permit: Type.Optional(
    Type.String({ maxLength: MAX_PERMIT, description: 'Not offered: a route takes it' }),
  ),
  isAntiMev: IS_ANTI_MEV,
  deadline: DEADLINE,
  gasPrice: WEI,
  maxFeePerGas: WEI,
  maxPriorityFeePerGas: WEI,
  gasLimit: GAS_LIMIT,
})

/** The transaction of a swap over one pool. */
export const SwapResponse = namedObject('SwapResponse', BUILT_SWAP)
export type SwapResponse = Static<typeof SwapResponse>
