import { type Hex, parseTransaction, recoverAddress } from 'viem'
import { Fault } from '../../core/errors.ts'
import { keccakInTurns } from '../../core/keccak.ts'
import { signedParts, transactionFields } from './transaction-shape.ts'

/** A transaction that may be broadcast. */
export interface SignedTransaction {
  readonly hex: Hex
  readonly hash: Hex
  /** Lower case. */
  readonly from: string
  readonly nonce: number
}

/** Bytes of a transaction: that of the largest contract, whose code takes 49,152 (EIP-3860), with what it is given. Nodes take twice as much. */
const MAX_BYTES = 65_536
/** First byte of one that carries blobs. Source: EIP-4844. */
const BLOB_TYPE = 3

/**
 * Reads a signed EVM transaction in base 64, or hexadecimal with 0x. Throws `Fault` INVALID_PARAMETER for what is none, carries blobs
 * or is of another chain, TRANSACTION_SIZE_EXCEEDED, TRANSACTION_NOT_SIGNED, TRANSACTION_SIGNATURE_MISSING. The longest takes some 12 ms, of
 * which no more than 3 at once.
 */
export const readSignedTransaction = async (
  text: string,
  chainId: number,
): Promise<SignedTransaction> => {
  const bytes = readBytes(text)
  if (bytes.length > MAX_BYTES) {
    throw new Fault('TRANSACTION_SIZE_EXCEEDED', undefined, {
      size: bytes.length,
      max_allowed: MAX_BYTES,
    })
  }
  if (bytes[0] === BLOB_TYPE) throw wrong('blob_transaction')
  const fields = transactionFields(bytes)
  if (fields === undefined) throw wrong('not_a_transaction')
  const hex: Hex = `0x${bytes.toString('hex')}`
  const parsed = parse(hex)
  const { r, s, yParity } = parsed
  if (r === undefined || s === undefined) throw new Fault('TRANSACTION_NOT_SIGNED')
  // One without a chain could be sent again on every chain.
  if (parsed.chainId !== chainId) {
    const details = { chain_id: parsed.chainId ?? null, expected: chainId }
    throw wrong('other_chain', 'The transaction was signed for another chain', details)
  }
  const digest = await keccakInTurns(signedParts(bytes, fields, chainId))
  const from = await signerOf(digest, { r, s, yParity: yParity ?? 0 })
  return { hex, hash: await keccakInTurns([bytes]), from, nonce: parsed.nonce ?? 0 }
}

const wrong = (reason: string, message?: string, details: object = {}): Fault =>
  new Fault('INVALID_PARAMETER', message ?? 'signedTx is not a transaction that can be sent', {
    parameter: 'signedTx',
    reason,
    ...details,
  })

const readBytes = (text: string): Buffer => {
  if (/^0x(?:[0-9a-fA-F]{2})+$/.test(text)) return Buffer.from(text.slice(2), 'hex')
  const bytes = Buffer.from(text, 'base64')
  // Buffer leaves out what is not base 64.
  if (bytes.length === 0 || bytes.toString('base64') !== text) throw wrong('encoding')
  return bytes
}

const parse = (hex: Hex) => {
  try {
    return parseTransaction(hex)
  } catch {
    throw wrong('not_a_transaction')
  }
}

const signerOf = async (
  digest: Hex,
  signature: { readonly r: Hex; readonly s: Hex; readonly yParity: number },
): Promise<string> => {
  try {
    return (await recoverAddress({ hash: digest, signature })).toLowerCase()
  } catch {
    throw new Fault('TRANSACTION_SIGNATURE_MISSING')
  }
}
