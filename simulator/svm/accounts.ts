import type { StateReader } from '../node/state.ts'
import type { Address } from './addresses.ts'

/** An account that nothing here changes: programs, sysvars, configurations. */
export interface FixedAccount extends Address {
  readonly kind: 'fixed'
  readonly lamports: bigint
}

/** An account whose lamports are a number of the state. */
export interface StoredAccount extends Address {
  readonly kind: 'stored'
  readonly stateIndex: number
}

/** An account that holds its rent while a number of the state is above zero. */
export interface RentedAccount extends Address {
  readonly kind: 'rented'
  readonly stateIndex: number
  readonly rentRaw: bigint
}

/** A token account; its place holds 0 while it does not exist, else the amount plus 1. */
export interface TokenAccount extends Address {
  readonly kind: 'token'
  readonly stateIndex: number
  readonly rentRaw: bigint
  readonly mint: Mint
  readonly owner: Account
}

/** Anything that has an address. */
export type Account = FixedAccount | StoredAccount | RentedAccount | TokenAccount

/** A token; `supply` is the place of the supply plus 1, or the supply of one that never changes. */
export interface Mint {
  readonly account: FixedAccount | RentedAccount
  readonly decimals: number
  readonly program: FixedAccount
  /** Wrapped SOL: an account's lamports are its tokens. */
  readonly native: boolean
  readonly supply: number | { readonly raw: bigint }
}

/** Lamports of an account. */
export const lamportsOf = (read: StateReader, account: Account): bigint => {
  if (account.kind === 'fixed') return account.lamports
  const value = read(account.stateIndex)
  if (account.kind === 'stored') return value
  if (value === 0n) return 0n
  if (account.kind === 'rented' || !account.mint.native) return account.rentRaw
  return account.rentRaw + value - 1n
}

/** Tokens of a token account; undefined while it does not exist. */
export const tokenBalanceOf = (read: StateReader, account: TokenAccount): bigint | undefined => {
  const value = read(account.stateIndex)
  return value === 0n ? undefined : value - 1n
}

/** Supply of a mint. */
export const supplyOf = (read: StateReader, { supply }: Mint): bigint =>
  typeof supply === 'number' ? read(supply) - 1n : supply.raw

/** An account that nothing changes. */
export const fixedAccount = (at: Address, lamports = 1_461_600n): FixedAccount => ({
  kind: 'fixed',
  ...at,
  lamports,
})
