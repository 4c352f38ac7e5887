import { Fault } from '../../core/errors.ts'
import type { Holding } from './balance-share.ts'
import { computeBudget, firstLimit, limitAfterRun } from './compute-budget.ts'
import type { SwapQuote } from './quote.ts'
import { maxAmountIn, minAmountOut } from './route.ts'
import type { Hop } from './search.ts'
import {
  ASSOCIATED_TOKEN_PROGRAM,
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
import { TIP_ACCOUNTS, tipCalls } from './solana-tip.ts'
import {
  type SolanaVenue,
  solanaVenue,
  type VenueAccounts,
  type VenueSwap,
  WRAPPED_SOL,
} from './solana-venues.ts'
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

/** A swap of a route, and the limits that the slippage leaves it. */
interface LimitedHop extends Hop {
  readonly venue: SolanaVenue
  readonly minOutRaw: bigint
  readonly maxInRaw: bigint
  /** It sells what the swap before it in its path gives. */
  readonly isFollowing: boolean
}

/** Swaps in their order. Between two pools the limit of the one is the amount of the other. Throws `Fault` DEX_ROUTE_BUILD_FAILED. */
const limitedHops = ({ route, request, slippageBps }: SwapQuote): readonly LimitedHop[] =>
  route.paths.flatMap(({ hops }) =>
    hops.map((hop, place) => {
      const venue = solanaVenue(hop.pool.protocol)
      if (venue === undefined) throw new Fault('DEX_ROUTE_BUILD_FAILED')
      const [before, after] = [hops[place - 1], hops[place + 1]]
      const least = after?.amountInRaw ?? minAmountOut(hop.amountOutRaw, slippageBps)
      const most = before?.amountOutRaw ?? maxAmountIn(hop.amountInRaw, slippageBps)
      return {
        ...hop,
        venue,
        isFollowing: before !== undefined,
        minOutRaw: request.mode === 'exact_in' ? least : hop.amountOutRaw,
        maxInRaw: request.mode === 'exact_in' ? hop.amountInRaw : most,
      }
    }),
  )

/**
 * The unsigned transaction of a quote whose amounts between pools are certain: accounts of tokens are created where they are missing, SOL is
 * wrapped and unwrapped. It was run against the newest block. Throws `Fault` INSUFFICIENT_BALANCE, INVALID_ADDRESS for a recipient that is not
 * a wallet, NOT_IMPLEMENTED for one that this swap cannot pay, DEX_ROUTE_BUILD_FAILED where a pool or a token is not what it was,
 * DEX_SWAP_SIMULATED_FAILED, TRANSACTION_SIZE_EXCEEDED, CHAIN_CONNECTION_ERROR.
 */
export const buildSolanaSwap = async (
  reader: SolanaReader,
  order: SolanaOrder,
): Promise<BuiltSolanaSwap> => {
  const { quote, owner, priorityFee, recipient = owner, tip = 0n } = order
  const { tokenIn, tokenOut } = quote.request
  const hops = limitedHops(quote)
  if (recipient !== owner) for (const { pool } of hops) requirePayable(pool.protocol, tokenOut)
  const state = await readState(reader, [owner, recipient], hops)
  if (recipient !== owner) requireWallet(recipient, state.account(recipient))
  if (tokenIn === WRAPPED_SOL) {
    requireBalance(state.account(owner)?.lamports, quote.maxInRaw + tip + priorityFee)
  } else {
    const account = await associatedTokenAddress(owner, tokenIn, state.program(tokenIn))
    const [held] = await reader.accounts([account])
    requireBalance(amountIn(held), quote.maxInRaw)
  }
  const swaps = await Promise.all(
    hops.map(async (hop) => {
      const swap = await venueSwap(hop, order, state)
      return { ...hop, swap, call: await hop.venue.swap(swap, state.of(hop)) }
    }),
  )
  const body = [...aroundSwaps(swaps, recipient), ...tipCalls(owner, tip)]
  const lifetime = await reader.lifetime()
  const lookup = {
    tables: await reader.lookupTables(),
    kept: new Set([
      recipient,
      ...TIP_ACCOUNTS,
      ...swaps.flatMap(({ swap }) => [swap.accountIn, swap.accountOut]),
    ]),
  }
  const withLimit = (limit: number): string =>
    unsignedTransaction(owner, lifetime, [...computeBudget(limit, priorityFee), ...body], lookup)
  const first = firstLimit(hops.length)
  const { unitsConsumed } = await reader.run(withLimit(first))
  return { transaction: withLimit(limitAfterRun(unitsConsumed, first)), lifetime }
}

/** Accounts that a transaction names, as one slot has them. */
interface SwapState {
  readonly account: (key: string) => SolanaAccount | undefined
  /** Program of a token. Throws `Fault` DEX_ROUTE_BUILD_FAILED where it is of none of the token programs. */
  readonly program: (token: string) => string
  /** What the instruction of a swap needs. */
  readonly of: (hop: LimitedHop) => VenueAccounts
}

/** Reads pools, settings, tokens and wallets. Throws `Fault` DEX_ROUTE_BUILD_FAILED where a pool or settings are not of their program. */
const readState = async (
  reader: SolanaReader,
  wallets: readonly string[],
  hops: readonly LimitedHop[],
): Promise<SwapState> => {
  const configs = new Map<SolanaVenue, string>()
  for (const { venue } of hops) {
    const address = await venue.config?.()
    if (address !== undefined) configs.set(venue, address)
  }
  const keys = [
    ...new Set([
      ...hops.flatMap(({ pool, tokenIn, tokenOut }) => [pool.address, tokenIn, tokenOut]),
      ...configs.values(),
      ...wallets,
    ]),
  ]
  const read = await reader.accounts(keys)
  const accounts = new Map(keys.map((key, index) => [key, read[index]]))
  const ownData = (key: string, program: string, reason: string): Uint8Array => {
    const account = accounts.get(key)
    if (account?.owner === program) return account.data
    throw changed(reason)
  }
  return {
    account: (key) => accounts.get(key),
    program: (token) => tokenProgramOf(accounts.get(token)),
    of: ({ venue, pool: quoted }) => {
      const config = configs.get(venue)
      return {
        pool: ownData(quoted.address, venue.program, 'the pool is not of its program'),
        quoted,
        config:
          config === undefined
            ? new Uint8Array()
            : ownData(config, venue.program, "the program's settings are not its own"),
      }
    },
  }
}

/** A swap as its instruction is to say it. */
const venueSwap = async (
  { pool, tokenIn, tokenOut, amountInRaw, minOutRaw, maxInRaw }: LimitedHop,
  { quote, owner, recipient = owner }: SolanaOrder,
  { program }: SwapState,
): Promise<VenueSwap> => {
  const [programIn, programOut] = [program(tokenIn), program(tokenOut)]
  return {
    pool: pool.address,
    owner,
    tokenIn,
    tokenOut,
    programIn,
    programOut,
    accountIn: await associatedTokenAddress(owner, tokenIn, programIn),
    accountOut: await associatedTokenAddress(recipient, tokenOut, programOut),
    mode: quote.request.mode,
    amountInRaw,
    minOutRaw,
    maxInRaw,
  }
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

const requireWallet = (recipient: string, account: SolanaAccount | undefined): void => {
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

interface BuiltHop extends LimitedHop {
  readonly swap: VenueSwap
  readonly call: SolanaInstruction
}

/**
 * Swaps with what goes before and after them: accounts of tokens, wrapping and unwrapping. Wrapped SOL is unwrapped before a program that takes
 * SOL as such, and at the end.
 */
const aroundSwaps = (
  swaps: readonly BuiltHop[],
  recipient: string,
): readonly SolanaInstruction[] => {
  const calls: SolanaInstruction[] = []
  let wrapped: string | undefined
  let isNative = true
  for (const { venue, swap, call, isFollowing, maxInRaw } of swaps) {
    const { owner, tokenIn, tokenOut, accountIn, accountOut, programOut } = swap
    const openWrapped = (account: string): void => {
      if (wrapped !== undefined) return
      wrapped = account
      calls.push(createTokenAccount(owner, WRAPPED_SOL, { account, tokenProgram: TOKEN_PROGRAM }))
    }
    if (tokenIn === WRAPPED_SOL && venue.acceptsNativeToken && wrapped !== undefined) {
      calls.push(unwrapSol(owner, wrapped))
      wrapped = undefined
    }
    if (tokenIn === WRAPPED_SOL && !venue.acceptsNativeToken) {
      openWrapped(accountIn)
      if (!isFollowing || isNative) calls.push(...wrapSol(owner, accountIn, maxInRaw))
    }
    if (tokenOut === WRAPPED_SOL) {
      isNative = venue.acceptsNativeToken
      if (!isNative) openWrapped(accountOut)
    } else {
      const created = { account: accountOut, tokenProgram: programOut, wallet: recipient }
      calls.push(createTokenAccount(owner, tokenOut, created))
    }
    calls.push(call)
  }
  const [first] = swaps
  if (first && wrapped !== undefined) calls.push(unwrapSol(first.swap.owner, wrapped))
  return withoutRepeated(calls)
}

/** Without accounts that are created a second time: two paths lead over the same token. */
const withoutRepeated = (calls: readonly SolanaInstruction[]): readonly SolanaInstruction[] => {
  const created = new Set<string>()
  return calls.filter(({ program, accounts }) => {
    const account = accounts[1]?.[0]
    if (program !== ASSOCIATED_TOKEN_PROGRAM || account === undefined) return true
    if (accounts[3]?.[0] === WRAPPED_SOL) return true
    return !created.has(account) && Boolean(created.add(account))
  })
}

/** True for pools that a transaction can be built for: curves only where they are quoted in SOL. */
export const isBuildable = (protocol: string, tokens: readonly [string, string]): boolean => {
  const venue = solanaVenue(protocol)
  return venue !== undefined && (!venue.acceptsNativeToken || tokens.includes(WRAPPED_SOL))
}
