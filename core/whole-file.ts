import { randomUUID } from 'node:crypto'
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs'

/** Secrets and claims among them: readable by their owner only. */
const OWNER_FILE = 0o600

/** Writes beside a path and hands the draft on; the name is no other process's. The draft does not stay. */
const drafted = <T>(path: string, text: string, use: (draft: string) => T): T => {
  const draft = `${path}.${randomUUID()}`
  try {
    writeFileSync(draft, text, { mode: OWNER_FILE, flush: true })
    return use(draft)
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Writes a file whole or not at all, on disk when it returns. Of processes that do so at once, the last one's file stays. */
export const writeWhole = (path: string, text: string): void =>
  drafted(path, text, (draft) => renameSync(draft, path))

/** Writes a file whole unless there is one: of processes that do so at once, one gets true. */
export const placeWhole = (path: string, text: string): boolean =>
  drafted(path, text, (draft) => linkedTo(draft, path))

/** Gives a file a second name unless something has it. */
export const linkedTo = (file: string, path: string): boolean => {
  try {
    linkSync(file, path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}
