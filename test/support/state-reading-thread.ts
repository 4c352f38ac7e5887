import { parentPort, workerData } from 'node:worker_threads'
import type { StateLocation } from '../../core/bus/contract.ts'
import { makeStateReaders } from '../../processors/runtime/state-readers.ts'

/** What such a thread begins with. */
export interface StateReadingThreadData {
  readonly locations: readonly [StateLocation, StateLocation]
  readonly key: string
  /** Set to 1 by the thread when it has read the first lane; it continues with the second once it is 2. */
  readonly turn: Int32Array<SharedArrayBuffer>
}

/** Reads the second lane in the same turn of its event loop as the first, as a thread does that is given a lane at work. */
const { locations, key, turn }: StateReadingThreadData = workerData
const readers = makeStateReaders()
const [first, second] = locations
const one = readers.open(first)
one.state.get(key)
Atomics.store(turn, 0, 1)
Atomics.wait(turn, 0, 1)
const other = readers.open(second)
const bytes = other.state.get(key)
await one.close()
await other.close()
parentPort?.postMessage(bytes && Buffer.from(bytes).toString('utf8'))
