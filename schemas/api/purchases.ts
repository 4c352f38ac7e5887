import { type Static, Type } from 'typebox'
import { namedObject, nullable } from './common.ts'

const Time = Type.String({ description: 'ISO 8601 with milliseconds' })
const WalletWord = Type.Enum(['evm', 'solana'], { type: 'string' })
const UNITS = 'Compute units'

/** A plan that wallets can buy. */
const PlanPrice = namedObject('PlanPrice', {
  name: Type.String(),
  priceUsd: Type.Number({ description: 'US dollars' }),
  quotaTotal: Type.Number({ description: `${UNITS} of a month; -1 = without end` }),
  durationDays: Type.Integer(),
})

/** Plans that wallets can buy, and how. */
export const PlanPrices = namedObject('PlanPrices', {
  plans: Type.Array(PlanPrice),
  currency: Type.String({ description: 'The token that pays' }),
  networks: Type.Array(Type.String(), { description: 'CAIP-2 names' }),
  note: Type.String(),
})
export type PlanPrices = Static<typeof PlanPrices>

/** Which plan is bought. */
export const PurchaseQuery = Type.Object({
  plan: Type.Optional(
    Type.String({ maxLength: 64, description: 'Required: a name of GET /x402/pricing' }),
  ),
})

/** A plan that was bought. */
export const Purchase = namedObject('Purchase', {
  status: Type.Enum(['ok']),
  plan: Type.String(),
  chain: WalletWord,
  address: Type.String({ description: 'The wallet that paid: it signs in for the account' }),
  expiresAt: Time,
  txHash: Type.String(),
  apiKey: nullable(
    Type.String({
      description: 'Of an account that this call made, shown this once; null = sign in by wallet',
    }),
  ),
})
export type Purchase = Static<typeof Purchase>

/** Whose plan is asked for. */
export const PurchaseStatusQuery = Type.Object({
  chain: WalletWord,
  address: Type.String({ minLength: 1, maxLength: 64 }),
})

/** The bought plan of a wallet. */
export const PurchasedPlan = namedObject('PurchasedPlan', {
  plan: nullable(Type.String({ description: 'null = none was bought' })),
  quota: namedObject('PurchaseQuota', {
    used: Type.Number({ description: `${UNITS} of this month since the purchase` }),
    total: Type.Number({ description: '-1 = without end' }),
  }),
  expiresAt: nullable(Time),
  active: Type.Boolean(),
  pending: Type.Boolean({ description: 'A purchase whose payment is not known to be made yet' }),
})
export type PurchasedPlan = Static<typeof PurchasedPlan>
