import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { type Hex, keccak256, type TransactionReceipt } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { call, prepareTransactionRequest } from 'viem/actions'
import type { Logger } from '../../core/ops/logger.ts'
import { RpcError, type RpcPool } from '../../core/rpc/pool.ts'
import type { PaymentNetworkName } from '../../schemas/payment-networks.ts'
import type { Facilitator, SettlementOrder, SettlementOutcome } from './contract.ts'
import {
  findTransfer,
  isRefusal,
  lookUpTransfer,
  type NodeClient,
  openClient,
  receiptOf,
  requestOf,
  transferCall,
  whyRefused,
} from './evm-node.ts'

/** Payments that wait for their turn to be sent. */
const MAX_WAITING = 64
/** How long a transaction is waited for, and how often it is asked for. */
const RECEIPT_TIMEOUT_MS = 30_000
const RECEIPT_INTERVAL_MS = 250
/** What settling on one network needs. */
export interface EvmSettlementDeps {
  readonly network: PaymentNetworkName
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
  const lane = pLimit(1)
  const nonces = createNonceCounter()
  const send = async ({ payment, beforeSend }: SettlementOrder): Promise<SendOutcome> => {
    const unsigned = await prepareTransactionRequest(client, {
      ...transferCall(payment),
      account,
      type: 'eip1559',
    })
    const nonce = nonces.next(unsigned.nonce)
    const raw = await account.signTransaction({ ...unsigned, nonce })
    const hash = keccak256(raw)
    await beforeSend(hash)
    try {
      await requestOf(pool)({ method: 'eth_sendRawTransaction', params: [raw] })
    } catch (error) {
      nonces.forget()
      log.warn({ err: error, network: deps.network, hash }, 'payment was not sent')
      return { hash, isRefused: error instanceof RpcError }
    }
    return { hash, isRefused: false }
  }
  const settleNew = async (order: SettlementOrder): Promise<SettlementOutcome> => {
    if (lane.pendingCount >= MAX_WAITING)
      return { problem: 'unexpected_settle_error', isFinal: true }
    let sent: SendOutcome
    try {
      sent = await lane(() => send(order))
    } catch (error) {
      if (!isRefusal(error)) throw error
      return { problem: await whyRefused(client, order.payment), isFinal: true }
    }
    const receipt = await waitForReceipt(
      client,
      sent.hash,
      sent.isRefused ? 0 : (deps.receiptTimeoutMs ?? RECEIPT_TIMEOUT_MS),
    )
    if (receipt?.status === 'success') return { transaction: sent.hash }
    nonces.forget()
    const elsewhere = await findTransfer(client, order.payment)
    if (elsewhere !== undefined) return { transaction: elsewhere }
    return {
      problem: 'unexpected_settle_error',
      // Not mined, and not refused: it may be mined yet.
      isFinal: receipt !== undefined || sent.isRefused,
    }
  }
  return {
    verify: async (payment) => {
      try {
        await call(client, { ...transferCall(payment), account })
        return undefined
      } catch (error) {
        if (!isRefusal(error)) throw error
        return whyRefused(client, payment)
      }
    },
    settle: async (order) => {
      const { earlier, payment } = order
      if (earlier === undefined) return settleNew(order)
      const state = await lookUpTransfer(client, payment, earlier)
      if (state === 'unused') return settleNew(order)
      return typeof state === 'string'
        ? { problem: 'invalid_transaction_state', isFinal: true }
        : state
    },
    lookUp: (transfer, earlier) => lookUpTransfer(client, transfer, earlier),
    close: async () => pool.close(),
  }
}

interface SendOutcome {
  readonly hash: Hex
  /** The node would not have it. */
  readonly isRefused: boolean
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
