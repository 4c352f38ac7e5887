import { Outage } from '../../../core/errors.ts'
import type { Logger } from '../../../core/ops/logger.ts'
import type { Metrics } from '../../../core/ops/metrics.ts'
import { retry } from '../../../core/retry.ts'
import { pairEndpoint } from '../../../core/rpc/http-ws-endpoint.ts'
import { type Ask, type Identity, openRpc, type Rpc } from '../../../core/rpc/pool.ts'
import { type ChainRow, reorgBound } from '../../../schemas/chains.ts'
import type { SvmBlock } from '../../../schemas/events.ts'
import { canonicalBy, isReplacedBy } from '../../follow/canonical-branch.ts'
import type { BlockRef, Source } from '../../follow/contract.ts'
import { farBlocks, finalityLie, type HeadWatch, headWatch } from '../../follow/head-tracker.ts'
import { type FollowedNode, followNode } from '../../follow/node-follower.ts'
import { type RefusalBook, refusalBook } from '../../input/rejected-responses.ts'
import { keyAt } from '../layout/json.ts'
import { ALL_PROGRAMS, type SvmPrograms } from '../programs/programs.ts'
import { accountReader } from './accounts.ts'
import { blockQueue } from './block-queue.ts'
import { listenForBlocks, type Pushes, pushDesk } from './block-subscription.ts'
import { isStream, streamBlocks } from './grpc-stream.ts'
import { svmFacts } from './metadata-reader.ts'
import {
  type Commitment,
  listSlots,
  oneEndpoint,
  readBlock,
  readHeader,
  readSlots,
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
  readonly programs?: SvmPrograms
}

/** Rounds before a node that cannot tell whether a block is its own is believed that it cannot. */
const CANONICAL_TRIES = { firstMs: 100, maxMs: 1_000, tries: 4 } as const
/** Slots between two questions for finality: every answer may become an operation of its own. */
const FINAL_EVERY = 8
/** Slots in which a chain's first block is looked for. */
const START_SLOTS = 1_000

/** Opens a Solana node as a source. Throws `Outage` when no endpoint answers, `final` when they serve different chains. */
export const svmSource = async (options: SvmSourceOptions): Promise<Source> => {
  const { chain, signal, log, commitment = 'confirmed', programs = ALL_PROGRAMS, from } = options
  const streams = options.urls.filter(isStream)
  const refusals = refusalBook(chain.id, options.metrics)
  const rpc = openRpc({
    ...options,
    urls: options.urls.filter((url) => !isStream(url)),
    chain: chain.id,
    identity: oneGenesis(),
    endpointOf: pairEndpoint,
    onMalformed: refusals.add,
  })
  signal.addEventListener('abort', () => rpc.close(), { once: true })
  const genesis = await rpc.attempt(async (ask) =>
    keyAt(await ask({ method: 'getGenesisHash', params: [] }), 'getGenesisHash'),
  )
  if (genesis === undefined) throw new Outage('rpc', 'no endpoint has a genesis hash')
  const far = farBlocks(chain.blockTimeMs)
  const heads = headWatch({
    isNews: (told, held) =>
      told.height > held.height ||
      (told.height === held.height && told.hash !== null && told.hash !== held.hash),
    ask: async () => {
      const [height] = await readSlots(rpc, commitment, far)
      if (height === undefined) throw new Outage('rpc', 'no endpoint has a slot')
      return { height, hash: null }
    },
    signal,
  })
  const head = await heads.refresh()
  const pushes = pushDesk(heads, { chain: chain.id, commitment, programs, log })
  listenForBlocks(rpc, pushes, { wantsBlocks: streams.length === 0, commitment, log })
  streamBlocks(rpc, pushes, { ...options, chain: chain.id, urls: streams, commitment })
  const startMs = await firstTime(rpc, { chain: chain.id, from: from ?? head.height, commitment })
  const node = nodeOf({ rpc, heads, refusals, pushes, commitment, programs, options })
  const accounts = accountReader(rpc, { commitment, log })
  return {
    origin: [chain.id, genesis, ...(programs.profile ? [programs.profile.name] : [])].join(':'),
    ...(startMs !== undefined && { startMs }),
    commitment,
    gaps: true,
    node: {
      facts: () => svmFacts(accounts),
      // A node keeps the newest state only: what pools held behind the first block depends on when it is asked (R46).
      primes: async () => [],
    },
    head: heads.newest,
    refusals: refusals.take,
    operations: (position, stop) => followNode(node(), position, { from, stop }),
  }
}

/** Endpoints of one chain have one genesis: that of the first that answers. */
const oneGenesis = (): Identity => {
  let wanted: string | undefined
  return {
    call: { method: 'getGenesisHash', params: [] },
    accepts: (answer) => {
      const genesis = keyAt(answer, 'getGenesisHash')
      wanted ??= genesis
      return genesis === wanted
    },
    name: 'the genesis of the first endpoint',
  }
}

interface Start {
  readonly chain: string
  readonly from: number
  readonly commitment: Commitment
}

/** Time of the first block at or above a slot, where the node has one and knows it. */
const firstTime = async (
  rpc: Rpc,
  { chain, from, commitment }: Start,
): Promise<number | undefined> => {
  const [slot] = await listSlots(rpc, { from, to: from + START_SLOTS - 1 }, commitment)
  if (slot === undefined) return undefined
  const header = await readHeader(rpc, { chain, slot }, commitment)
  return header === undefined || header === 'skipped' || header.timeMs === 0
    ? undefined
    : header.timeMs
}

interface NodeParts {
  readonly rpc: Rpc
  readonly heads: HeadWatch
  readonly refusals: RefusalBook
  readonly pushes: Pushes
  readonly commitment: Commitment
  readonly programs: SvmPrograms
  readonly options: SvmSourceOptions
}

/** The node as each new follower asks it: with nothing fetched ahead. */
const nodeOf =
  ({ rpc, heads, refusals, pushes, commitment, programs, options }: NodeParts) =>
  (): FollowedNode => {
    const { chain } = options
    const asking: Asking = { rpc, chain: chain.id, commitment }
    const queue = blockQueue(
      {
        list: (range) => listSlots(rpc, range, commitment),
        read: (slot, lenient) =>
          readBlock(rpc, { chain: chain.id, slot, programs, lenient }, commitment),
        pushed: pushes.take,
      },
      options,
    )
    let final = -1
    let askedAt = Number.NEGATIVE_INFINITY
    return {
      heads,
      spacing: 'sparse',
      blockTimeMs: chain.blockTimeMs,
      reorgBound: reorgBound(chain),
      nowMs: Date.now,
      // Times of blocks are votes of validators; until mid 2021 they could fall. Source: agave, feature warp_timestamp_again.
      fallingTimes: true,
      next: queue.next,
      forget: queue.forget,
      above: ({ height }, fits, head) =>
        rpc.attempt(async (ask) => {
          const range = { from: height + 1, to: head.height }
          if (range.from > range.to) return undefined
          const block = await blockAbove(ask, { ...asking, programs }, range)
          if (block !== undefined) fits(block)
          return block
        }),
      isCanonical: (ref) => isCanonical(asking, ref, options.signal),
      isReplacedEverywhere: async ({ height, hash }) =>
        isReplacedBy(await rpc.poll((ask) => shownAt(ask, asking, height), 'all'), hash),
      refuse: (error) => refusals.add(error, null),
      finalHeight: async (head) => {
        const { height } = head
        if (height >= askedAt + FINAL_EVERY) {
          const slots = await readSlots(rpc, 'finalized')
          const lies = slots.flatMap((slot) => finalityLie(slot, head, chain) ?? [])
          for (const lie of lies) refusals.add(lie, null)
          final = slots.slice(lies.length).at(-1) ?? final
          askedAt = height
        }
        return final
      },
    }
  }

interface Asking {
  readonly rpc: Rpc
  readonly chain: string
  readonly commitment: Commitment
}

/** Slots above a skipped one in which the block that passes over it is looked for. */
const PAST_SLOTS = 64

/** What an endpoint shows instead of a block: one above that passes over its slot. */
const PASSED_OVER = 'passed over'

/**
 * Hash of the block that one endpoint shows at a slot. Only a block above it whose parent lies below proves that it was skipped: a node
 * that began at a snapshot, or lost blocks, calls skipped what it does not have. undefined: it shows nothing.
 */
const shownAt = async (
  ask: Ask,
  { chain, commitment }: Asking,
  slot: number,
): Promise<string | undefined> => {
  const one = oneEndpoint(ask)
  const header = await readHeader(one, { chain, slot }, commitment)
  if (header !== 'skipped') return header?.hash
  const [next] = await listSlots(one, { from: slot + 1, to: slot + PAST_SLOTS }, commitment)
  if (next === undefined) return undefined
  const above = await readHeader(one, { chain, slot: next }, commitment)
  return above !== undefined && above !== 'skipped' && above.parentSlot < slot
    ? PASSED_OVER
    : undefined
}

/** Asked again while no endpoint can tell: one that lags behind another knows less than we hold. */
const isCanonical = (
  asking: Asking,
  { height, hash }: BlockRef,
  signal: AbortSignal,
): Promise<boolean | undefined> =>
  retry(
    async (attempt) => {
      const views = await asking.rpc.poll((ask) => shownAt(ask, asking, height))
      const answer = canonicalBy(views, hash)
      if (answer !== undefined || attempt >= CANONICAL_TRIES.tries) return answer
      throw new Outage('rpc', `block ${height} is not there`)
    },
    { ...CANONICAL_TRIES, signal },
  )

/** The block above a tip as one endpoint has it; undefined: it has none yet. */
const blockAbove = async (
  ask: Ask,
  { chain, commitment, programs }: Asking & { readonly programs: SvmPrograms },
  { from, to }: { readonly from: number; readonly to: number },
): Promise<SvmBlock | undefined> => {
  const one = oneEndpoint(ask)
  const [slot] = await listSlots(one, { from, to: Math.min(to, from + LIST_ABOVE) }, commitment)
  if (slot === undefined) return undefined
  const block = await readBlock(one, { chain, slot, programs }, commitment)
  return block === 'skipped' ? undefined : block
}

/** Slots in which the block above a tip is looked for. */
const LIST_ABOVE = 512
