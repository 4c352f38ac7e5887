import { InvalidInput } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import type { CallEndpoint, RpcPool } from '../../core/rpc/pool.ts'
import { isTransactionError } from '../../core/rpc/transaction-errors.ts'
import {
  type BlockhashSightings,
  blockhashOver,
  COMMITMENT,
  statusOver,
  viewOver,
} from '../dex/solana-status.ts'
import type { AuthorizedTransfer, TransferState } from './contract.ts'
import { readSvmTransaction } from './svm-transaction.ts'

const ENDS: ReadonlySet<unknown> = new Set(['confirmed', 'finalized'])
/** Newest transactions of a payer that are looked at for a payment which another process sent. */
const SEARCHED_TRANSACTIONS = 25
/** Place of the amount in a token account. Source: spl-token state.rs. */
const AMOUNT_AT = 64
const KNOWN = /already been processed/i
const MAX_REASON_LENGTH = 200

/**
 * What a node knows of a transaction: `confirmed` or `failed` in a block that most of the stake has voted for; `expired`: in none, and no
 * block can take it any more; `pending`: it may still come.
 */
export type SvmTransactionState = 'confirmed' | 'failed' | 'expired' | 'pending'

/** What became of sending: `refused` where a node would not have it, and no node before it may have passed it on. */
export type SvmSendOutcome = 'sent' | { readonly refused: string } | 'unclear'

/** Calls of a network's nodes. Each throws `Outage` or `InvalidInput` where no node gave an answer. */
export interface SvmClient {
  /** Why a transaction would fail now, as the node says it; undefined: it would not. Signatures are not looked at. */
  simulate(transaction: string): Promise<string | undefined>
  /** Balance of a token account in base units; 0 where it is none. */
  balanceRaw(tokenAccount: string): Promise<bigint>
  /** Throws nothing. */
  send(transaction: string): Promise<SvmSendOutcome>
  /** At one look: a node that is behind may take a new transaction for one that is too old. */
  stateOf(signature: string, blockhash: string): Promise<SvmTransactionState>
  /** At one of several looks: `expired` only from a node that is not behind what `sightings` holds of the looks before. */
  watch(
    transaction: { readonly signature: string; readonly blockhash: string },
    sightings: BlockhashSightings,
  ): Promise<SvmTransactionState>
  /** Searches the newest transactions of a payer for the one of a nonce, whoever sent it. */
  find(transfer: Pick<AuthorizedTransfer, 'from' | 'nonce'>): Promise<TransferState>
}

const invalid = (method: string): InvalidInput =>
  new InvalidInput('bad-answer', `the node's answer to ${method} has an unexpected format`)

const readValue = async (
  call: CallEndpoint,
  method: string,
  params: readonly unknown[],
): Promise<unknown> => {
  const answer = await call({ method, params })
  if (!isJsonObject(answer) || answer.value === undefined) throw invalid(method)
  return answer.value
}

/** A client over nodes. */
export const openSvmClient = (pool: Pick<RpcPool, 'attempt'>): SvmClient => {
  const ask = async <T>(work: (call: CallEndpoint) => Promise<T>): Promise<T> => {
    const answer = await pool.attempt(async (call) => ({ value: await work(call) }))
    if (answer === undefined) throw invalid('a call')
    return answer.value
  }
  return {
    simulate: (transaction) => ask((call) => simulateOver(call, transaction)),
    balanceRaw: (tokenAccount) => ask((call) => balanceOver(call, tokenAccount)),
    find: (transfer) => ask((call) => findOver(call, transfer)),
    stateOf: (signature, blockhash) => ask((call) => stateOver(call, signature, blockhash)),
    watch: (transaction, sightings) =>
      ask((call) => watchedStateOver(call, transaction, sightings)),
    send: async (transaction) => {
      let isUnclear = false
      const send = async (call: CallEndpoint): Promise<SvmSendOutcome> => {
        try {
          return await sendOver(call, transaction)
        } catch (error) {
          // The node may have passed it on and not answered.
          isUnclear = true
          throw error
        }
      }
      const outcome = await ask(send).catch((): SvmSendOutcome => 'unclear')
      return outcome !== 'sent' && isUnclear ? 'unclear' : outcome
    },
  }
}

/** What became of a transfer; `earlier`: the transaction that was sent for it, or `''` where another sent it and did not say. */
export const lookUpSvmTransfer = async (
  client: SvmClient,
  transfer: Pick<AuthorizedTransfer, 'from' | 'nonce'>,
  earlier: string,
): Promise<TransferState> => {
  if (earlier === '') return client.find(transfer)
  const state = await client.stateOf(earlier, blockhashOf(transfer.nonce))
  if (state === 'confirmed') return { transaction: earlier }
  return state === 'pending' ? 'unknown' : 'unused'
}

/** The blockhash in the nonce of a payment. */
export const blockhashOf = (nonce: string): string => nonce.split('.', 1)[0] ?? ''

const simulateOver = async (
  call: CallEndpoint,
  transaction: string,
): Promise<string | undefined> => {
  const method = 'simulateTransaction'
  const options = { encoding: 'base64', commitment: COMMITMENT, sigVerify: false }
  try {
    const value = await readValue(call, method, [transaction, options])
    const { err } = isJsonObject(value) ? value : {}
    if (err === undefined) throw invalid(method)
    return err === null ? undefined : reasonOf(err)
  } catch (error) {
    // The transaction is to blame and not the node, which would be rested otherwise.
    if (!isTransactionError('svm', 'run', error)) throw error
    return reasonOf(error.message)
  }
}

const balanceOver = async (call: CallEndpoint, tokenAccount: string): Promise<bigint> => {
  const method = 'getMultipleAccounts'
  const options = { encoding: 'base64', commitment: COMMITMENT }
  const value = await readValue(call, method, [[tokenAccount], options])
  if (!Array.isArray(value) || value.length !== 1) throw invalid(method)
  const [account] = value
  if (account === null) return 0n
  const text = isJsonObject(account) && Array.isArray(account.data) ? account.data[0] : undefined
  if (typeof text !== 'string') throw invalid(method)
  const data = Buffer.from(text, 'base64')
  return data.length < AMOUNT_AT + 8 ? 0n : data.readBigUInt64LE(AMOUNT_AT)
}

const sendOver = async (call: CallEndpoint, transaction: string): Promise<SvmSendOutcome> => {
  const options = { encoding: 'base64', preflightCommitment: COMMITMENT, maxRetries: 0 }
  try {
    await call({ method: 'sendTransaction', params: [transaction, options] })
    return 'sent'
  } catch (error) {
    if (!isTransactionError('svm', 'send', error)) throw error
    return KNOWN.test(error.message) ? 'sent' : { refused: reasonOf(error.message) }
  }
}

const watchedStateOver = async (
  call: CallEndpoint,
  transaction: { readonly signature: string; readonly blockhash: string },
  sightings: BlockhashSightings,
): Promise<SvmTransactionState> => {
  const view = await viewOver(call, transaction, sightings)
  if (typeof view === 'object') return stateOfStatus(view.status)
  return view === 'expired' ? 'expired' : 'pending'
}

const stateOver = async (
  call: CallEndpoint,
  signature: string,
  blockhash: string,
): Promise<SvmTransactionState> => {
  const { status } = await statusOver(call, signature)
  if (status !== null) return stateOfStatus(status)
  if ((await blockhashOver(call, blockhash))?.isValid !== false) return 'pending'
  // It may have come between the two questions.
  const again = await statusOver(call, signature)
  return again.status === null ? 'expired' : stateOfStatus(again.status)
}

/**
 * `unused` only where no block can take the transaction any more and every transaction of the payer was looked at; beyond the
 * newest ones nothing is known.
 */
const findOver = async (
  call: CallEndpoint,
  { from, nonce }: Pick<AuthorizedTransfer, 'from' | 'nonce'>,
): Promise<TransferState> => {
  const isOver = (await blockhashOver(call, blockhashOf(nonce)))?.isValid === false
  const options = { limit: SEARCHED_TRANSACTIONS, commitment: COMMITMENT }
  const method = 'getSignaturesForAddress'
  const newest = await call({ method, params: [from, options] })
  if (!Array.isArray(newest)) throw invalid(method)
  for (const entry of newest.slice(0, SEARCHED_TRANSACTIONS)) {
    if (!isJsonObject(entry) || typeof entry.signature !== 'string') throw invalid(method)
    if (entry.err !== null) continue
    if ((await nonceOver(call, entry.signature)) === nonce) return { transaction: entry.signature }
  }
  return isOver && newest.length < SEARCHED_TRANSACTIONS ? 'unused' : 'unknown'
}

/** Nonce that a transaction of the chain would have as a payment; undefined where it is none. */
const nonceOver = async (call: CallEndpoint, signature: string): Promise<string | undefined> => {
  const method = 'getTransaction'
  const options = { encoding: 'base64', commitment: COMMITMENT, maxSupportedTransactionVersion: 0 }
  const answer = await call({ method, params: [signature, options] })
  if (answer === null) return undefined
  if (!isJsonObject(answer) || !Array.isArray(answer.transaction)) throw invalid(method)
  const read = readSvmTransaction(answer.transaction[0])
  return typeof read === 'string' ? undefined : read.nonce
}

const stateOfStatus = (status: Readonly<Record<string, unknown>>): SvmTransactionState => {
  if (status.err === undefined) throw invalid('getSignatureStatuses')
  if (!ENDS.has(status.confirmationStatus)) return 'pending'
  return status.err === null ? 'confirmed' : 'failed'
}

const reasonOf = (err: unknown): string =>
  (typeof err === 'string' ? err : JSON.stringify(err)).slice(0, MAX_REASON_LENGTH)
