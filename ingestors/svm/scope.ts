import { CHAINS } from '../../schemas/chains.ts'
import type { PoolFact, Spot, SvmInstruction, SvmTransaction } from '../../schemas/events.ts'
import type { Books, Draft } from '../decode-contract.ts'

/** How the chain's coin is named: in trades and pools, and in balances and transfers (R29). */
export const { wrappedNative: WRAPPED_SOL, nativeAddress: SOL } = CHAINS.sol

/** Whose tokens a token account holds, and which. */
export interface Holder {
  readonly owner: string
  readonly mint: string
}

/** A mint that the transaction set up. */
export interface MadeMint extends Spot {
  readonly program: string
  readonly decimals: number
  readonly mintAuthority: string | null
  readonly freezeAuthority: string | null
  /** Called by a listed program: its own liquidity or launch token. */
  readonly listed: boolean
}

/** Name, symbol and address of the metadata document. */
export type MintTexts = readonly [name: string, symbol: string, uri: string]

/** One transaction while its instructions are read in the order in which they ran. */
export interface SvmScope {
  readonly tx: SvmTransaction
  readonly out: Draft
  readonly books: Books
  /** Pools that the block showed so far. */
  readonly made: Map<string, PoolFact>
  readonly mints: Map<string, MadeMint>
  readonly texts: Map<string, MintTexts>
  /** Mints whose birth a launchpad told. */
  readonly launched: Set<string>
  holder(account: string): Holder | undefined
}

/** Starts a transaction. */
export const scopeOf = (
  tx: SvmTransaction,
  { out, books, made }: Pick<SvmScope, 'out' | 'books' | 'made'>,
): SvmScope => {
  let held: Map<string, Holder> | undefined
  return {
    tx,
    out,
    books,
    made,
    mints: new Map(),
    texts: new Map(),
    launched: new Set(),
    holder: (account) => {
      held ??= new Map(tx.tokenBalances.map((balance) => [balance.account, balance]))
      return held.get(account)
    },
  }
}

/** Place of the instruction that is `at` in the transaction's list. */
export const spotOf = ({ tx }: SvmScope, { outer, inner }: SvmInstruction, at: number): Spot => ({
  txIndex: tx.index,
  logIndex: at,
  path: { outer, inner },
})

/** Place of the instruction that called the one at `at`; -1: the transaction itself did. */
export const callerAt = ({ tx }: SvmScope, at: number): number => {
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

/** The instructions that the one at `at` called itself, in order. */
export const calledBy = ({ tx }: SvmScope, at: number): readonly SvmInstruction[] => {
  const { instructions } = tx
  const caller = instructions[at]
  const called: SvmInstruction[] = []
  if (caller === undefined) return called
  for (let next = at + 1; next < instructions.length; next += 1) {
    const item = instructions[next]
    if (item === undefined || item.outer !== caller.outer || item.depth <= caller.depth) break
    if (item.depth === caller.depth + 1) called.push(item)
  }
  return called
}

/** Keeps what a program showed of its pool: that proves it. A fact from elsewhere may have its tokens the other way round. */
export const showPool = ({ out, books, made }: SvmScope, fact: PoolFact): void => {
  const known = made.get(fact.address) ?? books.pool(fact.address)
  if (known?.proven === true && known.tokenA === fact.tokenA) return
  made.set(fact.address, fact)
  out.pools.push(fact)
}

/** Notes that the instruction at `logIndex` was not taken, and why. */
export const drop = (
  { tx, out }: SvmScope,
  { protocol, logIndex }: { readonly protocol: string; readonly logIndex: number },
  reason: string,
): void => {
  out.dropped.push({ reason, txHash: tx.hash, logIndex, protocol })
}
