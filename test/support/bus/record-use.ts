import type { Bus, Commit, Writer } from '../../../core/bus/contract.ts'
import type { AclRow } from '../../../core/bus/kafka/acl.ts'

/** One thing that is done on a log, as access rules name it. */
export type BusUse = Pick<AclRow, 'resource' | 'name' | 'operation'>

/** A bus that remembers what is done on it. */
export interface BusRecorder {
  /** The same bus, with what is done on it noted. */
  wrap(bus: Bus): Bus
  /** What was done so far, each once. */
  list(): readonly BusUse[]
}

/** Makes one. Topics that are made are not noted: they are there before a role starts on a cluster. */
export const recordBusUse = (): BusRecorder => {
  const uses = new Map<string, BusUse>()
  const note = (
    resource: BusUse['resource'],
    name: string,
    operation: BusUse['operation'],
  ): void => {
    uses.set(`${resource} ${name} ${operation}`, { resource, name, operation })
  }
  const noteTopics = (topics: readonly string[]): void => {
    for (const topic of topics) note('topic', topic, 'read')
  }
  const noted = (writer: Writer): Writer => {
    note('transactional-id', writer.id, 'write')
    const commit = async (what: Commit) => {
      const spans = await writer.commit(what)
      for (const { topic } of [...(what.records ?? []), ...spans]) note('topic', topic, 'write')
      for (const { store } of what.state ?? []) note('topic', store, 'write')
      if (what.offsets) note('group', what.offsets.group, 'read')
      return spans
    }
    return { ...writer, commit }
  }
  return {
    list: () => [...uses.values()],
    wrap: (bus) => ({
      ...bus,
      writer: async (id) => noted(await bus.writer(id)),
      read: (topic, ...where) => {
        noteTopics([topic])
        return bus.read(topic, ...where)
      },
      tail: (tail) => {
        noteTopics(tail.topics)
        return bus.tail(tail)
      },
      subscribe: ({ run, ...subscription }) => {
        note('group', subscription.group, 'read')
        noteTopics([...subscription.topics, ...(subscription.broadcast ?? [])])
        return bus.subscribe({
          ...subscription,
          run: (lane) => {
            const state = (store: string) => {
              note('topic', store, 'read')
              return lane.state(store)
            }
            return run({ ...lane, state, writer: noted(lane.writer) })
          },
        })
      },
    }),
  }
}
