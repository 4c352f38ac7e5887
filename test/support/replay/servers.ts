import { CHAINS, type ChainRow } from '../../../schemas/chains.ts'
import type { ReplayCall, ReplayChain } from './contract.ts'
import { evmReplayChain } from './evm-chain.ts'
import { alwaysFault, noFaults } from './fault-plans.ts'
import type { FaultPlan, ReplayFault } from './faults.ts'
import { type ReplayNode, startReplayNode } from './json-rpc-node.ts'
import { startSuiServer } from './sui-server.ts'
import { svmReplayChain } from './svm-chain.ts'

/** A replay server of one chain as a run over many chains uses it, whatever protocol it speaks. */
export interface ReplayServer {
  readonly chain: string
  /** Addresses for the chain's source. */
  readonly urls: readonly string[]
  readonly head: () => number
  /** When a height became the head, epoch milliseconds. */
  readonly producedMs: ReadonlyMap<number, number>
  /** Faults that were done, by kind. */
  done(): Readonly<Partial<Record<ReplayFault, number>>>
  /** Name of the block of a height; undefined where the chain skipped it. */
  hashAt(height: number): string | undefined
  break(faults: FaultPlan): void
  produce(): void
  stop(): Promise<void>
}

/** What the servers of a run have in common. */
export interface ServerOptions {
  readonly head: number
  readonly lateMs: number
  /** A plan of its own for each chain. */
  readonly faults?: (chain: string) => FaultPlan
  /** Time of the head, epoch milliseconds. */
  readonly headMs: number
  readonly spoil?: ReplaceResult
}

/** What a server says in place of the recorded chain: undefined leaves the answer as it is. */
export type ReplaceResult = (call: ReplayCall, right: unknown) => unknown

const withReplacedResults = (chain: ReplayChain, spoil: ReplaceResult): ReplayChain => ({
  ...chain,
  answer: (call, view) => {
    const said = chain.answer(call, view)
    const other = spoil(call, 'result' in said ? said.result : null)
    return other === undefined ? said : { result: other }
  },
})

/** Chains whose nodes speak JSON-RPC. */
const JSON_RPC_ROWS: readonly ChainRow[] = Object.values(CHAINS).filter(
  (row: ChainRow) => row.vm === 'svm' || row.chainId !== undefined,
)

const replayChain = (row: ChainRow, { head, headMs }: ServerOptions): ReplayChain => {
  const genesisMs = headMs - head * row.blockTimeMs
  const { chainId } = row
  return chainId === undefined
    ? svmReplayChain(row, { genesisMs })
    : evmReplayChain({ ...row, chainId }, { genesisMs })
}

/** One server per chain. */
export const startServers = (options: ServerOptions): Promise<readonly ReplayServer[]> =>
  Promise.all([...JSON_RPC_ROWS.map((row) => startServer(row, options)), startSuiServer(options)])

/** A node under its socket and its HTTP address, and one that says it is of another chain when it is asked. */
export const startServer = async (row: ChainRow, options: ServerOptions): Promise<ReplayServer> => {
  const { head, lateMs, faults, spoil } = options
  const recorded = replayChain(row, options)
  const chain = spoil === undefined ? recorded : withReplacedResults(recorded, spoil)
  const finalityDepth = Math.min(row.finalityDepth, 8)
  const shared = { chain, head, lateMs, finalityDepth }
  const node = await startReplayNode({ ...shared, faults: faults?.(row.id) ?? noFaults })
  const foreign = await startReplayNode({ ...shared, faults: alwaysFault('wrong-chain') })
  return {
    chain: row.id,
    urls: row.vm === 'svm' ? [node.url, foreign.url] : [node.wsUrl, node.url, foreign.url],
    head: node.head,
    producedMs: node.producedMs,
    done: () => sumFaults([node, foreign]),
    hashAt: (height) => (chain.hasBlock(height) ? chain.hashAt(height) : undefined),
    break: (plan) => {
      node.faults = plan
    },
    produce: () => node.produce(),
    stop: async () => {
      await Promise.all([node.stop(), foreign.stop()])
    },
  }
}

const sumFaults = (
  nodes: readonly ReplayNode[],
): Readonly<Partial<Record<ReplayFault, number>>> => {
  const sums: Partial<Record<ReplayFault, number>> = {}
  for (const { done } of nodes) {
    for (const [fault, count] of done) sums[fault] = (sums[fault] ?? 0) + count
  }
  return sums
}
