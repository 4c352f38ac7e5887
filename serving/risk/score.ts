import {
  RISK_CATEGORIES,
  RISK_LEVELS,
  type RiskCategoryName,
  type RiskLevel,
  type SourceClass,
} from '../../schemas/risk.ts'

/** What is assessed: one transfer by its other side, or an address by all its transfers. */
export type Subject = 'transfer' | 'address'

/** Money of a labelled source as scoring sees it. */
export interface WeighedExposure {
  readonly category: RiskCategoryName
  /** Steps to the source; 0 and 1 are direct. */
  readonly hops: number
  /** Part of the side that came from or went to the source, 0 to 1. */
  readonly share: number
  /** That part in USD; null: not known. */
  readonly usd: number | null
}

/** The level with its score, 0 to 100. */
export interface OverallScore {
  readonly level: RiskLevel
  readonly score: number
}

const BASE_SCORE: Readonly<Record<SourceClass, number>> = {
  Severe: 100,
  High: 75,
  Medium: 45,
  Info: 0,
}
/** Each step from the source halves what is left of it. */
const STEP_TRANSMISSION = 0.5
/** From that share of money on, a source that is not severe counts in full. */
const FULL_SHARE = 0.1
/** Less than that many USD of such a source do not count. */
const MIN_SCORED_USD = 10
const HIGH_SCORE = 75
const MEDIUM_SCORE = 40
/** Hops up to which a severe source makes an indirectly exposed transfer severe. */
const SEVERE_HOPS = 2

const classOf = (name: RiskCategoryName): SourceClass => RISK_CATEGORIES[name].class

/** Whether money met the source without anyone in between. */
export const isDirect = ({ hops }: Pick<WeighedExposure, 'hops'>): boolean => hops <= 1

/** Score of one exposure: base of its class, times what its steps and its share leave of it. */
export const exposureScore = (exposure: WeighedExposure): number => {
  const sourceClass = classOf(exposure.category)
  const transmission = isDirect(exposure) ? 1 : STEP_TRANSMISSION ** exposure.hops
  return BASE_SCORE[sourceClass] * transmission * shareFactor(sourceClass, exposure)
}

const shareFactor = (sourceClass: SourceClass, { share, usd }: WeighedExposure): number => {
  if (sourceClass === 'Severe') return 1
  if (usd !== null && usd < MIN_SCORED_USD) return 0
  return Math.min(1, share / FULL_SHARE)
}

/** A row of the policy: the level of an exposure; undefined where the policy says nothing and the score decides. */
type PolicyRow = (exposure: WeighedExposure) => RiskLevel | undefined

const nothing: PolicyRow = () => undefined

/** Level policy: by class of the source, by what is assessed, direct and indirect. */
const POLICY: Readonly<
  Record<
    SourceClass,
    Readonly<Record<Subject, { readonly direct: PolicyRow; readonly indirect: PolicyRow }>>
  >
> = {
  Severe: {
    transfer: {
      direct: () => 'Severe',
      indirect: ({ hops, share, usd }) => {
        const isSmall = share < 0.01 && usd !== null && usd < 1_000
        if (hops <= SEVERE_HOPS) return isSmall ? 'High' : 'Severe'
        return isSmall ? 'Medium' : 'High'
      },
    },
    address: {
      direct: ({ share, usd }) => (share >= 0.01 || (usd ?? 0) >= 100 ? 'Severe' : 'High'),
      indirect: ({ share }) => (share >= 0.1 ? 'High' : share >= 0.01 ? 'Medium' : 'Low'),
    },
  },
  High: {
    transfer: {
      direct: () => 'High',
      indirect: ({ share }) => (share >= 0.05 ? 'Medium' : 'Low'),
    },
    address: {
      direct: ({ share }) => (share >= 0.05 ? 'High' : 'Medium'),
      indirect: ({ share }) => (share >= 0.25 ? 'Medium' : 'Low'),
    },
  },
  Medium: {
    transfer: { direct: () => 'Low', indirect: () => 'Low' },
    address: {
      direct: ({ share }) => (share >= 0.25 ? 'Medium' : 'Low'),
      indirect: () => 'Low',
    },
  },
  Info: {
    transfer: { direct: nothing, indirect: nothing },
    address: { direct: nothing, indirect: nothing },
  },
}

/** Level of a score where no policy decides. */
export const levelOfScore = (score: number): RiskLevel =>
  score >= HIGH_SCORE ? 'High' : score >= MEDIUM_SCORE ? 'Medium' : 'Low'

/** Level of one exposure of a subject. */
export const exposureLevel = (subject: Subject, exposure: WeighedExposure): RiskLevel => {
  const row = POLICY[classOf(exposure.category)][subject]
  const decided = row[isDirect(exposure) ? 'direct' : 'indirect'](exposure)
  return decided ?? levelOfScore(exposureScore(exposure))
}

/** Whether an exposure is reported as an alert: every source with a class, but not a medium one that is far away. */
export const isAlert = (exposure: WeighedExposure): boolean => {
  const sourceClass = classOf(exposure.category)
  return sourceClass !== 'Info' && (sourceClass !== 'Medium' || isDirect(exposure))
}

/** Level and score of one exposure, and whether it is an alert. */
export interface ExposureScore extends OverallScore {
  readonly isAlert: boolean
}

/** Level, score and alert of one exposure of a subject. */
export const scoreExposure = (subject: Subject, exposure: WeighedExposure): ExposureScore => ({
  level: exposureLevel(subject, exposure),
  score: exposureScore(exposure),
  isAlert: isAlert(exposure),
})

/** Order of exposures, gravest first: by level, then by score, then by share. */
export const byGravity = (
  one: OverallScore & { readonly share: number },
  other: OverallScore & { readonly share: number },
): number =>
  RISK_LEVELS.indexOf(other.level) - RISK_LEVELS.indexOf(one.level) ||
  other.score - one.score ||
  other.share - one.share

/** The graver of two levels. */
const higherLevel = (one: RiskLevel, other: RiskLevel): RiskLevel =>
  RISK_LEVELS.indexOf(one) >= RISK_LEVELS.indexOf(other) ? one : other

/** The gravest level and the highest score of all exposures; Low and 0 without any. */
export const overallScore = (exposures: readonly OverallScore[]): OverallScore => ({
  level: exposures.reduce<RiskLevel>((level, each) => higherLevel(level, each.level), 'Low'),
  score: exposures.reduce((highest, { score }) => Math.max(highest, score), 0),
})
