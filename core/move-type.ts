/**
 * Names of the Move VM. An address is `0x` and 64 digits, lower case. A type is written with its address as short as it
 * goes (`0x2::sui::SUI`), arguments behind `, `: nodes print coins both ways, one is kept.
 */

/** A type that a package defines. */
export interface MoveType {
  /** Package that first defined it. */
  readonly package: string
  /** `module::Name`. */
  readonly name: string
  /** In canonical form. */
  readonly typeArguments: readonly string[]
}

/** Longest text that is read as a type, and deepest nesting: hostile types grow without bound. */
const MAX_TYPE_LENGTH = 1_000
const MAX_TYPE_DEPTH = 8
/** Longest coin type: a pair's series names three of them in one key of a lane's state, which holds 1,024 bytes. */
const MAX_COIN_TYPE_LENGTH = 256

const ADDRESS = /^(?:0x)?([0-9a-f]{1,64})$/i
const STRUCT = /^((?:0x)?[0-9a-f]{1,64})::([a-z_]\w{0,127})::([a-z_]\w{0,127})(?:<(.{1,1000})>)?$/i
const STRUCT_NAME = /^((?:0x)?[0-9a-f]{1,64})::([a-z_]\w{0,127}::[a-z_]\w{0,127})(?:<|$)/i
const PRIMITIVE = /^(?:u(?:8|16|32|64|128|256)|bool|address|signer)$/

/** An address with all its digits; undefined when the text is none. */
export const normalizeMoveAddress = (text: string): string | undefined => {
  const digits = ADDRESS.exec(text)?.[1]
  return digits === undefined ? undefined : `0x${digits.toLowerCase().padStart(64, '0')}`
}

/** A type that a package defines, taken apart; undefined when the text names none. */
export const parseMoveType = (text: string): MoveType | undefined =>
  text.length > MAX_TYPE_LENGTH ? undefined : parseStruct(text.trim(), 0)

/** A type without its arguments, however long those are; undefined when the text names none. */
export const parseMoveTypeName = (text: string): Pick<MoveType, 'package' | 'name'> | undefined => {
  const [, address = '', name = ''] = STRUCT_NAME.exec(text) ?? []
  const owner = normalizeMoveAddress(address)
  return owner === undefined ? undefined : { package: owner, name }
}

/**
 * A coin's type in canonical form; undefined when the text names none, or one that is too long to be followed. `std::type_name`
 * writes types without `0x`.
 */
export const normalizeCoinType = (text: string): string | undefined => {
  const type = parseMoveType(text)
  const coin = type && formatMoveType(type)
  return coin === undefined || coin.length > MAX_COIN_TYPE_LENGTH ? undefined : coin
}

const parseStruct = (text: string, depth: number): MoveType | undefined => {
  const [, address = '', module, name, inner] = STRUCT.exec(text) ?? []
  const owner = normalizeMoveAddress(address)
  if (owner === undefined || depth > MAX_TYPE_DEPTH) return undefined
  const typeArguments: string[] = []
  for (const part of inner === undefined ? [] : splitTypeArguments(inner)) {
    const argument = parseTypeArgument(part.trim(), depth + 1)
    if (argument === undefined) return undefined
    typeArguments.push(argument)
  }
  return { package: owner, name: `${module}::${name}`, typeArguments }
}

const parseTypeArgument = (text: string, depth: number): string | undefined => {
  if (PRIMITIVE.test(text)) return text
  const element = /^vector<(.+)>$/.exec(text)?.[1]
  if (element !== undefined) {
    const inside = depth > MAX_TYPE_DEPTH ? undefined : parseTypeArgument(element.trim(), depth + 1)
    return inside && `vector<${inside}>`
  }
  const type = parseStruct(text, depth)
  return type && formatMoveType(type)
}

const formatMoveType = ({ package: owner, name, typeArguments }: MoveType): string => {
  const short = `0x${owner.slice(2).replace(/^0+(?=.)/, '')}::${name}`
  return typeArguments.length === 0 ? short : `${short}<${typeArguments.join(', ')}>`
}

/** Parts between the commas that stand in no brackets. */
const splitTypeArguments = (list: string): readonly string[] => {
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at < list.length; at += 1) {
    const sign = list[at]
    if (sign === '<') depth += 1
    else if (sign === '>') depth -= 1
    else if (sign === ',' && depth === 0) {
      parts.push(list.slice(from, at))
      from = at + 1
    }
  }
  return [...parts, list.slice(from)]
}
