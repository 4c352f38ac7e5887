import type { ChannelKey } from '../../schemas/channel-keys.ts'
import type { ExpressionNode, Replacement } from '../cel/expression.ts'
import { childNodes, LIST_MACROS } from '../cel/expression-cost.ts'
import type { PayloadKeys } from './payload.ts'

/** Variable that holds the payload. */
export const PAYLOAD_VARIABLE = 'meta'

/** `meta.lf.pf` as a chain: where it begins and ends in the text, and what is named in it. */
interface AccessChain {
  readonly start: number
  readonly end: number
  readonly names: readonly string[]
}

/**
 * The names of payload keys in an expression, as `meta.` and short keys. Clients send short keys with the prefix once or twice or
 * without it, and long names in the same ways.
 */
export const shortKeyNames = (
  node: ExpressionNode,
  keys: PayloadKeys,
  bound: ReadonlySet<string> = new Set(),
): readonly Replacement[] => {
  const chain = accessChain(node)
  if (chain !== undefined) return replacementOf(chain, keys, bound)
  const scope = macroScope(node, bound)
  return childNodes(node.args).flatMap((child) => shortKeyNames(child, keys, scope))
}

const accessChain = (node: ExpressionNode): AccessChain | undefined => {
  const { start, end } = node.range
  if (node.op === 'id') return { start, end, names: [node.args] }
  if (node.op === '.') {
    const [receiver, name] = node.args
    const chain = accessChain(receiver)
    return chain && { start, end, names: [...chain.names, name] }
  }
  if (node.op !== '[]') return undefined
  const [receiver, index] = node.args
  const chain = accessChain(receiver)
  if (index.op !== 'value' || typeof index.args !== 'string') return undefined
  return chain && { start, end, names: [...chain.names, index.args] }
}

const replacementOf = (
  { start, end, names }: AccessChain,
  keys: PayloadKeys,
  bound: ReadonlySet<string>,
): readonly Replacement[] => {
  const [root = '', ...rest] = names
  if (bound.has(root)) return []
  const prefixed = root === PAYLOAD_VARIABLE
  const path = shortPath(prefixed ? withoutPrefix(rest, keys) : names, keys)
  if (path === undefined) return []
  return [{ start, end, text: path.reduce(selectText, PAYLOAD_VARIABLE) }]
}

const withoutPrefix = (names: readonly string[], keys: PayloadKeys): readonly string[] =>
  names[0] === PAYLOAD_VARIABLE && keys[PAYLOAD_VARIABLE] === undefined ? names.slice(1) : names

/** Words that stand behind a dot; other text is an index. */
const WORD = /^[A-Za-z_]\w*$/
const selectText = (path: string, name: string): string =>
  WORD.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`

/** undefined where the first name is none of the payload's. */
const shortPath = (names: readonly string[], keys: PayloadKeys): readonly string[] | undefined => {
  const [name = '', ...rest] = names
  const inline = Object.entries(keys).find(([, key]) => key.inline === true)
  const short = shortKey(name, keys)
  if (short === undefined) {
    const inside = inline && shortKey(name, inline[1].keys ?? {})
    return inline === undefined || inside === undefined || Object.hasOwn(inline[1].keys ?? {}, name)
      ? undefined
      : [inline[0], inside, ...rest]
  }
  const inner = keys[short]?.keys
  if (inner === undefined || rest.length === 0) return [short, ...rest]
  const below = shortPath(rest, inner)
  if (below !== undefined) return [short, ...below]
  const atRoot = short === inline?.[0] ? shortKey(rest[0] ?? '', keys) : undefined
  return atRoot === undefined ? [short, ...rest] : [atRoot, ...rest.slice(1)]
}

const shortKey = (name: string, keys: PayloadKeys): string | undefined =>
  Object.hasOwn(keys, name)
    ? name
    : Object.entries(keys).find(([, key]: [string, ChannelKey]) => key.long === name)?.[0]

/** Macros bind the variable that they are given first. */
const macroScope = (node: ExpressionNode, bound: ReadonlySet<string>): ReadonlySet<string> => {
  if (node.op !== 'rcall') return bound
  const [name, , [variable]] = node.args
  const binds = LIST_MACROS.has(name) || name === 'bind'
  return binds && variable?.op === 'id' ? new Set([...bound, variable.args]) : bound
}
