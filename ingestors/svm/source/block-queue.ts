import pLimit from 'p-limit'
import { Outage } from '../../../core/errors.ts'
import type { SvmBlock } from '../../../schemas/events.ts'
import type { BlockRef } from '../../follow/contract.ts'
import type { Head } from '../../follow/head-tracker.ts'
import { skippingInvalid } from '../../input/skip-invalid.ts'
import type { SlotResult } from './node-queries.ts'

/**
 * Rounds over all endpoints for one block. What is not in shape after that is nowhere in shape: if it is one transaction, the block
 * is taken without it.
 */
const BLOCK_RETRY = { firstMs: 100, maxMs: 2_000, tries: 5 } as const
/** Blocks fetched ahead of the one that is consumed, while catching up: each may be ten megabytes of JSON. */
const MAX_PREFETCHED_BLOCKS = 8
/** Slots that are listed in one call. */
const SLOTS_PER_LIST_CALL = 1_000

/** Times that slots are listed for one block: listed ones that turn out to be skipped end sometime. */
const MAX_LISTS_PER_TURN = 4

/** What the queue asks. */
export interface BlockFetcher {
  listSlots(range: { readonly from: number; readonly to: number }): Promise<readonly number[]>
  /** `skipInvalid`: without the transactions that cannot be read. */
  read(slot: number, skipInvalid: boolean): Promise<SlotResult<SvmBlock>>
  /** A pushed block that extends the tip; null when none was. */
  takeNotified(tip: BlockRef): Promise<SvmBlock | null>
}

/** Blocks of a chain in slot order, fetched ahead. */
export interface BlockQueue {
  /** The next block above the tip, or from slot `from` on; undefined = not there yet. Throws `Outage` or `InvalidInput`. */
  next(tip: BlockRef | null, from: number, head: Head): Promise<SvmBlock | undefined>
  invalidate(): void
}

/** An empty queue. */
export const createBlockQueue = (
  calls: BlockFetcher,
  { concurrency, signal }: { readonly concurrency: number; readonly signal: AbortSignal },
): BlockQueue => {
  const limit = pLimit(Math.min(MAX_PREFETCHED_BLOCKS, concurrency))
  const ahead = new Map<number, Promise<SlotResult<SvmBlock>>>()
  let listed: readonly number[] = []
  let listedTo = -1
  /** Up to where no block was found above `listedTo`; -1: nothing was searched. */
  let emptyTo = -1
  let given = -1
  const discard = (): void => {
    ahead.clear()
    listed = []
    listedTo = -1
    emptyTo = -1
  }
  const fetchAhead = (): void => {
    for (const slot of listed.slice(0, MAX_PREFETCHED_BLOCKS)) {
      if (ahead.has(slot)) continue
      const block = limit(() => fetchWithRetry(calls, slot, signal))
      block.catch(() => undefined)
      ahead.set(slot, block)
    }
  }
  const dropTo = (slot: number): void => {
    listed = listed.filter((each) => each > slot)
    for (const each of ahead.keys()) if (each <= slot) ahead.delete(each)
  }
  /** Lists the slots of a range; false where it shows none. */
  const list = async (from: number, head: Head): Promise<boolean> => {
    const to = Math.min(head.height, from + SLOTS_PER_LIST_CALL - 1)
    if (from > to) return false
    listed = await calls.listSlots({ from, to })
    const last = listed.at(-1)
    if (last !== undefined) listedTo = last
    emptyTo = last === undefined ? to : -1
    return last !== undefined
  }
  /**
   * Lists the slots above `after`; false when none has a block yet. Of slots without one only a block above says that they were passed
   * over: they may be still to come, below an implausible head. So the first range is listed again each time, and one above it.
   */
  const listMore = async (after: number, head: Head): Promise<boolean> => {
    const from = Math.max(after, listedTo) + 1
    if (from > head.height) return false
    const searchedTo = emptyTo < head.height ? emptyTo : -1
    return (await list(from, head)) || list(Math.max(emptyTo, searchedTo) + 1, head)
  }
  const give = (block: SvmBlock): SvmBlock => {
    given = block.height
    dropTo(block.height)
    return block
  }
  return {
    invalidate: discard,
    next: async (tip, from, head) => {
      const after = tip?.height ?? from - 1
      if (after < given) discard()
      dropTo(after)
      const pushed = tip === null ? null : await calls.takeNotified(tip)
      if (pushed !== null) return give(pushed)
      for (let lists = 0; ; ) {
        signal.throwIfAborted()
        if (listed.length === 0) {
          lists += 1
          if (lists > MAX_LISTS_PER_TURN || !(await listMore(after, head))) return undefined
        }
        const [slot] = listed
        if (slot === undefined) continue
        fetchAhead()
        const block = await ahead.get(slot)
        if (block === undefined) {
          discard()
          return undefined
        }
        if (block !== 'skipped') return give(block)
        dropTo(slot)
      }
    },
  }
}

/** A block that is listed and not yet to be had is asked for again for a while. */
const fetchWithRetry = (
  calls: BlockFetcher,
  slot: number,
  signal: AbortSignal,
): Promise<SlotResult<SvmBlock>> =>
  skippingInvalid(
    async (skipInvalid) => {
      const block = await calls.read(slot, skipInvalid)
      if (block === undefined) throw new BlockNotAvailable()
      return block
    },
    { ...BLOCK_RETRY, signal },
  ).catch((error: unknown) => {
    if (error instanceof BlockNotAvailable) return undefined
    throw error
  })

/** Every endpoint that answered lacks the block so far. */
class BlockNotAvailable extends Outage {
  constructor() {
    super('rpc', 'no endpoint has the block yet')
  }
}
