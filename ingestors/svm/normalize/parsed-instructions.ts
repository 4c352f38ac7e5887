import { type Fields, fieldsOf, listOf, refuse } from '../../input/json.ts'
import { amountAt, base58At, keyAt, wholeAt } from '../layout/json.ts'
import { isTokenProgram, PROGRAM } from '../programs/programs.ts'
import { batchOf } from './batched-instructions.ts'

/** An instruction as it was before the node took it apart. */
interface Encoded {
  readonly accounts: readonly string[]
  readonly data: Uint8Array | null
}

/** How an instruction is put together again: its accounts by field name, and its data. */
interface Recipe {
  readonly accounts: readonly string[]
  /** null: nobody reads it. */
  readonly data: (info: Fields) => readonly Uint8Array[] | null
}

const u8 = (value: number): Uint8Array => Uint8Array.of(value)
const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer)
const u64 = (value: unknown, at: string): Uint8Array => {
  const amount = amountAt(value, at)
  if (amount >= 2n ** 64n) throw refuse('bad-amount', at, amount)
  return new Uint8Array(BigUint64Array.of(amount).buffer)
}
const key = (value: unknown, at: string): Uint8Array => {
  const bytes = base58At(keyAt(value, at), at)
  if (bytes.length !== 32) throw refuse('bad-base58', at, value)
  return bytes
}
const optionalKey = (value: unknown, at: string): readonly Uint8Array[] =>
  value === undefined || value === null ? [u8(0)] : [u8(1), key(value, at)]
const seed = (value: unknown, at: string): readonly Uint8Array[] => {
  if (typeof value !== 'string' || value.length > 64) throw refuse('bad-seed', at, value)
  const bytes = new TextEncoder().encode(value)
  return [u64(bytes.length, at), bytes]
}

const small = (value: unknown, at: string): Uint8Array => {
  const number = wholeAt(value, at)
  if (number > 255) throw refuse('bad-number', at, value)
  return u8(number)
}

const amount = (tag: number) => (info: Fields) => [u8(tag), u64(info.amount, 'amount')]
const checked =
  (...tags: readonly number[]) =>
  (info: Fields) => {
    const said = fieldsOf(info.tokenAmount, 'tokenAmount')
    return [
      Uint8Array.from(tags),
      u64(said.amount, 'tokenAmount.amount'),
      small(said.decimals, 'tokenAmount.decimals'),
    ]
  }
const bare = (tag: number) => () => [u8(tag)]
const ownerInData = (tag: number) => (info: Fields) => [u8(tag), key(info.owner, 'owner')]
const mint = (tag: number) => (info: Fields) => [
  u8(tag),
  small(info.decimals, 'decimals'),
  key(info.mintAuthority, 'mintAuthority'),
  ...optionalKey(info.freezeAuthority, 'freezeAuthority'),
]

const AUTHORITY_TYPES: readonly unknown[] = [
  'mintTokens',
  'freezeAccount',
  'accountOwner',
  'closeAccount',
]
/** Token-2022 has a dozen more, which no decoder reads. */
const authority = (info: Fields): readonly Uint8Array[] | null => {
  const type = AUTHORITY_TYPES.indexOf(info.authorityType)
  if (type < 0) return null
  return [u8(6), u8(type), ...optionalKey(info.newAuthority, 'newAuthority')]
}

/** SPL Token and Token-2022 share these. Field names as `jsonParsed` writes them; `|` separates alternatives. */
const TOKEN: Readonly<Record<string, Recipe>> = {
  transfer: { accounts: ['source', 'destination', 'authority|multisigAuthority'], data: amount(3) },
  transferChecked: {
    accounts: ['source', 'mint', 'destination', 'authority|multisigAuthority'],
    data: checked(12),
  },
  transferCheckedWithFee: {
    accounts: ['source', 'mint', 'destination', 'authority|multisigAuthority'],
    data: (info) => [
      ...checked(26, 1)(info),
      u64(fieldsOf(info.feeAmount, 'feeAmount').amount, 'feeAmount.amount'),
    ],
  },
  mintTo: { accounts: ['mint', 'account', 'mintAuthority|multisigMintAuthority'], data: amount(7) },
  mintToChecked: {
    accounts: ['mint', 'account', 'mintAuthority|multisigMintAuthority'],
    data: checked(14),
  },
  burn: { accounts: ['account', 'mint', 'authority|multisigAuthority'], data: amount(8) },
  burnChecked: { accounts: ['account', 'mint', 'authority|multisigAuthority'], data: checked(15) },
  closeAccount: { accounts: ['account', 'destination', 'owner|multisigOwner'], data: bare(9) },
  syncNative: { accounts: ['account'], data: bare(17) },
  initializeAccount: { accounts: ['account', 'mint', 'owner', 'rentSysvar'], data: bare(1) },
  initializeAccount2: { accounts: ['account', 'mint', 'rentSysvar'], data: ownerInData(16) },
  initializeAccount3: { accounts: ['account', 'mint'], data: ownerInData(18) },
  initializeMint: { accounts: ['mint', 'rentSysvar'], data: mint(0) },
  initializeMint2: { accounts: ['mint'], data: mint(20) },
  setAuthority: { accounts: ['account|mint', 'authority|multisigAuthority'], data: authority },
}

const SYSTEM: Readonly<Record<string, Recipe>> = {
  createAccount: {
    accounts: ['source', 'newAccount'],
    data: (info) => [u32(0), ...funding(info)],
  },
  transfer: {
    accounts: ['source', 'destination'],
    data: (info) => [u32(2), u64(info.lamports, 'lamports')],
  },
  createAccountWithSeed: {
    accounts: ['source', 'newAccount', 'base'],
    data: (info) => [u32(3), key(info.base, 'base'), ...seed(info.seed, 'seed'), ...funding(info)],
  },
  transferWithSeed: {
    accounts: ['source', 'sourceBase', 'destination'],
    data: (info) => [
      u32(11),
      u64(info.lamports, 'lamports'),
      ...seed(info.sourceSeed, 'sourceSeed'),
      key(info.sourceOwner, 'sourceOwner'),
    ],
  },
}

const funding = (info: Fields): readonly Uint8Array[] => [
  u64(info.lamports, 'lamports'),
  u64(info.space, 'space'),
  key(info.owner, 'owner'),
]

const RECIPES: Readonly<Record<string, Readonly<Record<string, Recipe>>>> = {
  [PROGRAM.token]: TOKEN,
  [PROGRAM.token2022]: TOKEN,
  [PROGRAM.system]: SYSTEM,
}

const NOTHING: Encoded = { accounts: [], data: null }

/**
 * The accounts and data of an instruction that a node parsed (`jsonParsed`), for the SPL and System instructions that
 * decoders read; nothing for every other one. Layouts: contract/chains.md 4.1. Throws `Malformed`: the readers' reasons
 * and `bad-seed`.
 */
export const reEncoded = (program: string, parsed: unknown): Encoded => {
  if (typeof parsed === 'string') return NOTHING
  const { type, info } = fieldsOf(parsed, 'parsed')
  if (type !== 'batch' || !isTokenProgram(program)) return encoded(program, parsed)
  const parts = listOf(fieldsOf(info, 'parsed.info').instructions, 'parsed.info.instructions')
  return batchOf(
    parts.flatMap((part) => {
      const { accounts, data } = encoded(program, part)
      return data === null ? [] : [{ accounts, data }]
    }),
  )
}

/** One instruction; a batch is none. */
const encoded = (program: string, parsed: unknown): Encoded => {
  const { type, info } = fieldsOf(parsed, 'parsed')
  const recipes = RECIPES[program]
  const recipe =
    recipes !== undefined && typeof type === 'string' && Object.hasOwn(recipes, type)
      ? recipes[type]
      : undefined
  if (recipe === undefined) return NOTHING
  const said = fieldsOf(info, 'parsed.info')
  const data = recipe.data(said)
  if (data === null) return NOTHING
  return {
    accounts: recipe.accounts.map((names) => accountAt(said, names)),
    data: Buffer.concat(data),
  }
}

const accountAt = (info: Fields, names: string): string => {
  for (const name of names.split('|')) {
    const value = info[name]
    if (value === undefined) continue
    key(value, name)
    return String(value)
  }
  throw refuse('bad-base58', names, undefined)
}
