import { type Static, Type } from 'typebox'
import { namedObject, nullable } from './common.ts'

const text = (about: string, maxLength = 256) =>
  Type.String({ minLength: 1, maxLength, description: about })
/** A whole or broken number as text; what a registration says is echoed as it came. */
const decimal = (about: string) =>
  Type.String({ pattern: '^[0-9]{1,60}(\\.[0-9]{1,40})?$', description: about })
const optionalText = (about: string) =>
  Type.Optional(nullable(Type.String({ maxLength: 256, description: about })))
const orNull = (about: string) => nullable(Type.String({ description: about }))

const USD_IF_KNOWN = 'USD; left out where it is not known'

const STATUSES = ['PENDING', 'COMPLETE', 'FAILED'] as const
const RECORD_STATUS = Type.Enum(STATUSES, {
  description:
    'How the record stands, as in its summary: before COMPLETE nothing is known, and what is empty says nothing',
})

const NETWORK = text('ethereum, Solana, or another chain of this installation, in any case', 32)
const ASSET = text('Symbol or token address', 128)

/** Registers an address. */
export const RegisterKytAddress = Type.Object(
  { address: text('The address', 128) },
  { title: 'RegisterKytAddress', additionalProperties: false },
)

/** Asks what an address is exposed to. */
export const VerifyKyaAddress = Type.Object(
  {
    address: text('The address', 128),
    chain: text('Its chain: id or name, in any case', 32),
  },
  { title: 'VerifyKyaAddress', additionalProperties: false },
)

/** What an address is exposed to, in short. */
export const KyaVerifiedAddress = namedObject('KyaVerifiedAddress', {
  address: Type.String(),
  risk: nullable(
    Type.String({ description: 'Low, Medium, High or Severe; null before it is COMPLETE' }),
  ),
  status: Type.Enum(STATUSES),
  address_type: Type.String(),
  risk_exposures: Type.Array(
    namedObject('KyaRiskExposure', {
      label: Type.String({ description: 'Kind of the source, in words' }),
      severity: Type.Enum(['Severe', 'High', 'Medium', 'Info']),
      type: Type.Enum(['direct', 'indirect']),
      amount: orNull('USD; null where it is not known'),
      percentage: Type.Number({
        description: 'Part of the money of a side, of both the greater; 0 to 100',
      }),
    }),
  ),
})
export type KyaVerifiedAddress = Static<typeof KyaVerifiedAddress>

/** Registers a transfer. */
export const RegisterKytTransfer = Type.Object(
  {
    network: NETWORK,
    asset: ASSET,
    transferReference: text(
      '<transaction hash>:<receiving address>; the address may be left out where there is one transfer',
      320,
    ),
    direction: Type.Enum(['sent', 'received']),
  },
  { title: 'RegisterKytTransfer', additionalProperties: false },
)

/** Registers a withdrawal that is about to be made. */
export const RegisterKytWithdrawal = Type.Object(
  {
    network: NETWORK,
    asset: ASSET,
    address: text('Where it goes', 128),
    assetAmount: decimal('Amount in token units'),
    attemptTimestamp: text('When it is attempted: ISO 8601, or seconds or ms', 40),
    assetPrice: Type.Optional(nullable(decimal('Price of the asset'))),
    assetDenomination: optionalText('Currency of the price'),
    assetId: optionalText('Token address'),
    memo: optionalText('Memo of the transfer'),
  },
  { title: 'RegisterKytWithdrawal', additionalProperties: false },
)
export type RegisterKytWithdrawal = Static<typeof RegisterKytWithdrawal>

/** Answer to the registration of an address. */
export const KytRegisteredAddress = namedObject('KytRegisteredAddress', { address: Type.String() })

/** One labelled source with the way to it. */
const KytEvidence = namedObject('KytEvidence', {
  chain: Type.String(),
  category: Type.String(),
  categoryId: Type.Integer(),
  level: Type.String(),
  score: Type.Number(),
  direction: Type.Enum(['sent', 'received']),
  exposureType: Type.Enum(['direct', 'indirect']),
  hops: Type.Integer(),
  sharePercent: Type.Number(),
  usd: orNull('That part of the money'),
  path: Type.Array(Type.String(), { description: 'Addresses from the assessed one to the source' }),
  entity: Type.String(),
  source: Type.String({ description: 'Who says so' }),
  confidence: Type.Number(),
  evidenceUrl: Type.String(),
  labelFrom: orNull('Since when the label is valid, ISO 8601'),
  firstMovedAt: orNull('First transfer of the last step, ISO 8601'),
  lastMovedAt: orNull('Last transfer of the last step, ISO 8601'),
})
export type KytEvidence = Static<typeof KytEvidence>

const ASSESSMENT_FIELDS = {
  status: Type.Enum(STATUSES),
  rating: nullable(Type.String({ description: 'LOW, MEDIUM, HIGH or SEVERE' })),
  riskScore: nullable(Type.Number({ description: '0 to 100' })),
  riskReason: orNull('The gravest source in words, or why screening failed'),
  engineVersion: orNull('Version of scoring'),
  labelsVersion: nullable(Type.Integer({ description: 'Version of the label store' })),
  truncated: Type.Boolean({ description: 'True: a bound cut the search, so there may be more' }),
  evidence: Type.Array(KytEvidence),
  formerLabels: Type.Array(
    namedObject('KytFormerLabel', {
      category: Type.String(),
      source: Type.String(),
      validFrom: Type.String(),
      validTo: Type.String(),
    }),
    { description: 'Labels of the address that are over' },
  ),
}

/** Assessment of an address. */
export const KytAddressRisk = namedObject('KytAddressRisk', {
  ...ASSESSMENT_FIELDS,
  address: Type.String(),
  risk: nullable(Type.String({ description: 'Low, Medium, High or Severe' })),
  addressType: Type.String(),
  cluster: Type.Optional(
    Type.Unsafe<Readonly<Record<string, string>>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Name and category of the owner; left out where none is known',
    }),
  ),
  addressIdentifications: Type.Array(
    namedObject('KytAddressLabel', {
      name: Type.String(),
      category: Type.String(),
      categoryId: Type.Integer(),
      source: Type.String(),
      confidence: Type.Number(),
    }),
  ),
  exposures: Type.Array(
    namedObject('KytAddressExposure', {
      category: Type.String(),
      direction: Type.Enum(['sent', 'received', 'both_directions']),
      exposureType: Type.Enum(['direct', 'indirect']),
      value: Type.Optional(Type.String({ description: USD_IF_KNOWN })),
    }),
  ),
  triggers: Type.Array(
    namedObject('KytTrigger', {
      category: Type.String(),
      level: Type.String(),
      message: Type.String(),
    }),
  ),
  profile: Type.Array(Type.String(), { description: 'Behaviour of the address' }),
})
export type KytAddressRisk = Static<typeof KytAddressRisk>

/** A registered transfer; what is not known yet is null. */
export const KytTransfer = namedObject('KytTransfer', {
  ...ASSESSMENT_FIELDS,
  externalId: Type.String(),
  asset: Type.String(),
  network: Type.String(),
  transferReference: Type.String(),
  tx: orNull('Transaction hash'),
  idx: nullable(Type.Integer({ description: 'Place in the transaction' })),
  outputAddress: orNull('Receiving address'),
  assetAmount: orNull('Token units'),
  usdAmount: orNull('Value when it moved'),
  timestamp: orNull('Block time, ISO 8601'),
  updatedAt: orNull('ISO 8601'),
  assetId: orNull('Token address'),
  memo: orNull('Memo'),
})
export type KytTransfer = Static<typeof KytTransfer>

/** A registered withdrawal. */
export const KytWithdrawal = namedObject('KytWithdrawal', {
  ...ASSESSMENT_FIELDS,
  externalId: Type.String(),
  asset: Type.String(),
  network: Type.String(),
  address: Type.String(),
  assetAmount: Type.String(),
  attemptIdentifier: Type.String(),
  // Not null for an unknown value: the reference API's SDK for Python reads a string only.
  usdAmount: Type.String({
    description: 'assetAmount in USD; 0 where usdPriceSource is null, as its price is not known',
  }),
  usdPriceSource: orNull(
    'Price behind usdAmount: request = its assetPrice; market = the last one here when it was registered, known with COMPLETE; null = none in USD',
  ),
  updatedAt: Type.String(),
  assetId: orNull('Token address'),
  memo: orNull('Memo'),
})
export type KytWithdrawal = Static<typeof KytWithdrawal>

/** Alerts of a record. */
export const KytAlerts = namedObject('KytAlerts', {
  status: RECORD_STATUS,
  alerts: Type.Array(
    namedObject('KytAlert', {
      alertLevel: Type.String({ description: 'LOW, MEDIUM, HIGH or SEVERE' }),
      categoryId: Type.Integer(),
      service: Type.String(),
      externalId: Type.String(),
      alertAmount: Type.Optional(Type.String({ description: USD_IF_KNOWN })),
      exposureType: Type.Enum(['DIRECT', 'INDIRECT']),
      memo: orNull('What the alert is about'),
    }),
  ),
})
export type KytAlerts = Static<typeof KytAlerts>

/** Direct exposure of a record. */
export const KytDirectExposure = namedObject('KytDirectExposure', {
  status: RECORD_STATUS,
  direct: Type.Unsafe<{ readonly name: string; readonly categoryId: number } | null>({
    type: ['object', 'null'],
    properties: { name: { type: 'string' }, categoryId: { type: 'integer' } },
    required: ['name', 'categoryId'],
  }),
})
export type KytDirectExposure = Static<typeof KytDirectExposure>

/** Networks on which the address of a record was identified. */
export const KytNetworkIdentifications = namedObject('KytNetworkIdentifications', {
  status: RECORD_STATUS,
  count: Type.Integer(),
  networkIdentificationOrgs: Type.Array(namedObject('KytNetworkOrg', { name: Type.String() })),
})
export type KytNetworkIdentifications = Static<typeof KytNetworkIdentifications>

/** Labels of a withdrawal's target; the name of the list is the wire's. */
export const KytAddressIdentifications = namedObject('KytAddressIdentifications', {
  status: RECORD_STATUS,
  chainalysisIdentifications: Type.Array(
    namedObject('KytAddressIdentification', {
      addressName: Type.String(),
      categoryId: Type.Integer(),
      description: Type.String(),
    }),
  ),
  customAddresses: Type.Array(Type.String()),
})
export type KytAddressIdentifications = Static<typeof KytAddressIdentifications>

/** Signs of fraud at a withdrawal's target; the name of the list is the wire's. */
export const KytFraudAssessment = namedObject('KytFraudAssessment', {
  status: RECORD_STATUS,
  alteryaIdentifications: Type.Array(
    namedObject('KytFraudIdentification', {
      address: Type.String(),
      chain: Type.String(),
      labels: Type.Array(Type.String()),
      object: Type.String(),
      reason: Type.String(),
      risk_level: Type.String(),
      risk_score: Type.String(),
      on_chain_activity: Type.Object({
        first_transaction_at: nullable(Type.Integer({ description: 'Unix ms' })),
      }),
    }),
  ),
})
export type KytFraudAssessment = Static<typeof KytFraudAssessment>

export const KytAddressParams = Type.Object({ address: text('The address', 128) })
export const KytTransferParams = Type.Object({ transferId: text('externalId of the transfer', 64) })
export const KytWithdrawalParams = Type.Object({
  withdrawalId: text('externalId of the withdrawal', 64),
})
