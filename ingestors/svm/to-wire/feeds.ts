import { base58Encode } from '../../../core/base58.ts'
import type { SvmBlock, SvmInstruction } from '../../../schemas/events.ts'
import type * as Wire from '../../../schemas/wire.ts'
import { type Keyed, rawText } from '../../to-wire/context.ts'
import { transactionFields } from '../../to-wire/flat.ts'
import { methodName, programName } from '../programs/method-names.ts'
import { ORDER_BOOKS } from '../programs/order-books.ts'
import { blockNumber } from './block-number.ts'

/** Longest data of an instruction that is published, in characters of base 58; what is longer is cut there. */
const MAX_TEXT = 16_384
/** Longest data that is put into base 58, in bytes: encoding grows with the square. */
const MAX_BYTES = 2_048
/** Deeper than any runtime calls; a node may claim more. */
const MAX_DEPTH = 64
/** Most lines of one instruction, and characters of them: above what a runtime keeps of a whole transaction. */
const MAX_LINES = 1_024
const MAX_LINES_TEXT = 65_536

/** Every instruction of a block that was carried out, keyed by its program. */
export const instructionEvents = (block: SvmBlock): readonly Keyed<Wire.InstructionEvent>[] => {
  const events: Keyed<Wire.InstructionEvent>[] = []
  for (const tx of block.transactions) {
    const transaction = transactionFields(tx)
    const nextPath = instructionPaths()
    const called = tx.instructions.filter(({ batched }) => batched !== true)
    for (const [index, instruction] of called.entries()) {
      const { program, outer, accounts, data } = instruction
      const depth = Math.min(instruction.depth, MAX_DEPTH)
      events.push({
        key: program,
        event: {
          ...transaction,
          block_height: blockNumber(block),
          event_index: events.length,
          ix_index: outer,
          depth,
          internal_seq: index,
          program_address: program,
          program_name: programName(program),
          method: methodName(program, data),
          accounts,
          data: dataText(instruction),
          call_path: nextPath(depth),
          logs: boundedLines(instruction.logs),
        },
      })
    }
  }
  return events
}

/** Paths of a transaction's instructions: the place of each caller among its siblings, and its own. */
const instructionPaths = (): ((depth: number) => readonly number[]) => {
  const path: number[] = []
  return (depth) => {
    while (path.length < depth) path.push(-1)
    path.length = depth
    path[depth - 1] = (path[depth - 1] ?? -1) + 1
    return [...path]
  }
}

const dataText = ({ raw, data }: SvmInstruction): string => {
  if (typeof raw === 'string') return raw.slice(0, MAX_TEXT)
  const bytes = raw ?? data
  return bytes === null ? '' : base58Encode(bytes.subarray(0, MAX_BYTES))
}

const boundedLines = (lines: readonly string[]): readonly string[] => {
  let room = MAX_LINES_TEXT
  return lines.slice(0, MAX_LINES).filter((line) => {
    room -= line.length
    return room >= 0
  })
}

/** Rewards of a block, keyed by who got them. */
export const rewardEvents = (block: SvmBlock): readonly Keyed<Wire.RewardEvent>[] =>
  (block.rewards ?? []).map((reward, index) => ({
    key: reward.address,
    event: {
      block_height: blockNumber(block),
      event_index: index,
      address: reward.address,
      amount: String(reward.amountRaw),
      post_balance: String(reward.postRaw),
      reward_type: reward.type,
      commission: reward.commission,
    },
  }))

/** What happened to orders of order books, keyed by the market. Ticks and lots of a market are not known: its price is not reported. */
export const orderEvents = (block: SvmBlock): readonly Keyed<Wire.OrderEvent>[] => {
  const events: Keyed<Wire.OrderEvent>[] = []
  for (const tx of block.transactions) {
    for (const instruction of tx.instructions) {
      const { program, outer } = instruction
      const quoteAssets = ORDER_BOOKS.get(program)
      if (quoteAssets === undefined) continue
      for (const order of quoteAssets.read(instruction)) {
        events.push({
          key: order.market,
          event: {
            ...transactionFields(tx),
            block_height: blockNumber(block),
            event_index: events.length,
            ix_index: outer,
            event_type: order.type,
            market_address: order.market,
            order_id: rawText(order.orderId ?? undefined),
            buy_side: order.isBid,
            owner: order.owner ?? '',
            account: order.account ?? '',
            payer: order.payer,
            program_address: program,
            protocol_name: quoteAssets.name,
            protocol_family: quoteAssets.family,
            price_ticks: rawText(order.priceTicks ?? undefined),
            size_lots: rawText(order.lots ?? undefined),
          },
        })
      }
    }
  }
  return events
}
