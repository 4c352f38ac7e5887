import { type Fields, fieldsOf, invalid, listOf } from '../../input/json.ts'
import { parseAmount, parseBase58, parseBase58Key, parseUint } from '../layout/json.ts'
import { isTokenProgram, PROGRAM_IDS } from '../programs/programs.ts'
import { encodeBatch } from './batched-instructions.ts'

/** An instruction as it was before the node took it apart. */
interface EncodedInstruction {
  readonly accounts: readonly string[]
  readonly data: Uint8Array | null
}

/** How an instruction is put together again: its accounts by field name, and its data. */
interface InstructionEncoding {
  readonly accounts: readonly string[]
  /** null: it is not read. */
  readonly data: (info: Fields) => readonly Uint8Array[] | null
}

const encodeU8 = (value: number): Uint8Array => Uint8Array.of(value)
const encodeU32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer)
const encodeU64 = (value: unknown, at: string): Uint8Array => {
  const amount = parseAmount(value, at)
  if (amount >= 2n ** 64n) throw invalid('bad-amount', at, amount)
  return new Uint8Array(BigUint64Array.of(amount).buffer)
}
const encodePubkey = (value: unknown, at: string): Uint8Array => {
  const bytes = parseBase58(parseBase58Key(value, at), at)
  if (bytes.length !== 32) throw invalid('bad-base58', at, value)
  return bytes
}
const encodeOptionalPubkey = (value: unknown, at: string): readonly Uint8Array[] =>
  value === undefined || value === null ? [encodeU8(0)] : [encodeU8(1), encodePubkey(value, at)]
const encodeSeed = (value: unknown, at: string): readonly Uint8Array[] => {
  if (typeof value !== 'string' || value.length > 64) throw invalid('invalid-seed', at, value)
  const bytes = new TextEncoder().encode(value)
  return [encodeU64(bytes.length, at), bytes]
}

const encodeByte = (value: unknown, at: string): Uint8Array => {
  const number = parseUint(value, at)
  if (number > 255) throw invalid('bad-number', at, value)
  return encodeU8(number)
}

const withAmount = (tag: number) => (info: Fields) => [
  encodeU8(tag),
  encodeU64(info.amount, 'amount'),
]
const withTokenAmount =
  (...tags: readonly number[]) =>
  (info: Fields) => {
    const raw = fieldsOf(info.tokenAmount, 'tokenAmount')
    return [
      Uint8Array.from(tags),
      encodeU64(raw.amount, 'tokenAmount.amount'),
      encodeByte(raw.decimals, 'tokenAmount.decimals'),
    ]
  }
const tagOnly = (tag: number) => () => [encodeU8(tag)]
const withOwner = (tag: number) => (info: Fields) => [
  encodeU8(tag),
  encodePubkey(info.owner, 'owner'),
]
const initializeMintData = (tag: number) => (info: Fields) => [
  encodeU8(tag),
  encodeByte(info.decimals, 'decimals'),
  encodePubkey(info.mintAuthority, 'mintAuthority'),
  ...encodeOptionalPubkey(info.freezeAuthority, 'freezeAuthority'),
]

const AUTHORITY_TYPES: readonly unknown[] = [
  'mintTokens',
  'freezeAccount',
  'accountOwner',
  'closeAccount',
]
/** Token-2022 has a dozen more, which no decoder reads. */
const setAuthorityData = (info: Fields): readonly Uint8Array[] | null => {
  const type = AUTHORITY_TYPES.indexOf(info.authorityType)
  if (type < 0) return null
  return [encodeU8(6), encodeU8(type), ...encodeOptionalPubkey(info.newAuthority, 'newAuthority')]
}

/** SPL Token and Token-2022 share these. Field names as `jsonParsed` writes them; `|` separates alternatives. */
const TOKEN_INSTRUCTIONS: Readonly<Record<string, InstructionEncoding>> = {
  transfer: {
    accounts: ['source', 'destination', 'authority|multisigAuthority'],
    data: withAmount(3),
  },
  transferChecked: {
    accounts: ['source', 'mint', 'destination', 'authority|multisigAuthority'],
    data: withTokenAmount(12),
  },
  transferCheckedWithFee: {
    accounts: ['source', 'mint', 'destination', 'authority|multisigAuthority'],
    data: (info) => [
      ...withTokenAmount(26, 1)(info),
      encodeU64(fieldsOf(info.feeAmount, 'feeAmount').amount, 'feeAmount.amount'),
    ],
  },
  mintTo: {
    accounts: ['mint', 'account', 'mintAuthority|multisigMintAuthority'],
    data: withAmount(7),
  },
  mintToChecked: {
    accounts: ['mint', 'account', 'mintAuthority|multisigMintAuthority'],
    data: withTokenAmount(14),
  },
  burn: { accounts: ['account', 'mint', 'authority|multisigAuthority'], data: withAmount(8) },
  burnChecked: {
    accounts: ['account', 'mint', 'authority|multisigAuthority'],
    data: withTokenAmount(15),
  },
  closeAccount: { accounts: ['account', 'destination', 'owner|multisigOwner'], data: tagOnly(9) },
  syncNative: { accounts: ['account'], data: tagOnly(17) },
  initializeAccount: { accounts: ['account', 'mint', 'owner', 'rentSysvar'], data: tagOnly(1) },
  initializeAccount2: { accounts: ['account', 'mint', 'rentSysvar'], data: withOwner(16) },
  initializeAccount3: { accounts: ['account', 'mint'], data: withOwner(18) },
  initializeMint: { accounts: ['mint', 'rentSysvar'], data: initializeMintData(0) },
  initializeMint2: { accounts: ['mint'], data: initializeMintData(20) },
  setAuthority: {
    accounts: ['account|mint', 'authority|multisigAuthority'],
    data: setAuthorityData,
  },
}

const SYSTEM_INSTRUCTIONS: Readonly<Record<string, InstructionEncoding>> = {
  createAccount: {
    accounts: ['source', 'newAccount'],
    data: (info) => [encodeU32(0), ...encodeFunding(info)],
  },
  transfer: {
    accounts: ['source', 'destination'],
    data: (info) => [encodeU32(2), encodeU64(info.lamports, 'lamports')],
  },
  createAccountWithSeed: {
    accounts: ['source', 'newAccount', 'base'],
    data: (info) => [
      encodeU32(3),
      encodePubkey(info.base, 'base'),
      ...encodeSeed(info.seed, 'seed'),
      ...encodeFunding(info),
    ],
  },
  transferWithSeed: {
    accounts: ['source', 'sourceBase', 'destination'],
    data: (info) => [
      encodeU32(11),
      encodeU64(info.lamports, 'lamports'),
      ...encodeSeed(info.sourceSeed, 'sourceSeed'),
      encodePubkey(info.sourceOwner, 'sourceOwner'),
    ],
  },
}

const encodeFunding = (info: Fields): readonly Uint8Array[] => [
  encodeU64(info.lamports, 'lamports'),
  encodeU64(info.space, 'space'),
  encodePubkey(info.owner, 'owner'),
]

const ENCODINGS: Readonly<Record<string, Readonly<Record<string, InstructionEncoding>>>> = {
  [PROGRAM_IDS.token]: TOKEN_INSTRUCTIONS,
  [PROGRAM_IDS.token2022]: TOKEN_INSTRUCTIONS,
  [PROGRAM_IDS.system]: SYSTEM_INSTRUCTIONS,
}

const NO_INSTRUCTION: EncodedInstruction = { accounts: [], data: null }

/**
 * The accounts and data of an instruction that a node parsed (`jsonParsed`), for the SPL and System instructions that
 * decoders read; nothing for every other one. Throws `InvalidInput`: the readers' reasons
 * and `invalid-seed`.
 */
export const encodeParsedInstruction = (program: string, parsed: unknown): EncodedInstruction => {
  if (typeof parsed === 'string') return NO_INSTRUCTION
  const { type, info } = fieldsOf(parsed, 'parsed')
  if (type !== 'batch' || !isTokenProgram(program)) return encodeSingle(program, parsed)
  const parts = listOf(fieldsOf(info, 'parsed.info').instructions, 'parsed.info.instructions')
  return encodeBatch(
    parts.flatMap((part) => {
      const { accounts, data } = encodeSingle(program, part)
      return data === null ? [] : [{ accounts, data }]
    }),
  )
}

/** One instruction; a batch is none. */
const encodeSingle = (program: string, parsed: unknown): EncodedInstruction => {
  const { type, info } = fieldsOf(parsed, 'parsed')
  const recipes = ENCODINGS[program]
  const recipe =
    recipes !== undefined && typeof type === 'string' && Object.hasOwn(recipes, type)
      ? recipes[type]
      : undefined
  if (recipe === undefined) return NO_INSTRUCTION
  const raw = fieldsOf(info, 'parsed.info')
  const data = recipe.data(raw)
  if (data === null) return NO_INSTRUCTION
  return {
    accounts: recipe.accounts.map((names) => accountField(raw, names)),
    data: Buffer.concat(data),
  }
}

const accountField = (info: Fields, names: string): string => {
  for (const name of names.split('|')) {
    const value = info[name]
    if (value === undefined) continue
    encodePubkey(value, name)
    return String(value)
  }
  throw invalid('bad-base58', names, undefined)
}
