import { Type } from 'typebox'
import { namedObject } from './common.ts'

/** Characters of a signed transaction: what nodes take, 131,072 bytes, in hexadecimal; what is too large gets an error of its own. */
const MAX_TEXT_LENGTH = 262_146

/** Body of POST `/transaction/{chain}/send`. */
export const SendTransactionInput = Type.Object(
  {
    signedTx: Type.String({
      minLength: 1,
      maxLength: MAX_TEXT_LENGTH,
      description: 'The signed transaction: base 64; on EVM chains also hexadecimal with 0x',
    }),
    submitType: Type.Optional(
      Type.Enum(['default', 'priority'], {
        type: 'string',
        description:
          'default: through the nodes of the chain; priority: through a protected endpoint, as isAntiMev',
      }),
    ),
    options: Type.Optional(
      Type.Object(
        {
          isAntiMev: Type.Optional(
            Type.Boolean({
              description:
                'true: through a protected endpoint and no node; 501 where this installation has none',
            }),
          ),
        },
        { title: 'SendTransactionOptions', additionalProperties: false },
      ),
    ),
  },
  { title: 'SendTransactionInput', additionalProperties: false },
)

/** Answer of POST `/transaction/{chain}/send`. */
export const SendTransactionResponse = namedObject('SendTransactionResponse', {
  signature: Type.String({ description: 'Hash of the transaction; on Solana its first signature' }),
  elapsedTime: Type.Integer({ description: 'Milliseconds' }),
  jobId: Type.String({ description: 'Job that tells what becomes of it: GET /job/{id}' }),
})
