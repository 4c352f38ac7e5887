import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

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

/** Puts on disk which files a folder holds. */
const syncFolder = (path: string): void => {
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Writes a file whole or not at all, on disk when it returns. Of processes that do so at once, the last one's file stays. */
export const writeWhole = (path: string, text: string): void => {
  drafted(path, text, (draft) => renameSync(draft, path))
  syncFolder(path)
}

/** Writes a file whole unless there is one: of processes that do so at once, one gets true. */
export const placeWhole = (path: string, text: string): boolean => {
  const isPlaced = drafted(path, text, (draft) => linkedTo(draft, path))
  if (isPlaced) syncFolder(path)
  return isPlaced
}

const linkedTo = (file: string, path: string): boolean => {
  try {
    linkSync(file, path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}
