import { InvalidInput, Outage } from '../../../core/errors.ts'
import type { Logger } from '../../../core/ops/logger.ts'
import type { Metrics } from '../../../core/ops/metrics.ts'
import { type GrpcServices, grpcEndpoint, loadGrpcServices } from '../../../core/rpc/grpc.ts'
import { type ChainCheck, openRpcPool, type RpcPool } from '../../../core/rpc/pool.ts'
import { type ChainRow, maxReorgBlocks } from '../../../schemas/chains.ts'
import type { MoveBlock } from '../../../schemas/events.ts'
import type { BlockRef, Source } from '../../follow/contract.ts'
import { farBlocks, type HeadWatch, headWatch, proveHead } from '../../follow/head-tracker.ts'
import { type FollowedNode, followNode } from '../../follow/node-follower.ts'
import { prefetcher } from '../../follow/prefetch.ts'
import { collectRejectedResponses, type RejectedResponses } from '../../input/rejected-responses.ts'
import { skippingInvalid } from '../../input/skip-invalid.ts'
import { type CheckpointSubscription, subscribeToCheckpoints } from './checkpoint-subscription.ts'
import { moveMetadataReader } from './metadata-reader.ts'
import {
  fetchCheckpoint,
  fetchHeader,
  fetchServiceInfo,
  METHOD,
  parseServiceInfo,
} from './node-queries.ts'

/** What a source of a Sui chain is made of. */
export interface MoveSourceOptions {
  readonly chain: ChainRow
  /** Addresses of gRPC, `http` or `https`. */
  readonly urls: readonly string[]
  readonly concurrency: number
  /** Calls per second and endpoint; absent = no limit. */
  readonly perSecond?: number
  readonly timeoutMs: number
  /** First checkpoint when there is no position; null = the newest. */
  readonly from: number | null
  readonly metrics: Metrics
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Rounds over all endpoints for one checkpoint; then it is taken without the transactions that are nowhere in shape. */
const CHECKPOINT_RETRY = { firstMs: 200, maxMs: 2_000, tries: 4 } as const

/** Opens a Sui node as a source. Throws `Outage` when no endpoint answers, `final` when they serve different chains. */
export const openMoveSource = async (options: MoveSourceOptions): Promise<Source> => {
  const { chain, signal, log, from } = options
  const services: GrpcServices = loadGrpcServices('sui.proto')
  const rejectedResponses = collectRejectedResponses(chain.id, options.metrics)
  const rpc = openRpcPool({
    ...options,
    role: 'ingest',
    chain: chain.id,
    identity: sameGenesisCheckpoint(),
    onMalformed: rejectedResponses.add,
    endpointOf: (url, timeoutMs) => grpcEndpoint(url, { services, timeoutMs }),
  })
  signal.addEventListener('abort', () => rpc.close(), { once: true })
  const info = await rpc.attempt(fetchServiceInfo)
  if (info === undefined) throw new Outage('rpc', 'no endpoint returned its chain id')
  const heads = trackHead(rpc, options, (error) => rejectedResponses.add(error, null))
  const head = await heads.refresh()
  const first = await rpc.attempt((ask) => fetchHeader(ask, chain.id, from ?? head.height))
  const pushes = subscribeToCheckpoints(rpc, heads, { chain: chain.id, log })
  const node = followedNode({
    rpc,
    heads,
    rejectedResponses,
    subscription: pushes,
    options,
  })
  return {
    origin: `${chain.id}:${info.chainId}`,
    ...(first && { startMs: first.timeMs }),
    commitment: 'finalized',
    gaps: false,
    node: {
      metadataReader: (protocols) => moveMetadataReader(rpc, { protocols, log }),
      // No pool states a price in its type; the first trades do.
      seedPrices: async () => [],
    },
    head: heads.newest,
    takeRejectedResponses: rejectedResponses.take,
    operations: (position, stop) => followNode(node(), position, { from, stop }),
  }
}

/** Endpoints of one chain have one first checkpoint: that of the first that answers. */
const sameGenesisCheckpoint = (): ChainCheck => {
  let wanted: string | undefined
  return {
    call: { method: METHOD.info, params: [{}] },
    accepts: (answer) => {
      const { chainId } = parseServiceInfo(answer)
      wanted ??= chainId
      return chainId === wanted
    },
    name: 'the first checkpoint of the first endpoint',
  }
}

const trackHead = (
  rpc: RpcPool,
  { chain, urls, signal }: MoveSourceOptions,
  refuse: (error: InvalidInput) => void,
): HeadWatch =>
  headWatch({
    blockTimeMs: chain.blockTimeMs,
    endpoints: urls.length,
    refuse,
    ask: async (mustProve) => {
      const [info] = await rpc.survey({
        work: async (ask) => {
          const newest = await fetchServiceInfo(ask)
          if (newest !== undefined && mustProve(newest.height)) {
            const { height } = newest
            await proveHead(
              height,
              async () => (await fetchHeader(ask, chain.id, height)) !== undefined,
            )
          }
          return newest
        },
        heightOf: ({ height }) => height,
        far: farBlocks(chain.blockTimeMs),
      })
      if (info === undefined) throw new Outage('rpc', 'no endpoint returned the latest checkpoint')
      return { height: info.height, hash: null }
    },
    signal,
  })

interface NodeDeps {
  readonly rpc: RpcPool
  readonly heads: HeadWatch
  readonly rejectedResponses: RejectedResponses
  readonly subscription: CheckpointSubscription
  readonly options: MoveSourceOptions
}

/** The node as each new follower asks it: with nothing fetched ahead. Checkpoints are certified: all are canonical and final. */
const followedNode =
  ({ rpc, heads, rejectedResponses, subscription, options }: NodeDeps) =>
  (): FollowedNode => {
    const { chain, concurrency, signal } = options
    const persistent = (tip: BlockRef | null, height: number): Promise<MoveBlock | undefined> => {
      const read = (skipInvalid: boolean): Promise<MoveBlock | undefined> =>
        rpc.attempt(async (ask) => {
          const block = await fetchCheckpoint(ask, { chain: chain.id, skipInvalid }, height)
          return block === undefined || tip === null ? block : requireParent(tip, block)
        })
      return skippingInvalid(read, { ...CHECKPOINT_RETRY, signal })
    }
    const blocks = prefetcher({ concurrency, fetch: (height) => persistent(null, height) })
    return {
      heads,
      spacing: 'dense',
      blockTimeMs: chain.blockTimeMs,
      reorgBound: maxReorgBlocks(chain),
      nowMs: Date.now,
      next: async (tip, from, head) => {
        const height = tip === null ? from : tip.height + 1
        if (head.height < height) return undefined
        const pushed = tip === null ? null : subscription.take(tip)
        const block = pushed ?? (await blocks.take(height, head))
        if (block === undefined || tip === null || block.parentHash === tip.hash) return block
        blocks.clear()
        return persistent(tip, height)
      },
      clearCache: blocks.clear,
      above: (tip, fits) =>
        rpc.attempt(async (ask) => {
          const block = await fetchCheckpoint(ask, { chain: chain.id }, tip.height + 1)
          if (block !== undefined) fits(block)
          return block
        }),
      isCanonical: async () => true,
      isReplacedEverywhere: async () => false,
      finalHeight: async () => Number.MAX_SAFE_INTEGER,
      refuse: (error) => rejectedResponses.add(error, null),
    }
  }

/** Throws `InvalidInput` for a checkpoint that does not name the one below it: nothing is ever taken back, so one endpoint errs. */
const requireParent = ({ height, hash }: BlockRef, block: MoveBlock): MoveBlock => {
  if (block.parentHash === hash) return block
  throw new InvalidInput(
    'parent-mismatch',
    `checkpoint ${block.height} is not on top of our ${height}`,
  )
}
