/** Facts of risk screening: categories of labels, levels, and the bounds of the graph search. */

/** Levels of an address, lowest first. */
export const RISK_LEVELS = ['Low', 'Medium', 'High', 'Severe'] as const
export type RiskLevel = (typeof RISK_LEVELS)[number]

/** How grave a source is; `Info` is reported and never scored. */
export type SourceClass = 'Severe' | 'High' | 'Medium' | 'Info'

/** A kind of label. */
interface RiskCategory {
  readonly id: number
  readonly class: SourceClass
}

const category = (id: number, sourceClass: SourceClass): RiskCategory => ({
  id,
  class: sourceClass,
})

/** Categories by the name that labels carry; `id` is `categoryId` of the answers. */
export const RISK_CATEGORIES = {
  child_abuse: category(1, 'Severe'),
  darknet_market: category(2, 'Severe'),
  sanctions: category(3, 'Severe'),
  terrorist_financing: category(4, 'Severe'),
  stolen_funds: category(5, 'Severe'),
  ransomware: category(6, 'Severe'),
  scam: category(7, 'High'),
  phishing: category(7, 'High'),
  rug: category(7, 'High'),
  mixer: category(8, 'High'),
  gambling: category(9, 'Medium'),
  unlicensed_gambling: category(9, 'High'),
  high_risk_exchange: category(10, 'Medium'),
  privacy_coin_swap: category(11, 'Medium'),
  no_kyc_exchange: category(11, 'Medium'),
  bridge: category(12, 'Info'),
  exchange: category(13, 'Info'),
  decentralized_exchange: category(14, 'Info'),
  lending: category(15, 'Info'),
  defi: category(15, 'Info'),
  mining: category(16, 'Info'),
  merchant_services: category(17, 'Info'),
  issuer_frozen: category(18, 'High'),
  sanctioned_jurisdiction: category(19, 'Severe'),
  atm: category(20, 'Info'),
} as const satisfies Record<string, RiskCategory>
export type RiskCategoryName = keyof typeof RISK_CATEGORIES

/** What verified addresses call a category whose name says it otherwise. */
const CATEGORY_LABELS: Readonly<Partial<Record<RiskCategoryName, string>>> = {
  sanctions: 'sanctioned entity',
  darknet_market: 'darknet',
  unlicensed_gambling: 'gambling',
}

/** Words for a category, as verified addresses have them. */
export const categoryLabel = (name: RiskCategoryName): string =>
  CATEGORY_LABELS[name] ?? name.replaceAll('_', ' ')

/** True for the name of a category. */
export const isRiskCategory = (text: string): text is RiskCategoryName =>
  Object.hasOwn(RISK_CATEGORIES, text)

/** Bounds of the search for indirect exposure; an answer says when one of them cut it. */
export interface SearchBounds {
  /** Steps from the address that is assessed. */
  readonly maxHops: number
  /** Counterparties of one address that are followed, largest first. */
  readonly fanOut: number
  /** Addresses of one step. */
  readonly frontier: number
  /** Addresses with more counterparties are services, and not followed. */
  readonly maxDegree: number
  /** Edges below that many USD, or below that share of their side, are not followed. */
  readonly minEdgeUsd: number
  readonly minEdgeShare: number
  /** Wall time of a whole search. */
  readonly timeMs: number
}

/** Bounds in force. */
export const SEARCH_BOUNDS: SearchBounds = {
  maxHops: 5,
  fanOut: 200,
  frontier: 10_000,
  maxDegree: 100_000,
  minEdgeUsd: 10,
  minEdgeShare: 0.001,
  timeMs: 10_000,
}

/** Version of scoring and search; stands in every result. */
export const RISK_ENGINE_VERSION = '1'

/** Registrations of one organization that are kept. */
export const MAX_ASSESSMENTS_PER_ORG = 10_000
