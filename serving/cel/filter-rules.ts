import type { Environment } from '@marcbachmann/cel-js'
import { type ExpressionNode, InvalidExpression } from './expression.ts'
import { childNodes, LINEAR_MATCHES } from './expression-cost.ts'
import type { PatternCompiler } from './patterns.ts'

const DECIMAL = /^-?\d+(\.\d+)?$/
/** Decimal text as a number; NaN, which equals nothing, for other text. */
const numberOf = (text: string): number => (DECIMAL.test(text) ? Number(text) : Number.NaN)

const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
}

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
}

type NumberValue = number | bigint

/**
 * Numbers as filters of streams mean them: integers and doubles mix, and a number compared with decimal text compares with the
 * number that the text is. The standard language refuses both. Regular expressions run in linear time.
 */
export const extendWithFilterRules = (
  environment: Environment,
  patterns: PatternCompiler,
): void => {
  environment.registerFunction({
    name: LINEAR_MATCHES,
    receiverType: 'string',
    returnType: 'bool',
    params: [{ name: 'pattern', type: 'string' }],
    handler: (text: string, pattern: string) => patterns(pattern, 0).matcher(text).find(),
  })
  for (const type of ['int', 'double']) {
    for (const [operator, holds] of Object.entries(COMPARISONS)) {
      environment.registerOperator(
        `string ${operator} ${type}`,
        (text: string, value: NumberValue) => holds(numberOf(text), Number(value)),
      )
      environment.registerOperator(
        `${type} ${operator} string`,
        (value: NumberValue, text: string) => holds(Number(value), numberOf(text)),
      )
    }
    // The other order and != follow from it.
    environment.registerOperator(
      `string == ${type}`,
      (text: string, value: NumberValue) => numberOf(text) === Number(value),
    )
  }
  for (const [operator, result] of Object.entries(ARITHMETIC)) {
    for (const types of ['int double', 'double int']) {
      const [left, right] = types.split(' ')
      environment.registerOperator(
        `${left} ${operator} ${right}`,
        (a: NumberValue, b: NumberValue) => result(Number(a), Number(b)),
      )
    }
  }
  environment.registerOperator('double % double', (a: number, b: number) => a % b)
}

/**
 * Makes every call of `matches` in the tree one of the function above: the tree and not its text, in which the word may stand in
 * other places too. Throws `InvalidExpression` where the pattern is not written out.
 */
export const callLinearMatches = (node: ExpressionNode): void => {
  for (const child of childNodes(node.args)) callLinearMatches(child)
  if (node.op !== 'rcall' || node.args[0] !== 'matches') return
  const [pattern] = node.args[2]
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') {
    throw new InvalidExpression('may use literal regular expressions only', node.range.start)
  }
  node.args[0] = LINEAR_MATCHES
}
