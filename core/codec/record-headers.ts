import type { EventMeta } from '../../schemas/wire.ts'

/** Headers of every record of a block operation: what routers and dead letters need without decoding. */
export const recordHeaders = (meta: EventMeta): Readonly<Record<string, string>> => ({
  seq: String(meta.seq),
  op: meta.op.charAt('OP_'.length),
  part: `${meta.part}/${meta.parts}`,
  chain: meta.chain,
  height: String(meta.height),
  hash: meta.hash,
  ct: 'application/vnd.confluent.avro',
})
