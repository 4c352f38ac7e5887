import { type Fields, fieldsOf, listOf, orElse } from '../json.ts'
import { base58At } from './json.ts'

/**
 * A Yellowstone gRPC block update, as its clients print it (byte strings in base 58, numbers as text), in the shape of
 * `getBlock` with encoding `json`. Throws `Malformed`, also later: what is only moved is not checked here.
 */
export const getBlockShape = (value: unknown): Fields => {
  const block = fieldsOf(value, 'block')
  const inside = (outer: unknown, key: string): unknown =>
    orElse(outer, key, { read: fieldsOf, fallback: null })?.[key]
  return {
    slot: block.slot,
    blockhash: block.blockhash,
    previousBlockhash: block.parentBlockhash,
    parentSlot: block.parentSlot,
    blockTime: inside(block.blockTime, 'timestamp'),
    blockHeight: inside(block.blockHeight, 'blockHeight'),
    rewards: inside(block.rewards, 'rewards'),
    transactions: listOf(block.transactions, 'block.transactions').map(transactionShape),
  }
}

const transactionShape = (value: unknown): Fields => {
  const said = fieldsOf(value, 'transaction')
  const { message, signatures } = fieldsOf(said.transaction, 'transaction')
  const told = fieldsOf(message, 'message')
  const meta = fieldsOf(said.meta, 'meta')
  return {
    transactionIndex: said.index,
    version: told.versioned === true ? 0 : 'legacy',
    transaction: {
      signatures,
      message: {
        accountKeys: told.accountKeys,
        instructions: listOf(told.instructions, 'instructions').map(instructionShape),
      },
    },
    meta: {
      ...meta,
      innerInstructions: listOf(meta.innerInstructions, 'innerInstructions').map((group) => ({
        ...fieldsOf(group, 'innerInstructions[]'),
        instructions: listOf(
          fieldsOf(group, 'innerInstructions[]').instructions,
          'innerInstructions[].instructions',
        ).map(instructionShape),
      })),
      loadedAddresses: {
        writable: meta.loadedWritableAddresses,
        readonly: meta.loadedReadonlyAddresses,
      },
    },
  }
}

/** Account indexes are a byte string. */
const instructionShape = (value: unknown): Fields => {
  const said = fieldsOf(value, 'instruction')
  return { ...said, accounts: Array.from(base58At(said.accounts, 'instruction.accounts')) }
}
