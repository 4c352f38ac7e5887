import type { Logger } from '../../../core/ops/logger.ts'
import type { RpcPool } from '../../../core/rpc/pool.ts'
import type { MoveBlock } from '../../../schemas/events.ts'
import type { BlockRef } from '../../follow/contract.ts'
import type { HeadWatch } from '../../follow/head-tracker.ts'
import { fieldsOf } from '../../input/json.ts'
import { parseUint } from '../../svm/layout/json.ts'
import { normalizeHeader } from '../normalize/checkpoint.ts'
import { CHECKPOINT_FIELDS, METHOD, parseNotifiedCheckpoint } from './node-queries.ts'

/** Pushed checkpoints that wait to be taken; each may be a megabyte. */
const MAX_BUFFERED_CHECKPOINTS = 16

/** Checkpoints that nodes push. */
export interface CheckpointSubscription {
  /** The pushed checkpoint that extends the tip; null when none was, or it cannot be read or has to be asked for. */
  take(tip: BlockRef): MoveBlock | null
}

interface BufferedCheckpoint {
  readonly height: number
  readonly rawCheckpoint: unknown
}

/**
 * Listens to `SubscribeCheckpoints`: whole checkpoints, from the newest on. What cannot be read, comes late or is lost is asked
 * for instead.
 */
export const subscribeToCheckpoints = (
  rpc: RpcPool,
  heads: HeadWatch,
  { chain, log }: { readonly chain: string; readonly log: Logger },
): CheckpointSubscription => {
  const byParent = new Map<string, BufferedCheckpoint>()
  const onCheckpoint = (notice: unknown): void => {
    const raw = fieldsOf(notice, 'notice')
    const { height, hash, parentHash } = normalizeHeader(raw.checkpoint, chain)
    if (height !== parseUint(raw.cursor, 'notice.cursor')) return
    byParent.delete(parentHash)
    byParent.set(parentHash, { height, rawCheckpoint: raw.checkpoint })
    for (const [oldest] of byParent)
      if (byParent.size > MAX_BUFFERED_CHECKPOINTS) byParent.delete(oldest)
    heads.see({ height, hash })
  }
  const call = { method: METHOD.subscribe, params: [{ readMask: { paths: CHECKPOINT_FIELDS } }] }
  const guarded = (notice: unknown): void => {
    try {
      onCheckpoint(notice)
    } catch (error) {
      log.warn({ err: error }, 'invalid notification')
    }
  }
  rpc.subscribe(call, guarded, 'first')
  return {
    take: (tip) => {
      const waiting = byParent.get(tip.hash)
      if (waiting === undefined) return null
      byParent.delete(tip.hash)
      const { height, rawCheckpoint: raw } = waiting
      if (height !== tip.height + 1) return null
      try {
        return parseNotifiedCheckpoint(raw, chain, height)
      } catch (error) {
        log.warn({ err: error, height }, 'invalid checkpoint in notification')
        return null
      }
    },
  }
}
