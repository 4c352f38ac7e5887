import { Worker } from 'node:worker_threads'
import type { SimulatedNode, SimulatorThreadData, ThreadMessage } from './simulator-thread.ts'

/** Room for young objects, megabytes. */
const YOUNG_GENERATION_MB = 16

/** Nodes of simulated chains, in the order that they were asked for. */
export interface SimulatedNodes {
  readonly nodes: readonly SimulatedNode[]
  stop(): Promise<void>
}

/**
 * Starts simulated chains in a thread of their own: inventing them takes a sixth of what the main thread did, and is no
 * work of the product's. Throws Error when one cannot be started; one that ends later ends the process.
 */
export const startSimulatorThread = async (order: SimulatorThreadData): Promise<SimulatedNodes> => {
  const worker = new Worker(new URL('../bin.js', import.meta.url), {
    workerData: order,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  })
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const word = await new Promise<ThreadMessage>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () =>
      reject(
        new Error(
          'the thread of the simulated chains exited; the log lines before say why. Start the process again',
        ),
      ),
    )
  })
  if (word.kind === 'failed') {
    await ended
    throw new Error(word.reason)
  }
  let stopping = false
  worker.on('error', (error) => {
    throw error
  })
  worker.once('exit', () => {
    if (!stopping)
      throw new Error(
        'the thread of the simulated chains exited; the log lines before say why. Start the process again',
      )
  })
  return {
    nodes: word.nodes,
    stop: async () => {
      stopping = true
      worker.postMessage('stop')
      await ended
    },
  }
}
