import type { LaneState, SharedState, StateLocation } from '../../core/bus/contract.ts'
import { openSharedStates } from '../../core/bus/embedded/lane-state.ts'
import { openSharedLaneStore } from '../../core/bus/kafka/lane-store.ts'

/** Opens states of lanes that another thread of this process writes to. */
export interface StateReaders {
  /** Throws `Outage` for a folder that cannot be read. */
  open(location: StateLocation): SharedState<LaneState>
}

type OpenLog = ReturnType<typeof openSharedStates> & { lanes: number }

/** The readers of one thread: lanes of one embedded log share its environment, which is closed with the last of them. */
export const makeStateReaders = (): StateReaders => {
  const logs = new Map<string, OpenLog>()
  return {
    open: (location) => {
      if (location.kind === 'folder') return openSharedLaneStore(location.path)
      const { path } = location
      const log = logs.get(path) ?? { ...openSharedStates(path), lanes: 0 }
      logs.set(path, log)
      log.lanes += 1
      // Another lane may be at work in this turn of the event loop: what it began to read is older than the state of this one.
      log.refresh()
      return {
        state: log.state(location),
        refresh: log.refresh,
        close: async () => {
          log.lanes -= 1
          if (log.lanes > 0) return
          logs.delete(path)
          await log.close()
        },
      }
    },
  }
}
