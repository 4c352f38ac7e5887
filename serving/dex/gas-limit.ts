import { Fault, InvalidInput } from '../../core/errors.ts'
import type { RpcCall } from '../../core/rpc/endpoint.ts'
import { OversizedAnswer, type RpcPool } from '../../core/rpc/pool.ts'
import { isTransactionError } from '../../core/rpc/transaction-errors.ts'
import { askNodes } from './ask-nodes.ts'
import { nodeReason } from './node-reason.ts'

/** A transaction of which the gas is wanted. */
export interface GasRequest {
  readonly from: string
  readonly to: string
  /** Hexadecimal with 0x. */
  readonly data: string
  /** Wei. */
  readonly value: bigint
}

/** Largest answer, bytes: a number, or a reason whose contract is a stranger's. */
const MAX_ANSWER_BYTES = 16_384

const callOf = ({ value, ...rest }: GasRequest): RpcCall => ({
  method: 'eth_estimateGas',
  params: [{ ...rest, value: `0x${value.toString(16)}` }],
  maxBytes: MAX_ANSWER_BYTES,
})

/**
 * Gas that a transaction needs in the state of the newest block, at most `maxGas`. Throws `Fault` TRANSACTION_FAILED for one that would fail as far as
 * the node checks, and CHAIN_CONNECTION_ERROR when no node responded.
 */
export const estimateGasLimit = async (
  nodes: Pick<RpcPool, 'attempt'>,
  request: GasRequest,
  maxGas: bigint,
): Promise<bigint> => {
  const estimate = await askNodes(nodes, async (call) => {
    try {
      return readGas(await call(callOf(request)), maxGas)
    } catch (error) {
      // The transaction is to blame and not the node, which would be rested otherwise.
      if (error instanceof OversizedAnswer) return failedTransaction('its reason is too long')
      if (isTransactionError('evm', 'run', error))
        return failedTransaction(nodeReason(error.message, error.data))
      throw error
    }
  })
  if (estimate instanceof Fault) throw estimate
  return estimate
}

const failedTransaction = (reason: string): Fault =>
  new Fault('TRANSACTION_FAILED', undefined, { reason })

const readGas = (answer: unknown, maxGas: bigint): bigint => {
  const isNumber = typeof answer === 'string' && /^0x[0-9a-fA-F]{1,16}$/.test(answer)
  if (isNumber && BigInt(answer) <= maxGas) return BigInt(answer)
  throw new InvalidInput('bad-gas-limit', 'the node returned no gas estimate')
}
