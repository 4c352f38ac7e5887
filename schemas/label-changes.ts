/** What a listed contract says of addresses: it put them on its list, took them off, or destroyed what a listed one held. */
export type LabelAction = 'added' | 'removed' | 'seized'

/** One log of a contract that keeps a list of addresses. */
export interface LabelReport {
  readonly kind: 'addresses-labelled'
  readonly action: LabelAction
  /** In the order of the log; at least one. */
  readonly addresses: readonly string[]
}
