import { setTimeout as sleep } from 'node:timers/promises'
import {
  createKeyPairFromBytes,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  partiallySignTransaction,
} from '@solana/kit'
import { LRUCache } from 'lru-cache'
import type { Logger } from '../../core/ops/logger.ts'
import type { RpcPool } from '../../core/rpc/pool.ts'
import type { SolanaKey } from '../../core/solana-key.ts'
import type { SvmPaymentNetworkName } from '../../schemas/payment-networks.ts'
import type { BlockhashSightings } from '../dex/solana-status.ts'
import {
  type Facilitator,
  MAX_OPEN_PAYMENTS,
  type SettlementOrder,
  type SettlementOutcome,
  type VerifiedPayment,
} from './contract.ts'
import { sourceAccountOf } from './exact-svm.ts'
import {
  blockhashOf,
  lookUpSvmTransfer,
  openSvmClient,
  type SvmClient,
  type SvmTransactionState,
} from './svm-node.ts'
import { readSvmTransaction } from './svm-transaction.ts'

/** How long a transaction is waited for, how often it is asked for, and how often it is sent again: blocks drop some when they are busy. */
const CONFIRM_TIMEOUT_MS = 30_000
const CHECK_INTERVAL_MS = 400
const SEND_AGAIN_MS = 2_000
/** Nodes behind one address may differ by some blocks. */
const CHECKS_UNTIL_EXPIRED = 3
/** Transactions of which it is remembered at which slot their blockhash was valid: only that tells a node that is behind from an end. */
const MAX_SIGHTINGS = 4 * MAX_OPEN_PAYMENTS
/** What a node says of a fee payer without enough SOL. Source: agave, TransactionError. */
const POOR_FEE_PAYER =
  /InsufficientFundsForFee|AccountNotFound|insufficient funds for fee|no record of a prior credit/i
const KNOWN = /AlreadyProcessed|already been processed/i

/** What settling on one network needs. */
export interface SvmSettlementDeps {
  readonly network: SvmPaymentNetworkName
  /** Nodes of the network. */
  readonly pool: Pick<RpcPool, 'attempt' | 'close'>
  /** Key of the account that pays the fees. */
  readonly feeKey: SolanaKey
  readonly log: Logger
  readonly confirmTimeoutMs?: number
}

/**
 * Signs transactions of payers as their fee payer and brings them to the chain. A transaction has one signature whoever asks for it again,
 * and a chain takes it once: so a try whose outcome is not known is sent again as it was.
 */
export const createSvmSettlement = async (deps: SvmSettlementDeps): Promise<Facilitator> => {
  const { pool, log, feeKey, network } = deps
  const client = openSvmClient(pool)
  const sign = await createSigner(feeKey)
  const sightings = new LRUCache<string, BlockhashSightings>({ max: MAX_SIGHTINGS })
  const check = (payment: VerifiedPayment) => problemOnChain(client, payment, { log, network })
  const settleNew = async ({
    payment,
    beforeSend,
  }: SettlementOrder): Promise<SettlementOutcome> => {
    const problem = await check(payment)
    if (problem !== undefined) return { problem, isFinal: true }
    const signed = await sign(payment)
    if (signed === undefined) return NOT_OURS
    await beforeSend(signed.signature)
    return bringIn(signed, payment, { isNew: true })
  }
  /** The earlier try may be under way: nothing is known of it until its blockhash is too old. */
  const settleAgain = async (
    { payment, beforeSend }: SettlementOrder,
    earlier: string,
  ): Promise<SettlementOutcome> => {
    const signed = await sign(payment)
    if (signed === undefined && earlier === '') {
      const state = await lookUpSvmTransfer(client, payment, earlier)
      if (typeof state === 'object') return state
      return { problem: 'unexpected_settle_error', isFinal: state === 'unused' }
    }
    const signature = signed?.signature ?? earlier
    if (earlier !== signature) await beforeSend(signature)
    return bringIn({ signature, text: signed?.text ?? '' }, payment, { isNew: false })
  }
  const bringIn = async (
    { signature, text }: SignedTransaction,
    { nonce }: VerifiedPayment,
    { isNew }: { readonly isNew: boolean },
  ): Promise<SettlementOutcome> => {
    const outcome = text === '' ? 'unclear' : await client.send(text)
    const isRefused = typeof outcome === 'object'
    if (outcome !== 'sent') log.warn({ network, signature, outcome }, 'payment was not sent')
    const isOver = isNew && isRefused
    const seen = sightings.get(signature) ?? {}
    sightings.set(signature, seen)
    const state = await waitForEnd(client, seen, {
      signature,
      text,
      blockhash: blockhashOf(nonce),
      timeoutMs: isOver ? 0 : (deps.confirmTimeoutMs ?? CONFIRM_TIMEOUT_MS),
    })
    if (state === 'confirmed') return { transaction: signature }
    if (state === 'failed')
      return { problem: 'invalid_exact_svm_transaction_failed', isFinal: true }
    return { problem: 'unexpected_settle_error', isFinal: isOver || state === 'expired' }
  }
  return {
    verify: async (payment, openRaw) => {
      const problem = await check(payment)
      if (problem !== undefined || openRaw <= payment.valueRaw) return problem
      return (await payerBalance(client, payment)) < openRaw ? 'insufficient_funds' : undefined
    },
    settle: (order) =>
      order.earlier === undefined ? settleNew(order) : settleAgain(order, order.earlier),
    lookUp: (transfer, earlier) => lookUpSvmTransfer(client, transfer, earlier),
    close: async () => pool.close(),
  }
}

const NOT_OURS = { problem: 'invalid_exact_svm_fee_payer_mismatch', isFinal: true } as const

interface SignedTransaction {
  /** Base 58; the name of the transaction. */
  readonly signature: string
  /** Base 64; `''`: it cannot be sent from here. */
  readonly text: string
}

/** Signs as fee payer; undefined where another account pays the fee. */
const createSigner = async ({ bytes, address }: SolanaKey) => {
  const keyPair = await createKeyPairFromBytes(bytes)
  return async ({ payload }: VerifiedPayment): Promise<SignedTransaction | undefined> => {
    const read = readSvmTransaction(payload.transaction)
    if (typeof read === 'string' || read.feePayer !== address) return undefined
    const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(read.text))
    const signed = await partiallySignTransaction([keyPair], transaction)
    return {
      signature: getSignatureFromTransaction(signed),
      text: getBase64EncodedWireTransaction(signed),
    }
  }
}

/** Balance of the token account that a payment is from, in base units. */
export const payerBalance = async (
  client: Pick<SvmClient, 'balanceRaw'>,
  { payload }: Pick<VerifiedPayment, 'payload'>,
): Promise<bigint> => {
  const source = sourceAccountOf(payload)
  return source === undefined ? 0n : client.balanceRaw(source)
}

/** What the chain has against a payment now; undefined: nothing. The transaction is run without our signature: with it, it could be sent. */
const problemOnChain = async (
  client: SvmClient,
  payment: VerifiedPayment,
  { log, network }: Pick<SvmSettlementDeps, 'log' | 'network'>,
): Promise<string | undefined> => {
  const reason = await client.simulate(String(payment.payload.transaction))
  if (reason === undefined) return undefined
  if (POOR_FEE_PAYER.test(reason)) log.error({ network, reason }, 'fee payer has too little SOL')
  if (KNOWN.test(reason)) return 'invalid_transaction_state'
  return (await payerBalance(client, payment)) < payment.valueRaw
    ? 'insufficient_funds'
    : 'invalid_exact_svm_transaction_simulation_failed'
}

const waitForEnd = async (
  client: SvmClient,
  sightings: BlockhashSightings,
  {
    signature,
    text,
    blockhash,
    timeoutMs,
  }: SignedTransaction & { readonly blockhash: string; readonly timeoutMs: number },
): Promise<SvmTransactionState> => {
  const endMs = performance.now() + timeoutMs
  let sendAtMs = performance.now() + SEND_AGAIN_MS
  let expiredChecks = 0
  for (;;) {
    // A node that does not answer for a moment says nothing of the transaction.
    const state = await client
      .watch({ signature, blockhash }, sightings)
      .catch(() => 'pending' as const)
    expiredChecks = state === 'expired' ? expiredChecks + 1 : 0
    if (state === 'confirmed' || state === 'failed') return state
    if (expiredChecks >= CHECKS_UNTIL_EXPIRED) return 'expired'
    if (performance.now() >= endMs) return 'pending'
    await sleep(CHECK_INTERVAL_MS)
    if (text === '' || performance.now() < sendAtMs) continue
    sendAtMs = performance.now() + SEND_AGAIN_MS
    await client.send(text)
  }
}
