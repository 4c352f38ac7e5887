import {
  type Account,
  type Mint,
  type StoredAccount,
  type TokenAccount,
  tokensOf,
} from './accounts.ts'
import { Fields } from './bytes.ts'
import { IDS } from './ids.ts'
import { Failed, type Run } from './run.ts'
import { createAccount } from './system.ts'

/** Compute units of the two token programs. Source: recorded logs. */
const UNITS = { transfer: 4_645, transferChecked: 6_200, small: 2_900 } as const

const UPGRADE_HINT = 'Program log: Please upgrade to SPL Token 2022 for immutable owner support'

/** One move of tokens. */
interface Transfer {
  readonly from: TokenAccount
  readonly to: TokenAccount
  readonly authority: Account
  readonly amount: bigint
}

const move = ({ machine: { state } }: Run, { from, to, amount }: Transfer): void => {
  const held = tokensOf(state.get.bind(state), from)
  if (held === undefined || held < amount) throw new Failed(1, 'insufficient funds')
  if (state.get(to.place) === 0n) throw new Failed(4, 'no such account')
  state.add(from.place, -amount)
  state.add(to.place, amount)
}

/** Token program: Transfer. Throws Failed without the tokens. */
export const transfer = (run: Run, moved: Transfer): void => {
  const { from, to, authority, amount } = moved
  const call = {
    program: from.mint.program,
    accounts: [from, to, authority],
    flags: 'wws',
    ...{ name: 'Transfer', units: UNITS.transfer },
    data: () => new Fields().u8(3).u64(amount).done(),
  }
  run.call(call, () => move(run, moved))
}

/** Token program: TransferChecked, which names the mint. Throws Failed without the tokens. */
export const transferChecked = (run: Run, moved: Transfer): void => {
  const { from, to, authority, amount } = moved
  const { program, decimals, account } = from.mint
  const call = {
    program,
    accounts: [from, account, to, authority],
    flags: 'wrws',
    ...{ name: 'TransferChecked', units: UNITS.transferChecked },
    data: () => new Fields().u8(12).u64(amount).u8(decimals).done(),
  }
  run.call(call, () => move(run, moved))
}

/** Token program: new tokens. */
export const mintTo = (
  run: Run,
  mint: Mint,
  made: { readonly to: TokenAccount; readonly authority: Account; readonly amount: bigint },
): void => {
  const { to, authority, amount } = made
  run.call({
    program: mint.program,
    accounts: [mint.account, to, authority],
    flags: 'wwr',
    ...{ name: 'MintTo', units: 1_642 },
    data: () => new Fields().u8(7).u64(amount).done(),
  })
  if (typeof mint.supply === 'number') run.machine.state.add(mint.supply, amount)
  run.machine.state.add(to.place, amount)
}

/** Token program: tokens cease to exist. */
export const burn = (run: Run, from: TokenAccount, authority: Account, amount: bigint): void => {
  const { state } = run.machine
  const { mint } = from
  const held = tokensOf(state.get.bind(state), from) ?? 0n
  if (held < amount || typeof mint.supply !== 'number') throw new Failed(1, 'insufficient funds')
  run.call({
    program: mint.program,
    accounts: [from, mint.account, authority],
    flags: 'wws',
    ...{ name: 'Burn', units: 1_295 },
    data: () => new Fields().u8(8).u64(amount).done(),
  })
  state.add(mint.supply, -amount)
  state.add(from.place, -amount)
}

/** Token program: an empty account, or any wSOL account, is closed; its lamports go to `to`. */
export const closeAccount = (run: Run, account: TokenAccount, to: StoredAccount): void => {
  const { state } = run.machine
  const held = tokensOf(state.get.bind(state), account)
  const { native, program } = account.mint
  if (held === undefined || (held > 0n && !native)) throw new Failed(11, 'account is not empty')
  run.call({
    program,
    accounts: [account, to, account.owner],
    flags: 'wws',
    ...{ name: 'CloseAccount', units: UNITS.small },
    data: () => new Fields().u8(9).done(),
  })
  state.set(account.place, 0n)
  state.add(to.place, account.rentRaw + held)
}

/** Token program: what was sent to a wSOL account becomes its tokens. */
export const syncNative = (run: Run, account: TokenAccount): void =>
  run.call({
    ...{ program: account.mint.program, accounts: [account], flags: 'w', units: 3_045 },
    ...{ name: 'SyncNative', data: () => new Fields().u8(17).done() },
  })

/** Token program: InitializeMint2, right after the account was created. */
export const initializeMint = (run: Run, mint: Mint, authority: Account): void => {
  run.call({
    name: 'InitializeMint2',
    ...{ program: mint.program, accounts: [mint.account], flags: 'w', units: 1_225 },
    data: () => new Fields().u8(20).u8(mint.decimals).key(authority).u8(0).done(),
  })
  if (typeof mint.supply === 'number') run.machine.state.set(mint.supply, 1n)
}

/** Token program: nobody can mint any more. */
export const endMinting = (run: Run, mint: Mint, authority: Account): void =>
  run.call({
    ...{ program: mint.program, accounts: [mint.account, authority], flags: 'wr', units: 958 },
    ...{ name: 'SetAuthority', data: () => new Fields().u8(6).u8(0).u8(0).done() },
  })

const initializeOwned = (run: Run, account: TokenAccount): void => {
  const { mint, owner } = account
  const { program } = mint
  run.log('Program log: Initialize the associated token account')
  run.call({
    ...{ program, accounts: [account], flags: 'w', units: 1_405 },
    ...{ name: 'InitializeImmutableOwner', data: () => new Fields().u8(22).done() },
  })
  if (program === IDS.token) run.trace.push({ height: run.height + 1, line: UPGRADE_HINT })
  run.call({
    name: 'InitializeAccount3',
    ...{ program, accounts: [account, mint.account], flags: 'wr', units: 4_188 },
    data: () => new Fields().u8(18).key(owner).done(),
  })
}

/** Associated token account program: makes an account; without `strict` one that exists already is fine. */
export const openAccount = (
  run: Run,
  account: TokenAccount,
  { payer, strict = false }: { readonly payer: StoredAccount; readonly strict?: boolean },
): void => {
  const { state } = run.machine
  const { mint, owner, rentRaw } = account
  const { program } = mint
  const accounts = [payer, account, owner, mint.account, IDS.system, program]
  const data = (): Uint8Array => new Fields().u8(strict ? 0 : 1).done()
  run.call({ program: IDS.ata, accounts, flags: 'Swrrrr', data, units: 7_338 }, () => {
    run.log(`Program log: ${strict ? 'Create' : 'CreateIdempotent'}`)
    if (state.get(account.place) > 0n) return
    run.call({
      ...{ program, accounts: [mint.account], flags: 'r', units: 1_569 },
      ...{ name: 'GetAccountDataSize', data: () => new Fields().u8(21).u16(7).done() },
    })
    const space = program === IDS.token ? 165 : 170
    createAccount(run, payer, { account, rentRaw, space, owner: program })
    initializeOwned(run, account)
    state.set(account.place, 1n)
  })
}

/** Tokens of an account now; 0 while it does not exist. */
export const tokensNow = ({ machine: { state } }: Run, account: TokenAccount): bigint =>
  tokensOf(state.get.bind(state), account) ?? 0n
