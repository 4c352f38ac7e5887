import type { Logger } from '../../core/log.ts'
import type { Rpc } from '../../core/rpc.ts'
import type { SvmBlock } from '../../schemas/events.ts'
import type { HeadWatch } from '../heads.ts'
import { fieldsOf } from '../json.ts'
import type { BlockRef } from '../source.ts'
import { blockOptions, type Commitment, unhurried } from './calls.ts'
import { wholeAt } from './json.ts'
import { normalizeHeader } from './normalize.ts'
import type { SvmPrograms } from './programs.ts'

/** Pushed blocks that wait to be taken; each may be ten megabytes of JSON. */
const WAITING = 8
/** Slots that pushed blocks may lie behind the tip of the cluster, which is not confirmed yet, and still be the newest. */
const CONFIRM_SLOTS = 4

/** What pushes are read with. */
export interface PushOptions {
  readonly chain: string
  readonly commitment: Commitment
  readonly programs: SvmPrograms
  readonly log: Logger
}

/** Blocks that nodes push. */
export interface Pushes {
  /** The pushed block that extends the tip; null when none was, or it cannot be read. */
  take(tip: BlockRef): Promise<SvmBlock | null>
}

interface Waiting {
  readonly slot: number
  readonly said: unknown
}

/**
 * Listens to `blockSubscribe`, where the node offers it, and to `slotSubscribe`, which says when to ask for the newest
 * confirmed slot. A notice that cannot be read is passed over: the block is asked for then.
 */
export const listenForBlocks = (rpc: Rpc, heads: HeadWatch, options: PushOptions): Pushes => {
  const { chain, commitment, programs, log } = options
  const byParent = new Map<string, Waiting>()
  let pushedTo = -1
  let asking = false
  const onBlock = (notice: unknown): void => {
    const { slot: at, block } = fieldsOf(fieldsOf(notice, 'notice').value, 'notice.value')
    if (block === null || block === undefined) return
    const slot = wholeAt(at, 'notice.value.slot')
    const { hash, parentHash } = normalizeHeader(block, { chain, slot })
    byParent.delete(parentHash)
    byParent.set(parentHash, { slot, said: block })
    for (const [oldest] of byParent) if (byParent.size > WAITING) byParent.delete(oldest)
    pushedTo = slot
    heads.see({ height: slot, hash })
  }
  const onSlot = (notice: unknown): void => {
    const slot = wholeAt(fieldsOf(notice, 'notice').slot, 'notice.slot')
    if (asking || slot <= pushedTo + CONFIRM_SLOTS) return
    asking = true
    heads
      .refresh()
      .catch((error: unknown) => log.debug({ err: error }, 'no answer to a slot notice'))
      .finally(() => {
        asking = false
      })
  }
  const guarded = (read: (notice: unknown) => void) => (notice: unknown) => {
    try {
      read(notice)
    } catch (error) {
      log.warn({ err: error }, 'unreadable notice')
    }
  }
  const blockParams = ['all', { ...blockOptions(commitment), showRewards: true }]
  rpc.subscribe({ method: 'blockSubscribe', params: blockParams }, guarded(onBlock), 'first')
  rpc.subscribe({ method: 'slotSubscribe', params: [] }, guarded(onSlot))
  return {
    take: async (tip) => {
      const waiting = byParent.get(tip.hash)
      if (waiting === undefined) return null
      byParent.delete(tip.hash)
      const { slot, said } = waiting
      if (slot <= tip.height) return null
      return unhurried(said, { chain, slot, programs }).catch((error: unknown) => {
        log.warn({ err: error, slot }, 'unreadable pushed block')
        return null
      })
    },
  }
}
