import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type ClickHouseClient, createClient } from '@clickhouse/client'
import pLimit, { type LimitFunction } from 'p-limit'
import { Outage } from '../errors.ts'
import {
  type Engine,
  type EngineRead,
  killText,
  type ReadPlaces,
  type ReadShare,
  type Using,
} from './engine.ts'
import { setText } from './literals.ts'
import { type ReaderThread, startReaderThread } from './reader-threads.ts'

const CORES = availableParallelism()

/**
 * Three of each, so that one organization's two leave a place for another; two scans on two processors, where one more would
 * take both. The product's own reads are beside them.
 */
const PLACES: ReadPlaces = { point: 3, scan: CORES > 2 ? 3 : 2, internal: 2 }

/** Pause between two attempts to end a statement: one that has not begun yet cannot be ended. */
const KILL_AGAIN_MS = 50

/** Threads of one statement: all scans of one organization take half of the processors, cheap reads what they find. */
const threadsOf = (share: ReadShare): number => (share === 'scan' ? Math.max(1, CORES >> 2) : CORES)

/** One statement at a time for each place; a later one waits here. */
const taking = (places: readonly ClickHouseClient[]): Using => {
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
interface Running {
  /** Ends the statement `id` inside the engine, again and again until `done`. */
  kill(id: string, done: Promise<unknown>): Promise<void>
}

const killer = (control: ClickHouseClient): Running => ({
  kill: async (id, done) => {
    let isOver = false
    const over = (): void => {
      isOver = true
    }
    done.then(over, over)
    while (!isOver) {
      await control.command({ query: killText(id) }).catch(() => undefined)
      await Promise.race([
        done.catch(() => undefined),
        delay(KILL_AGAIN_MS, undefined, { ref: false }),
      ])
    }
  },
})

/** Reads over threads that are started when they are first needed. */
const makeReads = (path: string, { kill }: Running) => {
  const idle: ReaderThread[] = []
  const running = new Map<string, Promise<unknown>>()
  const limits = Object.fromEntries(
    Object.entries(PLACES).map(([share, places]) => [share, pLimit(places)]),
  ) as Record<ReadShare, LimitFunction>
  let closed = false
  const run = async ({ sql, params, format, settings, share, signal }: EngineRead) => {
    signal?.throwIfAborted()
    if (closed) throw new Outage('warehouse', 'the warehouse is closed')
    const id = randomUUID()
    const set = setText({ ...settings, max_threads: threadsOf(share), log_comment: id }, params)
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
    read: (read: EngineRead): Promise<string> => limits[read.share](() => run(read)),
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
 * the driver runs statements with bound parameters one after the other for the whole process.
 */
export const embeddedEngine = async (path: string, json: object): Promise<Engine> => {
  const { createChdbConnection } = await import('chdb/connection')
  // Both packages carry the same interface, but under two copies of the client's types.
  const connect = () =>
    createClient({ connection: createChdbConnection({ path }) as never, json: json as never })
  const writer = connect()
  const control = connect()
  const reads = makeReads(path, killer(control))
  return {
    places: PLACES,
    read: reads.read,
    writing: taking([writer, writer]),
    close: async () => {
      await reads.close()
      for (const client of [control, writer]) await client.close()
    },
  }
}
