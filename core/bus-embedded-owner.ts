import { readFileSync } from 'node:fs'
import { Outage } from './fault.ts'

/** Who holds a folder. `birth` tells a process from a later one with the same pid; undefined where the system does not say. */
export interface Owner {
  readonly pid: number
  readonly birth?: string
}

/** This process as an owner. */
export const thisOwner = (): Owner => ownerOf(process.pid)

/** Throws `Outage` when `holder` is a live process; a killed one does not count. */
export const refuseLive = (holder: Owner | undefined, path: string): void => {
  if (holder === undefined || !isLive(holder)) return
  throw new Outage('bus', `${path} is in use by process ${holder.pid}`, { final: true })
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
