import type { Bus, LogRecord, RunningTask } from '../../../core/bus/contract.ts'
import type { Codec } from '../../../core/codec/contract.ts'
import { InvalidInput } from '../../../core/errors.ts'
import { topicName } from '../../../schemas/topics.ts'
import type { BlockFeed } from './block-feed.ts'

/** What the notices are read with. */
export interface BlockNoticeDeps {
  readonly bus: Pick<Bus, 'tail'>
  readonly codec: Pick<Codec, 'decode'>
}

/** Block operation of a record; undefined where it changes no block. */
const changedSeq = ({ value }: LogRecord, codec: BlockNoticeDeps['codec']): number | undefined => {
  if (value === null) return undefined
  try {
    const { meta } = codec.decode('block.BlockEvent', value)
    // The rows of final blocks stand already.
    return meta.op === 'OP_FINALIZE' ? undefined : meta.seq
  } catch (error) {
    // The sinks report it.
    if (error instanceof InvalidInput) return undefined
    throw error
  }
}

/** Tells each chain's feed of the blocks that come on the log. */
export const announceBlocks = async (
  { bus, codec }: BlockNoticeDeps,
  feeds: ReadonlyMap<string, BlockFeed>,
): Promise<RunningTask> => {
  const byTopic = new Map([...feeds].map(([chain, feed]) => [topicName('blocks', chain), feed]))
  return bus.tail({
    topics: [...byTopic.keys()],
    from: 'latest',
    onRecords: (records) => {
      for (const record of records) {
        const seq = changedSeq(record, codec)
        if (seq !== undefined) byTopic.get(record.topic)?.announce(seq)
      }
    },
  })
}
