import assert from 'node:assert/strict'
import { ConfigError, type ConfigProblem } from '../../core/config/errors.ts'
import type { Config } from '../../core/config/settings.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { seedPricePools } from '../../ingestors/decode/seed-prices.ts'
import { evmSource } from '../../ingestors/evm/source/evm-source.ts'
import type { Source } from '../../ingestors/follow/contract.ts'
import { deferredSource } from '../../ingestors/follow/lazy-source.ts'
import { openMoveSource } from '../../ingestors/move/source/sui-source.ts'
import {
  ALL_PROGRAMS,
  pumpFunProfile,
  withAllInstructions,
  withFactories,
  withOrderBooks,
} from '../../ingestors/svm/programs/programs.ts'
import { isGrpcUrl } from '../../ingestors/svm/source/grpc-stream.ts'
import { openSvmSource } from '../../ingestors/svm/source/solana-source.ts'
import { COMMITMENT_BY_VM } from '../../ingestors/vm/commitments.ts'
import type { ChainRow, Vm } from '../../schemas/chains.ts'
import { feedsOfChain } from '../../schemas/feeds.ts'

/** A chain to follow over its nodes. */
export interface NodeSourceOptions {
  readonly chain: ChainRow
  readonly urls: readonly string[]
  /** First height of a first run; null = the head. */
  readonly from: number | null
  readonly config: Pick<
    Config,
    'rpcConcurrency' | 'rpcPerSecond' | 'rpcTimeoutMs' | 'chainExtra' | 'feeds'
  >
  readonly metrics: Metrics
  readonly log: Logger
  readonly signal: AbortSignal
  /** Solana: launchpad tokens only. Default: everything. */
  readonly profile?: 'pump'
}

/** Endpoints of a chain as its clients need them: its own, or with a single chain those of all. */
export const nodeUrls = (
  config: Pick<Config, 'chains' | 'chainRpcUrls' | 'rpcUrls'>,
  { id }: Pick<ChainRow, 'id'>,
): readonly string[] =>
  (config.chainRpcUrls[id] ?? (config.chains.length === 1 ? config.rpcUrls : [])).map((url) =>
    url.reveal(),
  )

/** Addresses that the nodes of a virtual machine are reached by. Those of Solana's calls come first, its streams may follow. */
const URL_SCHEMES: Readonly<Record<Vm, readonly string[]>> = {
  evm: ['http', 'https', 'ws', 'wss'],
  svm: ['http', 'https', 'ws', 'wss', 'grpc', 'grpcs'],
  move: ['http', 'https', 'grpc', 'grpcs'],
}

/** Opens the source of a chain's virtual machine. Throws `ConfigError` for addresses of other kinds of nodes. */
export const nodeSource = async (options: NodeSourceOptions): Promise<Source> => {
  const { chain, config, profile, ...rest } = options
  const problems = urlProblems(options)
  if (problems.length > 0) throw new ConfigError(problems)
  const { chainId, vm } = chain
  const limits = {
    concurrency: config.rpcConcurrency,
    perSecond: config.rpcPerSecond,
    timeoutMs: config.rpcTimeoutMs,
    feeds: feedsOfChain(chain, config.feeds),
  }
  if (vm === 'svm') {
    const extra = config.chainExtra[chain.id]
    const pools = seedPricePools(chain, extra).map(({ pool }) => pool)
    const chosen = profile === 'pump' ? pumpFunProfile(pools) : ALL_PROGRAMS
    const known = withFactories(chosen, extra?.factories ?? [])
    const programs = limits.feeds.has('orders') ? withOrderBooks(known) : known
    const isWhole = limits.feeds.has('instructions')
    return openSvmSource({
      ...rest,
      ...limits,
      chain,
      programs: isWhole ? withAllInstructions(programs) : programs,
    })
  }
  if (vm === 'move') return openMoveSource({ ...rest, ...limits, chain })
  assert(chainId !== undefined, `${chain.id} has no chain id`)
  return evmSource({ ...rest, ...limits, chain: { ...chain, chainId } })
}

/** The source of a chain that opens its nodes when it is read. Throws `ConfigError` as `nodeSource`. */
export const lazyNodeSource = (options: Omit<NodeSourceOptions, 'signal'>): Source => {
  const { chain } = options
  const problems = urlProblems(options)
  if (problems.length > 0) throw new ConfigError(problems)
  return deferredSource({
    origin: chain.id,
    commitment: COMMITMENT_BY_VM[chain.vm],
    gaps: chain.vm === 'svm',
    open: (signal) => nodeSource({ ...options, signal }),
  })
}

const urlProblems = ({
  chain,
  urls,
}: Pick<NodeSourceOptions, 'chain' | 'urls'>): readonly ConfigProblem[] => {
  const variable = `RPC_URLS_${chain.apiName.toUpperCase()}`
  const wrong = urls.filter(
    (url) => !URL_SCHEMES[chain.vm].some((scheme) => url.startsWith(`${scheme}:`)),
  )
  const isStreamOnly = chain.vm === 'svm' && urls.length > 0 && urls.every(isGrpcUrl)
  return [
    ...wrong.map((url) => ({
      variable,
      message: `unsupported URL scheme ${new URL(url).protocol}// for a node of ${chain.name}; expected ${URL_SCHEMES[chain.vm].join(', ')}`,
    })),
    ...(isStreamOnly
      ? [{ variable, message: 'a gRPC stream needs an HTTP RPC endpoint as well; add one' }]
      : []),
  ]
}
