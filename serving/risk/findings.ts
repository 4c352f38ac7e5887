import { DAY_MS } from '../../core/time.ts'
import { RISK_ENGINE_VERSION } from '../../schemas/risk.ts'
import type { AssessmentResult, RaisingFinding, ScoredExposure } from './assessment.ts'
import { byGravity, isDirect, overallScore } from './score.ts'

/** What was found out about one address on one chain, or about all of them. */
export interface Findings
  extends Pick<
    AssessmentResult,
    'exposures' | 'truncated' | 'ownLabels' | 'formerLabels' | 'firstSeenMs'
  > {
  /** Priced money of both sides; null: more transfers than are read, so `firstSeenMs` is not known either. */
  readonly totalUsd: number | null
}

/** What an assessment knows beside its findings. */
export interface AssessmentFacts extends Pick<AssessmentResult, 'transfer' | 'lookAlikes'> {
  /** Version of the labels that it was begun with. */
  readonly labelsVersion: number
  readonly nowMs: number
  /** True: transfers that count are not summed yet. */
  readonly isPartial?: boolean
}

/** Exposures that a result keeps, gravest first. */
const MAX_EXPOSURES = 100
/** An address that was first seen less than that long ago is new. */
const NEW_ADDRESS_MS = 30 * DAY_MS
const WHALE_USD = 1_000_000
/** Findings that make an address High, in words. */
export const RAISING_REASONS: Readonly<Record<RaisingFinding, string>> = {
  address_poisoning: 'the address looks like another one that was used before',
  new_mixer_user: 'High: a new address with a high value that met a mixer',
}
/** US dollars moved from which on a new address that met a mixer is High. */
const HIGH_VALUE_USD = 100_000

/** Findings of several chains as one. */
export const mergeFindings = (parts: readonly Findings[]): Findings => ({
  exposures: parts.flatMap(({ exposures }) => exposures),
  truncated: parts.some(({ truncated }) => truncated),
  ownLabels: parts.flatMap(({ ownLabels }) => ownLabels),
  formerLabels: parts.flatMap(({ formerLabels }) => formerLabels),
  totalUsd: parts.reduce<number | null>(
    (sum, { totalUsd }) => (sum === null || totalUsd === null ? null : sum + totalUsd),
    0,
  ),
  firstSeenMs: parts.reduce<number | null>(
    (first, { firstSeenMs }) =>
      firstSeenMs === null ? first : first === null ? firstSeenMs : Math.min(first, firstSeenMs),
    null,
  ),
})

const profileOf = (
  { exposures, totalUsd, firstSeenMs }: Findings,
  nowMs: number,
): readonly string[] => {
  const meets = (category: string): boolean =>
    exposures.some((exposure) => exposure.label.category === category && isDirect(exposure))
  const isNew = firstSeenMs === null || nowMs - firstSeenMs < NEW_ADDRESS_MS
  const facts: readonly (readonly [string, boolean])[] = [
    ['whale', totalUsd !== null && totalUsd > WHALE_USD],
    ['mixer_user', meets('mixer')],
    ['bridge_user', meets('bridge')],
    ['defi_active', ['decentralized_exchange', 'lending', 'defi'].some(meets)],
    ['new_address', totalUsd !== null && isNew],
  ]
  return facts.flatMap(([name, holds]) => (holds ? [name] : []))
}

/** Findings beside exposures that make an address High at least, the one that names the level first. */
const raisingFindings = (
  { totalUsd }: Findings,
  profile: readonly string[],
  lookAlikes: readonly string[],
): readonly RaisingFinding[] => {
  const isObfuscating =
    profile.includes('mixer_user') &&
    profile.includes('new_address') &&
    (totalUsd ?? 0) >= HIGH_VALUE_USD
  return [
    ...(lookAlikes.length > 0 ? (['address_poisoning'] as const) : []),
    ...(isObfuscating ? (['new_mixer_user'] as const) : []),
  ]
}

const exposureReason = (exposure: ScoredExposure | undefined, version: number): string => {
  if (exposure === undefined) return `no known exposure in labels ${version}`
  const { label, hops, share, level } = exposure
  const way = isDirect(exposure) ? 'direct' : `${hops} hops`
  return `${level}: ${label.category} by ${label.source}, ${way}, ${(share * 100).toFixed(2)} %`
}

/**
 * The result of a screening: exposures by level and score, cut behind the hundredth. The level is the gravest exposure's; a new
 * address with a high value that met a mixer, and one that looks like another one, are High at least. The reason names what made the
 * level; of a look-alike that is High also by its exposures it names the look-alike.
 */
export const assessmentResult = (found: Findings, facts: AssessmentFacts): AssessmentResult => {
  const { labelsVersion, nowMs, transfer, lookAlikes, isPartial = false } = facts
  const profile = profileOf(found, nowMs)
  const sorted = found.exposures.toSorted(byGravity)
  const overall = overallScore(sorted)
  const raisedBy = raisingFindings(found, profile, lookAlikes)
  const [raising] = raisedBy
  const isRaised = raising !== undefined && overall.level !== 'Severe'
  const isNamed = isRaised && (overall.level !== 'High' || lookAlikes.length > 0)
  const reason = isNamed ? RAISING_REASONS[raising] : exposureReason(sorted[0], labelsVersion)
  return {
    exposures: sorted.slice(0, MAX_EXPOSURES),
    truncated: found.truncated || isPartial || sorted.length > MAX_EXPOSURES,
    ownLabels: found.ownLabels,
    formerLabels: found.formerLabels,
    firstSeenMs: found.firstSeenMs,
    level: isRaised ? 'High' : overall.level,
    score: overall.score,
    reason: isPartial ? `${reason}; transfers that are not final yet are missing` : reason,
    labelsVersion,
    engineVersion: RISK_ENGINE_VERSION,
    profile,
    transfer,
    lookAlikes,
    raisedBy,
  }
}
