import assert from 'node:assert/strict'
import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  generateKeyPairSigner,
  getAddressEncoder,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getProgramDerivedAddress,
  getTransactionDecoder,
  partiallySignTransaction,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit'
import { Fault } from '../../core/errors.ts'

/** What an instruction may do with an account. */
export type AccountUse = 'read' | 'write' | 'sign'

/** An account of an instruction. */
export type InstructionAccount = readonly [account: string, use: AccountUse]

/** One instruction of a transaction. */
export interface SolanaInstruction {
  readonly program: string
  readonly accounts: readonly InstructionAccount[]
  readonly data: Uint8Array
}

/** How long a transaction can be taken into a block. */
export interface BlockhashLifetime {
  readonly blockhash: string
  readonly lastValidBlockHeight: number
}

const ROLES = {
  read: AccountRole.READONLY,
  write: AccountRole.WRITABLE,
  sign: AccountRole.WRITABLE_SIGNER,
} as const

/** A part of the seeds of an address: a word, an address, or bytes. */
export type Seed =
  | { readonly word: string }
  | { readonly key: string }
  | { readonly bytes: Uint8Array }

const seedBytes = (seed: Seed): Uint8Array | ReturnType<typeof keyBytes> => {
  if ('bytes' in seed) return seed.bytes
  return 'word' in seed ? Buffer.from(seed.word) : keyBytes(seed.key)
}

const keyBytes = (key: string) => getAddressEncoder().encode(address(key))

/** The address that only a program can sign for. */
export const programAddress = async (program: string, seeds: readonly Seed[]): Promise<string> => {
  const [derived] = await getProgramDerivedAddress({
    programAddress: address(program),
    seeds: seeds.map(seedBytes),
  })
  return derived
}

/** Largest transaction that nodes take: an IPv6 packet without its headers. Source: solana-sdk packet. */
export const MAX_TRANSACTION_BYTES = 1_232

/** Addresses of look-up tables, by the address of the table. */
export type LookupTables = Readonly<Record<string, readonly string[]>>

/** What may be named by a place in a look-up table. */
interface Lookup {
  readonly tables: LookupTables
  /**
   * Accounts that the message names itself, whatever the tables hold: what a table holds is the word of a node, and one that lies would put
   * another account in their place.
   */
  readonly kept: ReadonlySet<string>
}

/**
 * An unsigned transaction of version 0 in base 64, its signatures empty; with look-up tables only where it is too large without. Throws `Fault`
 * TRANSACTION_SIZE_EXCEEDED for more than 1,232 bytes, INVALID_ADDRESS where a program that it calls would pay.
 */
export const unsignedTransaction = (
  payer: string,
  { blockhash, lastValidBlockHeight }: BlockhashLifetime,
  instructions: readonly SolanaInstruction[],
  { tables, kept }: Lookup = { tables: {}, kept: new Set() },
): string => {
  if (instructions.some(({ program }) => program === payer)) {
    throw new Fault('INVALID_ADDRESS', undefined, { parameter: 'userAddress', value: payer })
  }
  const message = appendTransactionMessageInstructions(
    instructions.map(({ program, accounts, data }) => ({
      programAddress: address(program),
      accounts: accounts.map(([account, use]) => ({
        address: address(account) as Address,
        role: ROLES[use],
      })),
      data,
    })),
    setTransactionMessageLifetimeUsingBlockhash(
      {
        blockhash: blockhash as Blockhash,
        lastValidBlockHeight: BigInt(lastValidBlockHeight),
      },
      setTransactionMessageFeePayer(address(payer), createTransactionMessage({ version: 0 })),
    ),
  )
  const whole = wireText(message)
  if (sizeOf(whole) <= MAX_TRANSACTION_BYTES) return whole
  // A place keeps its number: where its account is kept, it has the address of the table, which no instruction names.
  const addresses = Object.fromEntries(
    Object.entries(tables).map(([table, held]) => [
      address(table),
      held.map((one) => address(kept.has(one) || one === payer ? table : one)),
    ]),
  )
  const text = wireText(compressTransactionMessageUsingAddressLookupTables(message, addresses))
  if (sizeOf(text) <= MAX_TRANSACTION_BYTES) return text
  const details = { size: sizeOf(text), max_allowed: MAX_TRANSACTION_BYTES }
  throw new Fault('TRANSACTION_SIZE_EXCEEDED', undefined, details)
}

const wireText = (message: Parameters<typeof compileTransaction>[0]): string =>
  getBase64EncodedWireTransaction(compileTransaction(message))

const sizeOf = (text: string): number => Buffer.byteLength(text, 'base64')

/** A new key that signs one transaction and is gone then. */
export interface OneTimeKey {
  readonly address: string
  /** Puts its signature into a transaction in base 64 that names it as a signer, and lets go of the key. Throws when called again. */
  readonly sign: (transaction: string) => Promise<string>
}

/** Makes a key whose private part cannot be read out of the runtime. */
export const createOneTimeKey = async (): Promise<OneTimeKey> => {
  const made = await generateKeyPairSigner()
  let keyPair: typeof made.keyPair | undefined = made.keyPair
  return {
    address: made.address,
    sign: async (text) => {
      assert(keyPair !== undefined, 'the key has signed already')
      const signers = [keyPair]
      keyPair = undefined
      const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(text))
      return getBase64EncodedWireTransaction(await partiallySignTransaction(signers, transaction))
    },
  }
}
