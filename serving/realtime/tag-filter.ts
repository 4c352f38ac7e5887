import { type Body, isObject } from './protocol.ts'

/** Nesting of a tag filter. */
const MAX_DEPTH = 20

/** Thrown for an invalid tag filter. */
export class InvalidTagFilter extends Error {}

/**
 * Expression that says what a tag filter of the Centrifuge protocol (`tf`) says, the payload's values taken as tags. Throws
 * `InvalidTagFilter`. Source of operators and of what an absent tag means: `FilterNode` of the Centrifuge protocol.
 */
export const tagFilterExpression = (node: unknown, depth = 0): string => {
  if (!isObject(node) || depth > MAX_DEPTH) throw new InvalidTagFilter('not a filter')
  const { op = '' } = node
  if (op === '') return leafExpression(node)
  const nodes = Array.isArray(node.nodes) ? node.nodes : []
  const inner = nodes.map((child) => `(${tagFilterExpression(child, depth + 1)})`)
  if (op === 'not' && inner.length === 1) return `!${inner.join('')}`
  if (inner.length === 0 || (op !== 'and' && op !== 'or'))
    throw new InvalidTagFilter('not a filter')
  return inner.join(op === 'and' ? ' && ' : ' || ')
}

type LeafExpression = (path: string, value: string, values: readonly string[]) => string

/** True where every object of the path is there: a name in an absent object is an error in the language. */
const has = (path: string): string => {
  const names = path.split('.')
  const prefixes = names.slice(1).map((_, at) => `has(${names.slice(0, at + 2).join('.')})`)
  return prefixes.join(' && ')
}
const text = (value: string): string => JSON.stringify(value)
const oneOf = (path: string, values: readonly string[]): string =>
  values.length === 0 ? 'false' : values.map((value) => `${path} == ${text(value)}`).join(' || ')
const textMethod =
  (method: string): LeafExpression =>
  (path, value) =>
    `${has(path)} && string(${path}).${method}(${text(value)})`
const comparison =
  (operator: string): LeafExpression =>
  (path, value) => {
    if (!DECIMAL.test(value)) throw new InvalidTagFilter('not a number')
    return `${has(path)} && ${path} ${operator} ${value.includes('.') ? value : `${value}.0`}`
  }

const DECIMAL = /^-?\d{1,40}(\.\d{1,40})?$/

const LEAVES: Readonly<Record<string, LeafExpression>> = {
  eq: (path, value) => `${has(path)} && ${path} == ${text(value)}`,
  neq: (path, value) => `!(${has(path)}) || ${path} != ${text(value)}`,
  in: (path, _, values) => `${has(path)} && (${oneOf(path, values)})`,
  nin: (path, _, values) => `!(${has(path)}) || !(${oneOf(path, values)})`,
  ex: (path) => `${has(path)}`,
  nex: (path) => `!(${has(path)})`,
  sw: textMethod('startsWith'),
  ew: textMethod('endsWith'),
  ct: textMethod('contains'),
  lt: comparison('<'),
  lte: comparison('<='),
  gt: comparison('>'),
  gte: comparison('>='),
}

/** Keys may be paths, as in `lf.pf`. */
const KEY = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/

const leafExpression = ({ key, cmp, val = '', vals = [] }: Body): string => {
  const leaf = typeof cmp === 'string' && Object.hasOwn(LEAVES, cmp) ? LEAVES[cmp] : undefined
  const values = Array.isArray(vals) ? vals : [vals]
  if (
    leaf === undefined ||
    typeof key !== 'string' ||
    !KEY.test(key) ||
    typeof val !== 'string' ||
    !values.every((one) => typeof one === 'string')
  ) {
    throw new InvalidTagFilter('not a comparison')
  }
  return leaf(`meta.${key}`, val, values)
}
