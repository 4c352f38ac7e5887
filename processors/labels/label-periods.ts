import type { ListedLabel } from '../../core/clickhouse/label-store.ts'
import type { LabelAction } from '../../schemas/label-changes.ts'
import { labelCategory } from '../../schemas/protocols.ts'

/** What a listed contract said of an address, in a block that is final. */
export interface FinalLabelEvent {
  readonly contract: string
  /** Row id of `protocols.ts`. */
  readonly protocol: string
  readonly address: string
  readonly action: LabelAction
  readonly tx_hash: string
  readonly height: number
  readonly time_ms: number
}

/** Where the labels lie. */
export interface LabelPlace {
  readonly chain: string
  /** Where people look up transactions of the chain. */
  readonly explorerUrl: string
}

/**
 * Labels that events of one contract give, oldest first for each address: one from each event that puts the address on the list to the
 * event that takes it off. Funds are destroyed only of listed accounts, so such an event begins a label whose beginning was not seen. One
 * that is taken off and was not seen on the list has none. Who is sanctioned on one chain is so on all that have the address; an issuer
 * freezes accounts of its chain.
 */
export const labelPeriods = (
  events: readonly FinalLabelEvent[],
  { chain, explorerUrl }: LabelPlace,
): readonly ListedLabel[] => {
  const open = new Map<string, ListedLabel>()
  const ended: ListedLabel[] = []
  for (const { protocol, address, action, tx_hash, height, time_ms } of events) {
    const category = labelCategory(protocol)
    if (category === undefined) continue
    const label = open.get(address)
    if (action === 'removed') {
      if (label === undefined) continue
      open.delete(address)
      ended.push({ ...label, validToMs: time_ms })
    } else if (label === undefined) {
      open.set(address, {
        chain: category === 'sanctions' ? '' : chain,
        address,
        category,
        entity: '',
        confidence: 1,
        evidenceUrl: `${explorerUrl}/tx/${tx_hash}#block=${height}`,
        validFromMs: time_ms,
        validToMs: null,
      })
    }
  }
  return [...ended, ...open.values()]
}
