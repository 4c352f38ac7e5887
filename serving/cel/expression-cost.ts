import type { ASTNode } from '@marcbachmann/cel-js'

/** The function that stands for `matches`, whose own could take time without end. No text can call it: it is no identifier. */
export const LINEAR_MATCHES = 'matches in linear time'

/** Macros that walk a list: harmless over what the expression itself spells out, a loop over data otherwise. */
export const LIST_MACROS: ReadonlySet<string> = new Set([
  'all',
  'exists',
  'exists_one',
  'filter',
  'map',
])

/** Steps of an evaluation, and how large its answer may be, in list elements or sixteens of a text's characters. */
interface CostEstimate {
  readonly cost: number
  readonly size: number
}

/** Largest sizes of the variables that an expression binds itself. */
type VariableSizes = ReadonlyMap<string, number>

/** Largest value of an event: a name of 256 bytes. */
const EVENT_VALUE_SIZE = 16
const CHARACTERS_PER_STEP = 16
/** A time in a named zone is formatted as text and read again: some eighty microseconds. */
const TIME_ZONE_STEPS = 500

/** A regular expression walks its program for every character: the largest that is taken, over the largest value. */
const PATTERN_STEPS = 400

const LOGIC: ReadonlySet<string> = new Set(['&&', '||', '!_'])
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>='])
const ACCESSES: ReadonlySet<string> = new Set(['.', '.?', '[]', '[?]'])

/** Steps that an evaluation takes at most, whatever the event: walks within walks multiply. */
export const evaluationCost = (node: ASTNode): number => estimateCost(node, new Map()).cost

/** Nodes directly below a node. */
export const childNodes = (args: unknown): readonly ASTNode[] => {
  if (isNode(args)) return [args]
  return Array.isArray(args) ? args.flatMap(childNodes) : []
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

const estimateCost = (node: ASTNode, sizes: VariableSizes): CostEstimate => {
  if (node.op === 'value') return { cost: 1, size: literalSize(node.args) }
  if (node.op === 'id') return { cost: 1, size: sizes.get(node.args) ?? EVENT_VALUE_SIZE }
  if (node.op === 'rcall') {
    const [name, receiver, args] = node.args
    if (LIST_MACROS.has(name) && receiver.op === 'list')
      return listMacroCost(name, receiver.args, args, sizes)
    if (name === 'bind') return bindCost(args, sizes)
  }
  const below = childNodes(node.args).map((child) => estimateCost(child, sizes))
  const own = below.map(({ size }) => size)
  const cost = 1 + sum(below.map((each) => each.cost))
  if (LOGIC.has(node.op)) return { cost, size: 1 }
  if (COMPARISONS.has(node.op)) return { cost: cost + Math.min(...own), size: 1 }
  if (node.op === 'in') return { cost: cost + sum(own), size: 1 }
  if (ACCESSES.has(node.op)) return { cost, size: sum(own) }
  return {
    cost: cost + sum(own) + timeZoneSteps(node) + patternSteps(node),
    size: 1 + sum(own),
  }
}

const patternSteps = ({ op, args }: ASTNode): number =>
  op === 'rcall' && args[0] === LINEAR_MATCHES ? PATTERN_STEPS : 0

const literalSize = (value: unknown): number =>
  typeof value === 'string' ? 1 + Math.ceil(value.length / CHARACTERS_PER_STEP) : 1

/** `timestamp.getHours("Europe/Paris")` and its like. */
const timeZoneSteps = ({ op, args }: ASTNode): number =>
  op === 'rcall' && args[0].startsWith('get') && args[2].length > 0 ? TIME_ZONE_STEPS : 0

/** A list's elements one after another: the body is evaluated once for each. */
const listMacroCost = (
  name: string,
  elements: readonly ASTNode[],
  [variable, ...body]: readonly ASTNode[],
  sizes: VariableSizes,
): CostEstimate => {
  const each = elements.map((element) => estimateCost(element, sizes))
  const largest = Math.max(0, ...each.map(({ size }) => size))
  const inside = body.map((part) => estimateCost(part, withVariable(sizes, variable, largest)))
  const once = 1 + sum(inside.map(({ cost }) => cost))
  const cost = 1 + sum(each.map((element) => element.cost)) + elements.length * once
  if (name === 'filter') return { cost, size: 1 + elements.length * largest }
  const mapped = Math.max(0, ...inside.map(({ size }) => size))
  return { cost, size: name === 'map' ? 1 + elements.length * mapped : 1 }
}

/** `cel.bind(name, value, body)`. */
const bindCost = (
  [variable, value, body]: readonly ASTNode[],
  sizes: VariableSizes,
): CostEstimate => {
  if (value === undefined || body === undefined) return { cost: 1, size: 1 }
  const given = estimateCost(value, sizes)
  const { cost, size } = estimateCost(body, withVariable(sizes, variable, given.size))
  return { cost: 1 + given.cost + cost, size }
}

const withVariable = (
  sizes: VariableSizes,
  variable: ASTNode | undefined,
  size: number,
): VariableSizes => (variable?.op === 'id' ? new Map([...sizes, [variable.args, size]]) : sizes)
