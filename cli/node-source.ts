import type { Config } from '../core/config.ts'
import { Outage } from '../core/fault.ts'
import type { Logger } from '../core/log.ts'
import type { Metrics } from '../core/metrics.ts'
import { evmSource } from '../ingestors/evm/source.ts'
import type { Source } from '../ingestors/source.ts'
import type { ChainRow } from '../schemas/chains.ts'

/** A chain to follow over its nodes. */
export interface NodeSourceOptions {
  readonly chain: ChainRow
  readonly urls: readonly string[]
  /** First height of a first run; null = the head. */
  readonly from: number | null
  readonly config: Pick<Config, 'rpcConcurrency' | 'rpcTimeoutMs'>
  readonly metrics: Metrics
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Opens the source of a chain's virtual machine. Throws `Outage` (final) where this build has none. */
export const nodeSource = async (options: NodeSourceOptions): Promise<Source> => {
  const { chain, config, ...rest } = options
  const { chainId } = chain
  if (chain.vm !== 'evm' || chainId === undefined) {
    throw new Outage('rpc', `${chain.name} has no source in this build`, { final: true })
  }
  return evmSource({
    ...rest,
    chain: { ...chain, chainId },
    concurrency: config.rpcConcurrency,
    timeoutMs: config.rpcTimeoutMs,
  })
}
