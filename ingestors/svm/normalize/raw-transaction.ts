import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import { parseBase58Key, parseBase64, parseSignature, parseUint } from '../layout/json.ts'
import { encodeParsedInstruction } from './parsed-instructions.ts'
import { parseWireTransaction } from './wire-transaction.ts'

/** An instruction as a node reported it, its program and accounts by name. */
export interface RawInstruction {
  readonly program: string
  readonly accounts: readonly string[]
  /** Base 58 text, bytes, or null where a parser of the node kept neither. */
  readonly data: string | Uint8Array | null
  /** null: an older recording that does not say. */
  readonly depth: number | null
}

/** A transaction as a node reported it, whatever the encoding was. */
export interface RawTransaction {
  readonly version: 'legacy' | 0 | 1
  readonly hash: string
  readonly signatures: number
  /** Static accounts, then writable and read-only ones of look-up tables: what every index counts in. */
  readonly keys: readonly string[]
  readonly instructions: readonly RawInstruction[]
}

/**
 * Reads `transaction` and `meta` of `getTransaction` or of an element of `getBlock`, encodings `json`, `jsonParsed` and
 * `base64`; as `json` also with bytes instead of base 58 in instructions. Throws `InvalidInput`: the readers' reasons, `unknown-encoding`, `unknown-version`, `truncated-transaction`, `bad-index`.
 */
export const parseRawTransaction = (raw: Fields, meta: Fields): RawTransaction => {
  const { transaction } = raw
  if (Array.isArray(transaction)) return parseBase64Transaction(transaction, meta)
  const { message, signatures } = fieldsOf(transaction, 'transaction')
  const { accountKeys, instructions } = fieldsOf(message, 'message')
  const signed = listOf(signatures, 'signatures')
  const keys = accountKeysOf(listOf(accountKeys, 'accountKeys'), meta)
  return {
    version: parseVersion(raw.version),
    hash: parseSignature(signed[0], 'signatures[0]'),
    signatures: signed.length,
    keys,
    instructions: listOf(instructions, 'instructions').map((each) =>
      parseRawInstruction(each, keys),
    ),
  }
}

/** Instructions below the message's own, by the index of the one that called them. Throws as `parseRawTransaction`. */
export const parseInnerInstructions = (
  meta: Fields,
  { keys, instructions }: RawTransaction,
): ReadonlyMap<number, readonly RawInstruction[]> => {
  const inner = new Map<number, readonly RawInstruction[]>()
  const groups = orElse(meta.innerInstructions, 'innerInstructions', { read: listOf, fallback: [] })
  for (const group of groups) {
    const raw = fieldsOf(group, 'innerInstructions[]')
    const index = parseUint(raw.index, 'innerInstructions[].index')
    if (index >= instructions.length || inner.has(index)) {
      throw invalid('bad-index', 'innerInstructions[].index', index)
    }
    const list = listOf(raw.instructions, 'innerInstructions[].instructions')
    inner.set(
      index,
      list.map((each) => parseRawInstruction(each, keys)),
    )
  }
  return inner
}

const parseVersion = (version: unknown): 'legacy' | 0 | 1 => {
  if (version === undefined || version === null || version === 'legacy') return 'legacy'
  if (version === 0 || version === 1) return version
  throw invalid('unknown-version', 'version', version)
}

const parseBase64Transaction = (pair: readonly unknown[], meta: Fields): RawTransaction => {
  const [text, encoding] = pair
  if (encoding !== 'base64') throw invalid('unknown-encoding', 'transaction[1]', encoding)
  const wire = parseWireTransaction(parseBase64(text, 'transaction[0]'))
  const keys = accountKeysOf(wire.staticKeys, meta)
  return {
    version: wire.version,
    hash: wire.signature,
    signatures: wire.signatures,
    keys,
    instructions: wire.instructions.map(({ programIndex, accounts, data }) => ({
      program: accountKeyAt(keys, programIndex),
      accounts: Array.from(accounts, (index) => accountKeyAt(keys, index)),
      data,
      depth: 1,
    })),
  }
}

const NO_FIELDS: Fields = {}

/** `jsonParsed` lists what look-up tables gave among the keys and has no `loadedAddresses`. */
const accountKeysOf = (listed: readonly unknown[], meta: Fields): readonly string[] => {
  const loaded = orElse(meta.loadedAddresses, 'loadedAddresses', {
    read: fieldsOf,
    fallback: NO_FIELDS,
  })
  const more = (list: unknown, at: string): readonly unknown[] =>
    orElse(list, at, { read: listOf, fallback: [] })
  return [
    ...listed.map((key) => (typeof key === 'string' ? key : fieldsOf(key, 'accountKeys[]').pubkey)),
    ...more(loaded.writable, 'loadedAddresses.writable'),
    ...more(loaded.readonly, 'loadedAddresses.readonly'),
  ].map((key) => parseBase58Key(key, 'accountKeys[]'))
}

const accountKeyAt = (keys: readonly string[], index: number): string => {
  const name = keys[index]
  if (name === undefined) throw invalid('bad-index', `account of ${keys.length}`, index)
  return name
}

const parseRawInstruction = (value: unknown, keys: readonly string[]): RawInstruction => {
  const raw = fieldsOf(value, 'instruction')
  const depth = orElse(raw.stackHeight, 'stackHeight', { read: parseUint, fallback: null })
  if (raw.programIdIndex === undefined) return { ...parseJsonParsedInstruction(raw), depth }
  const { data, accounts } = raw
  if (typeof data !== 'string' && !(data instanceof Uint8Array)) {
    throw invalid('bad-base58', 'instruction.data', data)
  }
  const indexes = accounts instanceof Uint8Array ? Array.from(accounts) : accounts
  return {
    program: accountKeyAt(keys, parseUint(raw.programIdIndex, 'programIdIndex')),
    accounts: listOf(indexes, 'instruction.accounts').map((index) =>
      accountKeyAt(keys, parseUint(index, 'instruction.accounts[]')),
    ),
    data,
    depth,
  }
}

/** `jsonParsed`: names instead of indexes, and fields instead of data where the node knows the program. */
const parseJsonParsedInstruction = (raw: Fields): Omit<RawInstruction, 'depth'> => {
  const program = parseBase58Key(raw.programId, 'programId')
  if (raw.parsed !== undefined) return { program, ...encodeParsedInstruction(program, raw.parsed) }
  if (typeof raw.data !== 'string') throw invalid('bad-base58', 'instruction.data', raw.data)
  return {
    program,
    accounts: listOf(raw.accounts, 'instruction.accounts').map((key) =>
      parseBase58Key(key, 'instruction.accounts[]'),
    ),
    data: raw.data,
  }
}
