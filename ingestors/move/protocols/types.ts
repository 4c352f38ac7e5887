import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { MoveEvent } from '../../../schemas/events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import {
  type EventLayout,
  type EventSchema,
  type EventValues,
  readEvent,
} from '../normalize/event-fields.ts'
import type { ListedEvent, MoveTxContext } from './tx-context.ts'

/** Reads one event of a type. */
export interface MoveEventReader {
  /** Adds to the scope, or says why the event could not be taken. */
  readonly read: (scope: MoveTxContext, listed: ListedEvent) => DropReason | undefined
  /** Pool whose coins the event does not name itself. */
  readonly poolId: (event: MoveEvent) => string | undefined
}

/** A decoder family: readers by `module::Name` of the events that its packages defined. */
export interface MoveFamily {
  readonly family: ProtocolRow['family']
  readonly events: Readonly<Record<string, MoveEventReader>>
}

interface EventDefinition<L extends EventLayout, N extends keyof L & string>
  extends EventSchema<L, N> {
  /** Field that names the pool, where its coins have to be found. */
  readonly pool?: N
  readonly emit: (
    scope: MoveTxContext,
    listed: ListedEvent,
    values: EventValues<L, N>,
  ) => DropReason | undefined
}

/** Reader of an event with such a layout. */
export const eventReader = <const L extends EventLayout, const N extends keyof L & string>(
  row: EventDefinition<L, N>,
): MoveEventReader => ({
  read: (scope, listed) => {
    const raw = readEvent(listed.event, row)
    return 'reason' in raw ? raw.reason : row.emit(scope, listed, raw.values)
  },
  poolId: (event) => {
    if (row.pool === undefined) return undefined
    const raw = readEvent(event, row)
    const pool: unknown = 'reason' in raw ? undefined : raw.values[row.pool]
    return typeof pool === 'string' ? pool : undefined
  },
})
