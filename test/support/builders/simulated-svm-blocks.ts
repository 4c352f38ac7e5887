import type { ChainSpec } from '../../../simulator/node/producer.ts'
import type { State } from '../../../simulator/node/state.ts'
import {
  createSvmBlockProducer,
  type SvmBlockProducer,
} from '../../../simulator/svm/block-producer.ts'
import type { SealedBlock } from '../../../simulator/svm/blocks.ts'
import { transactionToJson } from '../../../simulator/svm/transaction-json.ts'

/** First blocks of a simulated Solana chain, block 0 included, and the state after the last. */
export const buildSimulatedSvmBlocks = (
  spec: ChainSpec,
  count: number,
): {
  readonly producer: SvmBlockProducer
  readonly blocks: readonly SealedBlock[]
  readonly state: State
} => {
  const producer = createSvmBlockProducer(spec)
  const { block, state } = producer.genesis()
  const blocks = [block]
  let parent = block
  for (let made = 0; made < count; made += 1) {
    const making = producer.next(parent, state, 0)
    let step = making.next()
    while (step.done !== true) step = making.next()
    parent = step.value
    blocks.push(parent)
  }
  return { producer, blocks, state }
}

/** A transaction as the node prints it, read back from its text. */
export interface RpcTransaction {
  readonly version: 'legacy' | 0
  readonly transaction: {
    readonly signatures: readonly string[]
    readonly message: {
      readonly accountKeys: readonly string[]
      readonly addressTableLookups?: readonly {
        readonly accountKey: string
        readonly writableIndexes: readonly number[]
        readonly readonlyIndexes: readonly number[]
      }[]
      readonly header: Readonly<Record<string, number>>
      readonly instructions: readonly RpcInstruction[]
      readonly recentBlockhash: string
    }
  }
  readonly meta: {
    readonly err: unknown
    readonly fee: number
    readonly computeUnitsConsumed: number
    readonly innerInstructions: readonly {
      readonly index: number
      readonly instructions: readonly RpcInstruction[]
    }[]
    readonly loadedAddresses: Readonly<Record<'writable' | 'readonly', readonly string[]>>
    readonly logMessages: readonly string[]
    readonly preBalances: readonly number[]
    readonly postBalances: readonly number[]
    readonly preTokenBalances: readonly RpcTokenBalance[]
    readonly postTokenBalances: readonly RpcTokenBalance[]
  }
}

/** An instruction as the node prints it. */
export interface RpcInstruction {
  readonly programIdIndex: number
  readonly accounts: readonly number[]
  readonly data: string
  readonly stackHeight: number
}

/** A token balance as the node prints it. */
export interface RpcTokenBalance {
  readonly accountIndex: number
  readonly mint: string
  readonly owner: string
  readonly programId: string
  readonly uiTokenAmount: {
    readonly amount: string
    readonly decimals: number
    readonly uiAmount: number | null
    readonly uiAmountString: string
  }
}

/** The transactions of a block as text and back. */
export const toRpcTransactions = (block: SealedBlock): readonly RpcTransaction[] =>
  block.transactions.map((tx) => JSON.parse(JSON.stringify(transactionToJson(tx, 'json'))))

/** Every account of a printed transaction, in the order that its indexes mean. */
export const transactionAccounts = ({ transaction, meta }: RpcTransaction): readonly string[] => [
  ...transaction.message.accountKeys,
  ...meta.loadedAddresses.writable,
  ...meta.loadedAddresses.readonly,
]

/** Every instruction in the order in which they ran, with the path of its own instruction. */
export const executedInstructions = (tx: RpcTransaction): readonly RpcInstruction[] =>
  tx.transaction.message.instructions.flatMap((own, index) => [
    own,
    ...(tx.meta.innerInstructions.find((inner) => inner.index === index)?.instructions ?? []),
  ])
