import type { Config } from '../../core/config/settings.ts'
import { hasPassed, withDeadline } from '../../core/deadline.ts'
import { InvalidInput, Outage } from '../../core/errors.ts'
import { type Logger, makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { requiredLookups } from '../../ingestors/vm/decode-block.ts'
import { chainRow } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import { nodeSource, nodeUrls } from './node-source.ts'

/** Prices of a chain's pools before a block, as its node tells them now; `close` ends the connection. */
export interface DeadLetterPrices {
  /** Looks up a pool's price; without an answer no price is known. */
  of(block: Block): Promise<DecodeContext['price']>
  close(): void
}

/** What nodes are reached with. */
export type RetryNodeConfig = Pick<
  Config,
  | 'chainRpcUrls'
  | 'rpcUrls'
  | 'chains'
  | 'rpcConcurrency'
  | 'rpcPerSecond'
  | 'rpcTimeoutMs'
  | 'chainExtra'
  | 'feeds'
>

/** Longest wait for the prices of one block, in calls. */
const PRICE_TIMEOUT_CALLS = 3

/** Asks the configured nodes of a chain, which are opened with the first request. undefined: there is no node to ask. */
export const deadLetterPrices = (
  chain: string,
  config: RetryNodeConfig,
  log: Logger = makeSilentLogger(),
): DeadLetterPrices | undefined => {
  const row = chainRow(chain)
  const urls = row === undefined ? [] : nodeUrls(config, row)
  if (row?.vm !== 'evm' || urls.length === 0) return undefined
  const closing = new AbortController()
  const protocols = protocolRegistry(chain, config.chainExtra[chain])
  const open = () =>
    nodeSource({
      chain: row,
      urls,
      from: null,
      config,
      log,
      metrics: makeMetrics(),
      signal: closing.signal,
    }).catch(undefinedOnFailure)
  let opened: ReturnType<typeof open> | undefined
  return {
    of: async (block) => {
      const asked = requiredLookups(block, protocols).prices ?? []
      if (asked.length === 0) return undefined
      opened ??= open()
      const metadataReader = (await opened)?.node?.metadataReader(protocols)
      const limitMs = PRICE_TIMEOUT_CALLS * config.rpcTimeoutMs
      const found = await withDeadline(closing.signal, limitMs, async (signal) =>
        metadataReader
          ?.prices?.(asked, block, signal)
          .catch((error: unknown) => (hasPassed(signal) ? undefined : undefinedOnFailure(error))),
      )
      return found && ((pool) => found.get(pool))
    },
    close: () => closing.abort(new Error('all dead letters were retried')),
  }
}

/** A node that does not answer knows no price; everything else is thrown. */
const undefinedOnFailure = (error: unknown): undefined => {
  if (error instanceof Outage || error instanceof InvalidInput) return undefined
  throw error
}
