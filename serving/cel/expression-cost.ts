import type { ASTNode } from '@marcbachmann/cel-js'

/** The function that stands for `matches`, whose own could take time without end. A text cannot call it: it is not an identifier. */
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

/** Instructions of the program that the regular expression at a character of the text is compiled to. */
export type ProgramSize = (pattern: string, position: number) => number

/** What the steps of a node depend on besides itself. */
interface CostScope {
  /** Largest sizes of the variables that an expression binds itself. */
  readonly sizes: ReadonlyMap<string, number>
  readonly programSize: ProgramSize
}

/** Largest value of an event: a name of 256 bytes. */
const EVENT_VALUE_SIZE = 16
const CHARACTERS_PER_STEP = 16
/** A time in a named zone is formatted as text and read again: some eighty microseconds. */
const TIME_ZONE_STEPS = 500

/** A regular expression walks its program for every character, each instruction some fifteen nanoseconds. */
const INSTRUCTIONS_PER_STEP = 32
/** Of any regular expression: it is compiled, too. */
const MIN_PATTERN_STEPS = 400

/** How often what a function returns is as large as what it is given, where it may be larger: in bytes of UTF-8, in digits, in other letters. */
const GROWTH: ReadonlyMap<string, number> = new Map([
  ['bytes', 3],
  ['hex', 2],
  ['base64', 2],
  ['lowerAscii', 3],
  ['upperAscii', 3],
])

const LOGIC: ReadonlySet<string> = new Set(['&&', '||', '!_'])
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>='])
const ACCESSES: ReadonlySet<string> = new Set(['.', '.?', '[]', '[?]'])

/** Steps that an evaluation takes at most, whatever the event: walks within walks multiply. */
export const evaluationCost = (node: ASTNode, programSize: ProgramSize = () => 0): number =>
  estimateCost(node, { sizes: new Map(), programSize }).cost

/** Nodes directly below a node. */
export const childNodes = (args: unknown): readonly ASTNode[] => {
  if (isNode(args)) return [args]
  return Array.isArray(args) ? args.flatMap(childNodes) : []
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

const estimateCost = (node: ASTNode, scope: CostScope): CostEstimate => {
  if (node.op === 'value') return { cost: 1, size: literalSize(node.args) }
  if (node.op === 'id') return { cost: 1, size: scope.sizes.get(node.args) ?? EVENT_VALUE_SIZE }
  if (node.op === 'rcall') {
    const [name, receiver, args] = node.args
    if (LIST_MACROS.has(name) && receiver.op === 'list')
      return listMacroCost(name, receiver.args, args, scope)
    if (name === 'bind') return bindCost(args, scope)
  }
  const below = childNodes(node.args).map((child) => estimateCost(child, scope))
  const own = below.map(({ size }) => size)
  const cost = 1 + sum(below.map((each) => each.cost))
  if (LOGIC.has(node.op)) return { cost, size: 1 }
  if (COMPARISONS.has(node.op)) return { cost: cost + Math.min(...own), size: 1 }
  if (node.op === 'in') return { cost: cost + sum(own), size: 1 }
  if (ACCESSES.has(node.op)) return { cost, size: sum(own) }
  const walked = sum(own) * growth(node)
  return {
    cost: cost + walked + timeZoneSteps(node) + patternSteps(node, own[0] ?? 0, scope),
    size: 1 + walked,
  }
}

const growth = ({ op, args }: ASTNode): number =>
  (op === 'call' || op === 'rcall' ? GROWTH.get(args[0]) : undefined) ?? 1

/** `textSize`: of what is searched, as in `CostEstimate`. */
const patternSteps = (
  { op, args }: ASTNode,
  textSize: number,
  { programSize }: CostScope,
): number => {
  if (op !== 'rcall' || args[0] !== LINEAR_MATCHES) return 0
  const [pattern] = args[2]
  const program =
    pattern?.op === 'value' && typeof pattern.args === 'string'
      ? programSize(pattern.args, pattern.range.start)
      : Number.POSITIVE_INFINITY
  const steps = Math.ceil((textSize * CHARACTERS_PER_STEP * program) / INSTRUCTIONS_PER_STEP)
  return Math.max(MIN_PATTERN_STEPS, steps)
}

const literalSize = (value: unknown): number =>
  typeof value === 'string' || value instanceof Uint8Array
    ? 1 + Math.ceil(value.length / CHARACTERS_PER_STEP)
    : 1

/** `timestamp.getHours("Europe/Paris")` and its like. */
const timeZoneSteps = ({ op, args }: ASTNode): number =>
  op === 'rcall' && args[0].startsWith('get') && args[2].length > 0 ? TIME_ZONE_STEPS : 0

/** A list's elements one after another: the body is evaluated once for each. */
const listMacroCost = (
  name: string,
  elements: readonly ASTNode[],
  [variable, ...body]: readonly ASTNode[],
  scope: CostScope,
): CostEstimate => {
  const each = elements.map((element) => estimateCost(element, scope))
  const largest = Math.max(0, ...each.map(({ size }) => size))
  const inside = body.map((part) => estimateCost(part, withVariable(scope, variable, largest)))
  const once = 1 + sum(inside.map(({ cost }) => cost))
  const cost = 1 + sum(each.map((element) => element.cost)) + elements.length * once
  if (name === 'filter') return { cost, size: 1 + elements.length * largest }
  const mapped = Math.max(0, ...inside.map(({ size }) => size))
  return { cost, size: name === 'map' ? 1 + elements.length * mapped : 1 }
}

/** `cel.bind(name, value, body)`. */
const bindCost = ([variable, value, body]: readonly ASTNode[], scope: CostScope): CostEstimate => {
  if (value === undefined || body === undefined) return { cost: 1, size: 1 }
  const given = estimateCost(value, scope)
  const { cost, size } = estimateCost(body, withVariable(scope, variable, given.size))
  return { cost: 1 + given.cost + cost, size }
}

const withVariable = (scope: CostScope, variable: ASTNode | undefined, size: number): CostScope =>
  variable?.op === 'id'
    ? { ...scope, sizes: new Map([...scope.sizes, [variable.args, size]]) }
    : scope
