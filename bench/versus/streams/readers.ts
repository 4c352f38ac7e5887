import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { stopChild } from '../run.ts'
import type { ReaderOrder, ReaderWord, SideName } from './messages.ts'

const CHILD = fileURLToPath(new URL('./readers-child.ts', import.meta.url))
/** Sockets of one server in one process: its share of the usual 20,000 open files, with both servers. */
const SOCKETS_PER_PROCESS = 5_000
const LIMIT_MS = 60_000

/** What all sockets of a server have received. */
export interface Received {
  /** When the last message came. */
  readonly atNs: number
  readonly latenciesMs: readonly number[]
  readonly sample: string
}

/** Where a server is, and what its sockets subscribe to: socket `index` to `channelOf(index)`. */
export interface ReadableServer {
  readonly side: SideName
  readonly port: number
  readonly token: string
  readonly channelOf: (index: number) => string
}

/** The clients: the same processes read from both servers. */
export interface Readers {
  open(server: ReadableServer): Promise<void>
  /** Counts what comes once this resolves; `received` does when every socket of the server has `perSocket` messages. */
  expect(side: SideName, perSocket: number): Promise<{ readonly received: Promise<Received> }>
  stop(): Promise<unknown>
}

/** Starts as many processes as the sockets of each server need. */
export const startReaders = (sockets: number): Readers => {
  const starts = Array.from(
    { length: Math.ceil(sockets / SOCKETS_PER_PROCESS) },
    (_, index) => index * SOCKETS_PER_PROCESS,
  )
  const processes = starts.map((first) =>
    startProcess(first, Math.min(SOCKETS_PER_PROCESS, sockets - first)),
  )
  return {
    open: async (server) => {
      await Promise.all(processes.map((one) => one.open(server)))
    },
    expect: async (side, perSocket) => {
      const expected = await Promise.all(processes.map((one) => one.expect(side, perSocket)))
      return { received: together(expected.map(({ received }) => received)) }
    },
    stop: () => Promise.all(processes.map((one) => one.stop())),
  }
}

/** What the processes have received, each its share. */
const together = async (shares: readonly Promise<Received>[]): Promise<Received> => {
  const words = await Promise.all(shares)
  return {
    atNs: Math.max(...words.map(({ atNs }) => atNs)),
    latenciesMs: words.flatMap(({ latenciesMs }) => latenciesMs),
    sample: words[0]?.sample ?? '',
  }
}

/** The next word of a kind. Rejects where the process fails, ends, or does not say it in time. */
const nextWord = <Kind extends ReaderWord['kind']>(child: ChildProcess, kind: Kind) =>
  new Promise<Extract<ReaderWord, { kind: Kind }>>((resolve, reject) => {
    const settle = (use: () => void): void => {
      clearTimeout(timer)
      child.off('message', hear).off('exit', gone)
      use()
    }
    const fail = (why: string): void => settle(() => reject(new Error(`readers: ${why}`)))
    const hear = (word: ReaderWord): void => {
      if (word.kind === 'failed') fail(word.why)
      else if (word.kind === kind)
        settle(() => resolve(word as Extract<ReaderWord, { kind: Kind }>))
    }
    const gone = (code: number | null): void => fail(`ended with ${code}`)
    const timer = setTimeout(() => fail(`not '${kind}' in time`), LIMIT_MS)
    child.on('message', hear).on('exit', gone)
  })

/** One process with the sockets from number `first` on. */
const startProcess = (first: number, sockets: number) => {
  const child = fork(CHILD, { execArgv: ['--import', import.meta.resolve('tsx')] })
  const send = (order: ReaderOrder): void => void child.send(order)
  return {
    open: ({ side, port, token, channelOf }: ReadableServer) => {
      const channels = Array.from({ length: sockets }, (_, index) => channelOf(first + index))
      send({ kind: 'open', side, port, token, channels })
      return nextWord(child, 'opened')
    },
    expect: async (side: SideName, perSocket: number) => {
      const received = nextWord(child, 'received')
      // Waited for by the caller; until then a failure must not end the process.
      received.catch(() => undefined)
      send({ kind: 'expect', side, count: perSocket * sockets })
      await nextWord(child, 'expecting')
      return { received }
    },
    stop: () => stopChild(child),
  }
}
