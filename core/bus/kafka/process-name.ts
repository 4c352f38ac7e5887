import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Outage } from '../../errors.ts'
import { writeFileAtomically } from '../../runtime/atomic-file.ts'
import {
  acquireFolderLock,
  currentOwner,
  isProcessAlive,
  type LockOwner,
  liveOwner,
} from '../embedded/process-lock.ts'

/** A name that this process has until it lets go of it; the next process on the same folder takes it up. */
export interface ProcessName {
  readonly name: string
  release(): void
}

/** Folder of the list, beside those of the processes. */
export const NAMES_FOLDER = '.names'

/** Folder of a process by its name. */
export const processFolder = (folder: string, name: string): string =>
  join(folder, encodeURIComponent(name))

interface NameSlot {
  readonly host: string
  readonly name: string
  readonly owner: LockOwner | null
}

/** Another process has the list of names for milliseconds. */
const MAX_ATTEMPTS = 200
const RETRY_DELAY_MS = 10

/**
 * Takes the first name of a folder that no live process of this machine has, or makes one. Processes that share a folder
 * get different names, and one that starts again gets its own back. Throws `Outage` when the list cannot be had.
 */
export const acquireProcessName = (folder: string): ProcessName => {
  const host = hostname()
  let name = ''
  updateNames(folder, (slots) => {
    // A process of another container with this host name is seen by the claim of its folder only.
    const isFree = (slot: NameSlot): boolean =>
      !(slot.owner && isProcessAlive(slot.owner)) &&
      liveOwner(processFolder(folder, slot.name)) === undefined
    const free = slots.find((slot) => slot.host === host && isFree(slot))
    name = free?.name ?? randomUUID()
    return [...slots.filter((slot) => slot !== free), { host, name, owner: currentOwner() }]
  })
  return {
    name,
    release: () =>
      updateNames(folder, (slots) =>
        slots.map((slot) => (slot.name === name ? { ...slot, owner: null } : slot)),
      ),
  }
}

const updateNames = (
  folder: string,
  change: (slots: readonly NameSlot[]) => readonly NameSlot[],
): void => {
  const path = join(folder, NAMES_FOLDER)
  mkdirSync(path, { recursive: true })
  const release = lockWithRetry(path)
  try {
    const file = join(path, 'names.json')
    const slots = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as NameSlot[]) : []
    writeFileAtomically(file, JSON.stringify(change(slots)))
  } finally {
    release()
  }
}

/** The claim is held for milliseconds and taken as a process starts and ends: waiting for it delays no other process. */
const lockWithRetry = (path: string): (() => void) => {
  for (let left = MAX_ATTEMPTS; ; left -= 1) {
    try {
      return acquireFolderLock(path)
    } catch (error) {
      if (!(error instanceof Outage) || left === 0) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_DELAY_MS)
    }
  }
}
