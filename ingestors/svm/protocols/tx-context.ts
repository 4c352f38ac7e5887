import { CHAINS } from '../../../schemas/chains.ts'
import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type {
  EventPosition,
  PoolMetadata,
  SvmInstruction,
  SvmTransaction,
} from '../../../schemas/events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import type { DecodeContext, DecodedBlockBuilder } from '../../decode/contract.ts'

/** How the chain's native token is named: in trades and pools, and in balances and transfers. */
export const { wrappedNative: WRAPPED_SOL, nativeAddress: NATIVE_SOL } = CHAINS.sol

/** Whose tokens a token account holds, and which. */
export interface TokenAccountState {
  readonly owner: string
  readonly mint: string
  /** What it holds after the transaction; null: it is gone. */
  readonly postRaw: bigint | null
}

/** A mint that the transaction set up. */
export interface CreatedMint extends EventPosition {
  readonly program: string
  readonly decimals: number
  readonly mintAuthority: string | null
  readonly freezeAuthority: string | null
  /** Called by a listed program: its own liquidity or launch token. */
  readonly byListedProgram: boolean
}

/** Name, symbol and address of the metadata document. */
export type MintMetadata = readonly [name: string, symbol: string, uri: string]

/** Mints that a transaction set up, by address. */
export interface NewMints {
  readonly mints: Map<string, CreatedMint>
  readonly metadata: Map<string, MintMetadata>
  /** Mints whose creation a launchpad reported. */
  readonly launchpadMints: Set<string>
}

/** One transaction while its instructions are read in the order in which they ran. */
export interface SvmTxContext {
  readonly tx: SvmTransaction
  readonly out: DecodedBlockBuilder
  readonly context: DecodeContext
  /** Pools that the block showed so far. */
  readonly poolsInBlock: Map<string, PoolMetadata>
  readonly newMints: NewMints
  /** Token accounts by address, made when the first one is asked for. */
  tokenAccounts: ReadonlyMap<string, TokenAccountState> | undefined
}

/** Whose tokens an account holds, and which. */
export const tokenAccountOf = (
  scope: SvmTxContext,
  account: string,
): TokenAccountState | undefined => {
  if (scope.tokenAccounts === undefined) {
    const holders = new Map<string, TokenAccountState>()
    for (const balance of scope.tx.tokenBalances) holders.set(balance.account, balance)
    scope.tokenAccounts = holders
  }
  return scope.tokenAccounts.get(account)
}

/** Place among the instructions of the transaction. */
export const instructionPath = ({
  outer,
  inner,
}: SvmInstruction): { readonly outer: number; readonly inner: number | null } => ({ outer, inner })

/** Place of the instruction that called the one at `at`; -1: the transaction itself did. */
export const callerIndexOf = ({ tx }: SvmTxContext, at: number): number => {
  const { instructions } = tx
  const called = instructions[at]
  if (called === undefined) return -1
  for (let before = at - 1; before >= 0; before -= 1) {
    const item = instructions[before]
    if (item === undefined || item.outer !== called.outer) return -1
    if (item.depth === called.depth - 1) return before
  }
  return -1
}

/** Everything that ran below the instruction at `at`, in order. */
export const innerInstructions = ({ tx }: SvmTxContext, at: number): readonly SvmInstruction[] => {
  const { instructions } = tx
  const caller = instructions[at]
  const ran: SvmInstruction[] = []
  if (caller === undefined) return ran
  for (let next = at + 1; next < instructions.length; next += 1) {
    const item = instructions[next]
    if (item === undefined || item.outer !== caller.outer || item.depth <= caller.depth) break
    ran.push(item)
  }
  return ran
}

/** The instructions that the one at `at` called itself, in order. */
export const directInnerInstructions = (
  scope: SvmTxContext,
  at: number,
): readonly SvmInstruction[] => {
  const below = (scope.tx.instructions[at]?.depth ?? 0) + 1
  return innerInstructions(scope, at).filter(({ depth }) => depth === below)
}

/** What is known of a pool so far, in this block or before it. */
export const poolOrDrop = (
  { context, poolsInBlock }: SvmTxContext,
  address: string,
): PoolMetadata | undefined => poolsInBlock.get(address) ?? context.pool(address)

/**
 * A program shows its pool, which proves it: keeps what is not known yet. A fact from elsewhere may have the tokens the other
 * way round.
 */
export const registerPool = (
  scope: SvmTxContext,
  { row, program }: { readonly row: ProtocolRow; readonly program: string },
  { address, tokenA, tokenB }: Pick<PoolMetadata, 'address' | 'tokenA' | 'tokenB'>,
): void => {
  const known = poolOrDrop(scope, address)
  if (known?.verified === true && known.tokenA === tokenA) return
  const metadata: PoolMetadata = {
    address,
    tokenA,
    tokenB,
    protocol: row.id,
    factory: program,
    feePips: row.feePips ?? null,
    verified: true,
  }
  scope.poolsInBlock.set(address, metadata)
  scope.out.pools.push(metadata)
}

/** Notes that the instruction at `logIndex` was not taken, and why. */
export const recordDropped = (
  { tx, out }: SvmTxContext,
  { protocol, logIndex }: { readonly protocol: string; readonly logIndex: number },
  reason: DropReason,
): void => {
  out.dropped.push({ reason, txHash: tx.hash, logIndex, protocol })
}
