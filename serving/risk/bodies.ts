import { toIsoTime } from '../../core/time.ts'
import type {
  KyaVerifiedAddress,
  KytAddressIdentifications,
  KytAddressRisk,
  KytAlerts,
  KytDirectExposure,
  KytEvidence,
  KytFraudAssessment,
  KytNetworkIdentifications,
  KytTransfer,
  KytWithdrawal,
} from '../../schemas/api/risk.ts'
import {
  categoryLabel,
  RISK_CATEGORIES,
  RISK_LEVELS,
  type RiskCategoryName,
  type RiskLevel,
} from '../../schemas/risk.ts'
import type { RiskAssessment } from '../../schemas/wire.ts'
import type {
  AssessmentRequest,
  AssessmentResult,
  AssessmentStatus,
  RaisingFinding,
  ScoredExposure,
} from './assessment.ts'
import { RAISING_REASONS } from './findings.ts'
import { byGravity, isDirect } from './score.ts'
import type { AddressLabel } from './search.ts'
import { withdrawalValue } from './withdrawal-value.ts'

type RequestOf<Kind extends AssessmentRequest['kind']> = AssessmentRequest & { readonly kind: Kind }

/** What was asked. The record must be of the kind. */
const requestOf = <Kind extends AssessmentRequest['kind']>(
  record: RiskAssessment,
): RequestOf<Kind> => JSON.parse(record.request)

const statusOf = ({ status }: RiskAssessment): AssessmentStatus => status as AssessmentStatus

/** What was found; undefined before it is known. */
const resultOf = ({ status, result }: RiskAssessment): AssessmentResult | undefined =>
  status === 'COMPLETE' && result !== null ? JSON.parse(result) : undefined

/** Exposures that were found, gravest first; results of older builds were ordered by score. */
const exposuresOf = (record: RiskAssessment): readonly ScoredExposure[] =>
  (resultOf(record)?.exposures ?? []).toSorted(byGravity)

/** Level that every raising finding gives at least. */
const RAISED_LEVEL: RiskLevel = 'High'
/** Category that alerts name for a raising finding, and the word for it. */
const RAISING_ALERTS: Readonly<
  Record<RaisingFinding, { readonly category: RiskCategoryName; readonly service: string }>
> = {
  address_poisoning: { category: 'scam', service: 'address_poisoning' },
  new_mixer_user: { category: 'mixer', service: 'new_address' },
}

/** Findings beside exposures that raise the level of a record; of results of older builds, look-alikes only. */
const raisingFindingsOf = (record: RiskAssessment): readonly RaisingFinding[] => {
  const result = resultOf(record)
  if (result === undefined) return []
  return result.raisedBy ?? (result.lookAlikes.length > 0 ? ['address_poisoning'] : [])
}

/** Gravest first; what has the same level stays in its order. */
const byLevel = (one: { readonly level: RiskLevel }, other: { readonly level: RiskLevel }) =>
  RISK_LEVELS.indexOf(other.level) - RISK_LEVELS.indexOf(one.level)

const isoOrNull = (ms: number): string | null => (ms > 0 ? toIsoTime(ms) : null)
const usdText = (usd: number): string => usd.toFixed(2)

const evidenceOf = (exposure: ScoredExposure): KytEvidence => {
  const { label, hops, lastEdge, usd } = exposure
  return {
    chain: exposure.chain,
    category: label.category,
    categoryId: RISK_CATEGORIES[label.category].id,
    level: exposure.level,
    score: exposure.score,
    direction: exposure.side,
    exposureType: isDirect(exposure) ? 'direct' : 'indirect',
    hops,
    sharePercent: Number((exposure.share * 100).toFixed(6)),
    usd: usd === null ? null : usdText(usd),
    path: [...exposure.path],
    entity: label.entity,
    source: label.source,
    confidence: label.confidence,
    evidenceUrl: label.evidenceUrl,
    labelFrom: isoOrNull(label.validFromMs),
    firstMovedAt: isoOrNull(lastEdge.firstMs),
    lastMovedAt: isoOrNull(lastEdge.lastMs),
  }
}

const failureReason = ({ status, result }: RiskAssessment): string | null =>
  status === 'FAILED' && result !== null
    ? (JSON.parse(result) as { readonly reason: string }).reason
    : null

const assessmentFields = (record: RiskAssessment) => {
  const result = resultOf(record)
  return {
    status: statusOf(record),
    rating: result?.level.toUpperCase() ?? null,
    riskScore: result?.score ?? null,
    riskReason: result?.reason ?? failureReason(record),
    engineVersion: result?.engineVersion ?? null,
    labelsVersion: result?.labelsVersion ?? null,
    truncated: result?.truncated ?? false,
    evidence: exposuresOf(record).map(evidenceOf),
    formerLabels: (result?.formerLabels ?? []).map(
      ({ category, source, validFromMs, validToMs }) => ({
        category,
        source,
        validFrom: toIsoTime(validFromMs),
        validTo: toIsoTime(validToMs ?? 0),
      }),
    ),
  }
}

/** Types of addresses by what they are labelled. */
const ADDRESS_TYPES: Readonly<Record<string, string>> = {
  exchange: 'EXCHANGE',
  high_risk_exchange: 'EXCHANGE',
  no_kyc_exchange: 'EXCHANGE',
  decentralized_exchange: 'CONTRACT',
  bridge: 'CONTRACT',
  lending: 'CONTRACT',
  defi: 'CONTRACT',
  mining: 'MINING_POOL',
  merchant_services: 'MERCHANT',
}

const addressType = (labels: readonly AddressLabel[]): string =>
  labels.flatMap(({ category }) => ADDRESS_TYPES[category] ?? [])[0] ?? 'PRIVATE_WALLET'

/** The sum of what is known; null where nothing is. */
const sumKnown = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : one + other

/** Items with the same key together, in the order of the first of each. */
const groupedBy = <Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): readonly (readonly Item[])[] => {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key) ?? []
    group.push(item)
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** Exposures without those that another list says of the same address in the same category: their money is one. */
const countedOnce = (exposures: readonly ScoredExposure[]): readonly ScoredExposure[] =>
  groupedBy(exposures, ({ chain, side, label }) =>
    [chain, side, label.category, label.address].join(' '),
  ).flatMap((same) => same.slice(0, 1))

/** USD by category, direction and kind of exposure: the sum of what is known, left out where nothing is. */
const exposureSums = (exposures: readonly ScoredExposure[]): KytAddressRisk['exposures'] => {
  const sums = new Map<string, number | null>()
  for (const exposure of countedOnce(exposures)) {
    const { label, side, usd, hops } = exposure
    const direction = hops === 0 ? 'both_directions' : side
    const key = [label.category, direction, isDirect(exposure) ? 'direct' : 'indirect'].join(' ')
    sums.set(key, sumKnown(sums.get(key) ?? null, usd))
  }
  return [...sums].map(([key, usd]) => {
    const [category = '', direction, exposureType] = key.split(' ')
    return {
      category,
      direction,
      exposureType,
      ...(usd !== null && { value: usdText(usd) }),
    } as KytAddressRisk['exposures'][number]
  })
}

/** What made an address noticed, gravest first. */
const triggersOf = (record: RiskAssessment): KytAddressRisk['triggers'] => {
  const raised = raisingFindingsOf(record).map((finding) => ({
    category: RAISING_ALERTS[finding].category,
    level: RAISED_LEVEL,
    message: RAISING_REASONS[finding],
  }))
  const exposed = exposuresOf(record).flatMap((exposure) =>
    exposure.isAlert
      ? {
          category: exposure.label.category,
          level: exposure.level,
          message: isDirect(exposure)
            ? 'direct exposure'
            : `indirect exposure over ${exposure.hops} hops`,
        }
      : [],
  )
  return [...raised, ...exposed].toSorted(byLevel)
}

/** Assessment of an address. */
export const addressRiskBody = (record: RiskAssessment): KytAddressRisk => {
  const { address } = requestOf<'address'>(record)
  const result = resultOf(record)
  const labels = result?.ownLabels ?? []
  const named = labels.find(({ entity }) => entity !== '')
  const exposures = exposuresOf(record)
  return {
    ...assessmentFields(record),
    address,
    risk: result?.level ?? null,
    addressType: addressType(labels),
    ...(named && { cluster: { name: named.entity, category: named.category } }),
    addressIdentifications: labels.map(({ entity, category, source, confidence }) => ({
      name: entity || category,
      category,
      categoryId: RISK_CATEGORIES[category].id,
      source,
      confidence,
    })),
    exposures: exposureSums(exposures),
    triggers: triggersOf(record),
    profile: [...(result?.profile ?? [])],
  }
}

/** By category and kind: money of both sides, and the greater of their shares, percent. */
const verifiedExposures = (
  exposures: readonly ScoredExposure[],
): KyaVerifiedAddress['risk_exposures'] => {
  const kinds = groupedBy(countedOnce(exposures), (exposure) =>
    [exposure.label.category, isDirect(exposure)].join(' '),
  )
  return kinds.flatMap((kind) => {
    const [first] = kind
    if (first === undefined) return []
    const { category } = first.label
    const sides = groupedBy(kind, ({ chain, side }) => `${chain} ${side}`)
    const share = Math.max(...sides.map((side) => side.reduce((sum, each) => sum + each.share, 0)))
    const usd = kind.map((each) => each.usd).reduce(sumKnown, null)
    return [
      {
        label: categoryLabel(category),
        severity: RISK_CATEGORIES[category].class,
        type: isDirect(first) ? ('direct' as const) : ('indirect' as const),
        amount: usd === null ? null : usdText(usd),
        percentage: Number((Math.min(1, share) * 100).toFixed(6)),
      },
    ]
  })
}

/** Assessment of an address in short: gravest exposure first. */
export const verifiedAddressBody = (record: RiskAssessment): KyaVerifiedAddress => {
  const { address } = requestOf<'address'>(record)
  const result = resultOf(record)
  return {
    address,
    risk: result?.level ?? null,
    status: statusOf(record),
    address_type: addressType(result?.ownLabels ?? []),
    risk_exposures: verifiedExposures(exposuresOf(record)),
  }
}

/** A registered transfer with what is known of it. */
export const transferBody = (record: RiskAssessment): KytTransfer => {
  const { asset, network, transferReference } = requestOf<'transfer'>(record)
  const transfer = resultOf(record)?.transfer
  return {
    ...assessmentFields(record),
    externalId: record.id,
    asset,
    network,
    transferReference,
    tx: transfer?.tx ?? null,
    idx: transfer?.idx ?? null,
    outputAddress: transfer?.outputAddress ?? null,
    assetAmount: transfer?.assetAmount ?? null,
    usdAmount: transfer?.usdAmount ?? null,
    timestamp: transfer ? toIsoTime(transfer.timeMs) : null,
    updatedAt: toIsoTime(record.updated_at),
    assetId: transfer?.assetId ?? null,
    memo: null,
  }
}

/** A registered withdrawal. */
export const withdrawalBody = (record: RiskAssessment): KytWithdrawal => {
  const request = requestOf<'withdrawal'>(record)
  const { asset, network, address, assetAmount, assetId, memo, attemptTimestamp } = request
  const { usdAmount, usdPriceSource } = withdrawalValue(request, resultOf(record)?.assetPriceUsd)
  return {
    ...assessmentFields(record),
    externalId: record.id,
    asset,
    network,
    address,
    assetAmount,
    attemptIdentifier: attemptTimestamp,
    usdAmount,
    usdPriceSource,
    updatedAt: toIsoTime(record.updated_at),
    assetId,
    memo,
  }
}

/** Alerts of findings beside exposures: about the address itself, so direct, without an amount. */
const raisedAlerts = (record: RiskAssessment) =>
  raisingFindingsOf(record).map((finding) => ({
    level: RAISED_LEVEL,
    category: RAISING_ALERTS[finding].category,
    service: RAISING_ALERTS[finding].service,
    exposureType: 'DIRECT' as const,
    usd: null,
    memo: RAISING_REASONS[finding],
  }))

const exposureAlerts = (record: RiskAssessment) =>
  exposuresOf(record)
    .filter(({ isAlert }) => isAlert)
    .map((exposure) => ({
      level: exposure.level,
      category: exposure.label.category,
      service: exposure.label.entity || exposure.label.category,
      exposureType: isDirect(exposure) ? ('DIRECT' as const) : ('INDIRECT' as const),
      usd: exposure.usd,
      memo: `${exposure.label.category} by ${exposure.label.source}, ${exposure.hops} hops`,
    }))

/** Alerts of a record, gravest first: of exposures, and of findings that raise its level. */
export const alertsBody = (record: RiskAssessment): KytAlerts => ({
  status: statusOf(record),
  alerts: [...raisedAlerts(record), ...exposureAlerts(record)]
    .toSorted(byLevel)
    .map(({ level, category, usd, service, exposureType, memo }) => ({
      alertLevel: level.toUpperCase(),
      categoryId: RISK_CATEGORIES[category].id,
      service,
      externalId: record.id,
      ...(usd !== null && { alertAmount: usdText(usd) }),
      exposureType,
      memo,
    })),
})

/** The gravest direct exposure of a record, or null. */
export const directExposureBody = (record: RiskAssessment): KytDirectExposure => {
  const label = exposuresOf(record).find(isDirect)?.label
  return {
    status: statusOf(record),
    direct: label
      ? { name: label.entity || label.category, categoryId: RISK_CATEGORIES[label.category].id }
      : null,
  }
}

/** Owners that labels name for the assessed address. */
export const networkIdentificationsBody = (record: RiskAssessment): KytNetworkIdentifications => {
  const names = (resultOf(record)?.ownLabels ?? []).flatMap(({ entity }) =>
    entity === '' ? [] : [entity],
  )
  const networkIdentificationOrgs = [...new Set(names)].map((name) => ({ name }))
  return {
    status: statusOf(record),
    count: networkIdentificationOrgs.length,
    networkIdentificationOrgs,
  }
}

/** Labels of a withdrawal's target. */
export const addressIdentificationsBody = (record: RiskAssessment): KytAddressIdentifications => ({
  status: statusOf(record),
  chainalysisIdentifications: (resultOf(record)?.ownLabels ?? []).map(
    ({ entity, category, source }) => ({
      addressName: entity || category,
      categoryId: RISK_CATEGORIES[category].id,
      description: `${category} by ${source}`,
    }),
  ),
  customAddresses: [],
})

/** Signs of fraud at a withdrawal's target; empty before it is screened. */
export const fraudAssessmentBody = (record: RiskAssessment): KytFraudAssessment => {
  const { address, chain } = requestOf<'withdrawal'>(record)
  const result = resultOf(record)
  const status = statusOf(record)
  if (result === undefined) return { status, alteryaIdentifications: [] }
  const labels = [...(result.lookAlikes.length > 0 ? ['address_poisoning'] : []), ...result.profile]
  return {
    status,
    alteryaIdentifications: [
      {
        address,
        chain,
        labels,
        object: 'address_risk_response',
        reason: result.reason,
        risk_level: result.level,
        risk_score: String(result.score),
        on_chain_activity: { first_transaction_at: result.firstSeenMs },
      },
    ],
  }
}
