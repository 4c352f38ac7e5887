import { setTimeout as sleep } from 'node:timers/promises'
import { Fault, type FaultName, InvalidInput, Outage } from '../../core/errors.ts'
import { rateLimitAddress } from '../../core/http/network-address.ts'
import { RpcError, type RpcPool } from '../../core/rpc/pool.ts'
import { signInChains } from '../../schemas/chains.ts'
import {
  contractSignatureCall,
  hasKeyLength,
  isGoodSignatureResult,
  type SignedMessage,
  signatureDigest,
  verifyKeySignature,
} from './wallet-signature.ts'

/** What is known of a signature. A `Fault` says why it is undecided: that is not a wrong signature. */
export type SignatureAnswer = 'good' | 'wrong' | Fault

/** Signatures that only a contract on the chain can decide. */
export interface ContractSignatures {
  /**
   * Asks the contract at the address of an EVM wallet. `caller`: address of who shows the signature. Without a node what is as long as
   * the signature of a key is wrong, and anything else undecided. Undecided: `Fault` PROVIDER_NOT_INITIALIZED without a node,
   * CHAIN_CONNECTION_ERROR where no node says anything in time, SERVER_BUSY where too many are being checked.
   */
  check(signed: SignedMessage, caller: string): Promise<SignatureAnswer>
}

/** What asking contracts needs. */
export interface ContractSignaturesDeps {
  /** Nodes of the chain that messages name; undefined: none is configured. */
  readonly nodes: () => Pick<RpcPool, 'attempt'> | undefined
  /** How long one check may take, over all nodes. */
  readonly deadlineMs?: number
}

/** The chain whose contracts are asked: the one that messages of EVM wallets name. */
export const WALLET_CHAIN = signInChains('evm')[0]?.id
/** How long one node may take for a call; another is asked then. */
export const NODE_TIMEOUT_MS = 3_000
const DEADLINE_MS = 5_000
/** Checks under way at the same time in all and for one address (IPv6: its /64), so that a slow node holds up few callers. */
const MAX_CHECKS = 32
const MAX_CHECKS_OF_CALLER = 8
/** Gas of one check: enough to make a wallet and to verify a passkey in a contract, a fraction of a block. */
const MAX_GAS = '0x989680'

/** How EVM nodes name code that did not end well. Source: go-ethereum core/vm/errors.go, revm, Nethermind and Besu. */
const EXECUTION_FAILED =
  /revert|out ?of ?(gas|offset|bounds)|stack ?(under|over)flow|(invalid|bad|undefined|unknown).{0,12}(opcode|jump|instruction|operation)|write protection|code size|evm error|vm execution error/i
/** Code of an error that says that the call was reverted. Source: go-ethereum, internal/ethapi. */
const REVERTED_CODE = 3

/** One answer for a signature of any wallet: its key, else its contract. */
export const verifySignature = async (
  contracts: ContractSignatures,
  signed: SignedMessage,
  caller: string,
): Promise<SignatureAnswer> => {
  const result = await verifyKeySignature(signed)
  return result === 'unknown' ? contracts.check(signed, caller) : result
}

/** Asks contracts over nodes of ours; the same signature is asked for once at a time. */
export const createContractSignatures = ({
  nodes,
  deadlineMs = DEADLINE_MS,
}: ContractSignaturesDeps): ContractSignatures => {
  const inProgress = new Map<string, Promise<SignatureAnswer>>()
  const byCaller = new Map<string, number>()
  const start = (signed: SignedMessage, caller: string, pool: Pick<RpcPool, 'attempt'>) => {
    const key = signatureDigest(signed)
    const running = inProgress.get(key)
    if (running !== undefined) return running
    const bucket = rateLimitAddress(caller)
    const count = byCaller.get(bucket) ?? 0
    if (inProgress.size >= MAX_CHECKS || count >= MAX_CHECKS_OF_CALLER)
      return unchecked('SERVER_BUSY')
    byCaller.set(bucket, count + 1)
    // A place is free again when the nodes have answered, not when the caller was: what they work on is bounded too.
    const check = askNodes(signed, pool).finally(() => {
      inProgress.delete(key)
      const left = (byCaller.get(bucket) ?? 1) - 1
      if (left > 0) byCaller.set(bucket, left)
      else byCaller.delete(bucket)
    })
    inProgress.set(key, check)
    return check
  }
  return {
    check: async (signed, caller) => {
      const pool = nodes()
      if (pool === undefined)
        return hasKeyLength(signed.signature) ? 'wrong' : unchecked('PROVIDER_NOT_INITIALIZED')
      return inTime(start(signed, caller, pool), deadlineMs)
    },
  }
}

const unchecked = (name: FaultName, options?: ErrorOptions): Fault =>
  new Fault(name, undefined, { reason: UNCHECKED_SIGNATURE }, options)

/** Reason of a fault that leaves a signature undecided. */
export const UNCHECKED_SIGNATURE = 'unchecked_signature'

const inTime = async (
  check: Promise<SignatureAnswer> | SignatureAnswer,
  deadlineMs: number,
): Promise<SignatureAnswer> => {
  const over = new AbortController()
  try {
    return await Promise.race([
      check,
      sleep(deadlineMs, unchecked('CHAIN_CONNECTION_ERROR'), { signal: over.signal }),
    ])
  } finally {
    over.abort()
  }
}

const askNodes = async (
  signed: SignedMessage,
  pool: Pick<RpcPool, 'attempt'>,
): Promise<SignatureAnswer> => {
  const call = contractSignatureCall(signed)
  const params = [{ ...call, gas: MAX_GAS }, 'latest']
  try {
    const result = await pool.attempt(async (callNode) => {
      try {
        const returned = await callNode({ method: 'eth_call', params })
        if (typeof returned !== 'string')
          throw new InvalidInput('bad-call-result', 'the result of eth_call is not a hex string')
        return isGoodSignatureResult(call, returned) ? 'good' : 'wrong'
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        // A node that would not run the call says nothing of the signature, and no node is rested for the call of a stranger.
        return hasExecutionFailed(error) ? 'wrong' : undefined
      }
    })
    return result ?? unchecked('CHAIN_CONNECTION_ERROR')
  } catch (error) {
    if (error instanceof Outage || error instanceof InvalidInput || error instanceof RpcError)
      return unchecked('CHAIN_CONNECTION_ERROR', { cause: error })
    throw error
  }
}

const hasExecutionFailed = ({ code, message }: RpcError): boolean =>
  code === REVERTED_CODE || EXECUTION_FAILED.test(message)
