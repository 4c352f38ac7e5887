import {
  type Account,
  type Mint,
  type StoredAccount,
  type TokenAccount,
  tokenBalanceOf,
} from './accounts.ts'
import { BorshWriter } from './borsh-writer.ts'
import { ProgramError, type TransactionExecution } from './execution.ts'
import { KNOWN_ACCOUNTS } from './known-accounts.ts'
import { createAccount } from './system-program.ts'

/** Compute units of the two token programs. Source: recorded logs. */
const COMPUTE_UNITS = { transfer: 4_645, transferChecked: 6_200, small: 2_900 } as const

const UPGRADE_HINT = 'Program log: Please upgrade to SPL Token 2022 for immutable owner support'

/** One move of tokens. */
interface Transfer {
  readonly from: TokenAccount
  readonly to: TokenAccount
  readonly authority: Account
  readonly amount: bigint
}

const moveBalance = (
  { context: { state } }: TransactionExecution,
  { from, to, amount }: Transfer,
): void => {
  const held = tokenBalanceOf(state.get.bind(state), from)
  if (held === undefined || held < amount) throw new ProgramError(1, 'insufficient funds')
  if (state.get(to.stateIndex) === 0n) throw new ProgramError(4, 'no such account')
  state.add(from.stateIndex, -amount)
  state.add(to.stateIndex, amount)
}

/** Token program: Transfer. Throws Failed without the tokens. */
export const transfer = (run: TransactionExecution, moved: Transfer): void => {
  const { from, to, authority, amount } = moved
  const call = {
    program: from.mint.program,
    accounts: [from, to, authority],
    flags: 'wws',
    name: 'Transfer',
    units: COMPUTE_UNITS.transfer,
    data: () => new BorshWriter().u8(3).u64(amount).toBytes(),
  }
  run.invoke(call, () => moveBalance(run, moved))
}

/** Token program: TransferChecked, which names the mint. Throws Failed without the tokens. */
export const transferChecked = (run: TransactionExecution, moved: Transfer): void => {
  const { from, to, authority, amount } = moved
  const { program, decimals, account } = from.mint
  const call = {
    program,
    accounts: [from, account, to, authority],
    flags: 'wrws',
    name: 'TransferChecked',
    units: COMPUTE_UNITS.transferChecked,
    data: () => new BorshWriter().u8(12).u64(amount).u8(decimals).toBytes(),
  }
  run.invoke(call, () => moveBalance(run, moved))
}

/** Token program: new tokens. */
export const mintTo = (
  run: TransactionExecution,
  mint: Mint,
  made: { readonly to: TokenAccount; readonly authority: Account; readonly amount: bigint },
): void => {
  const { to, authority, amount } = made
  run.invoke({
    program: mint.program,
    accounts: [mint.account, to, authority],
    flags: 'wwr',
    name: 'MintTo',
    units: 1_642,
    data: () => new BorshWriter().u8(7).u64(amount).toBytes(),
  })
  if (typeof mint.supply === 'number') run.context.state.add(mint.supply, amount)
  run.context.state.add(to.stateIndex, amount)
}

/** Token program: tokens cease to exist. */
export const burn = (
  run: TransactionExecution,
  from: TokenAccount,
  authority: Account,
  amount: bigint,
): void => {
  const { state } = run.context
  const { mint } = from
  const held = tokenBalanceOf(state.get.bind(state), from) ?? 0n
  if (held < amount || typeof mint.supply !== 'number')
    throw new ProgramError(1, 'insufficient funds')
  run.invoke({
    program: mint.program,
    accounts: [from, mint.account, authority],
    flags: 'wws',
    name: 'Burn',
    units: 1_295,
    data: () => new BorshWriter().u8(8).u64(amount).toBytes(),
  })
  state.add(mint.supply, -amount)
  state.add(from.stateIndex, -amount)
}

/** Token program: an empty account, or any wSOL account, is closed; its lamports go to `to`. */
export const closeAccount = (
  run: TransactionExecution,
  account: TokenAccount,
  to: StoredAccount,
): void => {
  const { state } = run.context
  const held = tokenBalanceOf(state.get.bind(state), account)
  const { native, program } = account.mint
  if (held === undefined || (held > 0n && !native))
    throw new ProgramError(11, 'account is not empty')
  run.invoke({
    program,
    accounts: [account, to, account.owner],
    flags: 'wws',
    name: 'CloseAccount',
    units: COMPUTE_UNITS.small,
    data: () => new BorshWriter().u8(9).toBytes(),
  })
  state.set(account.stateIndex, 0n)
  state.add(to.stateIndex, account.rentRaw + held)
}

/** Token program: what was sent to a wSOL account becomes its tokens. */
export const syncNative = (run: TransactionExecution, account: TokenAccount): void =>
  run.invoke({
    program: account.mint.program,
    accounts: [account],
    flags: 'w',
    units: 3_045,
    name: 'SyncNative',
    data: () => new BorshWriter().u8(17).toBytes(),
  })

/** Token program: InitializeMint2, right after the account was created. */
export const initializeMint = (run: TransactionExecution, mint: Mint, authority: Account): void => {
  run.invoke({
    name: 'InitializeMint2',
    program: mint.program,
    accounts: [mint.account],
    flags: 'w',
    units: 1_225,
    data: () => new BorshWriter().u8(20).u8(mint.decimals).pubkey(authority).u8(0).toBytes(),
  })
  if (typeof mint.supply === 'number') run.context.state.set(mint.supply, 1n)
}

/** Token program: minting has ended. */
export const revokeMintAuthority = (
  run: TransactionExecution,
  mint: Mint,
  authority: Account,
): void =>
  run.invoke({
    program: mint.program,
    accounts: [mint.account, authority],
    flags: 'wr',
    units: 958,
    name: 'SetAuthority',
    data: () => new BorshWriter().u8(6).u8(0).u8(0).toBytes(),
  })

const initializeOwned = (run: TransactionExecution, account: TokenAccount): void => {
  const { mint, owner } = account
  const { program } = mint
  run.log('Program log: Initialize the associated token account')
  run.invoke({
    program,
    accounts: [account],
    flags: 'w',
    units: 1_405,
    name: 'InitializeImmutableOwner',
    data: () => new BorshWriter().u8(22).toBytes(),
  })
  if (program === KNOWN_ACCOUNTS.token)
    run.trace.push({ height: run.height + 1, line: UPGRADE_HINT })
  run.invoke({
    name: 'InitializeAccount3',
    program,
    accounts: [account, mint.account],
    flags: 'wr',
    units: 4_188,
    data: () => new BorshWriter().u8(18).pubkey(owner).toBytes(),
  })
}

/** Associated token account program: makes an account; without `strict` one that exists already is fine. */
export const createAssociatedTokenAccount = (
  run: TransactionExecution,
  account: TokenAccount,
  { payer, strict = false }: { readonly payer: StoredAccount; readonly strict?: boolean },
): void => {
  const { state } = run.context
  const { mint, owner, rentRaw } = account
  const { program } = mint
  const accounts = [payer, account, owner, mint.account, KNOWN_ACCOUNTS.system, program]
  const data = (): Uint8Array => new BorshWriter().u8(strict ? 0 : 1).toBytes()
  run.invoke({ program: KNOWN_ACCOUNTS.ata, accounts, flags: 'Swrrrr', data, units: 7_338 }, () => {
    run.log(`Program log: ${strict ? 'Create' : 'CreateIdempotent'}`)
    if (state.get(account.stateIndex) > 0n) return
    run.invoke({
      program,
      accounts: [mint.account],
      flags: 'r',
      units: 1_569,
      name: 'GetAccountDataSize',
      data: () => new BorshWriter().u8(21).u16(7).toBytes(),
    })
    const space = program === KNOWN_ACCOUNTS.token ? 165 : 170
    createAccount(run, payer, { account, rentRaw, space, owner: program })
    initializeOwned(run, account)
    state.set(account.stateIndex, 1n)
  })
}

/** Tokens of an account now; 0 while it does not exist. */
export const currentTokenBalance = (
  { context: { state } }: TransactionExecution,
  account: TokenAccount,
): bigint => tokenBalanceOf(state.get.bind(state), account) ?? 0n
