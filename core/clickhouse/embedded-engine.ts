import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type ClickHouseClient, type ClickHouseSettings, createClient } from '@clickhouse/client'
import pLimit, { type LimitFunction } from 'p-limit'
import { Outage } from '../errors.ts'
import {
  type Engine,
  type EngineRead,
  killQuerySql,
  type ReadConcurrency,
  type ReadWorkload,
  type WithClient,
} from './engine.ts'
import { setStatementSql } from './set-statement.ts'
import { type ReaderThread, startReaderThread } from './start-reader-thread.ts'

const CPU_CORES = availableParallelism()

/**
 * Three of each, so that one organization's two leave a place for another; two scans on two processors, where one more would
 * take both. The product's own reads are beside them.
 */
const READ_CONCURRENCY: ReadConcurrency = { point: 3, scan: CPU_CORES > 2 ? 3 : 2, internal: 2 }

/** Pause between two attempts to end a statement: one that has not begun yet cannot be ended. */
const KILL_RETRY_MS = 50

/** Threads of one statement: all scans of one organization take half of the processors, cheap reads what they find. */
const maxThreadsOf = (share: ReadWorkload): number =>
  share === 'scan' ? Math.max(1, CPU_CORES >> 2) : CPU_CORES

/** One statement at a time for each place; a later one waits here. */
const makeClientPool = (places: readonly ClickHouseClient[]): WithClient => {
  const free = [...places]
  const limit = pLimit(places.length)
  return (work) =>
    limit(async () => {
      const client = free.pop() as ClickHouseClient
      try {
        return await work(client)
      } finally {
        free.push(client)
      }
    })
}

/** Statements under way, and what ends them. */
interface QueryKiller {
  /** Ends the statement `id` inside the engine, again and again until `done`. */
  kill(id: string, done: Promise<unknown>): Promise<void>
}

const makeQueryKiller = (control: ClickHouseClient): QueryKiller => ({
  kill: async (id, done) => {
    let isOver = false
    const over = (): void => {
      isOver = true
    }
    done.then(over, over)
    while (!isOver) {
      await control.command({ query: killQuerySql(id) }).catch(() => undefined)
      await Promise.race([
        done.catch(() => undefined),
        delay(KILL_RETRY_MS, undefined, { ref: false }),
      ])
    }
  },
})

/** Reads over threads that are started when they are first needed. */
const makeReaderPool = (path: string, { kill }: QueryKiller) => {
  const idle: ReaderThread[] = []
  const running = new Map<string, Promise<unknown>>()
  const limits = Object.fromEntries(
    Object.entries(READ_CONCURRENCY).map(([share, places]) => [share, pLimit(places)]),
  ) as Record<ReadWorkload, LimitFunction>
  let closed = false
  const run = async ({ sql, params, format, settings, share, signal }: EngineRead) => {
    signal?.throwIfAborted()
    if (closed) throw new Outage('warehouse', 'the warehouse is closed')
    const id = randomUUID()
    const set = setStatementSql(
      { ...settings, max_threads: maxThreadsOf(share), log_comment: id },
      params,
    )
    const thread = idle.pop() ?? startReaderThread(path)
    const done = thread.run(`${set}; ${sql}`, format).finally(() => {
      running.delete(id)
      idle.push(thread)
    })
    running.set(id, done)
    const stop = (): void => void kill(id, done)
    signal?.addEventListener('abort', stop, { once: true })
    try {
      return await done
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }
  return {
    read: (read: EngineRead): Promise<Buffer> => limits[read.share](() => run(read)),
    close: async (): Promise<void> => {
      closed = true
      await Promise.all([...running].map(([id, done]) => kill(id, done)))
      await Promise.all(idle.map((thread) => thread.close()))
    },
  }
}

/**
 * The engine in this process, over a folder. A connection answers one statement after the other, and each that waits inside
 * it holds a thread of Node's pool: reads would stand behind inserts, and files, keys and compression behind both. So reads
 * have threads with connections of their own, the one that writes has one statement in hand beside the one under way, and
 * one more ends statements: `KILL QUERY` reaches every connection of the process. Parameters go by `SET param_name`, because
 * the driver runs statements with bound parameters one after the other for the whole process. `writeSettings` hold for every
 * statement that writes: they are said once, since the driver would send each as a statement of its own before every insert.
 */
export const openEmbeddedEngine = async (
  path: string,
  json: object,
  writeSettings: ClickHouseSettings,
): Promise<Engine> => {
  const { createChdbConnection } = await import('chdb/connection')
  // Both packages carry the same interface, but under two copies of the client's types.
  const connect = () =>
    createClient({ connection: createChdbConnection({ path }) as never, json: json as never })
  const writer = connect()
  await writer.command({ query: setStatementSql(writeSettings) })
  const control = connect()
  const reads = makeReaderPool(path, makeQueryKiller(control))
  return {
    places: READ_CONCURRENCY,
    isExclusive: true,
    read: reads.read,
    writing: makeClientPool([writer, writer]),
    close: async () => {
      await reads.close()
      for (const client of [control, writer]) await client.close()
    },
  }
}
