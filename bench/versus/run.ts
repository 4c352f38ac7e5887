import type { ChildProcess } from 'node:child_process'
import type { Found } from './chain.ts'
import { machineSeconds, treeSeconds } from './process-tree.ts'

/** Processor seconds. */
export interface Cpu {
  /** Of a product's processes. */
  readonly product: number
  /** Of the node that it reads. */
  readonly node: number
  /** Of everything else on the machine, the benchmark's own process included: much of it and the times mean little. */
  readonly others: number
}

/** How one product did. */
export interface Run {
  readonly found: Found
  /** From the start of reading until everything that it makes of the blocks is in its tables. */
  readonly seconds: number
  /** What was used in that time. */
  readonly cpu: Cpu
}

/** What was used so far. */
export const cpuOf = (child: ChildProcess, nodePid: number): Cpu => {
  const [product, node] = [treeSeconds(child.pid ?? 0), treeSeconds(nodePid)]
  return { product, node, others: machineSeconds() - product - node }
}

/** What was used between two looks. */
export const cpuBetween = (before: Cpu, after: Cpu): Cpu => ({
  product: after.product - before.product,
  node: after.node - before.node,
  others: after.others - before.others,
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
