import { InvalidInput } from '../../../core/errors.ts'
import type { RejectedTransaction } from '../../../schemas/block-parts.ts'
import type { SvmBlock, SvmInstruction, SvmTransaction } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import { parseOrReject } from '../../input/skip-invalid.ts'
import { parseAmount, parseBase58, parseBase58Key, parseUint } from '../layout/json.ts'
import { PROGRAM_IDS, type ProgramFilter } from '../programs/programs.ts'
import { lamportChanges, tokenBalances } from './balances.ts'
import { expandBatches } from './batched-instructions.ts'
import { attributeLogLines, type Invocation } from './log-attribution.ts'
import {
  parseInnerInstructions,
  parseRawTransaction,
  type RawInstruction,
  type RawTransaction,
} from './raw-transaction.ts'
import { parseRewards } from './rewards.ts'

/** Longest base 58 text that is decoded; what decoders read is a tenth of it, and decoding grows with the square. */
const MAX_BASE58_DATA_LENGTH = 4_096

/** A block without its transactions. */
export type SvmHeader = Omit<SvmBlock, 'transactions'>

/** What a `getBlock` answer is read with. */
export interface BlockContext {
  readonly chain: string
  /** The answer does not name its own slot. */
  readonly slot: number
  readonly programs: ProgramFilter
}

/**
 * A `getBlock` answer, or `value.block` of a `blockNotification`, as a block: votes left out, data kept of known programs
 * only. Unknown fields are ignored. Throws `InvalidInput`; reasons: those of the readers in `../../input/json.ts` and `../layout/json.ts`,
 * `bad-index`, `balance-count`, `unknown-version`, `unknown-encoding`, `truncated-transaction`, `parent-order`, `missing-meta`.
 */
export const normalizeBlock = (raw: unknown, reading: BlockContext): SvmBlock => {
  const transactions: SvmTransaction[] = []
  for (const transaction of eachTransaction(raw, reading.programs)) {
    if (transaction !== undefined) transactions.push(transaction)
  }
  return { ...normalizeHeader(raw, reading), transactions }
}

/** How the transactions of a block are gone through. */
interface TransactionIteration {
  /** Brings each into the shape of `getBlock`; undefined for one that is known to be a vote. */
  readonly toGetBlockFields?: (transaction: unknown) => unknown
  /** Takes what cannot be read; absent: that is thrown. */
  readonly invalidTransactions?: RejectedTransaction[]
}

/** Transactions of a block one after the other, undefined for what is left out: a caller may pause between them. */
export function* eachTransaction(
  raw: unknown,
  programs: ProgramFilter,
  { toGetBlockFields, invalidTransactions }: TransactionIteration = {},
): Generator<SvmTransaction | undefined> {
  const list = listOf(fieldsOf(raw, 'block').transactions, 'block.transactions')
  for (const [index, each] of list.entries()) {
    const shape = toGetBlockFields === undefined ? each : toGetBlockFields(each)
    if (shape === undefined) yield undefined
    else {
      const place = { name: signatureIn(shape), longest: MAX_SIGNATURE_LENGTH, index, input: shape }
      yield parseOrReject(
        () => normalizeTransaction(shape, { index, programs }),
        place,
        invalidTransactions,
      )
    }
  }
}

/** Longest base 58 text of 64 bytes. */
const MAX_SIGNATURE_LENGTH = 88

/** The signature of a transaction that cannot be read, where it can be found all the same. */
const signatureIn = (raw: unknown): unknown => {
  const { transaction } = (raw ?? {}) as { transaction?: { signatures?: unknown } | null }
  const { signatures } = transaction ?? {}
  return Array.isArray(signatures) ? signatures[0] : undefined
}

/** Header of a `getBlock` answer; without a recorded time `timeMs` is 0. Throws `InvalidInput`. */
export const normalizeHeader = (
  value: unknown,
  { chain, slot }: Pick<BlockContext, 'chain' | 'slot'>,
): SvmHeader => {
  const raw = fieldsOf(value, 'block')
  const parentSlot = parseUint(raw.parentSlot, 'block.parentSlot')
  if (parentSlot >= slot && slot > 0) throw invalid('parent-order', 'block.parentSlot', parentSlot)
  const rewards = parseRewards(raw.rewards)
  return {
    vm: 'svm',
    chain,
    height: slot,
    hash: parseBase58Key(raw.blockhash, 'block.blockhash'),
    parentHash: parseBase58Key(raw.previousBlockhash, 'block.previousBlockhash'),
    timeMs: blockTimeMs(raw.blockTime, 'block.blockTime'),
    parentSlot,
    blockHeight: orElse(raw.blockHeight, 'block.blockHeight', { read: parseUint, fallback: null }),
    txCount: orElse(raw.transactions, 'block.transactions', { read: listOf, fallback: [] }).length,
    rewardsCount: rewards.length,
    rewards,
  }
}

/** Seconds as milliseconds; 0 where nothing is reported. Throws `InvalidInput`: `bad-number`. */
export const blockTimeMs = (value: unknown, at: string): number => {
  const timeMs = orElse(value, at, { read: parseUint, fallback: 0 }) * 1_000
  if (!Number.isSafeInteger(timeMs)) throw invalid('bad-number', at, value)
  return timeMs
}

/** One transaction with its `meta`; undefined for a vote and for what the profile leaves out. Throws `InvalidInput`. */
export const normalizeTransaction = (
  value: unknown,
  { index, programs }: { readonly index: number; readonly programs: ProgramFilter },
): SvmTransaction | undefined => {
  const raw = fieldsOf(value, 'transaction')
  if (raw.meta === undefined || raw.meta === null) {
    throw new InvalidInput('missing-meta', `transaction ${index} comes without its result`)
  }
  const meta = fieldsOf(raw.meta, 'meta')
  const reported = parseRawTransaction(raw, meta)
  if (isVote(reported) || !matchesProfile(reported, meta, programs.profile)) return undefined
  const [from] = reported.keys
  if (from === undefined) throw invalid('bad-index', 'accountKeys', 0)
  const success = meta.err === undefined || meta.err === null
  const instructions = success ? flattenInstructions(reported, meta, programs) : []
  return {
    hash: reported.hash,
    index,
    from,
    feeRaw: parseAmount(meta.fee, 'meta.fee'),
    success,
    version: reported.version,
    instructions,
    tokenBalances: success ? tokenBalances(meta, reported.keys, instructions) : [],
    lamports: lamportChanges(meta, reported.keys),
    ...computeUnitsOf(meta),
  }
}

const computeUnitsOf = ({
  computeUnitsConsumed: value,
}: Fields): Pick<SvmTransaction, 'computeUnits'> => {
  const read = { read: parseUint, fallback: undefined }
  const computeUnits = orElse(value, 'meta.computeUnitsConsumed', read)
  return computeUnits === undefined ? {} : { computeUnits }
}

/** As the validator counts them: one instruction of the vote program, at most two signatures. */
const isVote = ({ version, signatures, instructions }: RawTransaction): boolean =>
  version === 'legacy' &&
  signatures <= 2 &&
  instructions.length === 1 &&
  instructions[0]?.program === PROGRAM_IDS.vote

const matchesProfile = (
  { keys }: RawTransaction,
  meta: Fields,
  profile: ProgramFilter['profile'],
): boolean => {
  if (profile === undefined || keys.some((key) => profile.accounts.has(key))) return true
  const held = orElse(meta.postTokenBalances, 'postTokenBalances', { read: listOf, fallback: [] })
  return held.some((each) => {
    const { mint } = fieldsOf(each, 'postTokenBalances[]')
    return typeof mint === 'string' && mint.endsWith(profile.mintSuffix)
  })
}

/** Every instruction in the order in which it ran, those of a batch behind it. */
const flattenInstructions = (
  reported: RawTransaction,
  meta: Fields,
  programs: ProgramFilter,
): readonly SvmInstruction[] => {
  const inner = parseInnerInstructions(meta, reported)
  const calls: ExecutedInstruction[] = []
  for (const [outer, own] of reported.instructions.entries()) {
    calls.push({ raw: own, outer, inner: null, depth: 1, program: own.program })
    for (const [at, each] of (inner.get(outer) ?? []).entries()) {
      calls.push({ raw: each, outer, inner: at, depth: each.depth, program: each.program })
    }
  }
  const keepsLogs = (program: string): boolean =>
    programs.allInstructions || programs.logs.has(program)
  const asksLogs = calls.some(({ program, depth }) => depth === null || keepsLogs(program))
  const logged = asksLogs ? attributeLogLines(logLines(meta), calls) : undefined
  const instructions = calls.map((call, index) => ({
    program: call.program,
    accounts: call.raw.accounts,
    data: programs.data.has(call.program) ? instructionData(call.raw.data) : null,
    outer: call.outer,
    inner: call.inner,
    depth: call.depth ?? logged?.[index]?.depth ?? 2,
    logs: (keepsLogs(call.program) ? logged?.[index]?.lines : undefined) ?? NO_LOGS,
  }))
  if (programs.allInstructions !== true) return expandBatches(instructions)
  return expandBatches(
    instructions.map((each, index) => ({ ...each, raw: calls[index]?.raw.data ?? null })),
  )
}

const NO_LOGS: readonly string[] = []

/** An instruction and where it ran. */
interface ExecutedInstruction extends Invocation {
  readonly raw: RawInstruction
  readonly outer: number
  readonly inner: number | null
}

const instructionData = (data: RawInstruction['data']): Uint8Array | null => {
  if (typeof data !== 'string') return data
  return data.length > MAX_BASE58_DATA_LENGTH ? null : parseBase58(data, 'instruction.data')
}

const logLines = (meta: Fields): readonly string[] =>
  orElse(meta.logMessages, 'logMessages', { read: listOf, fallback: [] }).map((line) => {
    if (typeof line !== 'string') throw invalid('not-a-text', 'logMessages[]', typeof line)
    return line
  })
