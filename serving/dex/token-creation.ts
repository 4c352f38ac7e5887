import { Fault } from '../../core/errors.ts'
import { computeBudget, firstLimit, limitAfterRun } from './compute-budget.ts'
import { buyBaseExactIn, buyBaseExactOut, type FeeOnQuotePool } from './fee-on-quote.ts'
import { createV2, curveOf, newCurveData, type PumpFunToken } from './pump-fun-create.ts'
import { newCurve } from './pump-fun-settings.ts'
import { minAmountOut } from './route.ts'
import {
  associatedTokenAddress,
  createTokenAccount,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from './solana-calls.ts'
import {
  type BlockhashLifetime,
  createOneTimeKey,
  type SolanaInstruction,
  unsignedTransaction,
} from './solana-message.ts'
import type { SolanaReader } from './solana-node.ts'
import { feeConfig, PUMP, SOLANA_VENUES, WRAPPED_SOL } from './solana-venues.ts'
import { requireBalance } from './swap-terms.ts'

/** The purchase that a creator makes of the new token, in the same transaction. */
export interface FirstBuy {
  /** Lamports, fees included. */
  readonly amountInRaw: bigint
  readonly slippageBps: number
}

/** What a caller wants of a new token. */
export interface CreationOrder {
  readonly token: Omit<PumpFunToken, 'mint'>
  /** undefined: the token is only made. */
  readonly buy: FirstBuy | undefined
  /** Paid beside the base fee, lamports for the whole transaction. */
  readonly priorityFee: bigint
}

/** A transaction that the new mint has signed, and the creator has not. */
export interface BuiltCreation {
  /** Base 64. */
  readonly transaction: string
  readonly mint: string
  readonly lifetime: BlockhashLifetime
  /** What the first purchase gives, base units. */
  readonly bought: { readonly outRaw: bigint; readonly minOutRaw: bigint } | undefined
}

/**
 * The transaction that makes a token on pump.fun, with its first purchase where one is wanted. It was run against the newest block.
 * Throws `Fault` INSUFFICIENT_BALANCE, AMOUNT_TOO_SMALL, LIQUIDITY_INSUFFICIENT, DEX_ROUTE_BUILD_FAILED where the launchpad's settings
 * cannot be read, DEX_SWAP_SIMULATED_FAILED, TRANSACTION_SIZE_EXCEEDED, CHAIN_CONNECTION_ERROR.
 */
export const buildTokenCreation = async (
  reader: SolanaReader,
  { token: wanted, buy, priorityFee }: CreationOrder,
): Promise<BuiltCreation> => {
  const key = await createOneTimeKey()
  const token = { ...wanted, mint: key.address }
  const { creator } = token
  const purchase = buy && (await firstPurchase(reader, token, buy))
  const [wallet] = await reader.accounts([creator])
  requireBalance(wallet?.lamports, priorityFee + (buy?.amountInRaw ?? 0n))
  const body = [await createV2(token), ...(purchase?.instructions ?? [])]
  const lifetime = await reader.lifetime()
  const withLimit = budgeted(creator, lifetime, { body, priorityFee })
  const { unitsConsumed } = await reader.run(withLimit(firstLimit()))
  return {
    transaction: await key.sign(withLimit(limitAfterRun(unitsConsumed))),
    mint: token.mint,
    lifetime,
    bought: purchase?.bought,
  }
}

/**
 * The transaction for a limit of computation. Without a priority fee, one that is too large with the limit goes without it: the
 * network's own limit, which is 200,000 units for each instruction, is enough.
 */
const budgeted = (
  payer: string,
  lifetime: BlockhashLifetime,
  {
    body,
    priorityFee,
  }: { readonly body: readonly SolanaInstruction[]; readonly priorityFee: bigint },
): ((limit: number) => string) => {
  const withLimit = (limit: number): string =>
    unsignedTransaction(payer, lifetime, [...computeBudget(limit, priorityFee), ...body])
  return (limit) => {
    try {
      return withLimit(limit)
    } catch (error) {
      const isTooLarge = error instanceof Fault && error.faultName === 'TRANSACTION_SIZE_EXCEEDED'
      if (!isTooLarge || priorityFee > 0n) throw error
      return unsignedTransaction(payer, lifetime, body)
    }
  }
}

const firstPurchase = async (
  reader: SolanaReader,
  token: PumpFunToken,
  { amountInRaw, slippageBps }: FirstBuy,
) => {
  const { mint, creator: owner } = token
  const venue = SOLANA_VENUES.pump_fun
  const configAddress = await venue?.config?.()
  if (venue === undefined || configAddress === undefined) throw new Fault('DEX_NOT_SUPPORTED')
  const [config, fees] = await reader.accounts([configAddress, await feeConfig(PUMP)])
  const outRaw = boughtFor(newCurve(config, fees), amountInRaw)
  const minOutRaw = minAmountOut(outRaw, slippageBps)
  const account = await associatedTokenAddress(owner, mint, TOKEN_2022_PROGRAM)
  const wrapped = await associatedTokenAddress(owner, WRAPPED_SOL, TOKEN_PROGRAM)
  const call = await venue.swap(
    {
      pool: await curveOf(mint),
      owner,
      mode: 'exact_in',
      amountInRaw,
      minOutRaw,
      tokenIn: WRAPPED_SOL,
      programIn: TOKEN_PROGRAM,
      accountIn: wrapped,
      tokenOut: mint,
      programOut: TOKEN_2022_PROGRAM,
      accountOut: account,
      maxInRaw: amountInRaw,
    },
    { pool: newCurveData(token), config: config?.data ?? new Uint8Array() },
  )
  const made = createTokenAccount(owner, mint, { account, tokenProgram: TOKEN_2022_PROGRAM })
  return { instructions: [made, call], bought: { outRaw, minOutRaw } }
}

const boughtFor = (curve: FeeOnQuotePool, amountInRaw: bigint): bigint => {
  const bought = buyBaseExactIn(curve, amountInRaw)
  if (bought !== undefined) return bought
  const most = buyBaseExactOut(curve, curve.heldBase - 1n) ?? 0n
  if (amountInRaw < most) throw new Fault('AMOUNT_TOO_SMALL', undefined, PARAMETER)
  throw new Fault('LIQUIDITY_INSUFFICIENT', undefined, {
    ...PARAMETER,
    requested_amount: amountInRaw.toString(),
    available_liquidity: most.toString(),
  })
}

const PARAMETER = { parameter: 'extra.buyAmount' } as const
