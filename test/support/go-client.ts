import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { cachedPath, fetchOnce, runProgram } from './download.ts'

const SOURCES = fileURLToPath(new URL('./go/centrifuge-client/', import.meta.url))
/** Named after the version of centrifuge-go in go.mod. */
const PROGRAM = cachedPath('centrifuge-go-0.12.1')
/** Compiling it the first time takes half a minute on a quiet core. */
const BUILD_TIMEOUT_MS = 240_000

/** Compiles the Go client of Centrifuge. Needs Go 1.25 on the path, the first time with a network (Go's module proxy). */
export const buildGoClient = (): Promise<void> =>
  fetchOnce(PROGRAM, async (draft) => {
    await runProgram('go', ['build', '-o', join(draft, 'client'), '.'], {
      cwd: SOURCES,
      timeout: BUILD_TIMEOUT_MS,
    })
  })

/** What the client prints: the name of the event with its fields. */
export interface GoEvent {
  readonly event: string
  readonly offset?: number
  readonly data?: unknown
  readonly code?: unknown
  readonly recovered?: boolean
  readonly recoverable?: boolean
  readonly publications?: readonly { readonly offset: number; readonly data: unknown }[]
}

export interface GoClient {
  /** Everything printed so far. */
  readonly events: readonly GoEvent[]
  ask(command: 'history' | 'rpc'): void
  /** Disconnects it. Resolves with the exit status. */
  close(): Promise<number | null>
}

/** Connects and subscribes to one channel. */
export const startGoClient = (asked: {
  readonly url: string
  readonly token: string
  readonly encoding: 'json' | 'protobuf'
  readonly delta: 'fossil' | 'none'
  readonly channel: string
}): GoClient => {
  const words = [asked.url, asked.token, asked.encoding, asked.delta, asked.channel]
  const child = spawn(join(PROGRAM, 'client'), words, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const events: GoEvent[] = []
  createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line)))
  return {
    events,
    ask: (command) => child.stdin.write(`${command}\n`),
    async close() {
      child.stdin.end()
      return await ended
    },
  }
}
