import { parentPort, workerData } from 'node:worker_threads'
import { localCodec } from '../../core/codec/local-codec.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { serveLanes } from '../../processors/runtime/serve-lanes.ts'
import type { Stage } from '../../processors/runtime/stage.ts'

/** What such a thread begins with. */
export interface CrashingThreadData {
  /** How many threads may still end by themselves, shared by all. */
  readonly crashes: Int32Array<SharedArrayBuffer>
  /** Operations that a thread folds before it does. */
  readonly after: number
  /** One thread ends once this is 1, whatever its lanes wait for. */
  readonly end?: Int32Array<SharedArrayBuffer>
}

const { crashes, after, end }: CrashingThreadData = workerData
let folded = 0
const isEndedNow = (): boolean => end !== undefined && Atomics.compareExchange(end, 0, 1, 0) === 1
if (end) setInterval(() => isEndedNow() && process.exit(3), 5).unref()

/** The product's stages, which end their thread in the middle of a block while there are crashes left. */
const crashing: Stage = {
  ...PROCESS_PIPELINE,
  load: (state, book) => {
    const processor = PROCESS_PIPELINE.load(state, book)
    return {
      ...processor,
      step: (operation) => {
        folded += 1
        const published = processor.step(operation)
        if (folded > after && Atomics.sub(crashes, 0, 1) > 0) process.exit(3)
        return published
      },
    }
  },
}

if (parentPort === null) throw new Error('this module is the beginning of a thread')
serveLanes({
  port: parentPort,
  stages: new Map([[crashing.app, crashing]]),
  openCodec: async () => localCodec(),
})
