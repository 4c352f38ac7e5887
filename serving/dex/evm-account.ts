import { Fault } from '../../core/errors.ts'
import { RpcError, type RpcPool } from '../../core/rpc/pool.ts'
import { type AccountCall, type CallAnswer, RUNNER_CODE, readRun, runData } from './call-runner.ts'
import { allowanceData, answeredNumber, balanceData, type GasFees, quantity } from './evm-calls.ts'
import { type Permit2Allowance, permit2AllowanceData, readPermit2Allowance } from './permit2.ts'
import { revertReason } from './revert-reason.ts'
import {
  PERMIT_QUESTIONS,
  permitNonceData,
  readTokenDomain,
  type TokenPermitState,
} from './token-permit.ts'

/** What a chain says of the account that is to sign. */
interface EvmAccount {
  readonly nonce: number
  /** Of what is sold. */
  readonly balanceRaw: bigint
  /** What the router may take; the whole balance where the native token itself is sold. */
  readonly allowanceRaw: bigint
}

/** A call as it would be sent. */
interface EvmCall {
  readonly from: string
  readonly to: string
  readonly data: string
  readonly valueRaw: bigint
}

/** Reads of a node that building a transaction needs. Each throws `Fault` CHAIN_CONNECTION_ERROR where no node responded. */
export interface EvmAccountReader {
  account(owner: string, token: string | null, router: string): Promise<EvmAccount>
  /** What Permit2 lets a spender take. */
  permit2Allowance(
    contract: { readonly permit2: string },
    of: { readonly owner: string; readonly token: string; readonly spender: string },
  ): Promise<Permit2Allowance>
  /** What a token says of an owner's next permit; undefined where it takes none, or none in the form of EIP-2612. */
  tokenPermit(of: {
    readonly chainId: number
    readonly token: string
    readonly owner: string
  }): Promise<TokenPermitState | undefined>
  /** Of a token, or of the chain's native token (null). */
  balance(owner: string, token: string | null): Promise<bigint>
  /** Twice the base fee and the tip that the node proposes; a gas price on chains without a base fee. */
  fees(): Promise<GasFees>
  /** Gas of a call as it would run now. Throws `Fault` DEX_SWAP_SIMULATED_FAILED where it reverts. */
  gasOf(call: EvmCall): Promise<bigint>
  /**
   * What calls give that the first of the accounts would make at the newest block, one after the other; every account can run calls for that
   * time (`runData`). Undefined where the node does not run code of the caller's.
   */
  trial(
    accounts: readonly [string, ...string[]],
    calls: readonly AccountCall[],
  ): Promise<readonly CallAnswer[] | undefined>
}

/** Tip where a node does not propose one: 1 gwei. */
const DEFAULT_TIP = 1_000_000_000n
/** Longest part of a node's message that an answer shows. */
const MAX_LOG_LENGTH = 300

/** What a node says, or why it refuses: a node is not to be rested because a contract reverts. */
type NodeAnswer = { readonly value: unknown } | { readonly refused: string }

/** Reads over a chain's nodes. */
export const createEvmAccountReader = (rpc: RpcPool): EvmAccountReader => {
  const request = async (method: string, params: readonly unknown[]): Promise<NodeAnswer> => {
    const response = rpc.attempt(async (call): Promise<NodeAnswer> => {
      try {
        return { value: await call({ method, params }) }
      } catch (error) {
        if (error instanceof RpcError) return { refused: error.message.slice(0, MAX_LOG_LENGTH) }
        throw error
      }
    })
    const answer = await response.catch((cause: unknown) => {
      throw new Fault('CHAIN_CONNECTION_ERROR', undefined, undefined, { cause })
    })
    return answer ?? { refused: '' }
  }
  const askNumber = async (method: string, params: readonly unknown[]): Promise<bigint> => {
    const answer = await request(method, params)
    return ('value' in answer ? answeredNumber(answer.value) : undefined) ?? 0n
  }
  const view = (to: string, data: string): Promise<bigint> =>
    askNumber('eth_call', [{ to, data }, 'latest'])
  const answerOf = async (to: string, data: string): Promise<unknown> => {
    const answer = await request('eth_call', [{ to, data }, 'latest'])
    return 'value' in answer ? answer.value : undefined
  }
  const balance = (owner: string, token: string | null): Promise<bigint> =>
    token === null
      ? askNumber('eth_getBalance', [owner, 'latest'])
      : view(token, balanceData(owner))
  return {
    balance,
    permit2Allowance: async ({ permit2 }, { owner, token, spender }) => {
      const data = permit2AllowanceData(owner, token, spender)
      return readPermit2Allowance(await answerOf(permit2, data))
    },
    tokenPermit: async ({ chainId, token, owner }) => {
      const nonceRaw = answeredNumber(await answerOf(token, permitNonceData(owner)))
      if (nonceRaw === undefined) return undefined
      const [separator, permitType, description, name] = await Promise.all([
        answerOf(token, PERMIT_QUESTIONS.separator),
        answerOf(token, PERMIT_QUESTIONS.permitType),
        answerOf(token, PERMIT_QUESTIONS.description),
        answerOf(token, PERMIT_QUESTIONS.name),
      ])
      const answers = { separator, permitType, description, name }
      const domain = readTokenDomain(answers, { chainId, verifyingContract: token })
      return domain && { domain, nonceRaw }
    },
    account: async (owner, token, router) => {
      const nonce = Number(await askNumber('eth_getTransactionCount', [owner, 'pending']))
      const balanceRaw = await balance(owner, token)
      if (token === null) return { nonce, balanceRaw, allowanceRaw: balanceRaw }
      return { nonce, balanceRaw, allowanceRaw: await view(token, allowanceData(owner, router)) }
    },
    fees: async () => {
      const latest = await request('eth_getBlockByNumber', ['latest', false])
      const block = 'value' in latest ? latest.value : null
      const { baseFeePerGas } = (block ?? {}) as { readonly baseFeePerGas?: unknown }
      const base = answeredNumber(baseFeePerGas)
      if (base === undefined) return { gasPrice: await askNumber('eth_gasPrice', []) }
      const answer = await request('eth_maxPriorityFeePerGas', [])
      const tip = ('value' in answer ? answeredNumber(answer.value) : undefined) ?? DEFAULT_TIP
      return { maxFeePerGas: 2n * base + tip, maxPriorityFeePerGas: tip }
    },
    gasOf: async ({ from, to, data, valueRaw }) => {
      const call = { from, to, data, value: quantity(valueRaw) }
      const answer = await request('eth_estimateGas', [call])
      if ('value' in answer) return answeredNumber(answer.value) ?? 0n
      const { refused } = answer
      const details = { reason: revertReason(refused), logs: [refused] }
      throw new Fault('DEX_SWAP_SIMULATED_FAILED', undefined, details)
    },
    trial: async (accounts, calls) => {
      const [account] = accounts
      const call = { from: account, to: account, data: runData(calls) }
      const code = Object.fromEntries(accounts.map((each) => [each, { code: RUNNER_CODE }]))
      const answer = await request('eth_call', [call, 'latest', code])
      return 'value' in answer ? readRun(answer.value) : undefined
    },
  }
}
