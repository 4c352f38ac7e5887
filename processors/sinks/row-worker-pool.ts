import { availableParallelism } from 'node:os'
import type { Logger } from '../../core/ops/logger.ts'
import { packBytes } from '../../core/runtime/packed-bytes.ts'
import { fromThreadError } from '../../core/runtime/thread-error.ts'
import { openThreadPool } from '../../core/runtime/thread-pool.ts'
import { logThreadWarning } from '../../core/runtime/thread-warning.ts'
import type { Topic } from '../../schemas/topics.ts'
import type { ThreadCodecData } from '../runtime/thread-codec.ts'
import type { BatchRows } from './batch-rows.ts'
import type { RowRequest, RowResponse } from './row-worker.ts'

/**
 * Makes rows of the values of a batch, oldest first. Throws `Outage` when their schemas cannot be had now, and what a mapper throws that
 * has a bug.
 */
export type MakeRows = (topic: Topic, values: readonly (Uint8Array | null)[]) => Promise<BatchRows>

/** Threads that make rows. */
export interface RowWorkerPool {
  readonly makeRows: MakeRows
  close(): Promise<void>
}

/** More would only take what folds and answers from them. */
const MAX_THREADS = 4

/** Rows are a quarter of what a trade costs, and folding does not wait for them: they are made beside the thread that folds. */
export const openRowWorkerPool = (data: ThreadCodecData, log: Logger): RowWorkerPool => {
  const threads = openThreadPool<RowRequest, RowResponse>({
    module: new URL('./row-worker', import.meta.url),
    name: 'makeRows',
    data,
    onError: (err) => log.error({ err }, 'row worker thread exited'),
    onWarning: (warning) => logThreadWarning(log, warning),
    most: Math.min(MAX_THREADS, Math.max(1, availableParallelism() - 1)),
  })
  return {
    makeRows: async (topic, values) => {
      const packed = packBytes(values)
      const answer = await threads.run({ topic, ...packed }, [packed.bytes.buffer])
      if (answer.kind === 'rows') return answer.rows
      throw fromThreadError(answer.error)
    },
    close: () => threads.close(),
  }
}
