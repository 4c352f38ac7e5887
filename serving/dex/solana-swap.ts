import { Fault } from '../../core/errors.ts'
import type { Holding } from './balance-share.ts'
import { computeBudget, FIRST_LIMIT, limitAfterRun } from './compute-budget.ts'
import type { SwapQuote } from './quote.ts'
import {
  associatedTokenAddress,
  createTokenAccount,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
  unwrapSol,
  wrapSol,
} from './solana-calls.ts'
import {
  type BlockhashLifetime,
  type SolanaInstruction,
  unsignedTransaction,
} from './solana-message.ts'
import type { SolanaAccount, SolanaReader } from './solana-node.ts'
import { tipCalls } from './solana-tip.ts'
import { type SolanaVenue, solanaVenue, type VenueSwap, WRAPPED_SOL } from './solana-venues.ts'
import { requireBalance } from './swap-terms.ts'

/** What a caller wants of a transaction beside the swap. */
export interface SolanaOrder {
  readonly quote: SwapQuote
  readonly owner: string
  /** Wallet whose token account gets what is bought; missing: the owner. */
  readonly recipient?: string
  /** To an account for tips in the last instruction, lamports; missing: none. */
  readonly tip?: bigint
  /** Paid beside the base fee, lamports for the whole transaction. */
  readonly priorityFee: bigint
}

/** A transaction that is ready to be signed. */
export interface BuiltSolanaSwap {
  /** Base 64, its signatures empty. */
  readonly transaction: string
  readonly lifetime: BlockhashLifetime
}

/** Lamports that stay in a wallet whose SOL is sold: fees, and the rent of new accounts. */
const SOL_RESERVE = 10_000_000n

/** The amount in the account of a token. Source: solana-program/token state.rs (`Account`). */
const AMOUNT_OFFSET = 64

/**
 * The unsigned transaction of a swap over one pool: accounts of tokens are created where they are missing, SOL is wrapped and unwrapped.
 * It was run against the newest block. Throws `Fault` INSUFFICIENT_BALANCE, INVALID_ADDRESS for a recipient that is not a wallet,
 * NOT_IMPLEMENTED for one that this swap cannot pay, DEX_ROUTE_BUILD_FAILED where the pool or a token is not what
 * it was, DEX_SWAP_SIMULATED_FAILED, TRANSACTION_SIZE_EXCEEDED, CHAIN_CONNECTION_ERROR.
 */
export const buildSolanaSwap = async (
  reader: SolanaReader,
  order: SolanaOrder,
): Promise<BuiltSolanaSwap> => {
  const { quote, owner, priorityFee, recipient = owner, tip = 0n } = order
  const hop = quote.route.paths[0]?.hops[0]
  const venue = hop && solanaVenue(hop.pool.protocol)
  if (hop === undefined || venue === undefined) throw new Fault('DEX_ROUTE_BUILD_FAILED')
  const { tokenIn, tokenOut } = hop
  if (recipient !== owner) requirePayable(hop.pool.protocol, tokenOut)
  const configAddress = (await venue.config?.()) ?? venue.program
  const wanted = [hop.pool.address, tokenIn, tokenOut, configAddress, owner]
  const [pool, mintIn, mintOut, config, wallet] = await reader.accounts(wanted)
  if (recipient !== owner) await requireWallet(reader, recipient)
  if (pool?.owner !== venue.program) throw changed('the pool is not of its program')
  if (venue.config !== null && config?.owner !== venue.program)
    throw changed("the program's settings are not its own")
  const [programIn, programOut] = [tokenProgramOf(mintIn), tokenProgramOf(mintOut)]
  const accountIn = await associatedTokenAddress(owner, tokenIn, programIn)
  const accountOut = await associatedTokenAddress(recipient, tokenOut, programOut)
  const swap: VenueSwap = {
    pool: hop.pool.address,
    owner,
    tokenIn,
    tokenOut,
    programIn,
    programOut,
    accountIn,
    accountOut,
    mode: quote.request.mode,
    amountInRaw: hop.amountInRaw,
    minOutRaw: quote.minOutRaw,
    maxInRaw: quote.maxInRaw,
  }
  const [held] = await reader.accounts([accountIn])
  if (tokenIn === WRAPPED_SOL) requireBalance(wallet?.lamports, quote.maxInRaw + tip + priorityFee)
  else requireBalance(amountIn(held), quote.maxInRaw)
  const call = await venue.swap(swap, {
    pool: pool.data,
    quoted: hop.pool,
    config: venue.config === null ? new Uint8Array() : (config?.data ?? new Uint8Array()),
  })
  const body = [...aroundSwap(venue, swap, { call, recipient }), ...tipCalls(owner, tip)]
  const lifetime = await reader.lifetime()
  const withLimit = (limit: number): string =>
    unsignedTransaction(owner, lifetime, [...computeBudget(limit, priorityFee), ...body])
  const { unitsConsumed } = await reader.run(withLimit(FIRST_LIMIT))
  return { transaction: withLimit(limitAfterRun(unitsConsumed)), lifetime }
}

/** What a wallet holds of what is sold, in its associated account; of SOL, a hundredth and what is paid beside the swap stay. Throws as the reader, DEX_ROUTE_BUILD_FAILED. */
export const readSolanaHolding = async (
  reader: SolanaReader,
  {
    owner,
    tip,
    priorityFee,
  }: { readonly owner: string; readonly tip: bigint; readonly priorityFee: bigint },
  sold: string,
): Promise<Holding> => {
  const [wallet, mint] = await reader.accounts([owner, sold])
  if (sold === WRAPPED_SOL)
    return { balanceRaw: wallet?.lamports ?? 0n, reserveRaw: SOL_RESERVE + tip + priorityFee }
  const account = await associatedTokenAddress(owner, sold, tokenProgramOf(mint))
  const [held] = await reader.accounts([account])
  return { balanceRaw: amountIn(held), reserveRaw: 0n }
}

const changed = (reason: string): Fault =>
  new Fault('DEX_ROUTE_BUILD_FAILED', undefined, { reason })

/** True where what is bought may go to another wallet than the signer's: not SOL, which is unwrapped for the signer. */
export const canPayOthers = (protocol: string, tokenOut: string): boolean =>
  tokenOut !== WRAPPED_SOL && solanaVenue(protocol)?.paysOthers === true

/** Throws `Fault` NOT_IMPLEMENTED with the reason where what is bought can only go to the signer. */
export const requirePayable = (protocol: string, tokenOut: string): void => {
  if (canPayOthers(protocol, tokenOut)) return
  const isSol = tokenOut === WRAPPED_SOL
  const reason = isSol ? 'SOL that is bought comes to the signer' : 'the venue pays only the signer'
  throw new Fault('NOT_IMPLEMENTED', undefined, { parameter: 'recipientAddress', reason })
}

const requireWallet = async (reader: SolanaReader, recipient: string): Promise<void> => {
  const [account] = await reader.accounts([recipient])
  if (account === undefined || account.owner === SYSTEM_PROGRAM) return
  throw new Fault('INVALID_ADDRESS', undefined, {
    parameter: 'recipientAddress',
    value: recipient,
    reason: 'it is an account of a program, not a wallet',
  })
}

const TOKEN_PROGRAMS: ReadonlySet<string> = new Set([TOKEN_PROGRAM, TOKEN_2022_PROGRAM])

const tokenProgramOf = (mint: SolanaAccount | undefined): string => {
  if (mint && TOKEN_PROGRAMS.has(mint.owner)) return mint.owner
  throw changed('a token is not one of the token programs')
}

const amountIn = (account: SolanaAccount | undefined): bigint => {
  const data = Buffer.from(account?.data ?? [])
  return data.length < AMOUNT_OFFSET + 8 ? 0n : data.readBigUInt64LE(AMOUNT_OFFSET)
}

/** What goes before and after the swap: accounts of tokens, wrapping and unwrapping. */
const aroundSwap = (
  { acceptsNativeToken }: SolanaVenue,
  swap: VenueSwap,
  { call, recipient }: { readonly call: SolanaInstruction; readonly recipient: string },
): readonly SolanaInstruction[] => {
  const { owner, tokenIn, tokenOut, accountIn, accountOut, programOut } = swap
  const [sells, buys] = [tokenIn === WRAPPED_SOL, tokenOut === WRAPPED_SOL]
  const wrapped = { account: sells ? accountIn : accountOut, tokenProgram: TOKEN_PROGRAM }
  const needsWrapped = !acceptsNativeToken && (sells || buys)
  return [
    ...(needsWrapped ? [createTokenAccount(owner, WRAPPED_SOL, wrapped)] : []),
    ...(needsWrapped && sells ? wrapSol(owner, accountIn, swap.maxInRaw) : []),
    ...(buys
      ? []
      : [
          createTokenAccount(owner, tokenOut, {
            account: accountOut,
            tokenProgram: programOut,
            wallet: recipient,
          }),
        ]),
    call,
    ...(needsWrapped ? [unwrapSol(owner, wrapped.account)] : []),
  ]
}

/** True for pools that a transaction can be built for: curves only where they are quoted in SOL. */
export const isBuildable = (protocol: string, tokens: readonly [string, string]): boolean => {
  const venue = solanaVenue(protocol)
  return venue !== undefined && (!venue.acceptsNativeToken || tokens.includes(WRAPPED_SOL))
}
