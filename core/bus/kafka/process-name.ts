import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Outage } from '../../errors.ts'
import { writeWhole } from '../../runtime/atomic-file.ts'
import { claimFolder, isLive, liveOwner, type Owner, thisOwner } from '../embedded/process-lock.ts'

/** A name that this process has until it lets go of it; the next process on the same folder takes it up. */
export interface ProcessName {
  readonly name: string
  release(): void
}

/** Folder of the list, beside those of the processes. */
export const NAMES = '.names'

/** Folder of a process by its name. */
export const folderOf = (folder: string, name: string): string =>
  join(folder, encodeURIComponent(name))

interface Slot {
  readonly host: string
  readonly name: string
  readonly owner: Owner | null
}

/** Another process has the list of names for milliseconds. */
const TRIES = 200
const PAUSE_MS = 10

/**
 * Takes the first name of a folder that no live process of this machine has, or makes one. Processes that share a folder
 * get different names, and one that starts again gets its own back. Throws `Outage` when the list cannot be had.
 */
export const takeName = (folder: string): ProcessName => {
  const host = hostname()
  let name = ''
  withNames(folder, (slots) => {
    // A process of another container with this host name is seen by the claim of its folder only.
    const isFree = (slot: Slot): boolean =>
      !(slot.owner && isLive(slot.owner)) && liveOwner(folderOf(folder, slot.name)) === undefined
    const free = slots.find((slot) => slot.host === host && isFree(slot))
    name = free?.name ?? randomUUID()
    return [...slots.filter((slot) => slot !== free), { host, name, owner: thisOwner() }]
  })
  return {
    name,
    release: () =>
      withNames(folder, (slots) =>
        slots.map((slot) => (slot.name === name ? { ...slot, owner: null } : slot)),
      ),
  }
}

const withNames = (folder: string, change: (slots: readonly Slot[]) => readonly Slot[]): void => {
  const path = join(folder, NAMES)
  mkdirSync(path, { recursive: true })
  const release = claimSoon(path)
  try {
    const file = join(path, 'names.json')
    const slots = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Slot[]) : []
    writeWhole(file, JSON.stringify(change(slots)))
  } finally {
    release()
  }
}

/** The claim is held for milliseconds and taken as a process starts and ends: waiting for it stops nobody else. */
const claimSoon = (path: string): (() => void) => {
  for (let left = TRIES; ; left -= 1) {
    try {
      return claimFolder(path)
    } catch (error) {
      if (!(error instanceof Outage) || left === 0) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
    }
  }
}
