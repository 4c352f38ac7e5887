import { base58Encode } from '../../../core/base58.ts'
import type { SvmInstruction, SvmLamports, SvmTokenBalance } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import { parseAmount, parseBase58Key, parseUint } from '../layout/json.ts'
import { isTokenProgram, PROGRAM_IDS } from '../programs/programs.ts'

const WRAPPED_SOL = 'So11111111111111111111111111111111111111112'

/** Lamports of the accounts that a transaction changed. Throws `InvalidInput`: `balance-count`, `bad-amount`, `not-a-list`. */
export const lamportChanges = (meta: Fields, keys: readonly string[]): readonly SvmLamports[] => {
  const pre = listOf(meta.preBalances, 'preBalances')
  const post = listOf(meta.postBalances, 'postBalances')
  if (pre.length !== keys.length || post.length !== keys.length) {
    throw invalid('balance-count', `balances of ${keys.length} accounts`, post.length)
  }
  const changes: SvmLamports[] = []
  for (const [index, account] of keys.entries()) {
    const before = pre[index]
    const after = post[index]
    if (before === after && isNonNegativeInteger(before)) continue
    const preRaw = parseAmount(before, 'preBalances[]')
    const postRaw = parseAmount(after, 'postBalances[]')
    if (preRaw !== postRaw) changes.push({ account, preRaw, postRaw })
  }
  return changes
}

/** Most accounts keep what they have: no need to make two big integers of it. */
const isNonNegativeInteger = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0

/**
 * Token accounts before and after a transaction, joined by account. One that changed its mint or its owner is two: one that
 * ended and one that began. Accounts that were made and closed inside it are in neither of the node's lists: their mint is
 * that of the `InitializeAccount` that made them, both amounts null. Throws `InvalidInput`.
 */
export const tokenBalances = (
  meta: Fields,
  keys: readonly string[],
  instructions: readonly SvmInstruction[],
): readonly SvmTokenBalance[] => {
  const pre = parseTokenBalances(meta.preTokenBalances, keys)
  const post = parseTokenBalances(meta.postTokenBalances, keys)
  const ended: SvmTokenBalance[] = []
  const joined = new Map<string, SvmTokenBalance>()
  for (const [account, reported] of pre)
    joined.set(account, tokenBalanceChange(reported, reported.amountRaw, null))
  for (const [account, reported] of post) {
    const before = joined.get(account)
    const isSame = before?.mint === reported.mint && before.owner === reported.owner
    if (before !== undefined && !isSame) ended.push(before)
    joined.set(
      account,
      tokenBalanceChange(reported, isSame ? before.preRaw : null, reported.amountRaw),
    )
  }
  const balances = [...ended, ...joined.values()]
  return [...balances, ...transientAccounts(balances, instructions)]
}

type TokenBalanceSnapshot = Omit<SvmTokenBalance, 'preRaw' | 'postRaw'> & {
  readonly amountRaw: bigint
}

/** Field by field: a spread costs as much as the rest of the join. */
const tokenBalanceChange = (
  { account, owner, mint, tokenProgram, decimals }: TokenBalanceSnapshot,
  preRaw: bigint | null,
  postRaw: bigint | null,
): SvmTokenBalance => ({ account, owner, mint, tokenProgram, decimals, preRaw, postRaw })

const EMPTY_LIST: readonly unknown[] = []

/** By account. Recordings of 2021 lack the owner (empty then) and the token program (there was one only). */
const parseTokenBalances = (
  value: unknown,
  keys: readonly string[],
): ReadonlyMap<string, TokenBalanceSnapshot> => {
  const reported = new Map<string, TokenBalanceSnapshot>()
  for (const each of orElse(value, 'tokenBalances', { read: listOf, fallback: EMPTY_LIST })) {
    const raw = fieldsOf(each, 'tokenBalances[]')
    const index = parseUint(raw.accountIndex, 'accountIndex')
    const account = keys[index]
    if (account === undefined) throw invalid('bad-index', 'accountIndex', index)
    const amount = fieldsOf(raw.uiTokenAmount, 'uiTokenAmount')
    const decimals = parseUint(amount.decimals, 'decimals')
    if (decimals > 255) throw invalid('bad-number', 'decimals', decimals)
    reported.set(account, {
      account,
      owner: orElse(raw.owner, 'owner', { read: parseBase58Key, fallback: '' }),
      mint: parseBase58Key(raw.mint, 'mint'),
      tokenProgram: orElse(raw.programId, 'programId', {
        read: parseBase58Key,
        fallback: PROGRAM_IDS.token,
      }),
      decimals,
      amountRaw: parseAmount(amount.amount, 'amount'),
    })
  }
  return reported
}

/** Made and closed in one transaction. One whose mint's decimals the transaction does not show is left out. */
const transientAccounts = (
  balances: readonly SvmTokenBalance[],
  instructions: readonly SvmInstruction[],
): readonly SvmTokenBalance[] => {
  const tokenCalls = instructions.filter(({ program }) => isTokenProgram(program))
  const made = tokenCalls.flatMap((each) => initializedAccount(each) ?? [])
  if (made.length === 0) return []
  const listed = new Set(balances.map(({ account }) => account))
  const passing = made.filter(({ account }) => !listed.has(account))
  if (passing.length === 0) return []
  const decimalsOf = new Map(balances.map(({ mint, decimals }) => [mint, decimals]))
  decimalsOf.set(WRAPPED_SOL, 9)
  for (const each of tokenCalls) {
    const reported = decimalsInInstruction(each)
    if (reported !== undefined) decimalsOf.set(reported.mint, reported.decimals)
  }
  return passing.flatMap((account) => {
    const decimals = decimalsOf.get(account.mint)
    return decimals === undefined ? [] : [{ ...account, decimals, preRaw: null, postRaw: null }]
  })
}

/** Account that an `InitializeAccount` (1), `2` (16) or `3` (18) set up; the newer two carry the owner in their data. */
const initializedAccount = ({ program, accounts, data }: SvmInstruction) => {
  const [account, mint, owner] = accounts
  if (data === null || account === undefined || mint === undefined) return undefined
  const made = { account, mint, tokenProgram: program }
  const [tag] = data
  if (tag === 1) return owner === undefined ? undefined : { ...made, owner }
  if ((tag !== 16 && tag !== 18) || data.length < 33) return undefined
  return { ...made, owner: base58Encode(data.subarray(1, 33)) }
}

/** Place of the mint and of the decimals byte in the instructions that carry both. */
const MINT_AND_DECIMALS_OFFSETS: Readonly<
  Record<number, readonly [mint: number, decimals: number]>
> = {
  0: [0, 1],
  12: [1, 9],
  14: [0, 9],
  15: [1, 9],
  20: [0, 1],
}

const decimalsInInstruction = ({ accounts, data }: SvmInstruction) => {
  const [mintAt, decimalsAt] = MINT_AND_DECIMALS_OFFSETS[data?.[0] ?? -1] ?? []
  if (mintAt === undefined || decimalsAt === undefined) return undefined
  const mint = accounts[mintAt]
  const decimals = data?.[decimalsAt]
  return mint === undefined || decimals === undefined ? undefined : { mint, decimals }
}
