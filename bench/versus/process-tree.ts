import { readdirSync, readFileSync } from 'node:fs'

/** Ticks of processor time per second, as Linux tells it to programs on every architecture that Node runs on. */
const TICKS = 100

interface ProcessRow {
  readonly pid: number
  readonly parent: number
  /** Processor seconds of it, and of children that have ended and were waited for. */
  readonly seconds: number
}

/** Undefined for a process that ended meanwhile. */
const rowOf = (pid: number): ProcessRow | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name stands in brackets and may hold anything; the state follows it, then the parent.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, text) => sum + Number(text), 0)
    return { pid, parent: Number(fields[1]), seconds: ticks / TICKS }
  } catch {
    return undefined
  }
}

/** Processor seconds that a process and everything under it has used so far. Linux only; 0 where there is no such process. */
export const treeSeconds = (root: number): number => {
  const rows = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => rowOf(Number(name)) ?? [])
  const under = (pid: number): number =>
    rows
      .filter(({ parent }) => parent === pid)
      .reduce((sum, child) => sum + child.seconds + under(child.pid), 0)
  return (rows.find(({ pid }) => pid === root)?.seconds ?? 0) + under(root)
}

/** Processor seconds that everything on the machine has used since it started. Linux only. */
export const machineSeconds = (): number => {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return (user + nice + system + interrupts + softInterrupts) / TICKS
}
