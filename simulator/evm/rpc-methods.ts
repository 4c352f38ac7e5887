import { type Hex, numberToHex } from 'viem'
import { isJsonObject } from '../../core/json.ts'
import { JsonRpcError } from '../node/rpc.ts'
import type { StateReader } from '../node/state.ts'
import {
  blockToJson,
  logsToJson,
  receiptsToJson,
  type SealedBlock,
  transactionToJson,
} from './blocks.ts'
import { type EvmChain, FINAL_DEPTH, SAFE_DEPTH } from './chain.ts'
import { callContract, codeAt } from './contract-calls.ts'
import { CHAIN_ID } from './transactions.ts'

type RpcMethod = (chain: EvmChain, params: readonly unknown[]) => unknown

const HASH = /^0x[0-9a-fA-F]{64}$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const QUANTITY = /^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,15})$/
const DATA = /^0x([0-9a-fA-F]{2})*$/

/** Bounds of `eth_getLogs`, as public nodes have them. */
const MAX_LOG_BLOCKS = 1_000
const MAX_LOG_RESULTS = 10_000

const invalidArgument = (at: number, why: string): JsonRpcError =>
  new JsonRpcError(-32602, `invalid argument ${at}: ${why}`)

const textParam = (params: readonly unknown[], at: number, shape: RegExp): string => {
  const value = params[at]
  if (value === undefined)
    throw new JsonRpcError(-32602, `missing value for required argument ${at}`)
  if (typeof value !== 'string' || !shape.test(value))
    throw invalidArgument(at, 'not a valid hex string')
  return value.toLowerCase()
}

const heightOf = (chain: EvmChain, tag: unknown, at: number): number => {
  const head = chain.head().height
  if (tag === undefined || tag === 'latest' || tag === 'pending') return head
  if (tag === 'earliest') return 0
  if (tag === 'safe') return Math.max(0, head - SAFE_DEPTH)
  if (tag === 'finalized') return Math.max(0, head - FINAL_DEPTH)
  if (typeof tag === 'string' && QUANTITY.test(tag)) {
    const height = Number(tag)
    if (Number.isSafeInteger(height)) return height
  }
  throw invalidArgument(at, 'not a block number, a tag or a hash')
}

/** Block by number, tag, hash or EIP-1898 object; undefined when the node does not know it. */
const blockOf = async (
  chain: EvmChain,
  ref: unknown,
  at: number,
): Promise<SealedBlock | undefined> => {
  if (typeof ref === 'string' && HASH.test(ref)) return chain.byHash(ref.toLowerCase())
  if (!isJsonObject(ref)) return chain.block(heightOf(chain, ref, at))
  const { blockHash, blockNumber, requireCanonical } = ref
  if (blockHash === undefined) return chain.block(heightOf(chain, blockNumber, at))
  if (typeof blockHash !== 'string' || !HASH.test(blockHash))
    throw invalidArgument(at, 'not a block hash')
  const block = await chain.byHash(blockHash.toLowerCase())
  if (block !== undefined && requireCanonical === true && !chain.isOnShow(block))
    throw new JsonRpcError(-32000, 'hash is not currently canonical')
  return block
}

const callContextAt = async (chain: EvmChain, ref: unknown, at: number) => {
  const block = await blockOf(chain, ref, at)
  if (block === undefined) throw new JsonRpcError(-32000, 'header not found')
  const read: StateReader = await chain.read(block)
  const { scenario, layout } = chain.producer
  return { scenario, layout, read }
}

const findTransaction = async (chain: EvmChain, hash: string) => {
  const height = chain.heightOfTransaction(hash)
  const block = height === undefined ? undefined : await chain.block(height)
  const index = block?.transactions.findIndex((tx) => tx.hash === hash) ?? -1
  const tx = block?.transactions[index]
  return block === undefined || tx === undefined ? undefined : { block, tx, index }
}

const parseFilterValues = (value: unknown, at: number): ReadonlySet<string> | undefined => {
  if (value === undefined || value === null) return undefined
  const list = Array.isArray(value) ? value : [value]
  if (list.length > 1_000 || !list.every((one) => typeof one === 'string' && DATA.test(one)))
    throw invalidArgument(at, 'bad filter')
  return list.length === 0 ? undefined : new Set(list.map((one: string) => one.toLowerCase()))
}

const logFilter = (filter: Readonly<Record<string, unknown>>) => {
  const { topics = [] } = filter
  if (!Array.isArray(topics) || topics.length > 4) throw invalidArgument(0, 'bad topics')
  const addresses = parseFilterValues(filter.address, 0)
  const words = topics.map((topic) => parseFilterValues(topic, 0))
  return (log: { readonly address: string; readonly topics: readonly string[] }): boolean =>
    (addresses === undefined || addresses.has(log.address)) &&
    words.every((word, at) => word === undefined || word.has(log.topics[at] ?? ''))
}

async function* blocksOf(chain: EvmChain, filter: Readonly<Record<string, unknown>>) {
  if (filter.blockHash !== undefined) {
    if (filter.fromBlock !== undefined || filter.toBlock !== undefined)
      throw new JsonRpcError(-32602, 'cannot specify both BlockHash and FromBlock/ToBlock')
    const block = await blockOf(chain, { blockHash: filter.blockHash }, 0)
    if (block === undefined) throw new JsonRpcError(-32000, 'unknown block')
    yield block
    return
  }
  const from = heightOf(chain, filter.fromBlock, 0)
  const to = heightOf(chain, filter.toBlock, 0)
  if (from > to) throw new JsonRpcError(-32602, 'invalid block range params')
  if (to - from >= MAX_LOG_BLOCKS)
    throw new JsonRpcError(-32005, `block range is too large, most is ${MAX_LOG_BLOCKS}`)
  for (let height = from; height <= to; height += 1) {
    const block = await chain.block(height)
    if (block === undefined) return
    yield block
  }
}

const getLogs: RpcMethod = async (chain, [filter]) => {
  if (!isJsonObject(filter)) throw invalidArgument(0, 'not a filter object')
  const fits = logFilter(filter)
  const found: ReturnType<typeof logsToJson> = []
  for await (const block of blocksOf(chain, filter)) {
    found.push(...logsToJson(block).filter(fits))
    if (found.length > MAX_LOG_RESULTS)
      throw new JsonRpcError(-32005, `query returned more than ${MAX_LOG_RESULTS} results`)
  }
  return found
}

const ethCall: RpcMethod = async (chain, params) => {
  const [tx] = params
  if (!isJsonObject(tx)) throw invalidArgument(0, 'not a transaction object')
  const data = tx.input ?? tx.data ?? '0x'
  if (typeof data !== 'string' || !DATA.test(data)) throw invalidArgument(0, 'bad call data')
  if (tx.to !== undefined && (typeof tx.to !== 'string' || !ADDRESS.test(tx.to)))
    throw invalidArgument(0, 'bad address')
  const view = await callContextAt(chain, params[1], 1)
  if (tx.to === undefined) return '0x'
  const answer = callContract(view, String(tx.to).toLowerCase(), data.toLowerCase())
  if (answer.data === undefined) throw new JsonRpcError(3, 'execution reverted', '0x')
  return answer.data
}

const blockResult = (block: SealedBlock | undefined, full: unknown) => {
  if (full !== undefined && typeof full !== 'boolean') throw invalidArgument(1, 'not a boolean')
  return block === undefined ? null : blockToJson(block, full === true)
}

const accountMethod =
  (answer: (facts: Awaited<ReturnType<typeof callContextAt>>, address: string) => Hex): RpcMethod =>
  async (chain, params) => {
    const address = textParam(params, 0, ADDRESS)
    return answer(await callContextAt(chain, params[1], 1), address)
  }

/** Every method that the node answers, by name; subscriptions belong to the socket. */
export const RPC_METHODS: Readonly<Record<string, RpcMethod>> = {
  eth_chainId: () => numberToHex(CHAIN_ID),
  net_version: () => String(CHAIN_ID),
  net_listening: () => true,
  web3_clientVersion: () => 'Harbour/v1.4.2-stable/linux-x64/node20',
  eth_syncing: () => false,
  eth_blockNumber: (chain) => numberToHex(chain.head().height),
  eth_gasPrice: (chain) => numberToHex(chain.head().baseFeeRaw + 1_000_000_000n),
  eth_getBlockByNumber: async (chain, params) => {
    if (params[0] === undefined)
      throw new JsonRpcError(-32602, 'missing value for required argument 0')
    return blockResult(await chain.block(heightOf(chain, params[0], 0)), params[1])
  },
  eth_getBlockByHash: async (chain, params) =>
    blockResult(await chain.byHash(textParam(params, 0, HASH)), params[1]),
  eth_getBlockReceipts: async (chain, params) => {
    if (params[0] === undefined)
      throw new JsonRpcError(-32602, 'missing value for required argument 0')
    const block = await blockOf(chain, params[0], 0)
    return block === undefined ? null : receiptsToJson(block, chain.producer.blooms)
  },
  eth_getTransactionReceipt: async (chain, params) => {
    const found = await findTransaction(chain, textParam(params, 0, HASH))
    if (found === undefined) return null
    return receiptsToJson(found.block, chain.producer.blooms)[found.index]
  },
  eth_getTransactionByHash: async (chain, params) => {
    const found = await findTransaction(chain, textParam(params, 0, HASH))
    return found === undefined ? null : transactionToJson(found.block, found.tx, found.index)
  },
  eth_getLogs: getLogs,
  eth_call: ethCall,
  eth_getCode: accountMethod(codeAt),
  eth_getBalance: accountMethod(({ scenario, layout, read }, address) => {
    const holder = scenario.accountOf.get(address)
    return numberToHex(holder === undefined ? 0n : read(layout.ether(holder.index)))
  }),
  eth_getTransactionCount: accountMethod(({ scenario, layout, read }, address) => {
    const holder = scenario.accountOf.get(address)
    return numberToHex(holder === undefined ? 0n : read(layout.nonce(holder.index)))
  }),
}
