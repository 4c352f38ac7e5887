import type { EventMeta } from '../schemas/wire.ts'

const INDEX_BITS = 24n
const MAX_EVENT_INDEX = 0xff_ffff

/** `(seq << 24) | index`: orders whatever a chain's topics say, over reorgs too. */
export const rowVersion = (seq: number, index: number): bigint =>
  (BigInt(seq) << INDEX_BITS) | BigInt(index)

/** Version of an event; a retraction counts backwards, because its events come newest first. */
export const eventVersion = ({ op, seq }: Pick<EventMeta, 'op' | 'seq'>, index: number): bigint =>
  rowVersion(seq, op === 'OP_REVERT' ? MAX_EVENT_INDEX - index : index)
