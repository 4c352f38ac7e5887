import type { Log } from '../../../schemas/events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import type { PoolVerification } from '../verify/contract.ts'
import { DECODERS } from './decoders.ts'
import type { EvmEvent, EvmFamily } from './types.ts'

/** Every EVM decoder family. */
export const EVM_FAMILIES: readonly EvmFamily[] = Object.values(DECODERS)

/**
 * An event with the family that reads it. What every log asks for stands in it once more: events and families have many shapes,
 * and V8 looks their fields up by name; all of these have one.
 */
export interface FamilyEvent {
  readonly name: EvmFamily['family']
  readonly by: EvmEvent['by']
  readonly words: number
  readonly read: EvmEvent['read']
  readonly family: EvmFamily
  readonly event: EvmEvent
  /** The same event in other families: who logs it decides. */
  readonly others: readonly FamilyEvent[]
}

/** One that is still being put together. */
type FamilyEventVariants = FamilyEvent & { readonly others: FamilyEvent[] }

/** Of families with the same event, that of the listed contract which logs it reads it. */
const rowDecides = (by: EvmEvent['by']): boolean => by === 'singleton' || by === 'factory'

/**
 * By topic0, then by number of topics. Throws on two events of one shape where the listed contract that logs it does not decide
 * between them: the table would hide one.
 */
const eventVariants = (
  families: readonly EvmFamily[],
): ReadonlyMap<string, readonly (FamilyEvent | undefined)[]> => {
  const table = new Map<string, (FamilyEventVariants | undefined)[]>()
  for (const family of families) {
    for (const [topic0, events] of Object.entries(family.events)) {
      const byCount: (FamilyEventVariants | undefined)[] =
        table.get(topic0) ?? new Array(5).fill(undefined)
      table.set(topic0, byCount)
      for (const event of [events].flat()) {
        const { by, words, read, topics } = event
        const before = byCount[topics]
        const row: FamilyEventVariants = {
          name: family.family,
          by,
          words,
          read,
          family,
          event,
          others: [],
        }
        if (before && (by !== before.by || !rowDecides(by))) {
          throw new Error(`two events have the topics and data layout of ${event.signature}`)
        }
        if (before) before.others.push(row)
        else byCount[topics] = row
      }
    }
  }
  return table
}

const SHAPES = eventVariants(EVM_FAMILIES)

/** The event as the family of the listed contract that logged it reads it. */
export const eventOfEmitter = (
  found: FamilyEvent,
  row: Pick<ProtocolRow, 'family'> | undefined,
): FamilyEvent =>
  row === undefined || row.family === found.name
    ? found
    : (found.others.find(({ name }) => name === row.family) ?? found)

/** How pools are verified, by the family whose event named them. */
export const PROVABLE: ReadonlyMap<string, PoolVerification> = new Map(
  EVM_FAMILIES.flatMap(({ family, verification }) =>
    verification ? [[family, verification]] : [],
  ),
)

/** In whose name a chain logs moves of its coin, with the event of a token. Source: EIP-7708. */
const SYSTEM = '0xfffffffffffffffffffffffffffffffffffffffe'

/**
 * The event that a log's topics name; undefined for all others. Its data may still be too short. What the chain itself logs
 * is not an event of a contract: its coin is not a token, and calls tell of its moves.
 */
export const eventOf = ({ address, topics }: Log): FamilyEvent | undefined =>
  topics[0] === undefined || address === SYSTEM ? undefined : SHAPES.get(topics[0])?.[topics.length]
