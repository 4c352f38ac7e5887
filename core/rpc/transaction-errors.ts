import type { Vm } from '../../schemas/chains.ts'
import { RpcError } from './endpoint.ts'

/** What a node was asked to do with a transaction: to run it without effect (also a call of a contract), or to send it on. */
export type TransactionStep = 'run' | 'send'

interface TransactionErrors {
  readonly codes: Readonly<Record<TransactionStep, ReadonlySet<number>>>
  /** What nodes say of a call that reverts, under whichever code; absent: the code tells. */
  readonly reverts?: RegExp
}

/**
 * Errors of JSON-RPC by which a node refuses a transaction and not the call.
 *
 * EVM. 3: execution reverted (go-ethereum internal/ethapi/errors.go). -32000: what go-ethereum says of any transaction that it does not take
 * or that fails otherwise (rpc/errors.go, core/txpool/errors.go). -32003, and -32010 of Nethermind: transaction rejected (EIP-1474; Nethermind
 * JsonRpc/ErrorCodes.cs). -32015: execution error of Nethermind and OpenEthereum. -32602 of a sent one: it cannot be read (EIP-1474). Besu,
 * Hardhat and providers give other codes with the text of a revert.
 *
 * Solana. -32002: it fails when it is run. -32003: a signature is wrong. -32602: it cannot be read. -32006: a signature that a program
 * checks is wrong. -32013: signatures are missing. -32015: its version is unknown (agave rpc-client-api, custom_error.rs). -32004, -32005, -32014
 * and -32016 are of a node that is behind.
 */
const TRANSACTION_ERRORS: Readonly<Partial<Record<Vm, TransactionErrors>>> = {
  evm: {
    codes: {
      run: new Set([3, -32_000, -32_003, -32_015]),
      send: new Set([3, -32_000, -32_003, -32_010, -32_602]),
    },
    reverts: /\brevert|vm execution error/i,
  },
  svm: {
    codes: {
      run: new Set([-32_002, -32_003, -32_006, -32_013, -32_015, -32_602]),
      send: new Set([-32_002, -32_003, -32_006, -32_013, -32_015, -32_602]),
    },
  },
}

/**
 * What says under a code of above that the node is at fault: it limits its caller, is behind, or does not hold the state. Source: go-ethereum
 * (`header not found`, `missing trie node`, `execution aborted (timeout`), texts of providers, which use -32000 and -32003 for their limits.
 */
const NODE_FAULTS =
  /rate.?limit|request limit|too many requests|header not found|unknown block|missing trie node|timeout|timed out|still syncing|node is behind/i

/** True where a node says that the transaction is to blame and not the node, which would be rested otherwise. */
export const isTransactionError = (
  vm: Vm,
  step: TransactionStep,
  error: unknown,
): error is RpcError => {
  const errors = TRANSACTION_ERRORS[vm]
  if (!(error instanceof RpcError) || errors === undefined) return false
  if (step === 'run' && errors.reverts?.test(`${error.message} ${error.data ?? ''}`)) return true
  return errors.codes[step].has(error.code) && !NODE_FAULTS.test(error.message)
}

/** Method not found, method not supported. Source: JSON-RPC 2.0, EIP-1474. */
const MISSING_METHOD: ReadonlySet<number> = new Set([-32_601, -32_004])

/** True where a node says that it does not offer a method. */
export const isMissingMethod = (error: unknown): boolean =>
  error instanceof RpcError && MISSING_METHOD.has(error.code)
