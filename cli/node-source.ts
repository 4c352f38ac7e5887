import { type Config, ConfigError, type ConfigProblem } from '../core/config.ts'
import type { Logger } from '../core/log.ts'
import type { Metrics } from '../core/metrics.ts'
import { evmSource } from '../ingestors/evm/source.ts'
import { primePools } from '../ingestors/prime.ts'
import type { Source } from '../ingestors/source.ts'
import { pumpProfile } from '../ingestors/svm/programs.ts'
import { svmSource } from '../ingestors/svm/source.ts'
import type { ChainRow } from '../schemas/chains.ts'

/** A chain to follow over its nodes. */
export interface NodeSourceOptions {
  readonly chain: ChainRow
  readonly urls: readonly string[]
  /** First height of a first run; null = the head. */
  readonly from: number | null
  readonly config: Pick<Config, 'rpcConcurrency' | 'rpcPerSecond' | 'rpcTimeoutMs' | 'chainExtra'>
  readonly metrics: Metrics
  readonly log: Logger
  readonly signal: AbortSignal
  /** Solana: launchpad tokens only. Default: everything. */
  readonly profile?: 'pump'
}

/** Why chains cannot be followed over their nodes; `variable` is where they were asked for. Recordings of them can be replayed. */
export const unfollowed = (
  chains: readonly ChainRow[],
  variable: string,
): readonly ConfigProblem[] =>
  chains
    .filter(({ vm, chainId }) => vm !== 'svm' && chainId === undefined)
    .map(({ id, name }) => ({
      variable,
      message: `${name} has no live source in this build; 'sluice decode' and 'sluice replay' read recordings of ${id}`,
    }))

/** Opens the source of a chain's virtual machine. Throws `ConfigError` where this build has none. */
export const nodeSource = async (options: NodeSourceOptions): Promise<Source> => {
  const { chain, config, profile, ...rest } = options
  const { chainId, vm } = chain
  const limits = {
    concurrency: config.rpcConcurrency,
    perSecond: config.rpcPerSecond,
    timeoutMs: config.rpcTimeoutMs,
  }
  if (vm === 'svm') {
    const pools = primePools(chain, config.chainExtra[chain.id]).map(({ pool }) => pool)
    return svmSource({
      ...{ ...rest, ...limits, chain },
      ...(profile === 'pump' && { programs: pumpProfile(pools) }),
    })
  }
  if (chainId === undefined) {
    throw new ConfigError(unfollowed([chain], 'CHAINS'))
  }
  return evmSource({ ...rest, ...limits, chain: { ...chain, chainId } })
}
