import { createHash } from 'node:crypto'
import {
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
} from '@solana/kit'
import { base58Encode } from '../../core/base58.ts'
import { MAX_TRANSACTION_BYTES } from '../dex/solana-message.ts'
import type { PaymentProblem } from './contract.ts'

/** One instruction, its accounts by their addresses. */
export interface SvmInstruction {
  readonly program: string
  readonly accounts: readonly string[]
  readonly data: Uint8Array
}

/** A transaction of Solana as its payer signed it, without look-up tables. */
export interface SvmTransaction {
  /** Base 64. */
  readonly text: string
  /** What is signed. */
  readonly message: Uint8Array
  /** First signer: pays the fee. */
  readonly feePayer: string
  /** Other accounts that have to sign, in their order. */
  readonly signers: readonly string[]
  /** By account; null: not signed. */
  readonly signatures: Readonly<Record<string, Uint8Array | null>>
  readonly blockhash: string
  readonly instructions: readonly SvmInstruction[]
  /** Blockhash and digest of the message: the transaction, whoever signs it. */
  readonly nonce: string
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** Text of the longest transaction. */
const MAX_TEXT_LENGTH = Math.ceil(MAX_TRANSACTION_BYTES / 3) * 4

/**
 * Reads a transaction, legacy or version 0, in base 64. Answers a problem for what is none, is longer than nodes take, is not written in
 * the one shortest way (so that one transaction has one digest), or names accounts by look-up tables.
 */
export const readSvmTransaction = (text: unknown): SvmTransaction | PaymentProblem => {
  if (typeof text !== 'string') return 'invalid_payload'
  if (text.length > MAX_TEXT_LENGTH || !BASE64.test(text))
    return 'invalid_exact_svm_payload_transaction'
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length > MAX_TRANSACTION_BYTES || bytes.toString('base64') !== text)
    return 'invalid_exact_svm_payload_transaction'
  return decode(text, bytes) ?? 'invalid_exact_svm_payload_transaction_could_not_be_decoded'
}

const decode = (text: string, bytes: Buffer): SvmTransaction | undefined => {
  try {
    const { messageBytes, signatures } = getTransactionDecoder().decode(bytes)
    const compiled = getCompiledTransactionMessageDecoder().decode(messageBytes)
    if (compiled.version !== 0 && compiled.version !== 'legacy') return undefined
    if ('addressTableLookups' in compiled && compiled.addressTableLookups?.length) return undefined
    const message = Buffer.from(Uint8Array.from(messageBytes))
    const written = getCompiledTransactionMessageEncoder().encode(compiled)
    if (!message.equals(Uint8Array.from(written))) return undefined
    const { staticAccounts, header, instructions, lifetimeToken: blockhash } = compiled
    const [feePayer, ...signers] = staticAccounts.slice(0, header.numSignerAccounts)
    if (feePayer === undefined || signers.length + 1 !== header.numSignerAccounts) return undefined
    const accountAt = (index: number): string => {
      const account = staticAccounts[index]
      if (account === undefined)
        throw new Error('an instruction names an account that is not there')
      return account
    }
    return {
      text,
      message,
      feePayer,
      signers,
      signatures: signatures as SvmTransaction['signatures'],
      blockhash,
      instructions: instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
        program: accountAt(programAddressIndex),
        accounts: accountIndices.map(accountAt),
        data: Uint8Array.from(data ?? []),
      })),
      nonce: `${blockhash}.${base58Encode(createHash('sha256').update(message).digest())}`,
    }
  } catch {
    // What the decoders throw, and what is thrown above: it is not a transaction.
    return undefined
  }
}
