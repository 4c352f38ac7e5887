import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** A file that has not ended by then is killed and has failed. */
const FILE_LIMIT_MS = 15 * 60_000
/** Output of a file that is read: its first part, and as much of its end, in bytes. */
const KEPT_BYTES = 2 ** 20

/** How often the output of a file that runs alone is printed. */
const FOLLOW_MS = 500

/** A file, and how it is run. */
export interface TestFile {
  readonly path: string
  readonly environment?: Readonly<Record<string, string>>
  /** Further words for Node. */
  readonly words?: readonly string[]
}

/** What is run when, each list in its order. */
export interface TestFiles {
  /** As many side by side as there are cores. */
  readonly together: readonly TestFile[]
  /** Wait much: one of them runs beside the others, and more where none of the others is left. */
  readonly waiting?: readonly TestFile[]
  /** One after the other when all others have ended. */
  readonly alone?: readonly TestFile[]
}

/** How files are run. */
export interface RunFilesOptions {
  /** Files side by side, of those that do not wait much. */
  readonly width: number
  readonly cwd: string
  readonly limitMs?: number
  /** Takes the output of one file after the other; of one that runs alone also while it comes. */
  readonly print: (text: string) => void
}

/** Without what makes a file that is run by `node --test` answer in the runner's own format. */
const { NODE_TEST_CONTEXT: _, ...OWN_ENVIRONMENT } = process.env

interface FileResult {
  readonly file: string
  readonly isPassed: boolean
  readonly seconds: number
  readonly output: string
}

/** What a file printed, from a place on; of much only the first and the last part. */
const readOutput = (path: string, from = 0): string => {
  const { size } = statSync(path)
  const length = size - from
  const file = openSync(path, 'r')
  const part = (start: number, bytes: number): string => {
    const buffer = Buffer.alloc(bytes)
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, bytes, start))
  }
  try {
    if (length <= 2 * KEPT_BYTES) return part(from, length)
    const gap = `\n... ${length - 2 * KEPT_BYTES} bytes left out ...\n`
    return part(from, KEPT_BYTES) + gap + part(size - KEPT_BYTES, KEPT_BYTES)
  } finally {
    closeSync(file)
  }
}

/** Prints what is added to a file until it is stopped. */
const follow = (path: string, print: (text: string) => void): (() => void) => {
  let printed = 0
  const printNew = (): void => {
    const { size } = statSync(path)
    if (size > printed) print(readOutput(path, printed))
    printed = size
  }
  const timer = setInterval(printNew, FOLLOW_MS)
  return () => {
    clearInterval(timer)
    printNew()
  }
}

/** A process that is made to exit loses what it wrote to a pipe and has not been read; what it wrote to a file stays. */
const runFile = async (
  { path: file, environment, words = [] }: TestFile,
  { cwd, limitMs = FILE_LIMIT_MS, print }: RunFilesOptions,
  isAlone: boolean,
): Promise<FileResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-output-'))
  const path = join(folder, 'output')
  const startedMs = Date.now()
  const out = openSync(path, 'w')
  const stop = isAlone ? follow(path, print) : () => undefined
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--test-reporter=spec', ...words, file],
    { cwd, env: { ...OWN_ENVIRONMENT, ...environment }, stdio: ['ignore', out, out] },
  )
  closeSync(out)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, limitMs)
  try {
    const [code, signal] = await once(child, 'exit')
    const late = isLate
      ? `\n${file} has not ended within ${limitMs / 1_000} s and was killed\n`
      : ''
    const ended = signal === null || isLate ? '' : `\n${file} was ended by ${signal}\n`
    const output = readOutput(path) + late + ended
    return { file, isPassed: code === 0, seconds: (Date.now() - startedMs) / 1_000, output }
  } finally {
    clearTimeout(timer)
    stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const COUNT_LINE = /^ℹ (\w+) ([\d.]+)$/
const FAILED_SECTION = '✖ failing tests:'

/** The lines of a file's output that tell of its tests, without the counts at its end. */
const withoutCounts = (output: string): string =>
  output
    .split('\n')
    .filter((line) => !COUNT_LINE.test(line))
    .join('\n')

const failedSection = ({ file, output }: FileResult): string => {
  const at = output.lastIndexOf(FAILED_SECTION)
  return `\n${file}\n${at === -1 ? output.slice(-4_000) : output.slice(at)}`
}

const countOf = (name: string, results: readonly FileResult[]): number =>
  results
    .flatMap(({ output }) => output.split('\n'))
    .reduce((sum, line) => {
      const match = COUNT_LINE.exec(line)
      return match?.[1] === name ? sum + Number(match[2]) : sum
    }, 0)

/**
 * Runs test files, each in a process of its own, and prints what they print, one after the other, and at the end once more what
 * failed; gives the paths of those that did. The exit status of a file decides. Node's own runner reads results from the output of
 * its children: version 20 waits for ever, using a whole core, where `--test-force-exit` cut that off.
 */
export const runFiles = async (
  files: TestFiles,
  options: RunFilesOptions,
): Promise<readonly string[]> => {
  const { width, print } = options
  const results: FileResult[] = []
  /** Runs the first file of the first queue that has one, until none has. */
  const runQueues = async (queues: readonly TestFile[][], isAlone = false): Promise<void> => {
    for (;;) {
      const file = queues.find((queue) => queue.length > 0)?.shift()
      if (file === undefined) return
      const result = await runFile(file, options, isAlone)
      const rest = isAlone ? '' : `\n${withoutCounts(result.output)}`
      print(`# ${basename(result.file)}: ${result.seconds.toFixed(1)} s${rest}\n`)
      results.push(result)
    }
  }
  const [together, waiting] = [[...files.together], [...(files.waiting ?? [])]]
  const lanes = Array.from({ length: width }, () => runQueues([together, waiting]))
  await Promise.all([...lanes, runQueues([waiting])])
  await runQueues([[...(files.alone ?? [])]], true)
  const counts = ['tests', 'pass', 'fail', 'cancelled', 'skipped', 'todo']
  print(`\n${counts.map((name) => `${name} ${countOf(name, results)}`).join(', ')}\n`)
  const failed = results.filter(({ isPassed }) => !isPassed)
  for (const result of failed) print(failedSection(result))
  return failed.map(({ file }) => file)
}
