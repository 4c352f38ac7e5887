import { base58Decode } from '../../../core/base58.ts'
import type { RpcBlock } from '../nodes/solana.ts'
import type { ProtobufObject } from './sui-chain.ts'

/** A transaction of `getBlock`, encoding `json`. */
interface RpcTransaction {
  readonly version?: unknown
  readonly transaction: {
    readonly signatures: readonly string[]
    readonly message: {
      readonly accountKeys: readonly string[]
      readonly instructions: readonly RpcInstruction[]
    }
  }
  readonly meta: ProtobufObject & {
    readonly err: unknown
    readonly innerInstructions?: readonly {
      readonly index: number
      readonly instructions: readonly RpcInstruction[]
    }[]
    readonly loadedAddresses?: Readonly<Record<'writable' | 'readonly', readonly string[]>>
  }
}

interface RpcInstruction {
  readonly programIdIndex: number
  readonly accounts: readonly number[]
  readonly data: string
  readonly stackHeight?: number | null
}

const VOTE = 'Vote111111111111111111111111111111111111111'

const bytes = (text: string): Buffer => Buffer.from(base58Decode(text) ?? [])

/** A block of a node's JSON as the `SubscribeUpdateBlock` that a Yellowstone plugin makes of it. */
export const toYellowstoneBlock = (slot: number, block: RpcBlock): ProtobufObject => ({
  slot,
  blockhash: block.blockhash,
  rewards: { rewards: block.rewards },
  blockTime: { timestamp: block.blockTime },
  blockHeight: { blockHeight: block.blockHeight },
  parentSlot: block.parentSlot,
  parentBlockhash: block.previousBlockhash,
  executedTransactionCount: block.transactions.length,
  transactions: block.transactions.map((each, index) =>
    toYellowstoneTransaction(each as RpcTransaction, index),
  ),
})

const toYellowstoneTransaction = (
  { version, transaction, meta }: RpcTransaction,
  index: number,
): ProtobufObject => {
  const { signatures, message } = transaction
  const [first] = message.instructions
  const { err, loadedAddresses, innerInstructions, preTokenBalances, postTokenBalances } = meta
  const { computeUnitsConsumed } = meta
  return {
    signature: bytes(signatures[0] ?? ''),
    isVote:
      message.instructions.length === 1 &&
      message.accountKeys[first?.programIdIndex ?? -1] === VOTE,
    index,
    transaction: {
      signatures: signatures.map(bytes),
      message: {
        accountKeys: message.accountKeys.map(bytes),
        instructions: message.instructions.map(toYellowstoneInstruction),
        versioned: version === 0 || version === 1,
        ...(version === 1 && { config: {} }),
      },
    },
    meta: {
      ...(err !== null && err !== undefined && { err: { err: Buffer.from(JSON.stringify(err)) } }),
      fee: meta.fee,
      preBalances: meta.preBalances,
      postBalances: meta.postBalances,
      logMessages: meta.logMessages ?? [],
      preTokenBalances: preTokenBalances ?? [],
      postTokenBalances: postTokenBalances ?? [],
      innerInstructions: (innerInstructions ?? []).map((group) => ({
        index: group.index,
        instructions: group.instructions.map(toYellowstoneInstruction),
      })),
      loadedWritableAddresses: (loadedAddresses?.writable ?? []).map(bytes),
      loadedReadonlyAddresses: (loadedAddresses?.readonly ?? []).map(bytes),
      ...(computeUnitsConsumed !== undefined && { computeUnitsConsumed }),
    },
  }
}

const toYellowstoneInstruction = ({
  programIdIndex,
  accounts,
  data,
  stackHeight,
}: RpcInstruction): ProtobufObject => ({
  programIdIndex,
  accounts: Buffer.from(accounts),
  data: bytes(data),
  ...(typeof stackHeight === 'number' && { stackHeight }),
})
