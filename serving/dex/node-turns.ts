import type { ChainNodes } from '../../core/rpc/chain-nodes.ts'
import type { RpcPool } from '../../core/rpc/pool.ts'
import { requireQueryCaller } from '../queries/query-limiter.ts'
import { createQueryQueue, type QueryQueueLimits } from '../queries/query-queue.ts'

/** A chain's nodes as routes read from them. */
export type NodeReads = Pick<RpcPool, 'attempt'>

/** Nodes by internal id of the chain, asked for callers in their turn; undefined: none is configured. */
export interface CallerNodes {
  of(chainId: string): NodeReads | undefined
}

/** Longest time that a read waits for its turn. */
const MAX_WAIT_MS = 5_000
/** Reads of a chain that wait; a quarter of them may be one organization's. */
const MAX_WAITING = 128

/** Limits of a chain's reads where so many calls may be in flight at a node: half of them, so that what is sent never waits behind reads. */
export const nodeReadLimits = (concurrency: number): QueryQueueLimits => {
  const running = Math.max(1, Math.floor(concurrency / 2))
  return {
    running,
    runningPerOrg: Math.max(1, Math.floor(running / 2)),
    waiting: MAX_WAITING,
    waitingPerOrg: MAX_WAITING / 4,
    waitMs: MAX_WAIT_MS,
  }
}

/**
 * Nodes for the reads of routes: those of a chain take turns by organization. A read throws `Fault` CONCURRENCY_LIMIT where reads of its own
 * organization are in the way, SERVER_BUSY where those of all are, and what the nodes throw; reading outside of a request is a bug.
 */
export const createCallerNodes = (
  nodes: Pick<ChainNodes, 'of'>,
  limits: QueryQueueLimits,
): CallerNodes => {
  const chains = new Map<string, NodeReads>()
  const inTurns = (pool: RpcPool): NodeReads => {
    const queue = createQueryQueue(limits)
    return {
      attempt: async (work) => {
        const { orgId, signal } = requireQueryCaller()
        return queue.run(orgId, () => pool.attempt(work), signal)
      },
    }
  }
  return {
    of: (chainId) => {
      const known = chains.get(chainId)
      if (known) return known
      const pool = nodes.of(chainId)
      const reads = pool && inTurns(pool)
      if (reads) chains.set(chainId, reads)
      return reads
    },
  }
}
