import { type Static, Type } from 'typebox'
import { decimalOrNull, namedObject, nullable, queryTime } from './common.ts'

/** Path parameter of one token, beside the chain. */
export const TOKEN_PARAM = { tokenAddress: Type.String({ maxLength: 256 }) }

/** Parameters of the price at a moment. */
export const PRICE_QUERY = { timestamp: queryTime('Newest price at or before; default: now') }

/** A price of a token; `timestamp` is that of the trade it comes from, or the start of the minute that it closed. */
export const TokenPrice = namedObject('TokenPrice', {
  address: Type.String(),
  priceInUsd: Type.String({ description: 'USD for one token' }),
  priceInSol: decimalOrNull('Native tokens for one token'),
  priceInNative: decimalOrNull('Native tokens for one token'),
  timestamp: Type.Integer({ description: 'Epoch ms' }),
})
export type TokenPrice = Static<typeof TokenPrice>

/** How a token came to be. */
export const TokenCreation = namedObject('TokenCreation', {
  tokenAddress: Type.String(),
  blockHeight: Type.Integer(),
  blockSlot: Type.Integer(),
  blockHash: nullable(Type.String()),
  blockTimestamp: nullable(Type.Integer({ description: 'Epoch ms' })),
  transactionSignature: Type.String(),
  type: Type.Enum(['create']),
})
export type TokenCreation = Static<typeof TokenCreation>

/** Parameters of supply events. */
export const MINT_BURN_QUERY = {
  type: Type.Optional(Type.Enum(['all', 'mint', 'burn'], { default: 'all' })),
}

/** A change of a token's supply. */
export const TokenMintBurn = namedObject('TokenMintBurn', {
  tokenAddress: Type.String(),
  mintBurnType: Type.Enum(['mint', 'burn']),
  amount: Type.String({ description: 'Token units; "0" when the decimals are not known' }),
  blockHeight: Type.Integer(),
  blockTimestamp: Type.Integer({ description: 'Epoch ms' }),
  transactionSignature: Type.String(),
})
export type TokenMintBurn = Static<typeof TokenMintBurn>

/** Parameters of a token's transfers; bounds are inclusive. */
export const TOKEN_TRANSFER_QUERY = {
  fromTimestamp: queryTime('Only transfers at or after'),
  toTimestamp: queryTime('Only transfers at or before'),
}

/** A transfer of a token. */
export const TokenTransfer = namedObject('TokenTransfer', {
  id: Type.String({ description: 'Transaction and place in it' }),
  tokenAddress: Type.String(),
  fromAddress: Type.String({ description: 'Empty for minted tokens' }),
  toAddress: Type.String({ description: 'Empty for burnt tokens' }),
  amount: Type.String({ description: 'Token units; "0" when the decimals are not known' }),
  amountInUsd: decimalOrNull('At the time of the transfer'),
  blockTimestamp: Type.Integer({ description: 'Epoch ms' }),
  transactionSignature: Type.String(),
  type: Type.Enum(['unknown', 'in', 'out'], { description: 'in: minted; out: moved on' }),
  status: Type.Enum(['unknown', 'succeeded', 'failed']),
})
export type TokenTransfer = Static<typeof TokenTransfer>

/** Parameters of the count of a token's transfers; bounds are exclusive. */
export const TOKEN_TRANSFER_TOTAL_QUERY = {
  beforeTimestamp: queryTime('Only earlier transfers'),
  afterTimestamp: queryTime('Only later transfers'),
}

/** How many transfers of a token fit. */
export const TokenTransferTotal = namedObject('TokenTransferTotal', { total: Type.Integer() })
