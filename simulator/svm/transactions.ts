import { base58Encode } from '../../core/base58.ts'
import type { Random } from '../node/random.ts'
import type { State, StateReader } from '../node/state.ts'
import { lamportsOf, type TokenAccount, tokenBalanceOf } from './accounts.ts'
import type { ProgramError, TransactionExecution } from './execution.ts'
import { compileMessage, type Message } from './message.ts'

/** Tokens of one account of a transaction. */
export interface TokenBalance {
  /** Place in the message's account list. */
  readonly accountIndex: number
  readonly account: TokenAccount
  readonly raw: bigint
}

/** What a transaction was about, for those who look for an example. */
export interface TradeSubject {
  readonly token: string
  readonly pool: string
  readonly wallet: string
}

/** A transaction in its block. */
export interface SealedTransaction {
  /** The first signature as text; it is made at the first reading. */
  readonly hash: string
  /** 128 hex digits each. */
  readonly signatures: readonly string[]
  readonly message: Message
  readonly recentBlockhash: string
  readonly trace: TransactionExecution['trace']
  /** The program's error, and how many instructions were open when it came. */
  readonly failure: { readonly code: number; readonly height: number } | undefined
  readonly feeRaw: bigint
  readonly unitLimit: number
  readonly pre: readonly number[]
  readonly post: readonly number[]
  readonly preTokens: readonly TokenBalance[]
  readonly postTokens: readonly TokenBalance[]
  readonly isVote: boolean
  readonly about: TradeSubject | undefined
}

/** What is known of a transaction that ran and is not committed yet. */
interface ExecutedTransaction {
  readonly run: TransactionExecution
  readonly payer: Parameters<typeof compileMessage>[1]['payer']
  readonly form: Parameters<typeof compileMessage>[2]
  readonly recentBlockhash: string
  readonly failure: ProgramError | undefined
  readonly feeRaw: bigint
  readonly unitLimit: number
  readonly isVote: boolean
  readonly about: TradeSubject | undefined
}

/** Balances of a message's accounts before and after; most accounts of a transaction do not change. */
const accountBalances = ({ keys }: Message, state: State) => {
  const changes = state.changes()
  const now: StateReader = (place) => state.get(place)
  const then: StateReader = (place) => changes.get(place) ?? state.get(place)
  const lists = {
    pre: [] as number[],
    post: [] as number[],
    preTokens: [] as TokenBalance[],
    postTokens: [] as TokenBalance[],
  }
  keys.forEach((account, at) => {
    const lamports = Number(lamportsOf(now, account))
    const isChanged = account.kind !== 'fixed' && changes.has(account.stateIndex)
    lists.post.push(lamports)
    lists.pre.push(isChanged ? Number(lamportsOf(then, account)) : lamports)
    if (account.kind !== 'token') return
    const [before, after] = [tokenBalanceOf(then, account), tokenBalanceOf(now, account)]
    if (before !== undefined) lists.preTokens.push({ accountIndex: at, account, raw: before })
    if (after !== undefined) lists.postTokens.push({ accountIndex: at, account, raw: after })
  })
  return lists
}

/** Seals what ran: its signatures are simulated, its balances are those before and after. */
export const sealTransaction = (
  ran: ExecutedTransaction,
  state: State,
  random: Random,
): SealedTransaction => {
  const { run, payer, form, failure, recentBlockhash, feeRaw, unitLimit, isVote, about } = ran
  const message = compileMessage(run.context.scenario, { payer, trace: run.trace }, form)
  const signatures = Array.from({ length: message.header[0] }, () => random.hex(128))
  let hash: string | undefined
  return {
    failure: failure && { code: failure.code, height: run.height },
    signatures,
    message,
    recentBlockhash,
    trace: run.trace,
    feeRaw,
    unitLimit,
    isVote,
    about,
    ...accountBalances(message, state),
    get hash() {
      hash ??= base58Encode(Buffer.from(signatures[0] ?? '', 'hex'))
      return hash
    },
  }
}
