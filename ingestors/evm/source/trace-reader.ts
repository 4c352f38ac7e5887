import type { Logger } from '../../../core/ops/logger.ts'
import type { RpcPool } from '../../../core/rpc/pool.ts'
import type { CallFrame } from '../../../schemas/block-parts.ts'
import type { EvmBlock } from '../../../schemas/events.ts'
import { callsOfFrames, callsOfTraces } from './call-frames.ts'
import { type Tracer, tracer, type Way } from './tracer.ts'

/**
 * Reads the calls of blocks: from the `callTracer` by the block's hash, else from `trace_block`, from the first endpoint that
 * has one of them; undefined where none has. Throws as `tracer`.
 */
export const traceReader = (rpc: RpcPool, log: Logger): Tracer<readonly CallFrame[]> => {
  const read = tracer({ rpc, log, ways: [FRAMES, TRACES], what: 'calls' })
  return async (block, spare) => (block.transactions.length === 0 ? [] : read(block, spare))
}

const FRAMES: Way<readonly CallFrame[]> = {
  call: ({ hash }) => ({
    method: 'debug_traceBlockByHash',
    params: [hash, { tracer: 'callTracer' }],
  }),
  read: async (block, answer, { spare }) => callsOfFrames(block, answer, spare && { spare }),
}

const TRACES: Way<readonly CallFrame[]> = {
  call: ({ height }) => ({ method: 'trace_block', params: [`0x${height.toString(16)}`] }),
  // By height only: it may be another block by now, which the follower will find out.
  read: async (block, answer) =>
    isOfAnother(block, answer) ? undefined : callsOfTraces(block, answer),
}

const isOfAnother = ({ hash }: EvmBlock, answer: unknown): boolean =>
  Array.isArray(answer) && answer[0]?.blockHash !== undefined && answer[0].blockHash !== hash
