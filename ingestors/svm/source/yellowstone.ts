import { base58Encode } from '../../../core/base58.ts'
import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import { parseBase58, parseUint } from '../layout/json.ts'

/**
 * A Yellowstone gRPC block update, as its clients print it (byte strings in base 58, numbers as text), in the shape of
 * `getBlock` with encoding `json`. Throws `InvalidInput`, also later: what is only moved is not checked here.
 */
export const toGetBlockFields = (value: unknown): Fields => {
  const block = fieldsOf(value, 'block')
  return {
    ...headerFields(block),
    transactions: listOf(block.transactions, 'block.transactions').map(jsonTransactionFields),
  }
}

/**
 * A block update as it comes over gRPC: the header in the shape of `getBlock`, the transactions as they are, in order;
 * `grpcTransactionFields` shapes each. Throws `InvalidInput`, `transaction-count` where some are missing.
 */
export const grpcBlockFields = (value: unknown): Fields => {
  const block = fieldsOf(value, 'block')
  const transactions = [...listOf(block.transactions, 'block.transactions')]
  const count = parseUint(block.executedTransactionCount, 'executedTransactionCount')
  if (transactions.length !== count) {
    throw invalid('transaction-count', `transactions of ${count}`, transactions.length)
  }
  const entryIndex = (each: unknown): number =>
    parseUint(fieldsOf(each, 'transaction').index, 'transaction.index')
  transactions.sort((one, other) => entryIndex(one) - entryIndex(other))
  return { ...headerFields(block), transactions }
}

/**
 * A transaction of a block update as it comes over gRPC, in the shape of `getBlock`: keys become text, as they are published,
 * instructions keep their bytes. undefined for a vote. Throws `InvalidInput`.
 */
export const grpcTransactionFields = (value: unknown): Fields | undefined => {
  const raw = fieldsOf(value, 'transaction')
  if (raw.isVote === true) return undefined
  const { message, signatures } = fieldsOf(raw.transaction, 'transaction')
  const reported = fieldsOf(message, 'message')
  const meta = orElse(raw.meta, 'meta', { read: fieldsOf, fallback: null })
  const [signature, ...others] = listOf(signatures, 'signatures')
  return {
    version: versionOf(reported),
    transaction: {
      signatures: [encodeKey(signature, 'signatures[0]'), ...others],
      message: {
        accountKeys: encodeKeys(reported.accountKeys, 'accountKeys'),
        instructions: reported.instructions,
      },
    },
    meta: meta && {
      ...meta,
      preTokenBalances: tokenBalanceFields(meta.preTokenBalances, 'preTokenBalances'),
      postTokenBalances: tokenBalanceFields(meta.postTokenBalances, 'postTokenBalances'),
      loadedAddresses: {
        writable: encodeKeys(meta.loadedWritableAddresses, 'loadedWritableAddresses'),
        readonly: encodeKeys(meta.loadedReadonlyAddresses, 'loadedReadonlyAddresses'),
      },
    },
  }
}

const headerFields = (block: Fields): Fields => {
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
  if (!(value instanceof Uint8Array)) throw invalid('no-bytes', at, value)
  return base58Encode(value)
}

const encodeKeys = (value: unknown, at: string): readonly string[] =>
  listOf(value, at).map((key) => encodeKey(key, at))

/** The format writes what a validator did not know as empty text. */
const tokenBalanceFields = (value: unknown, at: string): readonly Fields[] =>
  listOf(value, at).map((each) => {
    const raw = fieldsOf(each, at)
    return { ...raw, owner: raw.owner || null, programId: raw.programId || null }
  })

const jsonTransactionFields = (value: unknown): Fields => {
  const raw = fieldsOf(value, 'transaction')
  const { message, signatures } = fieldsOf(raw.transaction, 'transaction')
  const reported = fieldsOf(message, 'message')
  const meta = fieldsOf(raw.meta, 'meta')
  return {
    transactionIndex: raw.index,
    version: versionOf(reported),
    transaction: {
      signatures,
      message: {
        accountKeys: reported.accountKeys,
        instructions: listOf(reported.instructions, 'instructions').map(jsonInstructionFields),
      },
    },
    meta: {
      ...meta,
      innerInstructions: listOf(meta.innerInstructions, 'innerInstructions').map((group) => ({
        ...fieldsOf(group, 'innerInstructions[]'),
        instructions: listOf(
          fieldsOf(group, 'innerInstructions[]').instructions,
          'innerInstructions[].instructions',
        ).map(jsonInstructionFields),
      })),
      loadedAddresses: {
        writable: meta.loadedWritableAddresses,
        readonly: meta.loadedReadonlyAddresses,
      },
    },
  }
}

/** Account indexes are a byte string. */
const jsonInstructionFields = (value: unknown): Fields => {
  const raw = fieldsOf(value, 'instruction')
  return { ...raw, accounts: Array.from(parseBase58(raw.accounts, 'instruction.accounts')) }
}
