/** Written examples of risk screening, by name of the schema. */

const ADDRESS = '0x5aeda56215b167893e80b4fe645ba6d5bab767de'
const SOURCE = '0x8589427373d6d84e98730d7795d8f6f8731fda16'
const TX = '0x9a3f7c1e5b2d4860a1c3e5f70918273645566778899aabbccddeeff001122334'
const EXTERNAL_ID = '1d0c54b2-6a3e-5f0b-9c55-0e7f0a1b2c3d'
const AT = '2026-01-05T12:15:00.000Z'

const EVIDENCE = {
  chain: 'eth',
  category: 'mixer',
  categoryId: 8,
  level: 'High',
  score: 75,
  direction: 'received',
  exposureType: 'direct',
  hops: 1,
  sharePercent: 60,
  usd: '600.00',
  path: [ADDRESS, SOURCE],
  entity: 'A mixer',
  source: 'operator',
  confidence: 1,
  evidenceUrl: 'https://example.org/mixer',
  labelFrom: AT,
  firstMovedAt: AT,
  lastMovedAt: AT,
}
const FORMER = {
  category: 'sanctions',
  source: 'operator',
  validFrom: '2022-08-08T00:00:00.000Z',
  validTo: '2025-03-21T00:00:00.000Z',
}
const ASSESSMENT = {
  status: 'COMPLETE',
  rating: 'HIGH',
  riskScore: 75,
  riskReason: 'High: mixer by operator, direct, 60.00 %',
  engineVersion: '1',
  labelsVersion: 3,
  truncated: false,
  evidence: [EVIDENCE],
  formerLabels: [FORMER],
}
const LABEL = {
  name: 'A wallet',
  category: 'exchange',
  categoryId: 13,
  source: 'operator',
  confidence: 1,
}
const EXPOSURE = {
  category: 'mixer',
  direction: 'received',
  exposureType: 'direct',
  value: '600.00',
}
const TRIGGER = { category: 'mixer', level: 'High', message: 'direct exposure' }
const ALERT = {
  alertLevel: 'HIGH',
  categoryId: 8,
  service: 'A mixer',
  externalId: EXTERNAL_ID,
  alertAmount: '600.00',
  exposureType: 'DIRECT',
  memo: 'mixer by operator, 1 hops',
}
const IDENTIFICATION = {
  addressName: 'A wallet',
  categoryId: 13,
  description: 'exchange by operator',
}
const FRAUD = {
  address: ADDRESS,
  chain: 'eth',
  labels: ['new_address'],
  object: 'address_risk_response',
  reason: 'no known exposure in labels 3',
  risk_level: 'Low',
  risk_score: '0',
  on_chain_activity: { first_transaction_at: 1_767_615_300_000 },
}
const REGISTERED_TRANSFER = {
  network: 'ethereum',
  asset: 'ETH',
  transferReference: `${TX}:${ADDRESS}`,
  direction: 'received',
}
const REGISTERED_WITHDRAWAL = {
  network: 'ethereum',
  asset: 'ETH',
  address: ADDRESS,
  assetAmount: '1.5',
}

const KYA_EXPOSURE = {
  label: 'mixer',
  severity: 'High',
  type: 'direct',
  amount: '600.00',
  percentage: 60,
}

/** Examples by name of the schema. */
export const RISK_EXAMPLES = {
  VerifyKyaAddress: { address: ADDRESS, chain: 'ethereum' },
  KyaRiskExposure: KYA_EXPOSURE,
  KyaVerifiedAddress: {
    address: ADDRESS,
    risk: 'High',
    status: 'COMPLETE',
    address_type: 'PRIVATE_WALLET',
    risk_exposures: [KYA_EXPOSURE],
  },
  RegisterKytAddress: { address: ADDRESS },
  RegisterKytTransfer: REGISTERED_TRANSFER,
  RegisterKytWithdrawal: { ...REGISTERED_WITHDRAWAL, attemptTimestamp: AT },
  KytRegisteredAddress: { address: ADDRESS },
  KytEvidence: EVIDENCE,
  KytFormerLabel: FORMER,
  KytAddressLabel: LABEL,
  KytAddressExposure: EXPOSURE,
  KytTrigger: TRIGGER,
  KytAddressRisk: {
    ...ASSESSMENT,
    address: ADDRESS,
    risk: 'High',
    addressType: 'EXCHANGE',
    cluster: { name: 'A wallet', category: 'exchange' },
    addressIdentifications: [LABEL],
    exposures: [EXPOSURE],
    triggers: [TRIGGER],
    profile: ['mixer_user'],
  },
  KytTransfer: {
    ...ASSESSMENT,
    externalId: EXTERNAL_ID,
    asset: 'ETH',
    network: 'ethereum',
    transferReference: REGISTERED_TRANSFER.transferReference,
    tx: TX,
    idx: 3,
    outputAddress: ADDRESS,
    assetAmount: '1.5',
    usdAmount: '4500',
    timestamp: AT,
    updatedAt: AT,
    assetId: '0x0000000000000000000000000000000000000000',
    memo: null,
  },
  KytWithdrawal: {
    ...ASSESSMENT,
    externalId: EXTERNAL_ID,
    ...REGISTERED_WITHDRAWAL,
    attemptIdentifier: AT,
    usdAmount: '4533.68',
    usdPriceSource: 'market',
    updatedAt: AT,
    assetId: null,
    memo: null,
  },
  KytAlert: ALERT,
  KytAlerts: { status: 'COMPLETE', alerts: [ALERT] },
  KytDirectExposure: { status: 'COMPLETE', direct: { name: 'A mixer', categoryId: 8 } },
  KytNetworkOrg: { name: 'A wallet' },
  KytNetworkIdentifications: {
    status: 'COMPLETE',
    count: 1,
    networkIdentificationOrgs: [{ name: 'A wallet' }],
  },
  KytAddressIdentification: IDENTIFICATION,
  KytAddressIdentifications: {
    status: 'COMPLETE',
    chainalysisIdentifications: [IDENTIFICATION],
    customAddresses: [],
  },
  KytFraudIdentification: FRAUD,
  KytFraudAssessment: { status: 'COMPLETE', alteryaIdentifications: [FRAUD] },
}

/** Examples of parameters by their name. */
export const RISK_PARAMETERS = { transferId: EXTERNAL_ID, withdrawalId: EXTERNAL_ID }
