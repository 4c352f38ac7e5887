import type { ASTNode } from '@marcbachmann/cel-js'

/** Macros that walk a list: harmless over what the expression itself spells out, a loop over data otherwise. */
export const WALKS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map'])

/** Steps of an evaluation, and how large its answer may be, in list elements or sixteens of a text's characters. */
interface Weight {
  readonly cost: number
  readonly size: number
}

/** Largest sizes of the variables that an expression binds itself. */
type Sizes = ReadonlyMap<string, number>

/** Largest value of an event: a name of 256 bytes. */
const EVENT_SIZE = 16
const CHARACTERS_PER_STEP = 16
/** A time of day in a named zone is looked up in the zone's tables. */
const ZONE_STEPS = 200

const LOGIC: ReadonlySet<string> = new Set(['&&', '||', '!_'])
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>='])
const ACCESSES: ReadonlySet<string> = new Set(['.', '.?', '[]', '[?]'])

/** Steps that an evaluation takes at most, whatever the event: walks within walks multiply. */
export const costOf = (node: ASTNode): number => weigh(node, new Map()).cost

/** Nodes directly below a node. */
export const childrenOf = (args: unknown): readonly ASTNode[] => {
  if (isNode(args)) return [args]
  return Array.isArray(args) ? args.flatMap(childrenOf) : []
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

const weigh = (node: ASTNode, sizes: Sizes): Weight => {
  if (node.op === 'value') return { cost: 1, size: literalSize(node.args) }
  if (node.op === 'id') return { cost: 1, size: sizes.get(node.args) ?? EVENT_SIZE }
  if (node.op === 'rcall') {
    const [name, receiver, args] = node.args
    if (WALKS.has(name) && receiver.op === 'list') return walk(name, receiver.args, args, sizes)
    if (name === 'bind') return bind(args, sizes)
  }
  const below = childrenOf(node.args).map((child) => weigh(child, sizes))
  const own = below.map(({ size }) => size)
  const cost = 1 + sum(below.map((each) => each.cost))
  if (LOGIC.has(node.op)) return { cost, size: 1 }
  if (COMPARISONS.has(node.op)) return { cost: cost + Math.min(...own), size: 1 }
  if (node.op === 'in') return { cost: cost + sum(own), size: 1 }
  if (ACCESSES.has(node.op)) return { cost, size: sum(own) }
  return { cost: cost + sum(own) + zoneSteps(node), size: 1 + sum(own) }
}

const literalSize = (value: unknown): number =>
  typeof value === 'string' ? 1 + Math.ceil(value.length / CHARACTERS_PER_STEP) : 1

/** `timestamp.getHours("Europe/Paris")` and its like. */
const zoneSteps = ({ op, args }: ASTNode): number =>
  op === 'rcall' && args[0].startsWith('get') && args[2].length > 0 ? ZONE_STEPS : 0

/** A list's elements one after another: the body is evaluated once for each. */
const walk = (
  name: string,
  elements: readonly ASTNode[],
  [variable, ...body]: readonly ASTNode[],
  sizes: Sizes,
): Weight => {
  const each = elements.map((element) => weigh(element, sizes))
  const largest = Math.max(0, ...each.map(({ size }) => size))
  const inside = body.map((part) => weigh(part, bound(sizes, variable, largest)))
  const once = 1 + sum(inside.map(({ cost }) => cost))
  const cost = 1 + sum(each.map((element) => element.cost)) + elements.length * once
  if (name === 'filter') return { cost, size: 1 + elements.length * largest }
  const mapped = Math.max(0, ...inside.map(({ size }) => size))
  return { cost, size: name === 'map' ? 1 + elements.length * mapped : 1 }
}

/** `cel.bind(name, value, body)`. */
const bind = ([variable, value, body]: readonly ASTNode[], sizes: Sizes): Weight => {
  if (value === undefined || body === undefined) return { cost: 1, size: 1 }
  const given = weigh(value, sizes)
  const { cost, size } = weigh(body, bound(sizes, variable, given.size))
  return { cost: 1 + given.cost + cost, size }
}

const bound = (sizes: Sizes, variable: ASTNode | undefined, size: number): Sizes =>
  variable?.op === 'id' ? new Map([...sizes, [variable.args, size]]) : sizes
