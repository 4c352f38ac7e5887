import { base58Encode } from '../../../core/base58.ts'
import { type Fields, fieldsOf, listOf, orElse, refuse } from '../../input/json.ts'
import { parseBase58, parseUint } from '../layout/json.ts'

/**
 * A Yellowstone gRPC block update, as its clients print it (byte strings in base 58, numbers as text), in the shape of
 * `getBlock` with encoding `json`. Throws `InvalidInput`, also later: what is only moved is not checked here.
 */
export const toGetBlockShape = (value: unknown): Fields => {
  const block = fieldsOf(value, 'block')
  return {
    ...headerShape(block),
    transactions: listOf(block.transactions, 'block.transactions').map(jsonTransactionShape),
  }
}

/**
 * A block update as it comes over gRPC: the header in the shape of `getBlock`, the transactions as they are, in order;
 * `wireTransaction` shapes each. Throws `InvalidInput`, `transaction-count` where some are missing.
 */
export const grpcBlockShape = (value: unknown): Fields => {
  const block = fieldsOf(value, 'block')
  const transactions = [...listOf(block.transactions, 'block.transactions')]
  const count = parseUint(block.executedTransactionCount, 'executedTransactionCount')
  if (transactions.length !== count) {
    throw refuse('transaction-count', `transactions of ${count}`, transactions.length)
  }
  const placeOf = (each: unknown): number =>
    parseUint(fieldsOf(each, 'transaction').index, 'transaction.index')
  transactions.sort((one, other) => placeOf(one) - placeOf(other))
  return { ...headerShape(block), transactions }
}

/**
 * A transaction of a block update as it comes over gRPC, in the shape of `getBlock`: keys become text, as they are published,
 * instructions keep their bytes. undefined for a vote. Throws `InvalidInput`.
 */
export const grpcTransactionShape = (value: unknown): Fields | undefined => {
  const said = fieldsOf(value, 'transaction')
  if (said.isVote === true) return undefined
  const { message, signatures } = fieldsOf(said.transaction, 'transaction')
  const told = fieldsOf(message, 'message')
  const meta = orElse(said.meta, 'meta', { read: fieldsOf, fallback: null })
  const [signature, ...others] = listOf(signatures, 'signatures')
  return {
    version: versionOf(told),
    transaction: {
      signatures: [encodeKey(signature, 'signatures[0]'), ...others],
      message: {
        accountKeys: encodeKeys(told.accountKeys, 'accountKeys'),
        instructions: told.instructions,
      },
    },
    meta: meta && {
      ...meta,
      preTokenBalances: tokenBalanceShapes(meta.preTokenBalances, 'preTokenBalances'),
      postTokenBalances: tokenBalanceShapes(meta.postTokenBalances, 'postTokenBalances'),
      loadedAddresses: {
        writable: encodeKeys(meta.loadedWritableAddresses, 'loadedWritableAddresses'),
        readonly: encodeKeys(meta.loadedReadonlyAddresses, 'loadedReadonlyAddresses'),
      },
    },
  }
}

const headerShape = (block: Fields): Fields => {
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
  }
}

/** Versions 0 and 1 are told apart by the settings that only the latter carries. Source: agave storage-proto, convert.rs. */
const versionOf = ({ versioned, config }: Fields): 'legacy' | 0 | 1 => {
  if (config !== undefined && config !== null) return 1
  return versioned === true ? 0 : 'legacy'
}

const encodeKey = (value: unknown, at: string): string => {
  if (!(value instanceof Uint8Array)) throw refuse('no-bytes', at, value)
  return base58Encode(value)
}

const encodeKeys = (value: unknown, at: string): readonly string[] =>
  listOf(value, at).map((key) => encodeKey(key, at))

/** The format writes what a validator did not know as empty text. */
const tokenBalanceShapes = (value: unknown, at: string): readonly Fields[] =>
  listOf(value, at).map((each) => {
    const said = fieldsOf(each, at)
    return { ...said, owner: said.owner || null, programId: said.programId || null }
  })

const jsonTransactionShape = (value: unknown): Fields => {
  const said = fieldsOf(value, 'transaction')
  const { message, signatures } = fieldsOf(said.transaction, 'transaction')
  const told = fieldsOf(message, 'message')
  const meta = fieldsOf(said.meta, 'meta')
  return {
    transactionIndex: said.index,
    version: versionOf(told),
    transaction: {
      signatures,
      message: {
        accountKeys: told.accountKeys,
        instructions: listOf(told.instructions, 'instructions').map(jsonInstructionShape),
      },
    },
    meta: {
      ...meta,
      innerInstructions: listOf(meta.innerInstructions, 'innerInstructions').map((group) => ({
        ...fieldsOf(group, 'innerInstructions[]'),
        instructions: listOf(
          fieldsOf(group, 'innerInstructions[]').instructions,
          'innerInstructions[].instructions',
        ).map(jsonInstructionShape),
      })),
      loadedAddresses: {
        writable: meta.loadedWritableAddresses,
        readonly: meta.loadedReadonlyAddresses,
      },
    },
  }
}

/** Account indexes are a byte string. */
const jsonInstructionShape = (value: unknown): Fields => {
  const said = fieldsOf(value, 'instruction')
  return { ...said, accounts: Array.from(parseBase58(said.accounts, 'instruction.accounts')) }
}
