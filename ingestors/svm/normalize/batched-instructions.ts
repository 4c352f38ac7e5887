import type { SvmInstruction } from '../../../schemas/events.ts'
import { isTokenProgram } from '../programs/programs.ts'

/** First byte of a token instruction that holds others. */
const BATCH_TAG = 255

/** What a batch holds of one instruction, without its two lengths. */
export interface BatchedInstruction {
  readonly accounts: readonly string[]
  readonly data: Uint8Array
}

const isBatch = ({ program, data }: SvmInstruction): boolean =>
  data !== null && data[0] === BATCH_TAG && isTokenProgram(program)

/** Every instruction as it is, those of a batch behind it. */
export const expandBatches = (
  instructions: readonly SvmInstruction[],
): readonly SvmInstruction[] =>
  instructions.some(isBatch)
    ? instructions.flatMap((each) => (isBatch(each) ? [each, ...instructionsInBatch(each)] : each))
    : instructions

/**
 * Token instructions that a batch held, in the order in which they ran, each in the batch's own place: its caller called them
 * all. No node lists them apart. Nothing for a batch whose lengths do not fit. Source: SIMD-0266 and solana-program/token interface, `Batch`: for each its number of accounts, its number of bytes, its bytes;
 * their accounts stand one behind the other. A batch holds no batch.
 */
const instructionsInBatch = (batch: SvmInstruction): readonly SvmInstruction[] => {
  const { program, accounts, outer, inner, depth } = batch
  const data = batch.data ?? new Uint8Array()
  const parts: SvmInstruction[] = []
  let account = 0
  for (let at = 1; at < data.length; ) {
    const count = data[at] ?? 0
    const start = at + 2
    const end = start + (data[at + 1] ?? 0)
    if (end === start || end > data.length || account + count > accounts.length) return []
    parts.push({
      program,
      accounts: accounts.slice(account, account + count),
      data: data.subarray(start, end),
      outer,
      inner,
      depth,
      logs: [],
      batched: true,
    })
    account += count
    at = end
  }
  return parts
}

/** The batch that holds these. */
export const encodeBatch = (parts: readonly BatchedInstruction[]): BatchedInstruction => ({
  accounts: parts.flatMap(({ accounts }) => accounts),
  data: Buffer.concat([
    Uint8Array.of(BATCH_TAG),
    ...parts.flatMap(({ accounts, data }) => [Uint8Array.of(accounts.length, data.length), data]),
  ]),
})
