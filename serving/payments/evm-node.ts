import {
  BaseError,
  createClient,
  custom,
  defineChain,
  encodeFunctionData,
  type Hex,
  parseAbi,
  parseEventLogs,
  parseSignature,
  type TransactionReceipt,
} from 'viem'
import {
  getBlock,
  getBlockNumber,
  getLogs,
  getTransaction,
  getTransactionReceipt,
  readContract,
} from 'viem/actions'
import { Outage } from '../../core/errors.ts'
import { RpcError, type RpcPool } from '../../core/rpc/pool.ts'
import { type EvmPaymentNetworkName, PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import type { AuthorizedTransfer, TransferState, VerifiedPayment } from './contract.ts'

/** Of a token whose transfers are authorized by signature. Source: EIP-20, EIP-3009. */
const TOKEN_ABI = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function balanceOf(address account) view returns (uint256)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

/** Blocks that one read searches for a payment which another sender brought to the chain: nodes bound their number. */
const BLOCKS_PER_SEARCH = 500n
/** Blocks back that are searched in all: eleven hours of two-second blocks. */
const MAX_SEARCHED_BLOCKS = 20_000n

/**
 * What a transaction of ours pays at most, in base fees of when it is signed: what it does pay is the base fee of its block. One that blocks
 * have become too dear for holds up every later one of the account; a base fee rises by an eighth a block at most, so that takes 13 full blocks.
 */
const BASE_FEE_MULTIPLIER = 5

/** Nodes of one payment network. */
export interface EvmNodes {
  readonly network: EvmPaymentNetworkName
  readonly pool: Pick<RpcPool, 'attempt'>
}

/** Addresses, nonces and signatures of payments of the EVM are texts of hex. */
const hex = (text: string): Hex => text as Hex

/** A client of the nodes. */
export type NodeClient = ReturnType<typeof openClient>

/** What a node refuses is its answer, and rests no endpoint. Throws `RpcError` for it, `Outage` where no node responded. */
const requestOf =
  (pool: Pick<RpcPool, 'attempt'>) =>
  async ({ method, params = [] }: { method: string; params?: unknown }): Promise<unknown> => {
    const answer = await pool.attempt(async (call) => {
      try {
        return { value: await call({ method, params: params as readonly unknown[] }) }
      } catch (error) {
        if (error instanceof RpcError) return { refused: error }
        throw error
      }
    })
    if (answer === undefined) throw new Outage('rpc', 'no node responded')
    if ('refused' in answer) throw answer.refused
    return answer.value
  }

/** Reads of a network's nodes. */
export const openClient = ({ network, pool }: EvmNodes) =>
  createClient({
    chain: defineChain({
      id: PAYMENT_NETWORKS[network].chainId,
      name: network,
      nativeCurrency: { name: 'native', symbol: 'native', decimals: 18 },
      rpcUrls: { default: { http: [] } },
      fees: { baseFeeMultiplier: BASE_FEE_MULTIPLIER },
    }),
    // The pool repeats what failed.
    transport: custom({ request: requestOf(pool) }, { retryCount: 0 }),
  })

/** The call that brings an authorized transfer to the chain. */
export const transferCall = ({
  offer,
  from,
  to,
  valueRaw,
  validAfter,
  validBefore,
  nonce,
  signature,
}: VerifiedPayment) => {
  const { r, s, yParity } = parseSignature(hex(signature))
  return {
    to: hex(offer.asset),
    data: encodeFunctionData({
      abi: TOKEN_ABI,
      functionName: 'transferWithAuthorization',
      args: [hex(from), hex(to), valueRaw, validAfter, validBefore, hex(nonce), 27 + yParity, r, s],
    }),
  }
}

/** True where a node answered that it would not: the call reverts, or the transaction is not taken. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof BaseError && error.walk((cause) => cause instanceof RpcError) instanceof RpcError

/** Of an execution that reverts. Source: geth (code 3), Nethermind and OpenEthereum ("VM execution error", data "Reverted"). */
const REVERT_CODE = 3
const REVERT_PATTERN = /revert|vm execution error/i

const isRevert = (error: unknown): boolean =>
  error instanceof BaseError &&
  error.walk(
    (cause) =>
      cause instanceof RpcError &&
      (cause.code === REVERT_CODE || REVERT_PATTERN.test(`${cause.message} ${cause.data}`)),
  ) instanceof RpcError

/** Reads the state that follows from the transactions which wait at the node; where it has no such state, that of the newest block. */
export const atPending = async <Value>(
  read: (blockTag: 'pending' | 'latest') => Promise<Value>,
): Promise<Value> => {
  try {
    return await read('pending')
  } catch (error) {
    if (!isRefusal(error) || isRevert(error)) throw error
    return read('latest')
  }
}

/** Balance of a payer in base units of the token. */
export const payerBalanceRaw = (
  client: NodeClient,
  { offer, from }: Pick<AuthorizedTransfer, 'offer' | 'from'>,
  blockTag: 'pending' | 'latest' = 'latest',
): Promise<bigint> =>
  readContract(client, {
    address: hex(offer.asset),
    abi: TOKEN_ABI,
    functionName: 'balanceOf',
    args: [hex(from)],
    blockTag,
  })

/** Whether the nonce of an authorization is used or canceled. */
const isUsed = (client: NodeClient, { offer, from, nonce }: AuthorizedTransfer): Promise<boolean> =>
  readContract(client, {
    address: hex(offer.asset),
    abi: TOKEN_ABI,
    functionName: 'authorizationState',
    args: [hex(from), hex(nonce)],
  })

/** What the chain has against a payment. */
export const refusalReason = async (
  client: NodeClient,
  payment: VerifiedPayment,
): Promise<string> => {
  if (await isUsed(client, payment)) return 'invalid_transaction_state'
  const balanceRaw = await atPending((blockTag) => payerBalanceRaw(client, payment, blockTag))
  return balanceRaw < payment.valueRaw ? 'insufficient_funds' : 'invalid_transaction_state'
}

/** undefined: not mined as far as the node knows. */
export const receiptOf = async (
  client: NodeClient,
  hash: Hex,
): Promise<TransactionReceipt | undefined> => {
  try {
    return await getTransactionReceipt(client, { hash })
  } catch (error) {
    if (error instanceof BaseError && error.name === 'TransactionReceiptNotFoundError')
      return undefined
    throw error
  }
}

/** True where a node has the transaction and no block does. */
export const isWaiting = async (client: NodeClient, hash: Hex): Promise<boolean> => {
  try {
    return (await getTransaction(client, { hash })).blockNumber === null
  } catch (error) {
    if (error instanceof BaseError && error.name === 'TransactionNotFoundError') return false
    throw error
  }
}

/** The newest event that an authorization was used. */
const findUse = async (client: NodeClient, { offer, from, nonce }: AuthorizedTransfer) => {
  const newest = await getBlockNumber(client, { cacheTime: 0 })
  const oldest = newest > MAX_SEARCHED_BLOCKS ? newest - MAX_SEARCHED_BLOCKS : 0n
  for (let toBlock = newest; toBlock >= oldest; toBlock -= BLOCKS_PER_SEARCH) {
    const first = toBlock - BLOCKS_PER_SEARCH + 1n
    const [used] = await getLogs(client, {
      address: hex(offer.asset),
      event: TOKEN_ABI[3],
      args: { authorizer: hex(from), nonce: hex(nonce) },
      fromBlock: first > oldest ? first : oldest,
      toBlock,
    })
    if (used !== undefined) return used
  }
  return undefined
}

/** Transaction in which the authorization was used to pay us, whoever sent it; undefined: none of late. */
export const findTransfer = async (
  client: NodeClient,
  transfer: AuthorizedTransfer,
): Promise<Hex | undefined> => {
  if (!(await isUsed(client, transfer))) return undefined
  const { offer, from, to, valueRaw } = transfer
  const used = await findUse(client, transfer)
  const receipt = used && (await receiptOf(client, used.transactionHash))
  const transfers = parseEventLogs({
    abi: TOKEN_ABI,
    eventName: 'Transfer',
    logs: receipt?.logs ?? [],
  })
  const isPaid = transfers.some(
    ({ address, args }) =>
      address.toLowerCase() === offer.asset.toLowerCase() &&
      args.from.toLowerCase() === from &&
      args.to.toLowerCase() === to &&
      args.value === valueRaw,
  )
  return isPaid ? receipt?.transactionHash : undefined
}

/** What became of a transfer; `earlier`: a transaction that was sent for it, or `''`. */
export const lookUpTransfer = async (
  client: NodeClient,
  transfer: AuthorizedTransfer,
  earlier: string,
): Promise<TransferState> => {
  const receipt = earlier === '' ? undefined : await receiptOf(client, earlier as Hex)
  if (receipt?.status === 'success') return { transaction: earlier }
  if (!(await isUsed(client, transfer))) return 'unused'
  const transaction = await findTransfer(client, transfer)
  return transaction === undefined ? 'used' : { transaction }
}

/** The same for a transfer that may not come any more: `unused` only where the newest block of the node is past its end, else `unknown`. */
export const lookUpEnded = async (
  client: NodeClient,
  transfer: AuthorizedTransfer,
  earlier: string,
): Promise<TransferState> => {
  const state = await lookUpTransfer(client, transfer, earlier)
  if (state !== 'unused') return state
  const { timestamp } = await getBlock(client, { includeTransactions: false })
  return timestamp >= transfer.validBefore ? state : 'unknown'
}
