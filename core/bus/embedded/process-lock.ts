import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { Outage } from '../../errors.ts'
import { placeWhole } from '../../runtime/atomic-file.ts'

/** Who holds a folder. `birth` tells a process from a later one with the same pid; undefined where the system does not say. */
export interface Owner {
  readonly pid: number
  readonly birth?: string
  /** Within which the pid means something: start of the system and PID namespace; undefined where the system does not say. */
  readonly space?: string
}

/** This process as an owner. */
export const thisOwner = (): Owner => ownerOf(process.pid)

/** File of a folder that names its owner. */
const OWNER_FILE = 'owner.json'
/** A claim fails as often only where others take and leave the folder all the time. */
const TRIES = 1_200
/** Pause between two tries, while another process removes the file of a dead owner; all of them are longer than `REMOVAL_MS`. */
const PAUSE_MS = 5
/** Removing such a file takes less than a millisecond: who has not done so by then was killed meanwhile. */
const REMOVAL_MS = 5_000

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** How often an owner says that it lives, and for how long that counts where its pid means nothing: in other containers. */
const BEAT_MS = 5_000
const LEASE_MS = 30_000

/** Text of a file; undefined where there is none. */
const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Owner that a file's text names; undefined for one that a power cut left without its content. */
const ownerIn = (text: string | undefined): Owner | undefined => {
  if (text === undefined) return undefined
  try {
    const owner = JSON.parse(text) as Owner | null
    const isProcess = owner !== null && Number.isSafeInteger(owner.pid) && owner.pid > 0
    return isProcess ? owner : undefined
  } catch {
    return undefined
  }
}

const ageMs = (path: string): number =>
  Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)

/** The owner that a file's text names, if it lives; in another PID namespace or machine it does while it says so. */
const heldBy = (path: string, text: string | undefined): Owner | undefined => {
  const owner = ownerIn(text)
  if (owner === undefined) return undefined
  if (owner.space === thisOwner().space) return isLive(owner) ? owner : undefined
  return ageMs(path) < LEASE_MS ? owner : undefined
}

/** Says again and again that this process lives. Returns what ends it. */
const beating = (path: string): (() => void) => {
  const timer = setInterval(() => {
    try {
      const now = new Date()
      utimesSync(path, now, now)
    } catch {
      // Gone: the claim has ended.
    }
  }, BEAT_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * Removes the file of a dead owner. One process at a time has the right to remove just this text, so that the file of whoever
 * claims the folder meanwhile stays.
 */
const removeStale = (path: string, text: string): void => {
  const right = `${path}.${createHash('sha1').update(text).digest('hex')}`
  if (!placeWhole(right, JSON.stringify(thisOwner()))) {
    if (ageMs(right) > REMOVAL_MS) rmSync(right, { force: true })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
    return
  }
  try {
    if (textOf(path) === text) rmSync(path)
  } finally {
    rmSync(right, { force: true })
  }
}

/** The live process that holds a folder; undefined: none does. */
export const liveOwner = (folder: string): Owner | undefined => {
  const path = join(folder, OWNER_FILE)
  return heldBy(path, textOf(path))
}

/**
 * Makes this process the only one that uses a folder, until it calls what is returned. Throws `Outage` (final) while another live
 * process does; a killed one does not count, one of another container counts for half a minute.
 *
 * To be called before anything in the folder is opened: lmdb resets the number of the newest transaction whenever an environment is
 * opened, so even a reader that opens it beside a writer can undo a commit or end the writer.
 */
export const claimFolder = (folder: string): (() => void) => {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, OWNER_FILE)
  for (let left = TRIES; left > 0; left -= 1) {
    if (placed(path)) {
      const stop = beating(path)
      return () => {
        stop()
        rmSync(path, { force: true })
      }
    }
    const text = textOf(path)
    const holder = heldBy(path, text)
    if (holder !== undefined) throw inUse(folder, holder)
    if (text !== undefined) removeStale(path, text)
  }
  throw new Outage('bus', `${folder} changes hands all the time`, { final: true })
}

const placed = (path: string): boolean => {
  try {
    return placeWhole(path, JSON.stringify(thisOwner()))
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new Outage('disk', `${path} cannot be written: ${message}`, { final: true, cause })
  }
}

const inUse = (folder: string, { pid, space }: Owner): Outage => {
  const where = space === thisOwner().space ? '' : ' of another container or machine'
  return new Outage('bus', `${folder} is in use by process ${pid}${where}`, { final: true })
}

const ownerOf = (pid: number): Owner => {
  const [birth, space] = [birthOf(pid), pidSpace()]
  return { pid, ...(birth !== undefined && { birth }), ...(space !== undefined && { space }) }
}

const pidSpace = (): string | undefined => {
  try {
    return `${bootId()}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return undefined
  }
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
