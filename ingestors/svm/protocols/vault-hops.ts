import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { PoolLiquidityChange, Swap } from '../../../schemas/events.ts'
import type { ReservePricing } from '../../../schemas/reserve-pricing.ts'
import { readPubkey, sortPubkeys } from '../layout/borsh-layout.ts'
import { innerTransfers, receivedRaw, type TokenTransfer } from './spl-token.ts'
import { instructionPath, registerPool, type SvmTxContext, tokenAccountOf } from './tx-context.ts'
import {
  type InstructionContext,
  type InstructionReader,
  LOG_EVENT_FIELDS_OFFSET,
  type LogEventType,
  logEventsOf,
} from './types.ts'

/**
 * Programs whose pools hold their two tokens in two vaults and tell of it in their logs. Amounts are what the instruction's own
 * transfers moved, which no cut log takes away. Of a token with a transfer fee a swap counts what left the sender; a deposit counts what
 * arrived in the vault, so that reserves agree.
 */

/** Accounts of an instruction by name; undefined where it has fewer. */
export const accountsByName = <Name extends string>(
  { instruction: { accounts } }: InstructionContext,
  form: Readonly<Record<Name, number>>,
): Readonly<Record<Name, string>> | undefined => {
  const named: Partial<Record<Name, string>> = {}
  for (const name of Object.keys(form) as Name[]) {
    const account = accounts[form[name]]
    if (account === undefined) return undefined
    named[name] = account
  }
  return named as Record<Name, string>
}

/** The log event of a type that tells of this pool; `nth` counts the events of that type that the instruction wrote. */
export const poolLogEvent = (
  { instruction }: InstructionContext,
  event: LogEventType,
  { pool, nth = 0 }: { readonly pool: string; readonly nth?: number },
): Uint8Array | undefined => {
  const data = logEventsOf(instruction, event)[nth]
  return data !== undefined && readPubkey(data, LOG_EVENT_FIELDS_OFFSET) === pool ? data : undefined
}

/** One hop through a pool. Vaults in any order: the one that is paid first is the way in. */
export interface Hop {
  readonly pool: string
  readonly trader: string
  readonly vaults: readonly [string, string]
  /** Tokens of the vaults, where the instruction names them. */
  readonly mints?: readonly [string, string]
  /** What moved; default: everything that the instruction moved. */
  readonly transfers?: readonly TokenTransfer[]
  /** What the program's log adds. */
  readonly fromLog?:
    | Pick<Swap, 'reservesInOut' | 'sqrtPriceX96' | 'liquidityRaw' | 'pricing'>
    | undefined
}

/** Takes one hop as a swap. */
export const addHopSwap = (
  { scope, row, program, instruction, at }: InstructionContext,
  hop: Hop,
): DropReason | undefined => {
  const { pool, trader, vaults, mints, fromLog, transfers = innerTransfers(scope, at) } = hop
  if (transfers.length < 2) return 'no-transfers'
  const paid = transfers.find(({ to }) => vaults.includes(to))
  const into = paid?.to === vaults[0] ? 0 : 1
  const got = transfers.find(({ from }) => from === vaults[1 - into])
  if (paid === undefined || got === undefined) return 'unexpected-vault'
  if (paid.amountRaw === 0n && got.amountRaw === 0n) return 'zero-amount'
  const tokenIn = mints?.[into] ?? mintOfTransfer(scope, paid)
  const tokenOut = mints?.[1 - into] ?? mintOfTransfer(scope, got)
  if (tokenIn === undefined || tokenOut === undefined) return 'unknown-token'
  const [tokenA, tokenB] = sortPubkeys(tokenIn, tokenOut)
  registerPool(scope, { row, program }, { address: pool, tokenA, tokenB })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: at,
    path: instructionPath(instruction),
    pool,
    protocol: row.id,
    trader,
    tokenIn,
    tokenOut,
    amountInRaw: paid.amountRaw,
    amountOutRaw: got.amountRaw,
    ...fromLog,
    accounts: { userIn: paid.from, userOut: got.to, vaultIn: paid.to, vaultOut: got.from },
  })
  return undefined
}

/** Mint of what moved; undefined: the transaction does not tell it. */
export const mintOfTransfer = (
  scope: SvmTxContext,
  { from, to, mint }: TokenTransfer,
): string | undefined =>
  mint ?? tokenAccountOf(scope, from)?.mint ?? tokenAccountOf(scope, to)?.mint

/** Amounts of a pool's first and second token. */
export type AmountPair = readonly [bigint, bigint]

/** Liquidity that an instruction moved, or a pool that it opened. */
export interface LiquidityChange {
  readonly kind: Exclude<PoolLiquidityChange['kind'], 'collect'>
  readonly pool: string
  readonly owner: string
  readonly vaults: readonly [string, string]
  /** Tokens of the vaults, where the instruction names them. */
  readonly mints?: readonly [string, string]
  /** Amounts that the program reported, where its transfers move more than these. */
  readonly reportedRaw?: AmountPair | undefined
  readonly reservesOf?: (amountsRaw: AmountPair) => AmountPair | undefined
  readonly pricing?: ReservePricing | undefined
  /** The instruction may move nothing: it does other things as well. */
  readonly mayMoveNothing?: true
}

/** Takes a change of liquidity; one that moved nothing is none. */
export const addLiquidityChange = (
  reading: InstructionContext,
  change: LiquidityChange,
): DropReason | undefined => {
  const { scope, at } = reading
  const { kind, vaults, reportedRaw, reservesOf } = change
  const moved = innerTransfers(scope, at)
  const ofVault = (vault: string) =>
    moved.find(({ from, to }) => (kind === 'decrease' ? from : to) === vault)
  const sides = [ofVault(vaults[0]), ofVault(vaults[1])] as const
  if (reportedRaw === undefined && sides[0] === undefined && sides[1] === undefined) {
    return change.mayMoveNothing ? undefined : 'no-transfers'
  }
  const [tokenA, tokenB] = change.mints ?? vaults.map((vault) => tokenAccountOf(scope, vault)?.mint)
  if (tokenA === undefined || tokenB === undefined) return 'unknown-token'
  const rawOf = (side: TokenTransfer | undefined): bigint =>
    side === undefined ? 0n : kind === 'decrease' ? side.amountRaw : receivedRaw(scope, side)
  const amountsRaw = reportedRaw ?? [rawOf(sides[0]), rawOf(sides[1])]
  if (amountsRaw[0] === 0n && amountsRaw[1] === 0n) return undefined
  const { pool, owner } = change
  appendPoolChange(
    reading,
    {
      kind,
      pool,
      owner,
      tokenA,
      tokenB,
      amountsRaw,
      ...(change.pricing && { pricing: change.pricing }),
    },
    reservesOf?.(amountsRaw),
  )
  return undefined
}

interface NewPoolChange
  extends Pick<PoolLiquidityChange, 'kind' | 'pool' | 'owner' | 'tokenA' | 'tokenB' | 'pricing'> {
  readonly amountsRaw: AmountPair
}

/** Keeps a change of a pool, and the pool. */
export const appendPoolChange = (
  { scope, row, program, instruction, at }: InstructionContext,
  { amountsRaw: [amountARaw, amountBRaw], ...change }: NewPoolChange,
  reserves?: AmountPair,
): void => {
  const { pool: address, tokenA, tokenB } = change
  registerPool(scope, { row, program }, { address, tokenA, tokenB })
  scope.out.poolChanges.push({
    txIndex: scope.tx.index,
    ...change,
    logIndex: at,
    path: instructionPath(instruction),
    protocol: row.id,
    amountARaw,
    amountBRaw,
    ...(reserves && { reserves }),
  })
}

/** Where an instruction that opens a pool names its accounts. */
export type PoolCreationLayout = Readonly<Record<'pool' | 'owner' | 'mintA' | 'mintB', number>>

/** Reader of an instruction that opens a pool without any tokens. */
export const readEmptyPoolCreation =
  (form: PoolCreationLayout): InstructionReader =>
  (reading) => {
    const named = accountsByName(reading, form)
    if (named === undefined) return 'missing-account'
    const { pool, owner, mintA: tokenA, mintB: tokenB } = named
    const change = {
      kind: 'initialize',
      pool,
      owner,
      tokenA,
      tokenB,
      amountsRaw: [0n, 0n],
    } as const
    appendPoolChange(reading, change)
    return undefined
  }
