import type { InFlightTracker } from '../ops/in-flight.ts'
import type { Bus, Writer } from './contract.ts'

/** The same bus, with every commit of it noted as `commit WRITER`. */
export const trackCommits = (bus: Bus, activity: InFlightTracker): Bus => {
  const watched = (writer: Writer): Writer => ({
    ...writer,
    commit: async (commit) => {
      const end = activity.begin(`commit ${writer.id}`)
      try {
        return await writer.commit(commit)
      } finally {
        end()
      }
    },
  })
  return {
    ...bus,
    writer: async (id) => watched(await bus.writer(id)),
    subscribe: ({ run, ...subscription }) =>
      bus.subscribe({
        ...subscription,
        run: (lane) => run({ ...lane, writer: watched(lane.writer) }),
      }),
  }
}
