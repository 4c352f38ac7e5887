import { parentPort, workerData } from 'node:worker_threads'
import { localCodec } from '../../core/codec/local-codec.ts'
import { serveLanes } from '../../processors/runtime/serve-lanes.ts'
import type { Stage } from '../../processors/runtime/stage.ts'

/** What such a thread begins with. */
export interface StateCheckingThreadData {
  /** Height of the block at which a lane reads its state and holds the thread. */
  readonly holdsAt: number
  /** Set to 1 by the thread when it is held; it goes on once it is 2. */
  readonly turn: Int32Array<SharedArrayBuffer>
  /** How often a lane was at its first step behind a commit, and how often its state was not that of the commit. */
  readonly seen: Int32Array<SharedArrayBuffer>
}

const { holdsAt, turn, seen }: StateCheckingThreadData = workerData

/** Counts its flushes in its state, and compares that with its own count at the first step behind each. */
const counting: Stage = {
  app: 'counting',
  inputs: [],
  outputs: [],
  load: (state) => {
    let flushes = 0
    let isBehindCommit = false
    return {
      step: ({ block }) => {
        const stored = Number(state.get('flushes') ?? 0)
        if (isBehindCommit) {
          Atomics.add(seen, 0, 1)
          if (stored !== flushes) Atomics.add(seen, 1, 1)
        }
        isBehindCommit = false
        if (block.meta.height === holdsAt) {
          Atomics.store(turn, 0, 1)
          Atomics.wait(turn, 0, 1)
        }
        return []
      },
      flush: () => {
        flushes += 1
        isBehindCommit = true
        return { publications: [], changes: [['flushes', String(flushes)]] }
      },
    }
  },
}

if (parentPort === null) throw new Error('this module is the beginning of a thread')
serveLanes({
  port: parentPort,
  stages: new Map([[counting.app, counting]]),
  openCodec: async () => localCodec(),
})
