import { type Body, isObject } from './protocol.ts'

/** Nesting of a tag filter. */
const MAX_DEPTH = 20
/** Names of a key: payloads are two levels deep, and clients may put `meta.` before a name, once or twice. */
const MAX_KEY_NAMES = 8
/** Characters of a key. */
const MAX_KEY_LENGTH = 256

/** Thrown for an invalid tag filter. */
export class InvalidTagFilter extends Error {}

/** Text that is written piece by piece and bounded while it grows. */
class BoundedText {
  readonly #maxBytes: number
  readonly #pieces: string[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  write(piece: string): void {
    this.#bytes += Buffer.byteLength(piece)
    if (this.#bytes > this.#maxBytes) throw new InvalidTagFilter('too long')
    this.#pieces.push(piece)
  }

  /** Writes the elements one after another, with text between them. */
  writeAll<Element>(
    elements: readonly Element[],
    between: string,
    writeOne: (element: Element) => void,
  ): void {
    for (const [at, element] of elements.entries()) {
      if (at > 0) this.write(between)
      writeOne(element)
    }
  }

  toString(): string {
    return this.#pieces.join('')
  }
}

/**
 * Expression that says what a tag filter of the Centrifuge protocol (`tf`) says, the payload's values taken as tags. Throws
 * `InvalidTagFilter`, also where the text would have more than `maxBytes`: nothing behind that is read. Source of operators and of
 * what an absent tag means: `FilterNode` of the Centrifuge protocol.
 */
export const tagFilterExpression = (node: unknown, maxBytes: number): string => {
  const out = new BoundedText(maxBytes)
  writeNode(out, node, 0)
  return out.toString()
}

const writeNode = (out: BoundedText, node: unknown, depth: number): void => {
  if (!isObject(node) || depth > MAX_DEPTH) throw new InvalidTagFilter('not a filter')
  const { op = '' } = node
  if (op === '') {
    writeLeaf(out, node)
    return
  }
  const nodes = Array.isArray(node.nodes) ? node.nodes : []
  const isList = op === 'and' || op === 'or'
  if (nodes.length === 0 || !(isList || (op === 'not' && nodes.length === 1)))
    throw new InvalidTagFilter('not a filter')
  if (op === 'not') out.write('!')
  out.writeAll(nodes, op === 'and' ? ' && ' : ' || ', (child) => {
    out.write('(')
    writeNode(out, child, depth + 1)
    out.write(')')
  })
}

/** A checked comparison. */
interface Leaf {
  /** The key behind `meta.`. */
  readonly path: string
  readonly value: string
  readonly values: readonly string[]
}

type WriteLeaf = (out: BoundedText, leaf: Leaf) => void

/** True where every object of the path is there: a name in an absent object is an error in the language. */
const has = (path: string): string => {
  const names = path.split('.')
  const prefixes = names.slice(1).map((_, at) => `has(${names.slice(0, at + 2).join('.')})`)
  return prefixes.join(' && ')
}
const text = (value: string): string => JSON.stringify(value)
const writeOneOf = (out: BoundedText, { path, values }: Leaf): void => {
  if (values.length === 0) out.write('false')
  out.writeAll(values, ' || ', (value) => out.write(`${path} == ${text(value)}`))
}
const expression =
  (write: (leaf: Leaf) => string): WriteLeaf =>
  (out, leaf) =>
    out.write(write(leaf))
const textMethod = (method: string): WriteLeaf =>
  expression(({ path, value }) => `${has(path)} && string(${path}).${method}(${text(value)})`)
const comparison = (operator: string): WriteLeaf =>
  expression(({ path, value }) => {
    if (!DECIMAL.test(value)) throw new InvalidTagFilter('not a number')
    return `${has(path)} && ${path} ${operator} ${value.includes('.') ? value : `${value}.0`}`
  })
const membership =
  (before: (path: string) => string): WriteLeaf =>
  (out, leaf) => {
    out.write(`${before(leaf.path)}(`)
    writeOneOf(out, leaf)
    out.write(')')
  }

const DECIMAL = /^-?\d{1,40}(\.\d{1,40})?$/

const LEAVES: Readonly<Record<string, WriteLeaf>> = {
  eq: expression(({ path, value }) => `${has(path)} && ${path} == ${text(value)}`),
  neq: expression(({ path, value }) => `!(${has(path)}) || ${path} != ${text(value)}`),
  in: membership((path) => `${has(path)} && `),
  nin: membership((path) => `!(${has(path)}) || !`),
  ex: expression(({ path }) => has(path)),
  nex: expression(({ path }) => `!(${has(path)})`),
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

const isKey = (key: unknown): key is string =>
  typeof key === 'string' &&
  key.length <= MAX_KEY_LENGTH &&
  key.split('.').length <= MAX_KEY_NAMES &&
  KEY.test(key)

/** The prefix of the payload, which a key may have once or twice; paths have it once. */
const KEY_PREFIX = /^(?:meta\.){1,2}/

const writeLeaf = (out: BoundedText, { key, cmp, val = '', vals = [] }: Body): void => {
  const write = typeof cmp === 'string' && Object.hasOwn(LEAVES, cmp) ? LEAVES[cmp] : undefined
  const values = Array.isArray(vals) ? vals : [vals]
  if (
    write === undefined ||
    !isKey(key) ||
    typeof val !== 'string' ||
    !values.every((one) => typeof one === 'string')
  ) {
    throw new InvalidTagFilter('not a comparison')
  }
  write(out, { path: `meta.${key.replace(KEY_PREFIX, '')}`, value: val, values })
}
