import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Outage } from './fault.ts'

/** Who holds a folder. `birth` tells a process from a later one with the same pid; undefined where the system does not say. */
export interface Owner {
  readonly pid: number
  readonly birth?: string
}

/** This process as an owner. */
export const thisOwner = (): Owner => ownerOf(process.pid)

/** File of a folder that names its owner. */
const OWNER_FILE = 'owner.json'
/** A claim fails as often only where others take and leave the folder all the time. */
const TRIES = 20

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** Owner that a file names; undefined where there is no such file. */
const readOwner = (path: string): Owner | undefined => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Owner
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Puts a whole file in its place, unless one is there. */
const placed = (draft: string, path: string): boolean => {
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Takes the file of a dead owner away. Should it be a new owner's by now, it is put back. */
const removeStale = (path: string): void => {
  const aside = `${path}.${randomUUID()}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  const owner = readOwner(aside)
  if (owner !== undefined && isLive(owner)) placed(aside, path)
  rmSync(aside)
}

/** The live process that holds a folder; undefined: none does. */
export const liveOwner = (folder: string): Owner | undefined => {
  const owner = readOwner(join(folder, OWNER_FILE))
  return owner !== undefined && isLive(owner) ? owner : undefined
}

/**
 * Makes this process the only one that uses a folder, until it calls what is returned. Throws `Outage` (final) while another live process
 * does; a killed one does not count. To be called before anything in the folder is opened: lmdb resets the number of the newest
 * transaction whenever an environment is opened, so even a reader that opens it beside a writer can undo a commit or end the writer.
 */
export const claimFolder = (folder: string): (() => void) => {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, OWNER_FILE)
  const draft = `${path}.${randomUUID()}`
  writeFileSync(draft, JSON.stringify(thisOwner()), { mode: 0o600 })
  try {
    for (let left = TRIES; left > 0; left -= 1) {
      if (placed(draft, path)) return () => rmSync(path, { force: true })
      const holder = readOwner(path)
      if (holder !== undefined && isLive(holder)) {
        throw new Outage('bus', `${folder} is in use by process ${holder.pid}`, { final: true })
      }
      removeStale(path)
    }
    throw new Outage('bus', `${folder} changes hands all the time`, { final: true })
  } finally {
    rmSync(draft, { force: true })
  }
}

const ownerOf = (pid: number): Owner => {
  const birth = birthOf(pid)
  return birth === undefined ? { pid } : { pid, birth }
}

/** True when the process that a mark names still runs on this machine. */
export const isLive = (holder: Owner): boolean => {
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const birth = birthOf(holder.pid)
  return birth === undefined || holder.birth === undefined || birth === holder.birth
}

/** Names the start of this system (random(4)); undefined where the system does not say. */
export const bootId = (): string | undefined => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return undefined
  }
}

/** Boot and start tick on Linux (proc_pid_stat(5), field 22); elsewhere only this process knows when it began. */
const birthOf = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return `${bootId()}/${fields[19]}`
  } catch {
    return pid === process.pid ? String(performance.timeOrigin) : undefined
  }
}
