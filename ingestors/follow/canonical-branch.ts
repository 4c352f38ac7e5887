import { InvalidInput } from '../../core/errors.ts'
import type { EndpointView } from '../../core/rpc/pool.ts'
import { floorOf, tooDeep } from './chain-position.ts'
import type { BlockRef, Position } from './contract.ts'

/** What is asked of a node about the blocks that we hold. */
export interface CanonicalNode {
  /** Whether the node's own chain holds this block: false only where it shows another one in its place; undefined = it cannot tell now. */
  isCanonical(ref: BlockRef): Promise<boolean | undefined>
  /** Whether every endpoint shows another block in its place. */
  isReplacedEverywhere(ref: BlockRef): Promise<boolean>
}

/**
 * Whether the endpoints hold our block at its height, by what each shows there: the majority counts, of those that are not far behind
 * where there are such. One that shows nothing says nothing: it may lag. undefined where no node shows a block or as many show ours as
 * show another.
 */
export const canonicalBy = (
  views: readonly EndpointView<string>[],
  hash: string,
): boolean | undefined => {
  const shown = views.filter(({ value: answered }) => answered !== undefined)
  const ahead = shown.filter(({ behind }) => !behind)
  const voters = ahead.length > 0 ? ahead : shown
  const ours = voters.filter(({ value: answered }) => answered === hash).length
  const others = voters.length - ours
  return ours === others ? undefined : ours > others
}

/** Whether every endpoint shows a block, and none of them ours. */
export const isReplacedBy = (views: readonly EndpointView<string>[], hash: string): boolean =>
  views.length > 0 &&
  views.every(({ value: answered }) => answered !== undefined && answered !== hash)

/**
 * Blocks of ours that the node's chain does not hold, newest first; none while it cannot tell. Nothing is taken back before the
 * common ancestor is known: a lagging replica that answers for some heights only takes nothing back. Throws `InvalidInput`
 * where the ancestor lies below what can be taken back: the reasons of `tooDeep` where every endpoint says so, else
 * `reorg-unconfirmed`.
 */
export const replacedBlocks = async (
  node: CanonicalNode,
  position: Position,
): Promise<readonly BlockRef[]> => {
  const { stack } = position
  const floor = floorOf(position)
  const lowest = Math.max(floor, 0)
  /** The oldest that is known to be replaced, and the newest that is known to be canonical; -1: none. */
  let replaced = stack.length
  let canonical = -1
  for (let at = stack.length - 1, step = 1; at >= lowest; step *= 2) {
    const answer = await canonicalAt(node, stack, at)
    if (answer === undefined) return []
    if (answer) canonical = at
    else replaced = at
    if (answer || at === lowest) break
    at = Math.max(lowest, at - step)
  }
  if (replaced === stack.length) return []
  if (canonical === -1 && floor >= 0) throw await confirmed(node, position, stack[floor])
  while (replaced - canonical > 1) {
    const at = Math.floor((replaced + canonical) / 2)
    const answer = await canonicalAt(node, stack, at)
    if (answer === undefined) return []
    if (answer) canonical = at
    else replaced = at
  }
  return stack.slice(replaced).toReversed()
}

const canonicalAt = async (
  node: CanonicalNode,
  stack: readonly BlockRef[],
  at: number,
): Promise<boolean | undefined> => {
  const ref = stack[at]
  return ref === undefined ? undefined : node.isCanonical(ref)
}

const confirmed = async (
  node: CanonicalNode,
  position: Position,
  ref: BlockRef | undefined,
): Promise<InvalidInput> => {
  if (ref === undefined || (await node.isReplacedEverywhere(ref))) return tooDeep(position, ref)
  const answered = `not every endpoint shows another block than ours at height ${ref.height}`
  return new InvalidInput('reorg-unconfirmed', answered)
}
