import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { Outage } from '../../errors.ts'
import { createFileAtomically } from '../../runtime/atomic-file.ts'

/** Who holds a folder. `birth` tells a process from a later one with the same pid; undefined where the system does not say. */
export interface LockOwner {
  readonly pid: number
  readonly birth?: string
  /** Within which the pid means something: start of the system and PID namespace; undefined where the system does not say. */
  readonly space?: string
}

/** This process as an owner. */
export const currentOwner = (): LockOwner => ownerOfProcess(process.pid)

/** File of a folder that names its owner. */
const LOCK_FILE = 'owner.json'
/** A claim fails as often only where others take and leave the folder all the time. */
const MAX_ATTEMPTS = 1_200
/** Pause between two tries, while another process removes the file of a dead owner; all of them are longer than `MAX_REMOVAL_MS`. */
const RETRY_DELAY_MS = 5
/** Removing such a file takes less than a millisecond: who has not done so by then was killed meanwhile. */
const MAX_REMOVAL_MS = 5_000

const errorCode = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** How often an owner says that it lives, and for how long that counts where its pid means nothing: in other containers. */
const HEARTBEAT_INTERVAL_MS = 5_000
const LEASE_MS = 30_000

/** Text of a file; undefined where there is none. */
const readIfExists = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Owner that a file's text names; undefined for one that a power cut left without its content. */
const parseOwner = (text: string | undefined): LockOwner | undefined => {
  if (text === undefined) return undefined
  try {
    const owner = JSON.parse(text) as LockOwner | null
    const isProcess = owner !== null && Number.isSafeInteger(owner.pid) && owner.pid > 0
    return isProcess ? owner : undefined
  } catch {
    return undefined
  }
}

const fileAgeMs = (path: string): number =>
  Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)

/** The owner that a file's text names, if it lives; in another PID namespace or machine it does while it says so. */
const liveOwnerIn = (path: string, text: string | undefined): LockOwner | undefined => {
  const owner = parseOwner(text)
  if (owner === undefined) return undefined
  if (owner.space === currentOwner().space) return isProcessAlive(owner) ? owner : undefined
  return fileAgeMs(path) < LEASE_MS ? owner : undefined
}

/** Says again and again that this process lives. Returns what ends it. */
const startHeartbeat = (path: string): (() => void) => {
  const timer = setInterval(() => {
    try {
      const now = new Date()
      utimesSync(path, now, now)
    } catch {
      // Gone: the claim has ended.
    }
  }, HEARTBEAT_INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * Removes the file of a dead owner. One process at a time has the right to remove just this text, so that the file of whoever
 * claims the folder meanwhile stays.
 */
const removeStaleLock = (path: string, text: string): void => {
  const right = `${path}.${createHash('sha1').update(text).digest('hex')}`
  if (!createFileAtomically(right, JSON.stringify(currentOwner()))) {
    if (fileAgeMs(right) > MAX_REMOVAL_MS) rmSync(right, { force: true })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_DELAY_MS)
    return
  }
  try {
    if (readIfExists(path) === text) rmSync(path)
  } finally {
    rmSync(right, { force: true })
  }
}

/** The live process that holds a folder; undefined: none does. */
export const liveOwner = (folder: string): LockOwner | undefined => {
  const path = join(folder, LOCK_FILE)
  return liveOwnerIn(path, readIfExists(path))
}

/**
 * Makes this process the only one that uses a folder, until it calls what is returned. Throws `Outage` (final) while another live
 * process does; a killed one does not count, one of another container counts for half a minute.
 *
 * To be called before anything in the folder is opened: lmdb resets the number of the newest transaction whenever an environment is
 * opened, so even a reader that opens it beside a writer can undo a commit or end the writer.
 */
export const acquireFolderLock = (folder: string): (() => void) => {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, LOCK_FILE)
  for (let left = MAX_ATTEMPTS; left > 0; left -= 1) {
    if (createLockFile(path)) {
      const stop = startHeartbeat(path)
      return () => {
        stop()
        rmSync(path, { force: true })
      }
    }
    const text = readIfExists(path)
    const holder = liveOwnerIn(path, text)
    if (holder !== undefined) throw folderInUse(folder, holder)
    if (text !== undefined) removeStaleLock(path, text)
  }
  throw new Outage(
    'bus',
    `${folder}: the process lock kept changing its owner; start one process only`,
    { final: true },
  )
}

const createLockFile = (path: string): boolean => {
  try {
    return createFileAtomically(path, JSON.stringify(currentOwner()))
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new Outage('disk', `${path} cannot be written: ${message}`, { final: true, cause })
  }
}

const folderInUse = (folder: string, { pid, space }: LockOwner): Outage => {
  const where = space === currentOwner().space ? '' : ' of another container or machine'
  return new Outage(
    'bus',
    `${folder} is in use by process ${pid}${where}; stop it first, or use another DATA_DIR`,
    { final: true },
  )
}

const ownerOfProcess = (pid: number): LockOwner => {
  const [birth, space] = [processStartId(pid), pidNamespace()]
  return { pid, ...(birth !== undefined && { birth }), ...(space !== undefined && { space }) }
}

const pidNamespace = (): string | undefined => {
  try {
    return `${bootId()}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return undefined
  }
}

/** True when the process that a mark names still runs on this machine. */
export const isProcessAlive = (holder: LockOwner): boolean => {
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const birth = processStartId(holder.pid)
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
const processStartId = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return `${bootId()}/${fields[19]}`
  } catch {
    return pid === process.pid ? String(performance.timeOrigin) : undefined
  }
}
