import assert from 'node:assert/strict'
import type { ChainOp, Position, Source } from '../../ingestors/follow/contract.ts'

/** A line per operation: what a test compares. */
const operationLine = (op: ChainOp): string => {
  if (op.op === 'apply') return `+${op.block.height} ${op.block.hash.slice(0, 10)}`
  return `${op.op === 'revert' ? '-' : '='}${op.ref.height} ${op.ref.hash.slice(0, 10)}`
}

/** Follows a source until `enough` says so; the operations so far. */
export const collectOperations = async (
  source: Source,
  enough: (ops: readonly ChainOp[]) => boolean,
  position: Position | null = null,
): Promise<readonly ChainOp[]> => {
  const stop = new AbortController()
  const guard = setTimeout(() => stop.abort(new Error('the source did not get there')), 60_000)
  const ops: ChainOp[] = []
  try {
    for await (const op of source.operations(position, stop.signal)) {
      ops.push(op)
      if (enough(ops)) return ops
    }
  } finally {
    clearTimeout(guard)
  }
  throw new Error(`ended early after ${ops.map(operationLine).join(', ')}`)
}

/** The newest operation applied the block of this height. */
export const reachedHeight = (height: number) => (ops: readonly ChainOp[]) => {
  const last = ops.at(-1)
  return last?.op === 'apply' && last.block.height === height
}

/** Applied blocks that were not reverted, by height. */
export const canonicalBlocks = (ops: readonly ChainOp[]): readonly string[] => {
  const stack: string[] = []
  for (const op of ops) {
    if (op.op === 'apply') stack.push(op.block.hash)
    if (op.op === 'revert')
      assert.equal(stack.pop(), op.ref.hash, 'a revert undoes the newest block')
  }
  return stack
}
