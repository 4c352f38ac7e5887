import { type Static, Type } from 'typebox'
import { closedObject, namedObject } from './common.ts'
import { PRIORITY_FEE, SIGNER, slippage, word } from './swap.ts'

/** Longest text that reaches the handler, which counts bytes and has an error for more. */
const MAX_TEXT = 1_024
/** Pictures come as data; they are refused with an error of their own. */
const MAX_IMAGE = 1_000_000

/** What only other launchpads let a creator choose. */
export const OTHER_LAUNCHPAD_FIELDS = [
  ...(['supply', 'migrateType', 'totalSellA', 'totalFundRaisingB', 'totalLockedAmount'] as const),
  ...(['cliffPeriod', 'unlockPeriod', 'shareFeeReceiver', 'shareFeeRate'] as const),
] as const

const NOT_OFFERED = Type.Optional(
  Type.Unknown({ description: 'Not offered: only other launchpads let it be chosen' }),
)
const otherLaunchpads = Object.fromEntries(
  OTHER_LAUNCHPAD_FIELDS.map((name) => [name, NOT_OFFERED]),
) as Record<(typeof OTHER_LAUNCHPAD_FIELDS)[number], typeof NOT_OFFERED>

/** What is wanted beside the token itself. */
const TokenCreationExtra = closedObject('TokenCreationExtra', {
  buyAmount: Type.Optional(
    Type.Union([Type.String({ maxLength: 128 }), Type.Number()], {
      description: 'Lamports that the creator buys for in the same transaction, fees included',
    }),
  ),
  slippage: slippage(5),
  cashback: Type.Optional(
    Type.Boolean({
      description: "Traders get the creator's part of the fees. Default: the creator does",
    }),
  ),
  decimals: Type.Optional(Type.Integer({ description: '6 is the only one' })),
  ...otherLaunchpads,
})

/** A token that is to be made, by whom. */
export const CreateTokenInput = closedObject('CreateTokenInput', {
  dex: word('pumpfun', 64, ['pumpfun']),
  userAddress: SIGNER,
  name: word('1 to 32 bytes', MAX_TEXT, ['Lucky Otter']),
  symbol: word('1 to 10 bytes', MAX_TEXT, ['OTTER']),
  uri: Type.Optional(
    word('Where the document with picture and description is, at most 200 bytes', MAX_TEXT, [
      'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG',
    ]),
  ),
  image: Type.Optional(Type.String({ maxLength: MAX_IMAGE, description: 'Not offered: see uri' })),
  priorityFee: PRIORITY_FEE,
  extra: Type.Optional(TokenCreationExtra),
})
export type CreateTokenInput = Static<typeof CreateTokenInput>

/** The transaction of a new token. */
export const CreateTokenResponse = namedObject('CreateTokenResponse', {
  serializedTx: Type.String({
    description:
      'The transaction in base 64, wire format of version 0: the mint has signed it, userAddress has not',
  }),
  mintAddress: Type.String({ description: 'Address of the new token' }),
  recentBlockhash: Type.String(),
  lastValidBlockHeight: Type.Integer({ description: 'Height of the last block that can take it' }),
  buy: Type.Optional(
    namedObject('TokenCreationBuy', {
      inAmount: Type.String({ description: 'Lamports' }),
      outAmount: Type.String({ description: 'Base units of the new token' }),
      minOutAmount: Type.String({ description: 'What the slippage leaves of it, base units' }),
    }),
  ),
  elapsedTime: Type.Integer({ description: 'Milliseconds' }),
})
export type CreateTokenResponse = Static<typeof CreateTokenResponse>
