import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { type Hex, keccak256, type TransactionReceipt } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { call, estimateGas, prepareTransactionRequest } from 'viem/actions'
import { Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { CallEndpoint, RpcPool } from '../../core/rpc/pool.ts'
import { isTransactionError } from '../../core/rpc/transaction-errors.ts'
import type { EvmPaymentNetworkName } from '../../schemas/payment-networks.ts'
import {
  type Facilitator,
  MAX_OPEN_PAYMENTS,
  type SettlementOrder,
  type SettlementOutcome,
} from './contract.ts'
import {
  atPending,
  findTransfer,
  isRefusal,
  isWaiting,
  lookUpEnded,
  lookUpTransfer,
  type NodeClient,
  openClient,
  payerBalanceRaw,
  receiptOf,
  refusalReason,
  transferCall,
} from './evm-node.ts'

/** How long a transaction is waited for, and how often it is asked for. */
const RECEIPT_TIMEOUT_MS = 30_000
const RECEIPT_INTERVAL_MS = 250

/** What settling on one network needs. */
export interface EvmSettlementDeps {
  readonly network: EvmPaymentNetworkName
  /** Nodes of the network. */
  readonly pool: Pick<RpcPool, 'attempt' | 'close'>
  /** Private key of the account that pays the gas. */
  readonly gasKey: string
  readonly log: Logger
  readonly receiptTimeoutMs?: number
}

/** Brings authorized transfers to the chain with an account of ours that pays the gas. One transaction is signed after the other. */
export const createEvmSettlement = (deps: EvmSettlementDeps): Facilitator => {
  const { pool, log } = deps
  const client = openClient(deps)
  const account = privateKeyToAccount(deps.gasKey as Hex)
  const sendQueue = pLimit(1)
  const nonces = createNonceCounter()
  const send = async ({ payment, beforeSend }: SettlementOrder): Promise<SendOutcome> => {
    const transfer = transferCall(payment)
    // Also what was sent before and is not mined is counted against the payer's balance.
    const gas = await atPending((blockTag) =>
      estimateGas(client, { ...transfer, account: account.address, blockTag, prepare: false }),
    )
    const unsigned = await prepareTransactionRequest(client, {
      ...transfer,
      account,
      gas,
      type: 'eip1559',
    })
    const nonce = nonces.next(unsigned.nonce)
    const raw = await account.signTransaction({ ...unsigned, nonce })
    const hash = keccak256(raw)
    await beforeSend(hash)
    const { error, isLost } = await sendRaw(pool, raw)
    if (error === undefined) return { hash, isRefused: false }
    nonces.forget()
    log.warn({ err: error, network: deps.network, hash }, 'a node did not take a payment')
    return { hash, isRefused: !isLost && !(await isWaiting(client, hash)) }
  }
  /** What becomes of a transaction that was signed. Only what the chain says of it is final, or that every node refused it. */
  const outcomeOf = async (
    { payment }: SettlementOrder,
    { hash, isRefused }: SendOutcome,
  ): Promise<SettlementOutcome> => {
    const waitMs = isRefused ? 0 : (deps.receiptTimeoutMs ?? RECEIPT_TIMEOUT_MS)
    const receipt = await waitForReceipt(client, hash, waitMs)
    if (receipt?.status === 'success') return { transaction: hash }
    nonces.forget()
    const elsewhere = await findTransfer(client, payment)
    if (elsewhere !== undefined) return { transaction: elsewhere }
    return { problem: 'unexpected_settle_error', isFinal: receipt !== undefined || isRefused }
  }
  const settleNew = async (order: SettlementOrder): Promise<SettlementOutcome> => {
    if (sendQueue.pendingCount >= MAX_OPEN_PAYMENTS)
      return { problem: 'unexpected_settle_error', isFinal: true }
    let sent: SendOutcome
    try {
      sent = await sendQueue(() => send(order))
    } catch (error) {
      if (!isRefusal(error)) throw error
      // What it would revert for may be the transaction of an earlier try, which waits.
      const isFinal = order.earlier === undefined
      return { problem: await refusalReason(client, order.payment), isFinal }
    }
    return outcomeOf(order, sent)
  }
  return {
    verify: async (payment, openRaw) => {
      try {
        await atPending((blockTag) => call(client, { ...transferCall(payment), account, blockTag }))
      } catch (error) {
        if (!isRefusal(error)) throw error
        return refusalReason(client, payment)
      }
      if (openRaw <= payment.valueRaw) return undefined
      // What is open and not mined is part of the sum, so it must not be taken from the balance as well.
      return (await payerBalanceRaw(client, payment)) < openRaw ? 'insufficient_funds' : undefined
    },
    settle: async (order) => {
      const { earlier, payment } = order
      if (earlier === undefined) return settleNew(order)
      const state = await lookUpTransfer(client, payment, earlier)
      if (state === 'unused') {
        if (earlier === '' || !(await isWaiting(client, earlier as Hex))) return settleNew(order)
        return outcomeOf(order, { hash: earlier as Hex, isRefused: false })
      }
      return typeof state === 'string'
        ? { problem: 'invalid_transaction_state', isFinal: true }
        : state
    },
    lookUp: (transfer, earlier) => lookUpEnded(client, transfer, earlier),
    close: async () => pool.close(),
  }
}

interface SendOutcome {
  readonly hash: Hex
  /** No node has it: one refused it, and it was given to no other whose answer was lost. */
  readonly isRefused: boolean
}

/** What nodes say of a transaction that they have. Source: go-ethereum core/txpool/errors.go; Nethermind and Besu have words of their own. */
const KNOWN = /already known|known transaction|already imported|alreadyknown/i

/**
 * Sends a signed transaction to the first node that takes the call. `error`: the node refused the transaction, or none took the call.
 * `isLost`: a node was sent it that did not answer, or with an error that blames the node; the transaction may be out.
 */
const sendRaw = async (
  pool: Pick<RpcPool, 'attempt'>,
  raw: Hex,
): Promise<{ readonly error?: unknown; readonly isLost: boolean }> => {
  let isLost = false
  const work = async (call: CallEndpoint): Promise<{ readonly error?: unknown }> => {
    try {
      await call({ method: 'eth_sendRawTransaction', params: [raw] })
      return {}
    } catch (error) {
      if (isTransactionError('evm', 'send', error))
        return KNOWN.test(error.message) ? {} : { error }
      isLost = true
      throw error
    }
  }
  const answer = await pool.attempt(work).catch((error: unknown) => ({ error }))
  return { ...(answer ?? { error: new Outage('rpc', 'no node responded') }), isLost }
}

/** Nodes may not show at once what was just sent: a nonce is never used twice in a row. */
const createNonceCounter = () => {
  let last = -1
  return {
    next: (pending: number): number => {
      last = Math.max(pending, last + 1)
      return last
    },
    forget: (): void => {
      last = -1
    },
  }
}

const waitForReceipt = async (
  client: NodeClient,
  hash: Hex,
  timeoutMs: number,
): Promise<TransactionReceipt | undefined> => {
  const endMs = performance.now() + timeoutMs
  for (;;) {
    // A node that does not answer for a moment says nothing of the transaction.
    const receipt = await receiptOf(client, hash).catch(() => undefined)
    if (receipt !== undefined || performance.now() >= endMs) return receipt
    await sleep(RECEIPT_INTERVAL_MS)
  }
}
