import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { cachedPath, runProgram } from './download.ts'
import { type RustOperation, rustDispatch, rustOperations } from './rust-operations.ts'

const SOURCES = fileURLToPath(new URL('./rust/read-sdk/', import.meta.url))
const SDK = 'chainstream-sdk'
/** Sources with the one that is generated, and what cargo makes of them; named after the version of the crate in Cargo.toml. */
const FOLDER = cachedPath('chainstream-sdk-2.1.8-rust')
/** Compiling the crate the first time takes minutes on a core that others use too. */
const BUILD_TIMEOUT_MS = 2_400_000

/** Writes what differs: cargo compiles again what is newer than its result. */
const writeChanged = (file: string, text: string): void => {
  mkdirSync(dirname(file), { recursive: true })
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text)
}

/** Every operation of the crate, and the program that calls them. */
export interface RustSdk {
  readonly program: string
  readonly operations: readonly RustOperation[]
}

/** Compiles the program that drives the SDK for Rust. Needs cargo on the path, the first time with a network (crates.io). */
export const buildRustSdk = async (): Promise<RustSdk> => {
  for (const name of [
    'Cargo.toml',
    ...readdirSync(join(SOURCES, 'src')).map((one) => `src/${one}`),
  ]) {
    writeChanged(join(FOLDER, name), readFileSync(join(SOURCES, name), 'utf8'))
  }
  const options = { cwd: FOLDER, timeout: BUILD_TIMEOUT_MS, maxBuffer: 64 << 20 }
  const facts = JSON.parse(
    await runProgram('cargo', ['metadata', '--format-version', '1'], options),
  ) as { readonly packages: readonly { readonly name: string; readonly manifest_path: string }[] }
  const manifest = facts.packages.find(({ name }) => name === SDK)?.manifest_path
  if (manifest === undefined) throw new Error(`cargo does not know ${SDK}`)
  const source = readFileSync(join(dirname(manifest), 'src/openapi/api.rs'), 'utf8')
  const operations = rustOperations(source)
  writeChanged(join(FOLDER, 'src/operations.rs'), rustDispatch(operations))
  await runProgram('cargo', ['build', '--jobs', '1'], {
    ...options,
    env: { ...process.env, CARGO_TARGET_DIR: join(FOLDER, 'target') },
  })
  return { program: join(FOLDER, 'target/debug/read-sdk'), operations }
}

/** What the crate made of a call. */
export type RustAnswer =
  | { readonly answered: unknown }
  /** The status and the body of an error. */
  | { readonly status: number; readonly text: string }
  /** Why the crate could not take the answer, and the answer. */
  | { readonly unread: string; readonly text: string }
  /** Why the crate did not send it. */
  | { readonly refused: string }

/** What the stream client of the crate heard, by chain and subscription. */
export interface RustHeard {
  readonly heard: Readonly<Record<string, string>>
  /** Whether the connection was open at the end. */
  readonly open: boolean
}

export interface RustDriver {
  call(operation: string, given: Readonly<Record<string, unknown>>): Promise<RustAnswer>
  /** Until all of `wanted` called back; without `wanted`, for all the seconds. */
  listen(asked: {
    readonly url: string
    readonly examples: readonly object[]
    readonly wanted: readonly string[]
    readonly seconds: number
  }): Promise<RustHeard>
  close(): Promise<void>
}

/** Starts the program on a server. */
export const startRustSdk = (program: string, baseUrl: string, token: string): RustDriver => {
  const child = spawn(program, [baseUrl, token], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask = async <T>(line: object): Promise<T> => {
    child.stdin.write(`${JSON.stringify(line)}\n`)
    const answer = await lines.next()
    if (answer.done) throw new Error(`the program ended at ${JSON.stringify(line)}`)
    return JSON.parse(answer.value) as T
  }
  return {
    call: (operation, given) => ask<RustAnswer>({ operation, given }),
    listen: async (asked) => {
      const heard = await ask<RustHeard | { readonly refused: string }>({ listen: asked })
      if ('refused' in heard) throw new Error(heard.refused)
      return heard
    },
    async close() {
      child.stdin.end()
      await ended
    },
  }
}
