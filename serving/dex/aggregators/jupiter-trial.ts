import { base58Encode } from '../../../core/base58.ts'
import { Fault } from '../../../core/errors.ts'
import { addressesOfTable } from '../lookup-table.ts'
import {
  associatedTokenAddress,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../solana-calls.ts'
import type { SolanaAccount, SolanaReader } from '../solana-node.ts'
import { WRAPPED_SOL } from '../solana-venues.ts'
import type { JupiterOrder, JupiterSwap } from './jupiter.ts'
import { type JupiterTerms, readJupiterCalls } from './jupiter-calls.ts'

/** Paid for the one signature. Source: the fee structure of Solana. */
const SIGNATURE_LAMPORTS = 5_000n
/** Lamports for accounts that programs of pools keep for a trader, which the owner does not get back with the swap. */
const PROGRAM_RENT = 5_000_000n
/** Most accounts that a node reads at once, and most look-up tables. */
const [MAX_ACCOUNTS, MAX_TABLES] = [100, 16]
/** Parts of a token account. Source: solana-program/token state.rs (`Account`). */
const TOKEN_ACCOUNT = {
  mint: 0,
  owner: 32,
  amount: 64,
  delegate: 72,
  closer: 129,
  bytes: 165,
} as const

const wrong = (reason: string): Fault => new Fault('JUPITER_API_ERROR', undefined, { reason })

/**
 * Runs a transaction of Jupiter at a node after it was read: one swap of the order between the owner's own accounts. What the owner holds
 * afterwards is compared with what it held: the most that may be sold and fees are gone, the least is there, and no other account of the owner
 * has less or another authority. Throws `Fault` JUPITER_API_ERROR with the reason, DEX_SWAP_SIMULATED_FAILED where it fails or gives less than
 * its least, CHAIN_CONNECTION_ERROR also where the node does not tell the accounts afterwards.
 */
export const requireJupiterTrial = async (
  reader: SolanaReader,
  order: JupiterOrder,
  { quote, transaction, message }: JupiterSwap,
): Promise<void> => {
  const { request, owner } = order
  if (message.tables.length > MAX_TABLES) throw wrong('the transaction has too many look-up tables')
  const [mintIn, mintOut, ...tables] = await reader.accounts([
    ...[request.tokenIn, request.tokenOut],
    ...message.tables,
  ])
  const addresses = message.tables.map((table, index) => [table, addressesOfTable(tables[index])])
  const resolved = message.resolve(Object.fromEntries(addresses))
  if (resolved === undefined) throw wrong('the transaction names accounts that are not there')
  const accountOf = (token: string, mint: SolanaAccount | undefined) =>
    associatedTokenAddress(owner, token, programOf(mint))
  const terms = {
    ...quote,
    mode: request.mode,
    owner,
    accountIn: await accountOf(request.tokenIn, mintIn),
    accountOut: await accountOf(request.tokenOut, mintOut),
    wrapped: await associatedTokenAddress(owner, WRAPPED_SOL, TOKEN_PROGRAM),
    slippageBps: order.slippageBps,
    priorityFee: order.priorityFee,
    tip: order.tip,
  }
  const created = readJupiterCalls(resolved.instructions, terms)
  if (typeof created === 'string') throw wrong(created)
  const named = [terms.accountIn, terms.accountOut, terms.wrapped, ...created]
  const touched = [...new Set([owner, ...named, ...resolved.writable])]
  if (touched.length > MAX_ACCOUNTS) throw wrong('the transaction has too many accounts')
  const before = await reader.accounts(touched, { firstBytes: TOKEN_ACCOUNT.bytes })
  const held = new Map(touched.map((key, index) => [key, before[index]]))
  const watched = touched.filter(
    (key) => key === owner || named.includes(key) || isTokenAccountOf(owner, held.get(key)),
  )
  const after = await reader.runFor(transaction, watched)
  const changes = watched.map((key, index) => ({ key, before: held.get(key), after: after[index] }))
  requireChanges(changes, { ...terms, minOutRaw: quote.minOutRaw })
}

/** Program of a token. */
const programOf = (mint: SolanaAccount | undefined): string => {
  if (mint?.owner === TOKEN_PROGRAM || mint?.owner === TOKEN_2022_PROGRAM) return mint.owner
  throw wrong('the swap is of an account that is not a token')
}

const isTokenAccountOf = (owner: string, account: SolanaAccount | undefined): boolean =>
  account !== undefined &&
  (account.owner === TOKEN_PROGRAM || account.owner === TOKEN_2022_PROGRAM) &&
  account.data.length >= TOKEN_ACCOUNT.bytes &&
  keyIn(account.data, TOKEN_ACCOUNT.owner) === owner

const keyIn = (data: Uint8Array, at: number): string => base58Encode(data.subarray(at, at + 32))

/** An account of the owner before and after the run. */
interface AccountChange {
  readonly key: string
  readonly before: SolanaAccount | undefined
  readonly after: SolanaAccount | undefined
}

const requireChanges = (
  changes: readonly AccountChange[],
  terms: JupiterTerms & { readonly minOutRaw: bigint },
): void => {
  const { owner, accountIn, accountOut, wrapped, maxInRaw, minOutRaw } = terms
  const tokens = changes.filter(({ key }) => key !== owner)
  if (changes.find(({ key }) => key === owner)?.after?.owner !== SYSTEM_PROGRAM)
    throw wrong('the transaction gives the wallet away')
  if (tokens.some(({ before, after }) => !isKept(owner, before, after)))
    throw wrong('the transaction changes who may use an account')
  // The wrapped SOL of all accounts counts as SOL: what an account holds lies in it as lamports.
  const lamports = sum(changes.map(({ before, after }) => lamportsIn(after) - lamportsIn(before)))
  const fees = SIGNATURE_LAMPORTS + terms.priorityFee + terms.tip + PROGRAM_RENT
  const sold = accountIn === wrapped ? maxInRaw : 0n
  const bought = accountOut === wrapped ? minOutRaw : 0n
  if (lamports < bought - sold - fees) {
    if (bought > 0n) throw lessThan(bought, lamports)
    throw wrong('the transaction takes more SOL than is sold')
  }
  for (const { key, before, after } of tokens) {
    if (key === wrapped || isWrapped(before ?? after)) continue
    const gained = amountIn(after) - amountIn(before)
    if (key === accountOut && gained < minOutRaw) throw lessThan(minOutRaw, gained)
    if (gained < (key === accountIn ? -maxInRaw : 0n))
      throw wrong('the transaction takes more of a token than is sold')
  }
}

const lessThan = (least: bigint, received: bigint): Fault =>
  new Fault('DEX_SWAP_SIMULATED_FAILED', undefined, {
    reason: 'price_moved',
    least: least.toString(),
    received: received.toString(),
  })

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, each) => all + each, 0n)

const lamportsIn = (account: SolanaAccount | undefined): bigint => account?.lamports ?? 0n

const amountIn = (account: SolanaAccount | undefined): bigint =>
  account === undefined || account.data.length < TOKEN_ACCOUNT.bytes
    ? 0n
    : Buffer.from(account.data).readBigUInt64LE(TOKEN_ACCOUNT.amount)

const isWrapped = (account: SolanaAccount | undefined): boolean =>
  account !== undefined && keyIn(account.data, TOKEN_ACCOUNT.mint) === WRAPPED_SOL

/** Whether a token account is the owner's afterwards, with the delegate and the authority to close that it had, by default none. */
const isKept = (
  owner: string,
  before: SolanaAccount | undefined,
  after: SolanaAccount | undefined,
): boolean => {
  if (after === undefined || after.lamports === 0n) return true
  if (!isTokenAccountOf(owner, after)) return false
  return (['delegate', 'closer'] as const).every((part) => {
    const at = TOKEN_ACCOUNT[part]
    const [had, has] = [before, after].map((account) => account?.data.subarray(at, at + 36))
    const isSame = had !== undefined && has !== undefined && Buffer.from(had).equals(has)
    return isSame || has?.subarray(0, 4).every((byte) => byte === 0)
  })
}
