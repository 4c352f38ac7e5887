import { Fault, type FaultName } from '../../core/errors.ts'
import type { CallEndpoint, RpcPool } from '../../core/rpc/pool.ts'
import { askNodes } from './ask-nodes.ts'
import { nodeReason } from './node-reason.ts'

/** What nodes say when they refuse a transaction, with the code and the reason that callers get for it. */
export type NodeErrors = readonly (readonly [said: RegExp, name: FaultName, reason: string])[]

/** The error of a transaction that a node refuses: by what it says, or TRANSACTION_FAILED. */
export const nodeErrorFault = (message: string, nodeErrors: NodeErrors): Fault => {
  const [, name, reason] = nodeErrors.find(([pattern]) => pattern.test(message)) ?? []
  const details = { reason: reason ?? 'refused', node: nodeReason(message) }
  return new Fault(name ?? 'TRANSACTION_FAILED', 'The node rejected the transaction', details)
}

/** What the job of a transaction tells that was handed to a protected endpoint: it goes to no node. */
export const PROTECTED = { submission: 'protected' } as const

/** Hands a transaction to protected endpoints. Throws as `send`, but `Fault` BUNDLE_PROCESSING_FAILED where none takes the call. */
export const sendProtected = <T>(
  endpoints: RpcPool,
  send: (over: RpcPool) => Promise<T>,
): Promise<T> =>
  send(endpoints).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.faultName !== 'CHAIN_CONNECTION_ERROR') throw error
    throw new Fault('BUNDLE_PROCESSING_FAILED', undefined, undefined, { cause: error })
  })

/** What became of a transaction at one node: `unlessTaken` is its refusal where no other node takes it. */
export type SendOutcome = 'sent' | Fault | { readonly unlessTaken: Fault }

/**
 * Sends over the first node that takes the call. Throws the refusal of a node, and `Fault` CHAIN_CONNECTION_ERROR where none takes it: the
 * transaction may be out even so.
 */
export const sendOverNodes = async (
  nodes: RpcPool,
  send: (call: CallEndpoint) => Promise<SendOutcome>,
): Promise<void> => {
  let refusal: Fault | undefined
  const outcome = await askNodes(nodes, async (call) => {
    const sent = await send(call)
    if (sent === 'sent' || sent instanceof Fault) return sent
    refusal = sent.unlessTaken
    return undefined
  }).catch((error: unknown) => {
    throw refusal ?? error
  })
  if (outcome !== 'sent') throw outcome
}
