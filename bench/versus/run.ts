import type { ChildProcess } from 'node:child_process'
import type { Found } from './chain.ts'
import { treeSeconds } from './process-tree.ts'

/** How one product did. */
export interface Run {
  readonly found: Found
  /** From the start of reading until everything that is compared is in its tables. */
  readonly seconds: number
  /** Processor seconds of its processes in that time. */
  readonly cpuSeconds: number
  /** Processor seconds of the node in that time. */
  readonly nodeCpuSeconds: number
}

/** Processor seconds of a product and of the node that it reads, so far. */
export const cpuOf = (product: ChildProcess, nodePid: number) => ({
  cpuSeconds: treeSeconds(product.pid ?? 0),
  nodeCpuSeconds: treeSeconds(nodePid),
})

/** What was used between two looks. */
export const cpuBetween = (
  before: ReturnType<typeof cpuOf>,
  after: ReturnType<typeof cpuOf>,
): ReturnType<typeof cpuOf> => ({
  cpuSeconds: after.cpuSeconds - before.cpuSeconds,
  nodeCpuSeconds: after.nodeCpuSeconds - before.nodeCpuSeconds,
})

const GRACE_MS = 15_000

/** Ends a child in order, or after a while by force; resolves when it is gone. */
export const stopChild = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), GRACE_MS)
  await gone
  clearTimeout(timer)
}
