import type { Bus } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { topicName } from '../../schemas/topics.ts'

/** A standing block of a chain. */
interface CanonicalBlock {
  readonly hash: string
  readonly timeMs: number
}

/** What a chain's own topic says of it. */
export interface ChainHistory {
  /** Newest block operation; 0 before the first. */
  readonly seq: number
  /** Newest final height; -1 before the first. */
  readonly finalHeight: number
  readonly tip: (CanonicalBlock & { readonly height: number }) | null
  readonly blocks: ReadonlyMap<number, CanonicalBlock>
  /** Every APPLY and REVERT, oldest first. */
  readonly operations: readonly { readonly height: number; readonly seq: number }[]
}

/** Reads `{c}.blocks` from its start. Throws `Outage`, or `InvalidInput` for a record of another product. */
export const readChainHistory = async (request: {
  readonly bus: Bus
  readonly codec: Codec
  readonly chain: string
}): Promise<ChainHistory> => {
  const { bus, codec, chain } = request
  const topic = topicName('blocks', chain)
  const blocks = new Map<number, CanonicalBlock>()
  const operations: { height: number; seq: number }[] = []
  let finalHeight = -1
  let seq = 0
  for (const { partition, low, end } of await bus.ends(topic)) {
    for await (const { value } of bus.read(topic, partition, low, end)) {
      if (value === null) continue
      const { meta, final_height } = codec.decode('block.BlockEvent', value)
      const { height, hash, block_time: timeMs } = meta
      seq = meta.seq
      if (meta.op === 'OP_FINALIZE') finalHeight = final_height
      else operations.push({ height, seq })
      if (meta.op === 'OP_APPLY') blocks.set(height, { hash, timeMs })
      if (meta.op === 'OP_REVERT') blocks.delete(height)
    }
  }
  const newest = [...blocks].at(-1)
  const tip = newest === undefined ? null : { height: newest[0], ...newest[1] }
  return { seq, finalHeight, tip, blocks, operations }
}
