import { InvalidInput } from '../../core/errors.ts'
import type { BlockEvent, EventMeta, Instruction } from '../../schemas/wire.ts'
import type { Operation, Publication, StageProcessor, StageState } from './stage.ts'
import { createVersionedStore } from './versioned-store.ts'

/** Where an event stands in its chain. */
export interface BlockPosition {
  readonly height: number
  readonly timeMs: number
}

/** What one event was found to be, and what is known after it. */
interface EnrichmentResult<Processed, Value> {
  readonly processed: Processed
  /** null: the key is gone. */
  readonly writes: readonly (readonly [key: string, value: Value | null])[]
}

interface EventBatch<Event> {
  readonly key: string
  readonly value: { readonly meta: EventMeta | null; readonly events: readonly Event[] }
}

/** A stage that answers each record of one topic with one record of another. */
export interface Enrichment<Event, Processed, Value> {
  readonly batches: (operation: Operation) => readonly EventBatch<Event>[]
  readonly enrich: (
    event: Event,
    known: (key: string) => Value | undefined,
    place: BlockPosition,
    block: BlockEvent,
  ) => EnrichmentResult<Processed, Value>
  readonly finish: (event: Event, processed: Processed) => Event
  readonly publish: (batch: EventBatch<Event>) => Publication
}

interface StoredResults<Processed> {
  readonly processed: readonly (readonly [eventIndex: number, Processed])[]
}

/**
 * Folds an enrichment. What was said of an unfinalized block is kept by event index: a retraction repeats it word for
 * word and is never computed again. Throws `InvalidInput` for a retraction of an unknown block.
 */
export const createEnrichmentProcessor = <
  Event extends { readonly instruction: Instruction | null },
  Processed,
  Value extends object,
>(
  { batches, enrich, finish, publish }: Enrichment<Event, Processed, Value>,
  state: StageState,
): StageProcessor => {
  const layers = createVersionedStore<Value, StoredResults<Processed>>(state)
  const apply = (operation: Operation): readonly EventBatch<Event>[] => {
    const { hash, height, block_time: timeMs } = operation.block.meta
    const values = new Map<string, Value | null>()
    const processed: (readonly [number, Processed])[] = []
    const known = (key: string): Value | undefined => {
      const own = values.get(key)
      return own === undefined ? layers.get(key) : (own ?? undefined)
    }
    const outputs = batches(operation).map(({ key, value }) => {
      const events = value.events.map((event) => {
        const found = enrich(event, known, { height, timeMs }, operation.block)
        for (const [name, written] of found.writes) values.set(name, written)
        processed.push([eventIndexOf(event), found.processed])
        return finish(event, found.processed)
      })
      return { key, value: { meta: value.meta, events } }
    })
    if (outputs.length > 0) layers.apply({ hash, height, timeMs, values, extra: { processed } })
    return outputs
  }
  const revert = (operation: Operation): readonly EventBatch<Event>[] => {
    const inputs = batches(operation)
    if (inputs.length === 0) return []
    const { hash } = operation.block.meta
    const block = layers.revert(hash)
    if (block === undefined) {
      throw new InvalidInput('revert', `block ${hash} is reverted but was not applied`)
    }
    const stored = new Map(block.extra.processed)
    return inputs.map(({ key, value }) => {
      // An event without an answer was dead-lettered when its block came: there is nothing to take back.
      const events = value.events.flatMap((event) => {
        const found = stored.get(eventIndexOf(event))
        return found === undefined ? [] : [finish(event, found)]
      })
      return { key, value: { meta: value.meta, events } }
    })
  }
  return {
    step: (operation) => {
      const { op } = operation.block.meta
      if (op === 'OP_FINALIZE') {
        layers.finalize(operation.block.final_height)
        return []
      }
      const outputs = op === 'OP_REVERT' ? revert(operation) : apply(operation)
      return outputs.map(publish)
    },
    flush: () => ({ publications: [], changes: layers.changes() }),
  }
}

const eventIndexOf = (event: { readonly instruction: Instruction | null }): number =>
  event.instruction?.event_index ?? 0
