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
const OWNER_ONLY_MODE = 0o600

/** Writes beside a path and hands the draft on; the name is no other process's. The draft does not stay. */
const withTemporaryFile = <T>(path: string, text: string, use: (draft: string) => T): T => {
  const draft = `${path}.${randomUUID()}`
  try {
    writeFileSync(draft, text, { mode: OWNER_ONLY_MODE, flush: true })
    return use(draft)
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Puts on disk which files a folder holds. */
const fsyncParentFolder = (path: string): void => {
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Writes a file whole or not at all, on disk when it returns. Of processes that do so at once, the last one's file stays. */
export const writeFileAtomically = (path: string, text: string): void => {
  withTemporaryFile(path, text, (draft) => renameSync(draft, path))
  fsyncParentFolder(path)
}

/** Writes a file whole unless there is one: of processes that do so at once, one gets true. */
export const createFileAtomically = (path: string, text: string): boolean => {
  const isPlaced = withTemporaryFile(path, text, (draft) => tryLink(draft, path))
  if (isPlaced) fsyncParentFolder(path)
  return isPlaced
}

const tryLink = (file: string, path: string): boolean => {
  try {
    linkSync(file, path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}
