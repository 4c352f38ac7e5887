/** A thread that reads from the embedded engine over a connection of its own, one statement after the other. */
import { parentPort, workerData } from 'node:worker_threads'
import { Session } from 'chdb'
import type { ReaderRequest, ReaderResponse } from './start-reader-thread.ts'

const { path } = workerData as { readonly path: string }

const encoder = new TextEncoder()

const connect = (): Session => {
  const session = new Session(path)
  // Rows that a join repeats count as often as they are written. Servers of other versions do not know the setting.
  session.query('SET enable_lazy_columns_replication = 0')
  session.query('SET readonly = 2')
  return session
}

/**
 * What a failed statement had printed so far stands in front of the next answer of its connection (chdb 3.4.0): one caller
 * would read another one's rows. A statement whose answer is not read takes it away, and the connection is not used again.
 */
const replaceSession = (failed: Session): Session => {
  try {
    failed.query('SELECT 1')
  } catch {
    // Nothing is read from it either way.
  }
  failed.close()
  return connect()
}

let session = connect()

const handleRequest = (request: ReaderRequest): ReaderResponse => {
  if (request === 'close') {
    session.close()
    return { bytes: new Uint8Array() }
  }
  try {
    return { bytes: encoder.encode(session.query(request.sql, request.format)) }
  } catch (error) {
    session = replaceSession(session)
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** The memory of an answer is handed over, not copied: only its text was made here. */
parentPort?.on('message', (request: ReaderRequest) => {
  const response = handleRequest(request)
  parentPort?.postMessage(response, 'bytes' in response ? [response.bytes.buffer] : [])
})
