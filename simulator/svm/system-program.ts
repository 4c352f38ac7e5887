import type { Account, StoredAccount, TokenAccount } from './accounts.ts'
import { BorshWriter } from './borsh-writer.ts'
import { ProgramError, type TransactionExecution } from './execution.ts'
import { KNOWN_ACCOUNTS } from './known-accounts.ts'

/** An account that can be given lamports. */
type LamportReceiver = StoredAccount | TokenAccount

/** Moves lamports without an instruction: a program does so with accounts it owns, rent and fees do too. Throws Failed without them. */
export const moveLamports = (
  { context: { state } }: TransactionExecution,
  from: StoredAccount,
  to: LamportReceiver | undefined,
  lamports: bigint,
): void => {
  if (state.get(from.stateIndex) < lamports) throw new ProgramError(1, 'insufficient lamports')
  state.add(from.stateIndex, -lamports)
  if (to !== undefined) state.add(to.stateIndex, lamports)
}

/** System program: a transfer between accounts, or into a wSOL account. */
export const transferLamports = (
  run: TransactionExecution,
  from: StoredAccount,
  to: LamportReceiver,
  lamports: bigint,
): void => {
  const call = {
    data: () => new BorshWriter().u32(2).u64(lamports).toBytes(),
    program: KNOWN_ACCOUNTS.system,
    accounts: [from, to],
    flags: 'Sw',
    units: 150,
  }
  run.invoke(call, () => moveLamports(run, from, to, lamports))
}

/** System program: a new account with its rent; what lies in its place is up to the caller. */
export const createAccount = (
  run: TransactionExecution,
  payer: StoredAccount,
  made: {
    readonly account: Account
    readonly rentRaw: bigint
    readonly space: number
    readonly owner: { readonly key: Uint8Array }
    /** True: the account signs itself, as a fresh key does. */
    readonly signs?: boolean
  },
): void => {
  const { account, rentRaw, space, owner, signs = false } = made
  const call = {
    data: () => new BorshWriter().u32(0).u64(rentRaw).u64(BigInt(space)).pubkey(owner).toBytes(),
    program: KNOWN_ACCOUNTS.system,
    accounts: [payer, account],
    flags: signs ? 'SS' : 'Sw',
    units: 150,
  }
  run.invoke(call, () => moveLamports(run, payer, undefined, rentRaw))
}

/** System program: a transfer that tops up the rent of an account. */
export const topUpRent = (
  run: TransactionExecution,
  payer: StoredAccount,
  account: Account,
  lamports: bigint,
): void => {
  const call = {
    data: () => new BorshWriter().u32(2).u64(lamports).toBytes(),
    program: KNOWN_ACCOUNTS.system,
    accounts: [payer, account],
    flags: 'Sw',
    units: 150,
  }
  run.invoke(call, () => moveLamports(run, payer, undefined, lamports))
}
