import { Outage } from '../../../core/errors.ts'
import type { Logger } from '../../../core/ops/logger.ts'
import type { Metrics } from '../../../core/ops/metrics.ts'
import { retry } from '../../../core/retry.ts'
import { httpWsEndpoint } from '../../../core/rpc/http-ws-endpoint.ts'
import { type CallEndpoint, openRpcPool, type RpcPool } from '../../../core/rpc/pool.ts'
import { sameGenesisCheck } from '../../../core/rpc/svm-chain-check.ts'
import { type ChainRow, maxReorgBlocks } from '../../../schemas/chains.ts'
import type { SvmBlock } from '../../../schemas/events.ts'
import { canonicalBy, isReplacedBy } from '../../follow/canonical-branch.ts'
import type { BlockRef, Source } from '../../follow/contract.ts'
import {
  farBlocks,
  type HeadWatch,
  headWatch,
  implausibleFinality,
} from '../../follow/head-tracker.ts'
import { type FollowedNode, followNode } from '../../follow/node-follower.ts'
import { collectRejectedResponses, type RejectedResponses } from '../../input/rejected-responses.ts'
import { parseBase58Key } from '../layout/json.ts'
import { ALL_PROGRAMS, type ProgramFilter } from '../programs/programs.ts'
import { accountReader } from './accounts.ts'
import { createBlockQueue } from './block-queue.ts'
import {
  type BlockSubscription,
  createBlockSubscription,
  subscribeToBlocks,
} from './block-subscription.ts'
import { isGrpcUrl, streamBlocks } from './grpc-stream.ts'
import { svmMetadataReader } from './metadata-reader.ts'
import {
  type Commitment,
  fetchBlock,
  fetchHeader,
  fetchNewestSlots,
  fetchSlotList,
  singleEndpoint,
} from './node-queries.ts'

/** What a source of a Solana chain is made of. */
export interface SvmSourceOptions {
  readonly chain: ChainRow
  /** Addresses of calls, `http` or `ws`; the socket's is found from them. `grpc` and `grpcs` are streams beside them. */
  readonly urls: readonly string[]
  readonly concurrency: number
  /** Calls per second and endpoint; absent = no limit. */
  readonly perSecond?: number
  readonly timeoutMs: number
  /** First slot when there is no position; null = the newest. */
  readonly from: number | null
  readonly metrics: Metrics
  readonly log: Logger
  readonly signal: AbortSignal
  /** Default: confirmed. */
  readonly commitment?: Commitment
  /** What is read. Default: all that this build decodes. */
  readonly programs?: ProgramFilter
}

/** Rounds before a node that cannot tell whether a block is its own is believed that it cannot. */
const CANONICAL_RETRY = { firstMs: 100, maxMs: 1_000, tries: 4 } as const
/** Slots between two requests for finality: every answer may become an operation of its own. */
const FINALITY_POLL_SLOTS = 8
/** Slots in which a chain's first block is looked for. */
const START_SEARCH_SLOTS = 1_000

/** Opens a Solana node as a source. Throws `Outage` when no endpoint answers, `final` when they serve different chains. */
export const openSvmSource = async (options: SvmSourceOptions): Promise<Source> => {
  const { chain, signal, log, commitment = 'confirmed', programs = ALL_PROGRAMS, from } = options
  const streams = options.urls.filter(isGrpcUrl)
  const rejectedResponses = collectRejectedResponses(chain.id, options.metrics)
  const rpc = openRpcPool({
    ...options,
    role: 'ingest',
    urls: options.urls.filter((url) => !isGrpcUrl(url)),
    chain: chain.id,
    identity: sameGenesisCheck(),
    endpointOf: httpWsEndpoint,
    onMalformed: rejectedResponses.add,
  })
  signal.addEventListener('abort', () => rpc.close(), { once: true })
  const genesis = await rpc.attempt(async (ask) =>
    parseBase58Key(await ask({ method: 'getGenesisHash', params: [] }), 'getGenesisHash'),
  )
  if (genesis === undefined) throw new Outage('rpc', 'no endpoint returned the genesis hash')
  const far = farBlocks(chain.blockTimeMs)
  const heads = headWatch({
    blockTimeMs: chain.blockTimeMs,
    endpoints: options.urls.length - streams.length,
    refuse: (error) => rejectedResponses.add(error, null),
    ask: async (mustProve) => {
      const [height] = await fetchNewestSlots(rpc, commitment, { far, mustProve })
      if (height === undefined) throw new Outage('rpc', 'no endpoint returned the current slot')
      return { height, hash: null }
    },
    signal,
  })
  const head = await heads.refresh()
  const subscription = createBlockSubscription(heads, {
    chain: chain.id,
    commitment,
    programs,
    log,
  })
  subscribeToBlocks(rpc, subscription, { wholeBlocks: streams.length === 0, commitment, log })
  streamBlocks(rpc, subscription, { ...options, chain: chain.id, urls: streams, commitment })
  const startMs = await firstBlockTimeMs(rpc, {
    chain: chain.id,
    from: from ?? head.height,
    commitment,
  })
  const node = followedNode({
    rpc,
    heads,
    rejectedResponses,
    subscription,
    commitment,
    programs,
    options,
  })
  const accounts = accountReader(rpc, { commitment, log })
  return {
    origin: [chain.id, genesis, ...(programs.profile ? [programs.profile.name] : [])].join(':'),
    ...(startMs !== undefined && { startMs }),
    commitment,
    gaps: true,
    node: {
      metadataReader: () => svmMetadataReader(accounts),
      // A node keeps the newest state only: what pools held behind the first block depends on when it is asked.
      seedPrices: async () => [],
    },
    head: heads.newest,
    takeRejectedResponses: rejectedResponses.take,
    operations: (position, stop) => followNode(node(), position, { from, stop }),
  }
}

interface StartSearch {
  readonly chain: string
  readonly from: number
  readonly commitment: Commitment
}

/** Time of the first block at or above a slot, where the node has one and knows it. */
const firstBlockTimeMs = async (
  rpc: RpcPool,
  { chain, from, commitment }: StartSearch,
): Promise<number | undefined> => {
  const [slot] = await fetchSlotList(rpc, { from, to: from + START_SEARCH_SLOTS - 1 }, commitment)
  if (slot === undefined) return undefined
  const header = await fetchHeader(rpc, { chain, slot }, commitment)
  return header === undefined || header === 'skipped' || header.timeMs === 0
    ? undefined
    : header.timeMs
}

interface NodeDeps {
  readonly rpc: RpcPool
  readonly heads: HeadWatch
  readonly rejectedResponses: RejectedResponses
  readonly subscription: BlockSubscription
  readonly commitment: Commitment
  readonly programs: ProgramFilter
  readonly options: SvmSourceOptions
}

/** The node as each new follower asks it: with nothing fetched ahead. */
const followedNode =
  ({ rpc, heads, rejectedResponses, subscription, commitment, programs, options }: NodeDeps) =>
  (): FollowedNode => {
    const { chain } = options
    const asking: QueryContext = { rpc, chain: chain.id, commitment }
    const queue = createBlockQueue(
      {
        listSlots: (range) => fetchSlotList(rpc, range, commitment),
        read: (slot, skipInvalid) =>
          fetchBlock(rpc, { chain: chain.id, slot, programs, skipInvalid }, commitment),
        takeNotified: subscription.take,
      },
      options,
    )
    let final = -1
    let asked = { slot: Number.NEGATIVE_INFINITY, ms: Number.NEGATIVE_INFINITY }
    /** By slots while they come faster than usual, by time where the head stays or was a lie. */
    const isDue = (slot: number, nowMs: number): boolean =>
      slot >= asked.slot + FINALITY_POLL_SLOTS ||
      nowMs >= asked.ms + FINALITY_POLL_SLOTS * chain.blockTimeMs
    return {
      heads,
      spacing: 'sparse',
      blockTimeMs: chain.blockTimeMs,
      reorgBound: maxReorgBlocks(chain),
      nowMs: Date.now,
      // Times of blocks are votes of validators; until mid 2021 they could fall. Source: agave, feature warp_timestamp_again.
      fallingTimes: true,
      next: queue.next,
      clearCache: queue.invalidate,
      above: ({ height }, fits, head) =>
        rpc.attempt(async (ask) => {
          const range = { from: height + 1, to: head.height }
          if (range.from > range.to) return undefined
          const block = await fetchBlockAbove(ask, { ...asking, programs }, range)
          if (block !== undefined) fits(block)
          return block
        }),
      isCanonical: (ref) => isCanonical(asking, ref, options.signal),
      isReplacedEverywhere: async ({ height, hash }) =>
        isReplacedBy(await rpc.poll((ask) => hashAtSlot(ask, asking, height), 'all'), hash),
      refuse: (error) => rejectedResponses.add(error, null),
      finalHeight: async (head) => {
        const { height } = head
        const nowMs = performance.now()
        if (isDue(height, nowMs)) {
          const slots = await fetchNewestSlots(rpc, 'finalized')
          const implausible = slots.flatMap((slot) => implausibleFinality(slot, head, chain) ?? [])
          for (const error of implausible) rejectedResponses.add(error, null)
          final = slots.slice(implausible.length).at(-1) ?? final
          asked = { slot: height, ms: nowMs }
        }
        return final
      },
    }
  }

interface QueryContext {
  readonly rpc: RpcPool
  readonly chain: string
  readonly commitment: Commitment
}

/** Slots above a skipped one in which the block that passes over it is looked for. */
const SKIP_PROOF_SLOTS = 64

/** What an endpoint shows instead of a block: one above that passes over its slot. */
const SKIPPED_MARKER = 'passed over'

/**
 * Hash of the block that one endpoint shows at a slot. Only a block above it whose parent lies below proves that it was skipped: a node
 * that began at a snapshot, or lost blocks, calls skipped what it does not have. undefined: it shows nothing.
 */
const hashAtSlot = async (
  ask: CallEndpoint,
  { chain, commitment }: QueryContext,
  slot: number,
): Promise<string | undefined> => {
  const one = singleEndpoint(ask)
  const header = await fetchHeader(one, { chain, slot }, commitment)
  if (header !== 'skipped') return header?.hash
  const [next] = await fetchSlotList(
    one,
    { from: slot + 1, to: slot + SKIP_PROOF_SLOTS },
    commitment,
  )
  if (next === undefined) return undefined
  const above = await fetchHeader(one, { chain, slot: next }, commitment)
  return above !== undefined && above !== 'skipped' && above.parentSlot < slot
    ? SKIPPED_MARKER
    : undefined
}

/** Asked again while no endpoint can tell: one that lags behind another knows less than we hold. */
const isCanonical = (
  asking: QueryContext,
  { height, hash }: BlockRef,
  signal: AbortSignal,
): Promise<boolean | undefined> =>
  retry(
    async (attempt) => {
      const views = await asking.rpc.poll((ask) => hashAtSlot(ask, asking, height))
      const answer = canonicalBy(views, hash)
      if (answer !== undefined || attempt >= CANONICAL_RETRY.tries) return answer
      throw new Outage('rpc', `no endpoint could confirm block ${height}`)
    },
    { ...CANONICAL_RETRY, signal },
  )

/** The block above a tip as one endpoint has it; undefined: it has none yet. */
const fetchBlockAbove = async (
  ask: CallEndpoint,
  { chain, commitment, programs }: QueryContext & { readonly programs: ProgramFilter },
  { from, to }: { readonly from: number; readonly to: number },
): Promise<SvmBlock | undefined> => {
  const one = singleEndpoint(ask)
  const [slot] = await fetchSlotList(
    one,
    { from, to: Math.min(to, from + NEXT_BLOCK_SEARCH_SLOTS) },
    commitment,
  )
  if (slot === undefined) return undefined
  const block = await fetchBlock(one, { chain, slot, programs }, commitment)
  return block === 'skipped' ? undefined : block
}

/** Slots in which the block above a tip is looked for. */
const NEXT_BLOCK_SEARCH_SLOTS = 512
