import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js'
import { childNodes, evaluationCost, LIST_MACROS, type ProgramSize } from './expression-cost.ts'

/** A text that is not an expression of the language; `position` is a character of it. */
export class InvalidExpression extends Error {
  readonly position: number

  constructor(why: string, position: number) {
    super(why)
    this.position = position
  }
}

/** Node of a parsed expression. */
export type ExpressionNode = ASTNode

/** A parsed expression; throws where it asks for something that is not there. */
export interface Expression {
  (context: Readonly<Record<string, unknown>>): unknown
  /** Steps that one evaluation takes at most. */
  readonly steps: number
}

/** What a surface offers of CEL. */
export interface ExpressionLanguage {
  /** Names that stand for themselves, of any type. */
  readonly variables: readonly string[]
  readonly limits: {
    readonly nodes: number
    readonly depth: number
    /** Steps of one evaluation. */
    readonly steps: number
  }
  /** Functions that are refused, and why. */
  readonly forbidden: ReadonlyMap<string, string>
  /** Operators and functions beyond the standard ones. */
  readonly extend?: (environment: Environment) => void
  /** Puts other text where the expression says something in another way. Throws `InvalidExpression`. */
  readonly rewrite?: (node: ExpressionNode, source: string) => readonly Replacement[]
  /** Puts other functions into the parsed tree that is evaluated, before it is checked. Throws `InvalidExpression`. */
  readonly adapt?: (node: ExpressionNode) => void
  /** Of the regular expressions of the calls that `adapt` has put there. Throws `InvalidExpression` for an invalid one. */
  readonly programSize?: ProgramSize
}

/** Characters `start` to `end` of the source say `text`. */
export interface Replacement {
  readonly start: number
  readonly end: number
  readonly text: string
}

const SHAPE_LIMITS = { maxListElements: 100, maxMapEntries: 20, maxCallArguments: 8 }

/** Bounded before it runs: no loops over data, and a limit to the steps that the expression can take. */
export const createExpressionCompiler = (
  language: ExpressionLanguage,
): ((source: string) => Expression) => {
  const { limits, forbidden, variables, extend, rewrite, adapt, programSize } = language
  const environment = new Environment({
    limits: { ...SHAPE_LIMITS, maxAstNodes: limits.nodes, maxDepth: limits.depth },
  })
  for (const name of variables) environment.registerVariable(name, 'dyn')
  extend?.(environment)
  return (source) => {
    const written = parse(environment, source)
    const replaced =
      rewrite === undefined ? source : replaceText(source, rewrite(written.ast, source))
    const run = replaced === source ? written : parse(environment, replaced)
    adapt?.(run.ast)
    rejectForbiddenCalls(run.ast, forbidden)
    // First without the programs: regular expressions of which there are too many are not compiled.
    rejectAbove(limits.steps, evaluationCost(run.ast))
    const steps = evaluationCost(run.ast, programSize)
    rejectAbove(limits.steps, steps)
    const { valid, type, error } = run.check()
    if (!valid) {
      throw new InvalidExpression(
        error?.summary ?? 'is not a valid expression',
        error?.range?.start ?? 0,
      )
    }
    if (type !== 'bool' && type !== 'dyn') {
      throw new InvalidExpression(`gives ${type}, not a truth value`, 0)
    }
    const expression = (context: Readonly<Record<string, unknown>>): unknown => run(context)
    return Object.assign(expression, { steps })
  }
}

const rejectAbove = (limit: number, steps: number): void => {
  if (steps > limit) throw new InvalidExpression('exceeds the limit of evaluation steps', 0)
}

const parse = (environment: Environment, source: string) => {
  try {
    return environment.parse(source)
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    throw new InvalidExpression(error.summary, error.range?.start ?? 0)
  }
}

/** The replacements do not overlap. */
const replaceText = (source: string, replacements: readonly Replacement[]): string =>
  replacements
    .toSorted((a, b) => b.start - a.start)
    .reduce((text, { start, end, text: to }) => text.slice(0, start) + to + text.slice(end), source)

const rejectForbiddenCalls = (node: ASTNode, forbidden: ReadonlyMap<string, string>): void => {
  const name = node.op === 'rcall' || node.op === 'call' ? node.args[0] : ''
  const why = forbidden.get(name)
  if (why !== undefined) throw new InvalidExpression(why, node.range.start)
  if (node.op === 'rcall' && LIST_MACROS.has(name) && node.args[1].op !== 'list') {
    throw new InvalidExpression('may iterate over list literals only', node.range.start)
  }
  for (const child of childNodes(node.args)) rejectForbiddenCalls(child, forbidden)
}
