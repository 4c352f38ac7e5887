import { Worker } from 'node:worker_threads'
import type { StateLocation } from '../../core/bus/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { fromThreadError } from '../../core/runtime/thread-error.ts'
import { resolveWorkerModule } from '../../core/runtime/thread-pool.ts'
import { logThreadWarning, type ThreadWarning } from '../../core/runtime/thread-warning.ts'
import { stateTopic } from '../../schemas/topics.ts'
import {
  END_THREAD,
  type LaneOrder,
  type LaneReply,
  type LaneRequest,
  packRecords,
  unpackCommit,
} from './lane-messages.ts'
import type { LaneReports, StageLaneLog } from './stage-lane.ts'

/** Threads that decode, fold and encode for lanes; the thread of the bus reads and commits for them. */
export interface LaneThreads {
  /** Runs a lane until it is taken away. Throws what its log throws, `InvalidInput`, or Error when the thread ended. */
  run(order: LaneOrder, log: StageLaneLog, reports: LaneReports): Promise<void>
  /** Ends threads, whose lanes have ended before. */
  close(): Promise<void>
}

/** How many threads there are, and what each begins with. */
export interface LaneThreadOptions {
  readonly count: number
  /** Module beside the caller's, without its ending, that calls `serveLanes`. */
  readonly module: URL
  readonly data: unknown
  readonly log: Logger
}

/** Room for young objects, megabytes: a fold makes many that live as long as their block. */
const YOUNG_GENERATION_MB = 32

interface LaneRun {
  readonly on: (reply: LaneReply) => void
  readonly fail: (error: Error) => void
}

interface LaneThread {
  readonly runs: Map<number, LaneRun>
  readonly post: (request: LaneRequest, moved?: readonly ArrayBuffer[]) => void
  readonly end: () => Promise<void>
}

/** Makes the threads, each when the first lane comes to it; one that ended is started again for the next lane. */
export const openLaneThreads = (options: LaneThreadOptions): LaneThreads => {
  const threads = new Set<LaneThread>()
  let lanes = 0
  const freeThread = (): LaneThread => {
    if (threads.size < options.count) {
      const thread = startThread(options, () => threads.delete(thread))
      threads.add(thread)
      return thread
    }
    return [...threads].reduce((least, next) => (next.runs.size < least.runs.size ? next : least))
  }
  return {
    run: async (order, log, reports) => {
      const { location } = await log.state(stateTopic(order.app, order.chain))
      if (location === undefined)
        throw new Error('the state of this bus is open to one thread only')
      lanes += 1
      await runLane(freeThread(), { lane: lanes, order, location }, log, reports)
    },
    close: async () => {
      await Promise.all([...threads].map((thread) => thread.end()))
    },
  }
}

const startThread = ({ module, data, log }: LaneThreadOptions, onEnded: () => void): LaneThread => {
  const { url, execArgv } = resolveWorkerModule(module)
  const worker = new Worker(url, {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    ...(execArgv && { execArgv: [...execArgv] }),
  })
  const runs = new Map<number, LaneRun>()
  let failure: Error | undefined
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', (code) => {
      onEnded()
      const error = new Error(`a thread of lanes ended with ${code}`, { cause: failure })
      if (runs.size > 0) log.error({ err: failure ?? error }, 'lane thread exited')
      for (const { fail } of runs.values()) fail(error)
      resolve()
    })
  })
  worker.on('error', (error: Error) => {
    failure = error
  })
  worker.on('message', (reply: LaneReply | ThreadWarning) => {
    if (reply.kind === 'warning') logThreadWarning(log, reply)
    else runs.get(reply.lane)?.on(reply)
  })
  return {
    runs,
    post: (request, moved = []) => worker.postMessage(request, [...moved]),
    end: async () => {
      worker.postMessage(END_THREAD)
      await exited
    },
  }
}

interface LaneStart {
  readonly lane: number
  readonly order: LaneOrder
  readonly location: StateLocation
}

const runLane = (
  thread: LaneThread,
  { lane, order, location }: LaneStart,
  log: StageLaneLog,
  reports: LaneReports,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const { partition, signal } = log
    let failure: unknown
    /** What the lane waits for here: its run is not over before that is. */
    let working: Promise<void> = Promise.resolve()
    const stop = (): void => thread.post({ lane, kind: 'stop' })
    /** What failed here is the reason of the end, whatever the thread says to being stopped. */
    const stopBecause = (error: unknown): void => {
      failure ??= error
      stop()
    }
    const end = (error: unknown): void => {
      thread.runs.delete(lane)
      signal.removeEventListener('abort', stop)
      if (error === undefined) resolve()
      else reject(error)
    }
    const take = async (options: Parameters<StageLaneLog['take']>[0]): Promise<void> => {
      const { packed, moved } = packRecords(await log.take(options))
      thread.post({ lane, kind: 'records', records: packed }, moved)
    }
    const commit = async (packed: Parameters<typeof unpackCommit>[0]): Promise<void> => {
      await log.commit(unpackCommit(packed))
      thread.post({ lane, kind: 'committed' })
    }
    const endAfterWork = (error: unknown): void => {
      working.then(() => end(failure ?? error))
    }
    thread.runs.set(lane, {
      fail: endAfterWork,
      on: (reply) => {
        if (reply.kind === 'take') working = take(reply.options).catch(stopBecause)
        else if (reply.kind === 'commit') working = commit(reply.commit).catch(stopBecause)
        else if (reply.kind === 'status') reports.status(reply.status)
        else if (reply.kind === 'counted') reports.committed(reply.records)
        else if (reply.kind === 'undecodable')
          reports.undecodable(reply, invalidInputOf(reply.error))
        else endAfterWork(reply.error && fromThreadError(reply.error))
      },
    })
    signal.addEventListener('abort', stop, { once: true })
    thread.post({ lane, kind: 'start', order, partition, location })
    if (signal.aborted) stop()
  })

const invalidInputOf = (sent: Parameters<typeof fromThreadError>[0]): InvalidInput => {
  const error = fromThreadError(sent)
  return error instanceof InvalidInput ? error : new InvalidInput('unknown', error.message)
}
