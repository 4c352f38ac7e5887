import { minBigint } from '../../core/bigint-math.ts'
import { Fault, InvalidInput } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { type CallEndpoint, OversizedAnswer, type RpcPool } from '../../core/rpc/pool.ts'
import { isMissingMethod, isTransactionError } from '../../core/rpc/transaction-errors.ts'
import type { GasBounds } from '../../schemas/chains.ts'
import { askNodes } from './ask-nodes.ts'
import {
  type AccountCall,
  BALANCE_CODE,
  type CallAnswer,
  RUNNER_CODE,
  readRun,
  runData,
} from './call-runner.ts'
import { allowanceData, answeredNumber, balanceData, type GasFees, quantity } from './evm-calls.ts'
import { nodeReason } from './node-reason.ts'
import { type Permit2Allowance, permit2AllowanceData, readPermit2Allowance } from './permit2.ts'
import { revertReason } from './revert-reason.ts'
import {
  PERMIT_QUESTIONS,
  permitNonceData,
  readPermitTerms,
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

/**
 * Reads of a node that building a transaction needs. Each throws `Fault` CHAIN_CONNECTION_ERROR where no node gave an answer: an error of one
 * node is not an answer, but for what it says of the contract that was called.
 */
export interface EvmAccountReader {
  account(owner: string, token: string | null, router: string): Promise<EvmAccount>
  /** What Permit2 lets a spender take. */
  permit2Allowance(
    contract: { readonly permit2: string },
    of: { readonly owner: string; readonly token: string; readonly spender: string },
  ): Promise<Permit2Allowance>
  /** What a token says of an owner's next permit; undefined where it takes none, or none in a form of `permit-forms.ts`. */
  tokenPermit(of: {
    readonly chainId: number
    readonly token: string
    readonly owner: string
  }): Promise<TokenPermitState | undefined>
  /** Of a token, or of the chain's native token (null). */
  balance(owner: string, token: string | null): Promise<bigint>
  /**
   * Twice the base fee and the tip that the node proposes, at most those of the bounds: who gets less waits longer, and loses nothing. Where
   * blocks state no base fee a gas price, at most the tip of the bounds: all of it goes to the producer of the block.
   */
  fees(): Promise<GasFees>
  /** Gas of a call as it would run now, within the bounds. Throws `Fault` DEX_SWAP_SIMULATED_FAILED where it reverts. */
  gasOf(call: EvmCall): Promise<bigint>
  /**
   * What calls give that the first of the accounts would make at the newest block, one after the other; every account can run calls for that
   * time (`runData`), and `nativeBalanceCall` is answered. Undefined where the node does not run code of the caller's.
   */
  trial(
    accounts: readonly [string, ...string[]],
    calls: readonly AccountCall[],
  ): Promise<readonly CallAnswer[] | undefined>
}

/** Tip where a node does not propose one: 1 gwei. */
const DEFAULT_TIP = 1_000_000_000n
/** Largest answers, bytes: of numbers, names and reasons, whose contract is a stranger's, and of a block without its transactions. */
const [MAX_ANSWER_BYTES, MAX_BLOCK_BYTES] = [16_384, 4_194_304]

/** What a contract answers, or why the call of it fails. */
type RunAnswer = { readonly value: string } | { readonly failed: string }

const invalid = (method: string): InvalidInput =>
  new InvalidInput('bad-answer', `the node's answer to ${method} has an unexpected format`)

const readNumber = (answer: unknown, method: string): bigint => {
  const number = answeredNumber(answer)
  if (number === undefined) throw invalid(method)
  return number
}

const isHex = (value: unknown): value is string =>
  typeof value === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(value)

/** Runs a call. The transaction is to blame and not the node, which would be rested otherwise, where the node says so. */
const run = async (
  call: CallEndpoint,
  method: string,
  params: readonly unknown[],
): Promise<RunAnswer> => {
  try {
    const value = await call({ method, params, maxBytes: MAX_ANSWER_BYTES })
    if (isHex(value) || answeredNumber(value) !== undefined) return { value: value as string }
    throw invalid(method)
  } catch (error) {
    // The contract decides how long its answer is.
    if (error instanceof OversizedAnswer) return { failed: 'the answer is too large' }
    if (!isTransactionError('evm', 'run', error)) throw error
    return { failed: nodeReason(error.message, error.data) }
  }
}

/** A node that does not take code of the caller's refuses the parameter or the method: it does not fail. */
const leftOut = (error: unknown): RunAnswer => {
  if (!isTransactionError('evm', 'send', error) && !isMissingMethod(error)) throw error
  return { failed: String(error) }
}

const beyond = (method: string, value: bigint, most: bigint): InvalidInput =>
  new InvalidInput('implausible-gas', `${method} says ${value}, more than ${most}`)

/**
 * The fees of the newest block and what the node proposes, within the bounds; undefined: it has no newest block. A base fee that the price of
 * the bounds cannot pay is an invalid answer: what is made with it would never get into a block.
 */
const feesOver = async (call: CallEndpoint, bounds: GasBounds): Promise<GasFees | undefined> => {
  const ask = (method: string, params: readonly unknown[] = []) =>
    call({ method, params, maxBytes: MAX_BLOCK_BYTES })
  const block = await ask('eth_getBlockByNumber', ['latest', false])
  if (block === null) return undefined
  if (!isJsonObject(block)) throw invalid('eth_getBlockByNumber')
  const base = answeredNumber(block.baseFeePerGas)
  if (base === undefined) {
    const price = readNumber(await ask('eth_gasPrice'), 'eth_gasPrice')
    return { gasPrice: minBigint(price, bounds.tip) }
  }
  if (base + bounds.tip > bounds.price)
    throw beyond('baseFeePerGas', base, bounds.price - bounds.tip)
  const proposed = await ask('eth_maxPriorityFeePerGas').then(
    (answer) => readNumber(answer, 'eth_maxPriorityFeePerGas'),
    (error: unknown) => {
      if (isMissingMethod(error)) return DEFAULT_TIP
      throw error
    },
  )
  const tip = minBigint(proposed, bounds.tip)
  return { maxFeePerGas: minBigint(2n * base + tip, bounds.price), maxPriorityFeePerGas: tip }
}

/** Reads over the nodes of a chain, which are believed up to its bounds. */
export const createEvmAccountReader = (
  rpc: Pick<RpcPool, 'attempt'>,
  bounds: GasBounds,
): EvmAccountReader => {
  const request = <Answer>(work: (call: CallEndpoint) => Promise<Answer | undefined>) =>
    askNodes(rpc, work)
  const askNumber = (method: string, params: readonly unknown[]): Promise<bigint> =>
    request(async (call) =>
      readNumber(await call({ method, params, maxBytes: MAX_ANSWER_BYTES }), method),
    )
  /** undefined: the contract reverts, and so says nothing. */
  const answerOf = async (to: string, data: string): Promise<string | undefined> => {
    const answer = await request((call) => run(call, 'eth_call', [{ to, data }, 'latest']))
    return 'value' in answer ? answer.value : undefined
  }
  /** What a contract counts; nothing where it reverts or is not there. */
  const view = async (to: string, data: string): Promise<bigint> =>
    answeredNumber(await answerOf(to, data)) ?? 0n
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
      const terms = readPermitTerms(answers, { chainId, verifyingContract: token })
      return terms && { ...terms, nonceRaw }
    },
    account: async (owner, token, router) => {
      const nonce = Number(await askNumber('eth_getTransactionCount', [owner, 'pending']))
      const balanceRaw = await balance(owner, token)
      if (token === null) return { nonce, balanceRaw, allowanceRaw: balanceRaw }
      return { nonce, balanceRaw, allowanceRaw: await view(token, allowanceData(owner, router)) }
    },
    fees: () => request((call) => feesOver(call, bounds)),
    gasOf: async ({ from, to, data, valueRaw }) => {
      const params = [{ from, to, data, value: quantity(valueRaw) }]
      const answer = await request(async (call) => {
        const ran = await run(call, 'eth_estimateGas', params)
        if ('failed' in ran) return ran
        const gas = readNumber(ran.value, 'eth_estimateGas')
        if (gas > bounds.units) throw beyond('eth_estimateGas', gas, bounds.units)
        return { gas }
      })
      if ('gas' in answer) return answer.gas
      const { failed } = answer
      const details = { reason: revertReason(failed), logs: [failed] }
      throw new Fault('DEX_SWAP_SIMULATED_FAILED', undefined, details)
    },
    trial: async (accounts, calls) => {
      const [account] = accounts
      const trial = { from: account, to: account, data: runData(calls) }
      const { address, code: balanceCode } = BALANCE_CODE
      const code = Object.fromEntries([
        ...accounts.map((each) => [each, { code: RUNNER_CODE }] as const),
        [address, { code: balanceCode }] as const,
      ])
      const answer = await request((call) =>
        run(call, 'eth_call', [trial, 'latest', code]).catch(leftOut),
      )
      return 'value' in answer ? readRun(answer.value) : undefined
    },
  }
}
