import type { EvmBlock, LabelChange } from '../../../schemas/events.ts'
import type * as Wire from '../../../schemas/wire.ts'
import type { Keyed } from '../../to-wire/context.ts'

/** What listed contracts said of addresses in a block: one event for each address, keyed by the contract, so that they keep their order. */
export const addressLabelEvents = (
  block: EvmBlock,
  changes: readonly LabelChange[],
): readonly Keyed<Wire.AddressLabelEvent>[] => {
  if (changes.length === 0) return []
  const hashes = new Map(block.transactions.map(({ index, hash }) => [index, hash]))
  const events: Keyed<Wire.AddressLabelEvent>[] = []
  for (const { addresses, txIndex, logIndex, contract, protocol, action } of changes) {
    for (const address of addresses) {
      events.push({
        key: contract,
        event: {
          block_height: block.height,
          event_index: events.length,
          tx_hash: hashes.get(txIndex) ?? '',
          tx_index: txIndex,
          log_index: logIndex,
          contract,
          protocol,
          action,
          address,
        },
      })
    }
  }
  return events
}
