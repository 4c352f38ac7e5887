import type { ConfigOverrides } from '../../core/config/load.ts'
import type { ChainExtra } from '../../core/config/settings.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { evmSource } from '../../ingestors/evm/source/evm-source.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { type AppStack, startAppStack } from './app-stack.ts'
import type { Anvil } from './nodes/anvil.ts'
import { until } from './until.ts'

/** The product over a local node. */
export interface AnvilStack {
  readonly product: AppStack
  /** Resolves once the newest block of the node has passed every stage. */
  caughtUp(): Promise<void>
  /** Stops the product and what reads from the node; the node runs on. */
  stop(): Promise<void>
}

/** Starts the product as one that follows the node's chain as `ethereum`. */
export const startAnvilStack = async (
  { client, wsUrl }: Pick<Anvil, 'client' | 'wsUrl'>,
  {
    extra,
    overrides = {},
    folder,
  }: {
    readonly extra: ChainExtra
    readonly overrides?: ConfigOverrides
    readonly folder?: string
  },
): Promise<AnvilStack> => {
  const closing = new AbortController()
  const source = await evmSource({
    chain: { ...CHAINS.eth, blockTimeMs: 200 },
    urls: [wsUrl],
    concurrency: 8,
    timeoutMs: 5_000,
    from: 0,
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    signal: closing.signal,
  })
  const product = await startAppStack({
    chain: { row: CHAINS.eth, source, extra },
    overrides,
    ...(folder !== undefined && { folder }),
  })
  return {
    product,
    caughtUp: async () => {
      const height = Number(await client.getBlockNumber({ cacheTime: 0 }))
      await until(
        async () =>
          (product.app.ingestors[0]?.status().height ?? -1) >= height &&
          (await product.app.isCaughtUp()),
        'the product is at the head',
      )
    },
    stop: async () => {
      await product.stop()
      closing.abort()
    },
  }
}
