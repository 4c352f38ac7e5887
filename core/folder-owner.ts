import { randomUUID } from 'node:crypto'
import {
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import { Outage } from './fault.ts'
import { linkedTo, placeWhole } from './whole-file.ts'

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
const TRIES = 20

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** How often an owner says that it lives, and for how long that counts where its pid means nothing: in other containers. */
const BEAT_MS = 5_000
const LEASE_MS = 30_000

/** Owner that a file names; undefined where there is no such file, or one that a power cut left without its content. */
const readOwner = (path: string): Owner | undefined => {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const owner = JSON.parse(text) as Owner | null
    const isProcess = owner !== null && Number.isSafeInteger(owner.pid) && owner.pid > 0
    return isProcess ? owner : undefined
  } catch {
    return undefined
  }
}

/** The owner that a file names, if it lives; in another PID namespace or machine it does while it says so. */
const heldBy = (path: string): Owner | undefined => {
  const owner = readOwner(path)
  if (owner === undefined) return undefined
  if (owner.space === thisOwner().space) return isLive(owner) ? owner : undefined
  const beat = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return Date.now() - beat < LEASE_MS ? owner : undefined
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

/** Takes the file of a dead owner away. Should it be a new owner's by now, it is put back. */
const removeStale = (path: string): void => {
  const aside = `${path}.${randomUUID()}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  if (heldBy(aside) !== undefined) linkedTo(aside, path)
  rmSync(aside)
}

/** The live process that holds a folder; undefined: none does. */
export const liveOwner = (folder: string): Owner | undefined => heldBy(join(folder, OWNER_FILE))

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
    if (placeWhole(path, JSON.stringify(thisOwner()))) {
      const stop = beating(path)
      return () => {
        stop()
        rmSync(path, { force: true })
      }
    }
    const holder = heldBy(path)
    if (holder !== undefined) throw inUse(folder, holder)
    removeStale(path)
  }
  throw new Outage('bus', `${folder} changes hands all the time`, { final: true })
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
