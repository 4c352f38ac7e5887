import { base58Encode } from '../../core/base58.ts'
import { Fault } from '../../core/errors.ts'
import {
  type AccountUse,
  type InstructionAccount,
  programAddress,
  type SolanaInstruction,
} from './solana-message.ts'

/** Instructions of Solana's own programs that a swap needs around it. Source: solana-program/{token,associated-token-account,system,compute-budget}. */

export const SYSTEM_PROGRAM = '11111111111111111111111111111111'
export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
export const TOKEN_2022_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'
export const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'
export const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'
export const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111'

const KEY_BYTES = 32

/** An address within an account's data. Throws `Fault` DEX_ROUTE_BUILD_FAILED for data that end before it. */
export const keyAt = (data: Uint8Array, at: number): string => {
  if (data.length < at + KEY_BYTES) {
    const details = { reason: 'an account is shorter than its layout' }
    throw new Fault('DEX_ROUTE_BUILD_FAILED', undefined, details)
  }
  return base58Encode(data.subarray(at, at + KEY_BYTES))
}

/** Accounts in the order in which an instruction names them. */
export const accountsOf = (
  ...named: readonly (InstructionAccount | string)[]
): readonly InstructionAccount[] =>
  named.map((one) => (typeof one === 'string' ? ([one, 'read'] as const) : one))

/** An account with what the instruction does to it. */
export const used = (account: string, use: AccountUse): InstructionAccount => [account, use]

/** Data of an instruction: its first bytes, then numbers of 8 bytes, lower bytes first. */
export const dataOf = (first: string, ...amounts: readonly bigint[]): Uint8Array => {
  const head = Buffer.from(first, 'hex')
  const data = Buffer.alloc(head.length + 8 * amounts.length)
  head.copy(data)
  amounts.forEach((amount, index) => {
    data.writeBigUInt64LE(amount, head.length + 8 * index)
  })
  return data
}

/** The account in which a wallet holds a token unless it says otherwise. */
export const associatedTokenAddress = (
  owner: string,
  mint: string,
  tokenProgram: string,
): Promise<string> =>
  programAddress(ASSOCIATED_TOKEN_PROGRAM, [{ key: owner }, { key: tokenProgram }, { key: mint }])

/** Units of computation that the transaction may take. */
export const computeLimit = (units: number): SolanaInstruction => {
  const data = Buffer.alloc(5)
  data.writeUInt8(2)
  data.writeUInt32LE(units, 1)
  return { program: COMPUTE_BUDGET_PROGRAM, accounts: [], data }
}

/** What is paid beside the base fee for a unit of computation, millionths of a lamport. */
export const computePrice = (microLamports: bigint): SolanaInstruction => ({
  program: COMPUTE_BUDGET_PROGRAM,
  accounts: [],
  data: dataOf('03', microLamports),
})

/** A token account of a wallet, by its address; nothing where it exists. `payer` pays for it; `wallet`, by default the payer, has it. */
export const createTokenAccount = (
  payer: string,
  mint: string,
  {
    account,
    tokenProgram,
    wallet = payer,
  }: { readonly account: string; readonly tokenProgram: string; readonly wallet?: string },
): SolanaInstruction => ({
  program: ASSOCIATED_TOKEN_PROGRAM,
  accounts: accountsOf(
    ...[used(payer, 'sign'), used(account, 'write'), wallet, mint],
    ...[SYSTEM_PROGRAM, tokenProgram],
  ),
  data: dataOf('01'),
})

/** Lamports of a wallet to another account. */
export const transferSol = (owner: string, to: string, lamports: bigint): SolanaInstruction => ({
  program: SYSTEM_PROGRAM,
  accounts: [used(owner, 'sign'), used(to, 'write')],
  data: dataOf('02000000', lamports),
})

/** Lamports of a wallet as wrapped SOL in its token account. */
export const wrapSol = (
  owner: string,
  account: string,
  lamports: bigint,
): readonly SolanaInstruction[] => [
  transferSol(owner, account, lamports),
  { program: TOKEN_PROGRAM, accounts: [used(account, 'write')], data: dataOf('11') },
]

/** Everything that a wallet's account of wrapped SOL holds, back as SOL; the account is closed. */
export const unwrapSol = (owner: string, account: string): SolanaInstruction => ({
  program: TOKEN_PROGRAM,
  accounts: [used(account, 'write'), used(owner, 'write'), used(owner, 'sign')],
  data: dataOf('09'),
})
