import { setImmediate as turn } from 'node:timers/promises'
import {
  getCompiledTransactionMessageDecoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  getTransactionLifetimeConstraintFromCompiledTransactionMessage,
} from '@solana/kit'
import { base58Decode } from '../../core/base58.ts'
import { isEd25519Signature } from '../../core/ed25519.ts'
import { Fault } from '../../core/errors.ts'
import { type LookupTables, MAX_TRANSACTION_BYTES } from './solana-message.ts'

/** A Solana transaction with all of its signatures. */
export interface SignedSolanaTransaction {
  /** Base 64. */
  readonly text: string
  /** The fee payer's signature, base 58. */
  readonly signature: string
  /** Account that pays the fee. */
  readonly from: string
  /** Hash of the block after which it can be taken for some 150 blocks; undefined: its lifetime is that of a durable nonce. */
  readonly blockhash: string | undefined
}

/**
 * Most signers of a transaction that is sent: twelve fit into one, and each takes computing. Swaps have one or two, creations of tokens, pools
 * and positions up to five.
 */
const MAX_SIGNERS = 8
/** Signatures that are checked before others get a turn: one to two milliseconds of the thread. */
const SIGNATURES_AT_ONCE = 4

const wrong = (reason: string, details: object = {}): Fault =>
  new Fault('INVALID_PARAMETER', 'signedTx is not a transaction that can be sent', {
    parameter: 'signedTx',
    reason,
    ...details,
  })

/**
 * Reads a signed transaction, legacy or version 0, in base 64. Throws `Fault` INVALID_PARAMETER for what is none, and for more than eight
 * signers, TRANSACTION_SIZE_EXCEEDED, TRANSACTION_NOT_SIGNED where no signature is there, TRANSACTION_SIGNATURE_MISSING where one is missing or
 * is not that of its account.
 */
export const readSignedSolanaTransaction = async (
  text: string,
): Promise<SignedSolanaTransaction> => {
  const bytes = Buffer.from(text, 'base64')
  // Buffer leaves out what is not base 64.
  if (bytes.length === 0 || bytes.toString('base64') !== text) throw wrong('encoding')
  if (bytes.length > MAX_TRANSACTION_BYTES) {
    const details = { size: bytes.length, max_allowed: MAX_TRANSACTION_BYTES }
    throw new Fault('TRANSACTION_SIZE_EXCEEDED', undefined, details)
  }
  const { transaction, message } = decode(bytes)
  const signatures = Object.entries(transaction.signatures)
  if (signatures.every(([, signature]) => signature === null)) {
    throw new Fault('TRANSACTION_NOT_SIGNED')
  }
  if (signatures.length > MAX_SIGNERS) {
    const details = { size: signatures.length, max_allowed: MAX_SIGNERS }
    throw wrong('too_many_signers', details)
  }
  const [payer] = message.staticAccounts
  const isSigned = await areSignaturesOf(signatures, Uint8Array.from(transaction.messageBytes))
  if (!isSigned || payer === undefined) throw new Fault('TRANSACTION_SIGNATURE_MISSING')
  const lifetime = await getTransactionLifetimeConstraintFromCompiledTransactionMessage(message)
  return {
    text,
    from: payer,
    signature: getSignatureFromTransaction(transaction),
    blockhash: 'blockhash' in lifetime ? lifetime.blockhash : undefined,
  }
}

/** An instruction of a transaction, with the addresses of its accounts. */
export interface CalledInstruction {
  readonly program: string
  readonly accounts: readonly string[]
  readonly data: Uint8Array
}

/** What a transaction calls, and the accounts that it may write. */
interface CalledMessage {
  readonly instructions: readonly CalledInstruction[]
  readonly writable: readonly string[]
}

/** What a transaction that is still to be signed says of its signers, its lifetime and its calls. */
export interface UnsignedSolanaTransaction {
  /** The first pays the fee. */
  readonly signers: readonly string[]
  /** A signature is there already. */
  readonly isSigned: boolean
  readonly blockhash: string | undefined
  /** Look-up tables that it names accounts by. */
  readonly tables: readonly string[]
  /** Its calls, over the addresses of its tables; undefined: a table does not have what it names, or a program is in one. */
  resolve(tables: LookupTables): CalledMessage | undefined
}

/** Reads a transaction, legacy or version 0, in base 64; undefined: it is none, or too large for a packet. */
export const readUnsignedSolanaTransaction = async (
  text: string,
): Promise<UnsignedSolanaTransaction | undefined> => {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length === 0 || bytes.length > MAX_TRANSACTION_BYTES) return undefined
  if (bytes.toString('base64') !== text) return undefined
  try {
    const { transaction, message } = decode(bytes)
    const lifetime = await getTransactionLifetimeConstraintFromCompiledTransactionMessage(message)
    const signatures = Object.values(transaction.signatures)
    return {
      signers: Object.keys(transaction.signatures),
      isSigned: signatures.some((signature) => signature?.some((byte) => byte !== 0)),
      blockhash: 'blockhash' in lifetime ? lifetime.blockhash : undefined,
      tables: lookupsOf(message).map(({ lookupTableAddress }) => lookupTableAddress),
      resolve: (tables) => resolved(message, tables),
    }
  } catch {
    return undefined
  }
}

const decode = (bytes: Buffer) => {
  try {
    const transaction = getTransactionDecoder().decode(bytes)
    const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
    return { transaction, message }
  } catch {
    throw wrong('not_a_transaction')
  }
}

type CompiledMessage = ReturnType<typeof decode>['message']

const lookupsOf = (message: CompiledMessage) =>
  ('addressTableLookups' in message && message.addressTableLookups) || []

/** Accounts stand in one list: the message's own, those of its tables that may be written, and the others of its tables. */
const resolved = (message: CompiledMessage, tables: LookupTables): CalledMessage | undefined => {
  if (!('instructions' in message)) return undefined
  const { header, staticAccounts, instructions } = message
  const lookups = lookupsOf(message)
  const keysAt = (kind: 'writableIndexes' | 'readonlyIndexes') =>
    lookups.flatMap((lookup) =>
      lookup[kind].map((index) => tables[lookup.lookupTableAddress]?.[index]),
    )
  const loaded = keysAt('writableIndexes')
  const keys = [...staticAccounts, ...loaded, ...keysAt('readonlyIndexes')]
  const own: readonly string[] = staticAccounts
  const called = instructions.map(({ programAddressIndex, accountIndices = [], data = [] }) => ({
    program: own[programAddressIndex],
    accounts: accountIndices.map((index) => keys[index]),
    data: Uint8Array.from(data),
  }))
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = header
  const writable = own.filter((_, index) =>
    index < numSignerAccounts
      ? index < numSignerAccounts - numReadonlySignerAccounts
      : index < own.length - numReadonlyNonSignerAccounts,
  )
  const isKnown = called.every(
    ({ program, accounts }) => program !== undefined && !accounts.includes(undefined),
  )
  if (!isKnown || keys.includes(undefined)) return undefined
  return {
    instructions: called as readonly CalledInstruction[],
    writable: [...writable, ...(loaded as readonly string[])],
  }
}

/** Whether every account has signed a message. */
const areSignaturesOf = async (
  signatures: readonly (readonly [string, ArrayLike<number> | null])[],
  message: Uint8Array,
): Promise<boolean> => {
  // What costs nothing to find is looked for first.
  if (signatures.some(([, signature]) => signature === null)) return false
  for (const [index, [signer, signature]] of signatures.entries()) {
    if (index > 0 && index % SIGNATURES_AT_ONCE === 0) await turn()
    const key = base58Decode(signer)
    if (key === undefined || signature === null) return false
    if (!isEd25519Signature(Uint8Array.from(signature), message, key)) return false
  }
  return true
}
