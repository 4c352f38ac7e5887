import { type ChainRow, chainRow } from '../../schemas/chains.ts'
import type { Config } from '../config/settings.ts'
import type { Logger } from '../ops/logger.ts'
import type { Metrics } from '../ops/metrics.ts'
import { evmChainCheck } from './evm-chain-check.ts'
import { httpWsEndpoint } from './http-ws-endpoint.ts'
import { type ChainCheck, openRpcPool, type RpcPool } from './pool.ts'
import { sameGenesisCheck } from './svm-chain-check.ts'

/** Nodes that a serving process asks by itself. */
export interface ChainNodes {
  /** undefined: no node of the chain is configured, or it has another virtual machine. */
  of(chainId: string): RpcPool | undefined
  stop(): Promise<void>
}

/** What nodes need. */
export interface ChainNodesDeps {
  /** Addresses of a chain's nodes, best first. */
  readonly urlsOf: (chainId: string) => readonly string[]
  /** They take transactions and answer nothing else, also not which chain they are of. */
  readonly onlySend?: true
  readonly config: Pick<Config, 'rpcConcurrency' | 'rpcPerSecond' | 'rpcTimeoutMs'>
  readonly metrics: Metrics
  readonly log: Logger
}

/** How nodes show their chain; undefined: chains of this kind are not asked. */
const identityOf = ({ chainId, vm }: ChainRow): ChainCheck | undefined => {
  if (vm === 'svm') return sameGenesisCheck()
  return chainId === undefined ? undefined : evmChainCheck(chainId)
}

/** Opens the nodes of a chain when it is first asked for: most processes never ask one. */
export const createChainNodes = ({
  urlsOf,
  onlySend,
  config,
  metrics,
  log,
}: ChainNodesDeps): ChainNodes => {
  const closing = new AbortController()
  const pools = new Map<string, RpcPool>()
  const open = (id: string): RpcPool | undefined => {
    const row = chainRow(id)
    const urls = urlsOf(id).filter((url) => row?.vm !== 'svm' || !url.startsWith('grpc'))
    const identity = row && identityOf(row)
    if (identity === undefined || urls.length === 0) return undefined
    return openRpcPool({
      role: 'serve',
      chain: id,
      urls,
      identity: onlySend ? null : identity,
      ...(row?.vm === 'svm' && { endpointOf: httpWsEndpoint }),
      concurrency: config.rpcConcurrency,
      perSecond: config.rpcPerSecond,
      timeoutMs: config.rpcTimeoutMs,
      metrics,
      log: log.child({ chain: id }),
      signal: closing.signal,
    })
  }
  return {
    of: (chainId) => {
      const pool = pools.get(chainId) ?? open(chainId)
      if (pool) pools.set(chainId, pool)
      return pool
    },
    stop: async () => {
      closing.abort(new Error('the server stops'))
      for (const pool of pools.values()) pool.close()
    },
  }
}
