import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)
/** Downloads of the tests: jars, a Java runtime, clients in Python, kept between runs. */
const CACHE = process.env.SLUICE_TEST_CACHE ?? join(homedir(), '.cache', 'sluice-test')
/** For a download, or whole topics, on a machine that others use too. */
const PROGRAM_TIMEOUT_MS = 240_000

/** Folder of a download. */
export const cachedPath = (name: string): string => join(CACHE, name)

/** Makes the folder unless it is complete; a download that stalls or breaks begins again, twice. */
export const fetchOnce = async (
  target: string,
  make: (draft: string) => Promise<void>,
): Promise<void> => {
  for (let left = 2; ; left -= 1) {
    try {
      return await fetchInto(target, make)
    } catch (error) {
      if (left === 0) throw error
    }
  }
}

const fetchInto = async (target: string, make: (draft: string) => Promise<void>): Promise<void> => {
  if (existsSync(join(target, '.complete'))) return
  await mkdir(dirname(target), { recursive: true })
  const draft = await mkdtemp(`${target}-`)
  await make(draft)
  await writeFile(join(draft, '.complete'), '')
  await rename(draft, target).catch(async () => {
    await rm(draft, { recursive: true, force: true })
    if (!existsSync(join(target, '.complete'))) throw new Error(`${target} is in the way`)
  })
}

/** Runs a program to its end; one that does not end is ended, and says so. */
export const runProgram = async (
  program: string,
  args: readonly string[],
  options: Parameters<typeof execute>[2] = {},
): Promise<string> => {
  try {
    const { stdout } = await execute(program, args, { timeout: PROGRAM_TIMEOUT_MS, ...options })
    return String(stdout)
  } catch (error) {
    if ((error as { killed?: boolean }).killed !== true) throw error
    throw new Error(`${program} ${args[0] ?? ''} did not end within its limit`)
  }
}
