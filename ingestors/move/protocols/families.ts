import type { MoveEvent } from '../../../schemas/events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import type { ProtocolRegistry } from '../../decode/protocol-registry.ts'
import { DECODERS } from './decoders.ts'
import type { MoveEventReader, MoveFamily } from './types.ts'

const BY_FAMILY: ReadonlyMap<string, MoveFamily> = new Map(Object.entries(DECODERS))

/** How an event is read, and whose it is. */
interface MatchedReader {
  readonly row: ProtocolRow
  readonly reader: MoveEventReader
}

/**
 * Finds the reader of an event by the package that first defined its type. The package that was called is another one after
 * an upgrade, and anyone's where it was called by a router.
 */
export const moveReaders =
  (book: ProtocolRegistry): ((event: MoveEvent) => MatchedReader | undefined) =>
  ({ package: owner, name }) => {
    const row = book.factory(owner)
    const events = row && BY_FAMILY.get(row.family)?.events
    const reader = events && Object.hasOwn(events, name) ? events[name] : undefined
    return row && reader && { row, reader }
  }
