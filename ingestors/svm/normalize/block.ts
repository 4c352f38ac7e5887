import { Malformed } from '../../../core/errors.ts'
import type {
  RefusedTransaction,
  SvmBlock,
  SvmInstruction,
  SvmTransaction,
} from '../../../schemas/events.ts'
import { type Fields, fieldsOf, listOf, orElse, refuse } from '../../input/json.ts'
import { readOrRefuse } from '../../input/skip-invalid.ts'
import { amountAt, base58At, keyAt, wholeAt } from '../layout/json.ts'
import { PROGRAM, type SvmPrograms } from '../programs/programs.ts'
import { lamportChanges, tokenBalances } from './balances.ts'
import { withBatched } from './batched-instructions.ts'
import { type Call, walkLogs } from './invocations.ts'
import {
  type ToldInstruction,
  type ToldTransaction,
  toldInner,
  toldTransaction,
} from './raw-transaction.ts'
import { rewardsOf } from './rewards.ts'

/** Longest base 58 text that is decoded; what decoders read is a tenth of it, and decoding grows with the square. */
const MAX_DATA_TEXT = 4_096

/** A block without its transactions. */
export type SvmHeader = Omit<SvmBlock, 'transactions'>

/** What a `getBlock` answer is read with. */
export interface Reading {
  readonly chain: string
  /** The answer does not name its own slot. */
  readonly slot: number
  readonly programs: SvmPrograms
}

/**
 * A `getBlock` answer, or `value.block` of a `blockNotification`, as a block: votes left out, data kept of known programs
 * only. Unknown fields are ignored. Throws `Malformed`; reasons: those of the readers in `../../input/json.ts` and `../layout/json.ts`,
 * `bad-index`, `balance-count`, `unknown-version`, `unknown-encoding`, `short-transaction`, `parent-order`, `no-meta`.
 */
export const normalizeBlock = (said: unknown, reading: Reading): SvmBlock => {
  const transactions: SvmTransaction[] = []
  for (const transaction of eachTransaction(said, reading.programs)) {
    if (transaction !== undefined) transactions.push(transaction)
  }
  return { ...normalizeHeader(said, reading), transactions }
}

/** How the transactions of a block are gone through. */
interface Way {
  /** Brings each into the shape of `getBlock`; undefined for one that is known to be a vote. */
  readonly shapeOf?: (transaction: unknown) => unknown
  /** Takes what cannot be read; absent: that is thrown. */
  readonly refused?: RefusedTransaction[]
}

/** Transactions of a block one after the other, undefined for what is left out: a caller may pause between them. */
export function* eachTransaction(
  said: unknown,
  programs: SvmPrograms,
  { shapeOf, refused }: Way = {},
): Generator<SvmTransaction | undefined> {
  const list = listOf(fieldsOf(said, 'block').transactions, 'block.transactions')
  for (const [index, each] of list.entries()) {
    const shape = shapeOf === undefined ? each : shapeOf(each)
    if (shape === undefined) yield undefined
    else {
      const place = { name: signatureIn(shape), longest: LONGEST_SIGNATURE, index, said: shape }
      yield readOrRefuse(() => normalizeTransaction(shape, { index, programs }), place, refused)
    }
  }
}

/** Longest base 58 text of 64 bytes. */
const LONGEST_SIGNATURE = 88

/** The signature of a transaction that cannot be read, where it can be found all the same. */
const signatureIn = (said: unknown): unknown => {
  const { transaction } = (said ?? {}) as { transaction?: { signatures?: unknown } | null }
  const { signatures } = transaction ?? {}
  return Array.isArray(signatures) ? signatures[0] : undefined
}

/** Header of a `getBlock` answer; without a recorded time `timeMs` is 0. Throws `Malformed`. */
export const normalizeHeader = (
  value: unknown,
  { chain, slot }: Pick<Reading, 'chain' | 'slot'>,
): SvmHeader => {
  const said = fieldsOf(value, 'block')
  const parentSlot = wholeAt(said.parentSlot, 'block.parentSlot')
  if (parentSlot >= slot && slot > 0) throw refuse('parent-order', 'block.parentSlot', parentSlot)
  const rewards = rewardsOf(said.rewards)
  return {
    vm: 'svm',
    chain,
    height: slot,
    hash: keyAt(said.blockhash, 'block.blockhash'),
    parentHash: keyAt(said.previousBlockhash, 'block.previousBlockhash'),
    timeMs: timeOf(said.blockTime, 'block.blockTime'),
    parentSlot,
    blockHeight: orElse(said.blockHeight, 'block.blockHeight', { read: wholeAt, fallback: null }),
    txCount: orElse(said.transactions, 'block.transactions', { read: listOf, fallback: [] }).length,
    rewardsCount: rewards.length,
    rewards,
  }
}

/** Seconds as milliseconds; 0 where nothing is told. Throws `Malformed`: `bad-number`. */
export const timeOf = (value: unknown, at: string): number => {
  const timeMs = orElse(value, at, { read: wholeAt, fallback: 0 }) * 1_000
  if (!Number.isSafeInteger(timeMs)) throw refuse('bad-number', at, value)
  return timeMs
}

/** One transaction with its `meta`; undefined for a vote and for what the profile leaves out. Throws `Malformed`. */
export const normalizeTransaction = (
  value: unknown,
  { index, programs }: { readonly index: number; readonly programs: SvmPrograms },
): SvmTransaction | undefined => {
  const said = fieldsOf(value, 'transaction')
  if (said.meta === undefined || said.meta === null) {
    throw new Malformed('no-meta', `transaction ${index} comes without its result`)
  }
  const meta = fieldsOf(said.meta, 'meta')
  const told = toldTransaction(said, meta)
  if (isVote(told) || !isKept(told, meta, programs.profile)) return undefined
  const [from] = told.keys
  if (from === undefined) throw refuse('bad-index', 'accountKeys', 0)
  const success = meta.err === undefined || meta.err === null
  const instructions = success ? flattened(told, meta, programs) : []
  return {
    hash: told.hash,
    index,
    from,
    feeRaw: amountAt(meta.fee, 'meta.fee'),
    success,
    version: told.version,
    instructions,
    tokenBalances: success ? tokenBalances(meta, told.keys, instructions) : [],
    lamports: lamportChanges(meta, told.keys),
  }
}

/** As the validator counts them: one instruction of the vote program, at most two signatures. */
const isVote = ({ version, signatures, instructions }: ToldTransaction): boolean =>
  version === 'legacy' &&
  signatures <= 2 &&
  instructions.length === 1 &&
  instructions[0]?.program === PROGRAM.vote

const isKept = (
  { keys }: ToldTransaction,
  meta: Fields,
  profile: SvmPrograms['profile'],
): boolean => {
  if (profile === undefined || keys.some((key) => profile.accounts.has(key))) return true
  const held = orElse(meta.postTokenBalances, 'postTokenBalances', { read: listOf, fallback: [] })
  return held.some((each) => {
    const { mint } = fieldsOf(each, 'postTokenBalances[]')
    return typeof mint === 'string' && mint.endsWith(profile.mintEnding)
  })
}

/** Every instruction in the order in which it ran, those of a batch behind it. */
const flattened = (
  told: ToldTransaction,
  meta: Fields,
  programs: SvmPrograms,
): readonly SvmInstruction[] => {
  const inner = toldInner(meta, told)
  const calls: Placed[] = []
  for (const [outer, own] of told.instructions.entries()) {
    calls.push({ told: own, outer, inner: null, depth: 1, program: own.program })
    for (const [at, each] of (inner.get(outer) ?? []).entries()) {
      calls.push({ told: each, outer, inner: at, depth: each.depth, program: each.program })
    }
  }
  const keepsLogs = (program: string): boolean => programs.everything || programs.logs.has(program)
  const asksLogs = calls.some(({ program, depth }) => depth === null || keepsLogs(program))
  const logged = asksLogs ? walkLogs(logLines(meta), calls) : undefined
  const instructions = calls.map((call, index) => ({
    program: call.program,
    accounts: call.told.accounts,
    data: programs.data.has(call.program) ? dataOf(call.told.data) : null,
    outer: call.outer,
    inner: call.inner,
    depth: call.depth ?? logged?.[index]?.depth ?? 2,
    logs: (keepsLogs(call.program) ? logged?.[index]?.lines : undefined) ?? NO_LINES,
  }))
  if (programs.everything !== true) return withBatched(instructions)
  return withBatched(
    instructions.map((each, index) => ({ ...each, raw: calls[index]?.told.data ?? null })),
  )
}

const NO_LINES: readonly string[] = []

/** An instruction and where it ran. */
interface Placed extends Call {
  readonly told: ToldInstruction
  readonly outer: number
  readonly inner: number | null
}

const dataOf = (data: ToldInstruction['data']): Uint8Array | null => {
  if (typeof data !== 'string') return data
  return data.length > MAX_DATA_TEXT ? null : base58At(data, 'instruction.data')
}

const logLines = (meta: Fields): readonly string[] =>
  orElse(meta.logMessages, 'logMessages', { read: listOf, fallback: [] }).map((line) => {
    if (typeof line !== 'string') throw refuse('not-a-text', 'logMessages[]', typeof line)
    return line
  })
