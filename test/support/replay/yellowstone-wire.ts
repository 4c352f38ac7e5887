import { base58Decode } from '../../../core/base58.ts'
import type { HandBlock } from '../svm-node.ts'
import type { Wire } from './sui-chain.ts'

/** A transaction of `getBlock`, encoding `json`. */
interface Told {
  readonly version?: unknown
  readonly transaction: {
    readonly signatures: readonly string[]
    readonly message: {
      readonly accountKeys: readonly string[]
      readonly instructions: readonly ToldInstruction[]
    }
  }
  readonly meta: Wire & {
    readonly err: unknown
    readonly innerInstructions?: readonly {
      readonly index: number
      readonly instructions: readonly ToldInstruction[]
    }[]
    readonly loadedAddresses?: Readonly<Record<'writable' | 'readonly', readonly string[]>>
  }
}

interface ToldInstruction {
  readonly programIdIndex: number
  readonly accounts: readonly number[]
  readonly data: string
  readonly stackHeight?: number | null
}

const VOTE = 'Vote111111111111111111111111111111111111111'

const bytes = (text: string): Buffer => Buffer.from(base58Decode(text) ?? [])

/** A block of a node's JSON as the `SubscribeUpdateBlock` that a Yellowstone plugin makes of it. */
export const wireBlockOf = (slot: number, block: HandBlock): Wire => ({
  slot,
  blockhash: block.blockhash,
  rewards: { rewards: block.rewards },
  blockTime: { timestamp: block.blockTime },
  blockHeight: { blockHeight: block.blockHeight },
  parentSlot: block.parentSlot,
  parentBlockhash: block.previousBlockhash,
  executedTransactionCount: block.transactions.length,
  transactions: block.transactions.map((each, index) => wireOf(each as Told, index)),
})

const wireOf = ({ version, transaction, meta }: Told, index: number): Wire => {
  const { signatures, message } = transaction
  const [first] = message.instructions
  const { err, loadedAddresses, innerInstructions, preTokenBalances, postTokenBalances } = meta
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
        instructions: message.instructions.map(wireInstruction),
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
        instructions: group.instructions.map(wireInstruction),
      })),
      loadedWritableAddresses: (loadedAddresses?.writable ?? []).map(bytes),
      loadedReadonlyAddresses: (loadedAddresses?.readonly ?? []).map(bytes),
    },
  }
}

const wireInstruction = ({
  programIdIndex,
  accounts,
  data,
  stackHeight,
}: ToldInstruction): Wire => ({
  programIdIndex,
  accounts: Buffer.from(accounts),
  data: bytes(data),
  ...(typeof stackHeight === 'number' && { stackHeight }),
})
