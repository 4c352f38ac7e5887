import type { Logger } from '../../../core/ops/logger.ts'
import type { RpcPool } from '../../../core/rpc/pool.ts'
import type { SvmBlock } from '../../../schemas/events.ts'
import type { BlockRef } from '../../follow/contract.ts'
import type { HeadWatch } from '../../follow/head-tracker.ts'
import { fieldsOf } from '../../input/json.ts'
import { parseUint } from '../layout/json.ts'
import { normalizeHeader } from '../normalize/block.ts'
import type { ProgramFilter } from '../programs/programs.ts'
import { type Commitment, getBlockOptions, normalizeBlockYielding } from './node-queries.ts'

/** Pushed blocks that wait to be taken; each may be ten megabytes of JSON. */
const MAX_BUFFERED_BLOCKS = 8
/** Slots that pushed blocks may lie behind the tip of the cluster, which is not confirmed yet, and still be the newest. */
const CONFIRMATION_LAG_SLOTS = 4

/** What pushes are read with. */
export interface BlockBufferOptions {
  readonly chain: string
  readonly commitment: Commitment
  readonly programs: ProgramFilter
  readonly log: Logger
}

/** A block that was pushed. */
export interface BlockNotification {
  readonly slot: number
  /** In the shape of `getBlock`. */
  readonly rawBlock: unknown
  /** Brings each transaction into that shape; absent: they are. */
  readonly toGetBlockFields?: (transaction: unknown) => unknown
}

/** Blocks that nodes push, by whatever way. */
export interface BlockSubscription {
  /** The pushed block that extends the tip; null when none was, or it cannot be read. */
  take(tip: BlockRef): Promise<SvmBlock | null>
  /** Keeps a block; `isNews`: the chain's head is at it. Throws `InvalidInput` for an invalid header. */
  block(pushed: BlockNotification, isNews: boolean): void
  /** The cluster is at a slot: time to ask for the newest confirmed one, where no block tells. */
  onSlot(slot: number): void
}

/** A desk on which nothing lies yet. */
export const createBlockSubscription = (
  heads: HeadWatch,
  { chain, programs, log }: BlockBufferOptions,
): BlockSubscription => {
  const byParent = new Map<string, BlockNotification>()
  let pushedTo = -1
  let asking = false
  return {
    block: (pushed, isNews) => {
      const { slot, rawBlock } = pushed
      const { hash, parentHash } = normalizeHeader(rawBlock, { chain, slot })
      byParent.delete(parentHash)
      byParent.set(parentHash, pushed)
      for (const [oldest] of byParent)
        if (byParent.size > MAX_BUFFERED_BLOCKS) byParent.delete(oldest)
      if (!isNews) return
      pushedTo = slot
      heads.see({ height: slot, hash })
    },
    onSlot: (slot) => {
      if (asking || slot <= pushedTo + CONFIRMATION_LAG_SLOTS) return
      asking = true
      heads
        .refresh()
        .catch((error: unknown) =>
          log.debug({ err: error }, 'failed to fetch block for slot notification'),
        )
        .finally(() => {
          asking = false
        })
    },
    take: async (tip) => {
      const waiting = byParent.get(tip.hash)
      if (waiting === undefined) return null
      byParent.delete(tip.hash)
      const { slot, rawBlock: raw, toGetBlockFields: shapeOf } = waiting
      if (slot <= tip.height) return null
      return normalizeBlockYielding(raw, { chain, slot, programs }, shapeOf).catch(
        (error: unknown) => {
          log.warn({ err: error, slot }, 'invalid block in notification')
          return null
        },
      )
    },
  }
}

/** Which subscriptions are kept. */
export interface SubscribeOptions {
  /** False: whole blocks come by another way. */
  readonly wholeBlocks: boolean
  readonly commitment: Commitment
  readonly log: Logger
}

/**
 * Listens to `blockSubscribe`, where the node offers it, and to `slotSubscribe`, which says when to ask for the newest
 * confirmed slot. A notice that cannot be read is passed over: the block is asked for then.
 */
export const subscribeToBlocks = (
  rpc: RpcPool,
  subscription: BlockSubscription,
  { wholeBlocks, commitment, log }: SubscribeOptions,
): void => {
  const onBlock = (notice: unknown): void => {
    const { slot: at, block } = fieldsOf(fieldsOf(notice, 'notice').value, 'notice.value')
    if (block === null || block === undefined) return
    subscription.block({ slot: parseUint(at, 'notice.value.slot'), rawBlock: block }, true)
  }
  const onSlot = (notice: unknown): void =>
    subscription.onSlot(parseUint(fieldsOf(notice, 'notice').slot, 'notice.slot'))
  const blockParams = ['all', { ...getBlockOptions(commitment), showRewards: true }]
  const blocks = { method: 'blockSubscribe', params: blockParams }
  if (wholeBlocks) rpc.subscribe(blocks, skipInvalidNotices(onBlock, log), 'first')
  rpc.subscribe({ method: 'slotSubscribe', params: [] }, skipInvalidNotices(onSlot, log))
}

/** A reader of notices that passes over what it cannot read. */
export const skipInvalidNotices =
  <Rest extends readonly unknown[]>(read: (notice: unknown, ...rest: Rest) => void, log: Logger) =>
  (notice: unknown, ...rest: Rest): void => {
    try {
      read(notice, ...rest)
    } catch (error) {
      log.warn({ err: error }, 'invalid notification')
    }
  }
