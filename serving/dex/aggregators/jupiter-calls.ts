import {
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
} from '../solana-calls.ts'
import { MAX_COMPUTE_UNITS } from '../solana-node.ts'
import type { CalledInstruction } from '../solana-signed-transaction.ts'
import { TIP_ACCOUNTS } from '../solana-tip.ts'

/** What a transaction of Jupiter is to do, in accounts and amounts. */
export interface JupiterTerms {
  readonly mode: 'exact_in' | 'exact_out'
  readonly owner: string
  /** The owner's own accounts of what is sold, of what is bought, and of wrapped SOL. */
  readonly accountIn: string
  readonly accountOut: string
  readonly wrapped: string
  /** As quoted, and the most that may be sold. */
  readonly inAmountRaw: bigint
  readonly outAmountRaw: bigint
  readonly maxInRaw: bigint
  readonly slippageBps: number
  /** Lamports for the whole transaction, and to an account for tips. */
  readonly priorityFee: bigint
  readonly tip: bigint
}

const JUPITER_PROGRAM = 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4'

/**
 * Places of accounts and of the first amount in Jupiter's swaps, by their first bytes. Those of version 2 alone have their amounts before the
 * route: in version 1 they are behind it, where other bytes can follow. Source: the program's published interface, and recorded transactions.
 */
const SWAPS: Readonly<Record<string, SwapLayout>> = {
  // route_v2, exact_out_route_v2
  bb64facc31c4af14: { mode: 'exact_in', accounts: [0, 1, 2], other: 7, amounts: 8 },
  '9d8ab85215f4f324': { mode: 'exact_out', accounts: [0, 1, 2], other: 7, amounts: 8 },
  // shared_accounts_route_v2, shared_accounts_exact_out_route_v2
  d19853937cfed8e9: { mode: 'exact_in', accounts: [1, 2, 5], amounts: 9 },
  '3560e5cad8bbfa18': { mode: 'exact_out', accounts: [1, 2, 5], amounts: 9 },
}
/** create_token_account: an account of Jupiter's making for its user. */
const CREATE_TOKEN_ACCOUNT = '93f17b64f484ae76'

interface SwapLayout {
  readonly mode: JupiterTerms['mode']
  /** Of the authority, of what is sold and of what is bought. */
  readonly accounts: readonly [number, number, number]
  /** Of another destination; the program's own address stands for none. */
  readonly other?: number
  /** Two amounts of 8 bytes, the slippage and the platform's fee of 2 bytes each. */
  readonly amounts: number
}

/** What has been read of a transaction. */
interface Seen {
  swaps: number
  readonly created: string[]
  wrappedRaw: bigint
  tippedRaw: bigint
  units: bigint
  microLamports: bigint
}

const MICRO_LAMPORTS = 1_000_000n

/**
 * The token accounts that a transaction creates for its owner; a text: why it is not one swap of these terms. It may set its fee, create the
 * owner's accounts, wrap what is sold, swap, unwrap, and pay the tip that was asked for.
 */
export const readJupiterCalls = (
  instructions: readonly CalledInstruction[],
  terms: JupiterTerms,
): readonly string[] | string => {
  const seen: Seen = {
    swaps: 0,
    created: [],
    wrappedRaw: 0n,
    tippedRaw: 0n,
    units: BigInt(MAX_COMPUTE_UNITS),
    microLamports: 0n,
  }
  for (const instruction of instructions) {
    const reason = READERS[instruction.program]?.(instruction, terms, seen)
    if (reason === undefined) return 'the transaction calls another program'
    if (reason !== null) return reason
  }
  if (seen.swaps !== 1) return 'the transaction is not one swap'
  if (seen.wrappedRaw > terms.maxInRaw) return 'the transaction wraps more than is sold'
  if (seen.tippedRaw > terms.tip) return 'the transaction pays a larger tip'
  // A price is whole millionths, and may have been rounded up.
  const most = terms.priorityFee * MICRO_LAMPORTS + seen.units
  if (seen.units * seen.microLamports > most) return 'the transaction pays a larger fee'
  return seen.created
}

/** null: the instruction is one that a swap needs. */
type Reader = (instruction: CalledInstruction, terms: JupiterTerms, seen: Seen) => string | null

const isZero = (data: Uint8Array): boolean => data.length === 1 && data[0] === 0

const readBudget: Reader = ({ data }, _, seen) => {
  const bytes = Buffer.from(data)
  if (bytes[0] === 2 && bytes.length === 5) seen.units = BigInt(bytes.readUInt32LE(1))
  else if (bytes[0] === 3 && bytes.length === 9) seen.microLamports = bytes.readBigUInt64LE(1)
  // Bytes of the heap, and most bytes of accounts.
  else if ((bytes[0] !== 1 && bytes[0] !== 4) || bytes.length !== 5)
    return 'the transaction sets another budget'
  return null
}

/** Creates an associated account, whether or not it is there. */
const readAssociated: Reader = ({ accounts, data }, { owner }, seen) => {
  const [payer, account = '', wallet] = accounts
  const isCreation = data.length === 0 || isZero(data) || (data.length === 1 && data[0] === 1)
  if (!isCreation || payer !== owner || wallet !== owner)
    return 'the transaction creates an account of another wallet'
  seen.created.push(account)
  return null
}

const readSystem: Reader = ({ accounts, data }, terms, seen) => {
  const [from, to = ''] = accounts
  const bytes = Buffer.from(data)
  const isTransfer = bytes.length === 12 && bytes.readUInt32LE(0) === 2
  if (!isTransfer || from !== terms.owner) return 'the transaction does more than transfer SOL'
  const lamports = bytes.readBigUInt64LE(4)
  if (to === terms.wrapped && terms.accountIn === terms.wrapped) seen.wrappedRaw += lamports
  else if (TIP_ACCOUNTS.some((each) => each === to)) seen.tippedRaw += lamports
  else return 'the transaction transfers SOL to another account'
  return null
}

/** syncNative and closeAccount. */
const readToken: Reader = ({ accounts, data }, { owner, wrapped }, { created }) => {
  const [account = '', to, authority] = accounts
  const isOwn = account === wrapped || created.includes(account)
  if (data.length !== 1 || !isOwn) return 'the transaction does more with tokens than it needs'
  if (data[0] === 17) return null
  if (data[0] === 9 && to === owner && authority === owner && accounts.length === 3) return null
  return 'the transaction does more with tokens than it needs'
}

const readJupiter: Reader = (instruction, terms, seen) => {
  const data = Buffer.from(instruction.data)
  const name = data.subarray(0, 8).toString('hex')
  if (name === CREATE_TOKEN_ACCOUNT) {
    const [account = '', user] = instruction.accounts
    if (user !== terms.owner) return 'the transaction creates an account of another wallet'
    seen.created.push(account)
    return null
  }
  seen.swaps += 1
  const layout = SWAPS[name]
  if (layout === undefined || layout.mode !== terms.mode)
    return 'the transaction calls Jupiter for another swap'
  return swapReason(layout, instruction.accounts, data, { terms, created: seen.created })
}

const swapReason = (
  { mode, accounts, other, amounts }: SwapLayout,
  named: readonly string[],
  data: Buffer,
  { terms, created }: { readonly terms: JupiterTerms; readonly created: readonly string[] },
): string | null => {
  const [authority, from, to = ''] = accounts.map((place) => named[place])
  if (authority !== terms.owner || from !== terms.accountIn)
    return 'the swap sells from another account'
  // What is bought as SOL may go over an account that the same transaction creates and closes.
  const isUnwrapped = terms.accountOut === terms.wrapped && created.includes(to)
  if (to !== terms.accountOut && !isUnwrapped) return 'the swap pays another account'
  const otherAccount = other === undefined ? JUPITER_PROGRAM : named[other]
  if (otherAccount !== JUPITER_PROGRAM && otherAccount !== to)
    return 'the swap pays another account'
  if (data.length < amounts + 20) return 'the swap has no amounts'
  const [first, second] = [data.readBigUInt64LE(amounts), data.readBigUInt64LE(amounts + 8)]
  const isQuoted =
    mode === 'exact_in'
      ? first === terms.inAmountRaw && second >= terms.outAmountRaw
      : first === terms.outAmountRaw && second <= terms.inAmountRaw
  if (!isQuoted) return 'the swap is of another amount'
  if (data.readUInt16LE(amounts + 16) > terms.slippageBps) return 'the swap allows more slippage'
  return data.readUInt16LE(amounts + 18) === 0 ? null : 'the swap takes a fee'
}

const READERS: Readonly<Record<string, Reader>> = {
  [COMPUTE_BUDGET_PROGRAM]: readBudget,
  [ASSOCIATED_TOKEN_PROGRAM]: readAssociated,
  [SYSTEM_PROGRAM]: readSystem,
  [TOKEN_PROGRAM]: readToken,
  [JUPITER_PROGRAM]: readJupiter,
}
