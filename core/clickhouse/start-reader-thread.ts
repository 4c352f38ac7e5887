import { Worker } from 'node:worker_threads'
import { parseError } from '@clickhouse/client'
import { resolveWorkerModule } from '../runtime/thread-pool.ts'

/** What a reading thread is asked: one statement, or to close its connection. */
export type ReaderRequest = { readonly sql: string; readonly format: string } | 'close'

/** The engine's answer in UTF-8, or what it said instead. */
export type ReaderResponse =
  | { readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly error: string }

/** Room for young objects, megabytes. */
const YOUNG_GENERATION_MB = 8

/** One thread; it does one thing at a time. */
export interface ReaderThread {
  /** Throws what the engine answered, as the driver's error. */
  run(sql: string, format: string): Promise<Buffer>
  close(): Promise<void>
}

/**
 * Starts a thread over the folder. It lives as long as the process: when a thread that has used chDB ends, every later
 * statement of the process hangs (chdb 3.4.0, libchdb 26.7.2). So an idle one keeps no process alive, and one that ends by
 * itself ends the process, which is started again by whoever looks after it.
 */
export const startReaderThread = (path: string): ReaderThread => {
  const { url, execArgv } = resolveWorkerModule(new URL('./reader-thread', import.meta.url))
  const worker = new Worker(url, {
    workerData: { path },
    // A reader hands texts on and keeps nothing: what `npm start` gives young objects of the main thread would stay here unused.
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    ...(execArgv && { execArgv: [...execArgv] }),
  })
  worker.unref()
  let settle: ((reply: ReaderResponse) => void) | undefined
  worker.on('message', (reply: ReaderResponse) => {
    worker.unref()
    settle?.(reply)
  })
  let closing = false
  worker.on('error', (error) => {
    throw new Error('a reader thread of the embedded engine failed', { cause: error })
  })
  worker.on('exit', (code) => {
    if (!closing) throw new Error(`a reader thread of the embedded engine exited with ${code}`)
  })
  const ask = (request: ReaderRequest): Promise<ReaderResponse> =>
    new Promise((resolve) => {
      settle = resolve
      worker.ref()
      worker.postMessage(request)
    })
  return {
    run: async (sql, format) => {
      const reply = await ask({ sql, format })
      if ('error' in reply) throw parseError(reply.error)
      const { buffer, byteOffset, byteLength } = reply.bytes
      return Buffer.from(buffer, byteOffset, byteLength)
    },
    close: async () => {
      closing = true
      await ask('close')
    },
  }
}
