import { chainRow, gasBoundsOf, type Vm } from '../../schemas/chains.ts'
import { openAccountPools } from '../../serving/dex/account-pools.ts'
import { openAggregators } from '../../serving/dex/aggregators/open-aggregators.ts'
import { type ChainMarket, createChainMarket } from '../../serving/dex/chain-market.ts'
import { createEvmAccountReader } from '../../serving/dex/evm-account.ts'
import { followPoolsWhenReadable } from '../../serving/dex/follow-pools.ts'
import type { CallerNodes, NodeReads } from '../../serving/dex/node-turns.ts'
import { createSolanaReader } from '../../serving/dex/solana-node.ts'
import { createSymbolReader, swapRoutes } from '../../serving/http/dex-route.ts'
import { quoteRoutes } from '../../serving/http/dex-swaps.ts'
import { createPoolLookup, poolSwapRoutes } from '../../serving/http/pool-swap.ts'
import type { RoutePlugin } from '../../serving/http/routing.ts'
import { createSearchTurns } from '../../serving/http/search-turns.ts'
import { tokenCreationRoutes } from '../../serving/http/token-creation.ts'
import type { FreshnessReader } from '../../serving/interfaces.ts'
import { countRejectedReads } from '../../serving/queries/limited-reads.ts'
import {
  type QueryReader,
  requireQueryCaller,
  runSharedWork,
} from '../../serving/queries/query-limiter.ts'
import type { Infra } from './infra.ts'
import type { ServiceDeps } from './services.ts'

type SwapServiceDeps = Pick<ServiceDeps, 'config' | 'chains' | 'metrics' | 'log' | 'lifecycle'> & {
  readonly freshness: FreshnessReader
  readonly nodeReads: CallerNodes
  readonly reader: QueryReader
  readonly nowMs: () => number
}

/** Quotes and routes over REST, and the states of pools behind them; the topics and tables must exist. */
export const startSwapService = (deps: SwapServiceDeps, parts: Infra): readonly RoutePlugin[] => {
  const { chains, freshness, metrics, nowMs } = deps
  const log = deps.log.child({ role: 'serve' })
  const markets = startMarkets(deps, parts)
  const aggregators = openAggregators(deps.config)
  for (const [name, opened] of Object.entries(aggregators))
    deps.lifecycle.add({ name, stop: () => opened.close() })
  const solana = openReaders(deps, 'svm', (rpc, id) =>
    createSolanaReader(rpc, deps.config.chainExtra[id]?.lookupTables),
  )
  const swaps = {
    chains,
    freshness,
    nowMs,
    searches: createSearchTurns(),
    markets,
    accounts: openReaders(deps, 'evm', (rpc, id) => createEvmAccountReader(rpc, gasBoundsOf(id))),
    solana,
    accountPools: openAccountPools(markets, solana, {
      caller: { orgId: () => requireQueryCaller().orgId, shared: runSharedWork },
      metrics,
      nowMs,
      log,
    }),
    aggregators,
    symbols: createSymbolReader(deps.reader),
    hasPool: createPoolLookup(deps.reader),
  }
  return [
    ...[quoteRoutes(swaps), swapRoutes(swaps), poolSwapRoutes(swaps)],
    tokenCreationRoutes(swaps),
  ]
}

/** States of the pools that swaps are quoted from, chain by chain. */
const startMarkets = (
  { config, chains, lifecycle, metrics, log, nodeReads }: SwapServiceDeps,
  { bus, codec, ...parts }: Infra,
): ReadonlyMap<string, ChainMarket> => {
  const warehouse = countRejectedReads(parts.warehouse, metrics, 'pools')
  const markets = new Map<string, ChainMarket>()
  for (const chain of chains) {
    const role = log.child({ role: 'serve', chain })
    const market = createChainMarket(
      chain,
      config.chainExtra[chain],
      nodeReads.of(chain) !== undefined,
      ({ address: pool, protocol }, err) => {
        metrics.unquotablePools.inc({ protocol })
        role.error({ err, pool, protocol }, 'state of a pool cannot be quoted, pool left out')
      },
    )
    if (market === undefined) continue
    const { pools, progress, venues } = market
    const protocols = [...venues.quotable]
    const source = { bus, codec, warehouse, log: role, chain, pools, progress, protocols }
    const running = followPoolsWhenReadable(source)
    lifecycle.add({ name: `pools ${chain}`, stop: () => running.stop() })
    markets.set(chain, market)
  }
  return markets
}

/** What nodes of the chains with this virtual machine say; chains without a node are missing. */
const openReaders = <Reader>(
  { chains, nodeReads }: SwapServiceDeps,
  vm: Vm,
  readerOf: (rpc: NodeReads, chainId: string) => Reader,
): ReadonlyMap<string, Reader> =>
  new Map(
    chains.flatMap((id) => {
      const rpc = chainRow(id)?.vm === vm ? nodeReads.of(id) : undefined
      return rpc === undefined ? [] : [[id, readerOf(rpc, id)] as const]
    }),
  )
