import { type Fault, InvalidInput } from '../../core/errors.ts'
import type { CallEndpoint, RpcPool } from '../../core/rpc/pool.ts'
import { isTransactionError } from '../../core/rpc/transaction-errors.ts'
import { isKnownByAny } from './ask-nodes.ts'
import type { SignedTransaction } from './evm-signed-transaction.ts'
import { type NodeErrors, nodeErrorFault, sendOverNodes } from './node-refusal.ts'

/** What nodes say of a transaction that they have. Source: go-ethereum core/txpool/errors.go; Nethermind, Besu and anvil have words of their own. */
const KNOWN = /already known|known transaction|already imported|alreadyknown|already in/i
const OLD_NONCE = /nonce.{0,4}too low|old ?nonce|nonce_too_low/i

/** Errors of nodes with a fault code of their own; others are passed on as TRANSACTION_FAILED. */
const NODE_ERRORS: NodeErrors = [
  [OLD_NONCE, 'TRANSACTION_FAILED', 'nonce_too_low'],
  [/insufficient funds|insufficientfunds/i, 'INSUFFICIENT_BALANCE', 'insufficient_funds'],
  [
    /underpriced|fee ?cap|fee per gas|base ?fee|gas price|feetoolow/i,
    'FEE_PARAMETER_ERROR',
    'fees',
  ],
]

/**
 * Hands a transaction to a node of its chain; one that the chain has already is as good. Throws `Fault` INSUFFICIENT_BALANCE,
 * FEE_PARAMETER_ERROR, TRANSACTION_FAILED where a node refuses it, CHAIN_CONNECTION_ERROR where none takes the call: it may be out even so.
 */
export const broadcast = (
  nodes: RpcPool,
  transaction: SignedTransaction,
  /** Where to look whether the chain has it: endpoints that only take transactions do not tell. */
  checkedBy?: RpcPool,
): Promise<void> =>
  sendOverNodes(nodes, (call) =>
    sendOver(call, transaction, () =>
      checkedBy
        ? isKnownByAny(checkedBy, (look) => isKnown(look, transaction.hash))
        : isKnown(call, transaction.hash),
    ),
  )

const sendOver = async (
  call: CallEndpoint,
  { hex, hash }: SignedTransaction,
  isInChain: () => Promise<boolean>,
): Promise<'sent' | Fault> => {
  try {
    const answer = await call({ method: 'eth_sendRawTransaction', params: [hex] })
    if (answer === hash) return 'sent'
    throw new InvalidInput('wrong-hash', 'the node returned another transaction hash than was sent')
  } catch (error) {
    // The transaction is to blame and not the node, which would be rested otherwise.
    if (!isTransactionError('evm', 'send', error)) throw error
    if (KNOWN.test(error.message)) return 'sent'
    // Nodes say so of one that is in a block.
    if (OLD_NONCE.test(error.message) && (await isInChain())) return 'sent'
    return nodeErrorFault(error.message, NODE_ERRORS)
  }
}

const isKnown = async (call: CallEndpoint, hash: string): Promise<boolean> => {
  const found = await call({ method: 'eth_getTransactionByHash', params: [hash] })
  return typeof found === 'object' && found !== null
}
