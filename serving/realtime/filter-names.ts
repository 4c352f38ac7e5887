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
  /** Of the names that are written as texts. */
  readonly texts: readonly ExpressionNode['range'][]
}

/** What names are looked up in. */
interface NameScope {
  readonly keys: PayloadKeys
  /** Text of the expression. */
  readonly source: string
  /** Variables that the expression binds itself. */
  readonly bound?: ReadonlySet<string>
}

/**
 * The names of payload keys in an expression, as `meta.` and short keys. Clients send short keys with the prefix once or twice or
 * without it, and long names in the same ways.
 */
export const shortKeyNames = (node: ExpressionNode, scope: NameScope): readonly Replacement[] => {
  const chain = accessChain(node)
  if (chain !== undefined) return replacementOf(chain, scope)
  const bound = macroScope(node, scope.bound ?? new Set())
  return childNodes(node.args).flatMap((child) => shortKeyNames(child, { ...scope, bound }))
}

const accessChain = (node: ExpressionNode): AccessChain | undefined => {
  const { start, end } = node.range
  if (node.op === 'id') return { start, end, names: [node.args], texts: [] }
  if (node.op === '.') {
    const [receiver, name] = node.args
    const chain = accessChain(receiver)
    return chain && { ...chain, end, names: [...chain.names, name] }
  }
  if (node.op !== '[]') return undefined
  const [receiver, index] = node.args
  const chain = accessChain(receiver)
  if (index.op !== 'value' || typeof index.args !== 'string') return undefined
  return (
    chain && {
      ...chain,
      end,
      names: [...chain.names, index.args],
      texts: [...chain.texts, index.range],
    }
  )
}

const replacementOf = (
  chain: AccessChain,
  { keys, source, bound }: NameScope,
): readonly Replacement[] => {
  const { start, end, names } = chain
  const [root = '', ...rest] = names
  if (bound?.has(root)) return []
  const prefixed = root === PAYLOAD_VARIABLE
  const path = shortPath(prefixed ? withoutPrefix(rest, keys) : names, keys)
  if (path === undefined) return []
  const closed = ')'.repeat(closedParentheses(chain, source))
  return [{ start, end, text: path.reduce(selectText, PAYLOAD_VARIABLE) + closed }]
}

/**
 * Parentheses that are opened before a chain begins and closed inside it, as in `(meta).v`: the place of an expression in
 * parentheses is that of what stands in them. They close behind the replaced chain.
 */
const closedParentheses = ({ start, end, texts }: AccessChain, source: string): number => {
  const starts = [start, ...texts.map((text) => text.end)]
  const code = starts
    .map((from, index) => source.slice(from, texts[index]?.start ?? end))
    .join('')
    .replace(COMMENT, '')
  return countOf(')', code) - countOf('(', code)
}

const COMMENT = /\/\/.*/g
const countOf = (character: string, text: string): number => text.split(character).length - 1

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
