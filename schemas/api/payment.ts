import { Type } from 'typebox'
import { namedObject, Problem } from './common.ts'

/** One way to pay for a call, as version 1 of x402 writes it. */
const PaymentOffer = namedObject('PaymentOffer', {
  scheme: Type.String({ description: 'exact' }),
  network: Type.String({ description: 'Name of version 1, such as base' }),
  maxAmountRequired: Type.String({ description: 'The price in base units of the asset' }),
  resource: Type.String({ description: 'Address of the call' }),
  description: Type.String(),
  mimeType: Type.String(),
  outputSchema: Type.Null(),
  payTo: Type.String({ description: 'Who is paid' }),
  maxTimeoutSeconds: Type.Integer({ description: 'How long the signature has to be good' }),
  asset: Type.String({ description: 'Token that pays' }),
  extra: Type.Record(Type.String(), Type.String(), {
    description:
      'EVM: name and version of the domain that is signed; Solana: who pays the fee, and the memo',
  }),
})

/** The error of a call that is not paid for; with terms where it can be. */
export const PaymentRequired = namedObject('PaymentRequired', {
  ...Problem.properties,
  x402Version: Type.Optional(
    Type.Integer({
      description:
        '1, with error and accepts: the terms. Absent where the call cannot be paid for. The header PAYMENT-REQUIRED has those of version 2',
    }),
  ),
  error: Type.Optional(Type.String({ description: 'Why the terms are sent' })),
  accepts: Type.Optional(Type.Array(PaymentOffer)),
})
