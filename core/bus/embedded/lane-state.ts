import { open } from 'lmdb'
import type { LaneState, SharedState, StateLocation } from '../contract.ts'
import { MAX_TABLES, openStateTable, type StateTable } from './log.ts'

type TableLocation = Omit<Extract<StateLocation, { kind: 'table' }>, 'kind'>

/** State is read straight from the tree; a commit is visible as soon as it has resolved. */
export const laneStateOf = (state: StateTable, location: TableLocation): LaneState => {
  const { store, partition } = location
  return {
    location: { kind: 'table', ...location },
    get: (key) => state.get([store, partition, key]),
    *entries(prefix = '') {
      const start: [string, number, string] = [store, partition, prefix]
      const end: [string, number, string] = [store, partition + 1, '']
      for (const { key, value } of state.getRange({ start, end })) {
        if (!key[2].startsWith(prefix)) return
        yield [key[2], value] as const
      }
    },
  }
}

/** Opens the states of a log for reading that another thread of this process writes to. */
export const openSharedStates = (
  path: string,
): SharedState<(location: TableLocation) => LaneState> => {
  const root = open({ path, noSubdir: false, maxDbs: MAX_TABLES, readOnly: true })
  const table = openStateTable(root)
  return {
    state: (location) => laneStateOf(table, location),
    refresh: () => root.resetReadTxn(),
    close: () => root.close(),
  }
}
