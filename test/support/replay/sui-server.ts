import { noFaults } from './fault-plans.ts'
import type { FaultPlan, ReplayFault } from './faults.ts'
import type { ReplayServer, ServerOptions } from './servers.ts'
import { createSuiChain, suiChainId, suiCheckpoints } from './sui-chain.ts'
import { startSuiNode } from './sui-node.ts'

/** Checkpoints that the node holds below its head when it starts. */
const HISTORY = 64

/** A Sui node of recorded transactions, and one of another chain, as a run over many chains uses them. */
export const startSuiServer = async ({
  head: first,
  faults,
}: Pick<ServerOptions, 'head' | 'faults'>): Promise<ReplayServer> => {
  const checkpointAt = createSuiChain()
  const done: Partial<Record<ReplayFault, number>> = {}
  const producedMs = new Map<number, number>()
  let plan: FaultPlan = faults?.('sui') ?? noFaults
  let head = first
  const node = await startSuiNode({
    checkpoints: suiCheckpoints(first - HISTORY, first),
    faults: (method) => {
      const fault = plan(method)
      if (fault !== undefined) done[fault] = (done[fault] ?? 0) + 1
      return fault
    },
  })
  const foreign = await startSuiNode({
    checkpoints: suiCheckpoints(first - HISTORY, first, { name: 'another' }),
    chainId: suiChainId('another'),
  })
  return {
    chain: 'sui',
    urls: [node.url, foreign.url],
    head: () => head,
    producedMs,
    done: () => done,
    hashAt: (height) => checkpointAt(height).digest,
    break: (faulty) => {
      plan = faulty
    },
    produce: () => {
      head += 1
      producedMs.set(head, Date.now())
      node.announce(checkpointAt(head))
    },
    stop: async () => {
      await Promise.all([node.stop(), foreign.stop()])
    },
  }
}
