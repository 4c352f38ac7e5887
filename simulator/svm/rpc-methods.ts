import { JsonRpcError, JsonText } from '../node/rpc.ts'
import type { StateReader } from '../node/state.ts'
import {
  type AccountInfo,
  createAccountDirectory,
  launchAccountInfo,
  retiredMintInfo,
} from './account-data.ts'
import { lamportsOf } from './accounts.ts'
import { type BlockJsonCache, createBlockJsonCache, unsupportedVersion } from './block-json.ts'
import {
  blockInSlot,
  FINAL_DEPTH,
  heightAtCommitment,
  type SolanaChain,
  visibleSlot,
} from './chain.ts'
import {
  invalidParams,
  optionsParam,
  parseBlockCommitment,
  parseBlockOptions,
  parseCommitment,
  slotParam,
  textParam,
} from './rpc-params.ts'
import { heightAt } from './slots.ts'
import { transactionToJson } from './transaction-json.ts'

/** A chain and what its node keeps beside it. */
export interface SimulatedNode {
  readonly chain: SolanaChain
  readonly blockJson: BlockJsonCache
  readonly accountDirectory: ReturnType<typeof createAccountDirectory>
}

/** A node of a chain. */
export const createNode = (chain: SolanaChain): SimulatedNode => ({
  chain,
  blockJson: createBlockJsonCache(chain.producer.scenario),
  accountDirectory: createAccountDirectory(chain.producer.scenario),
})

type RpcMethod = (node: SimulatedNode, params: readonly unknown[]) => unknown

/** Bounds, as nodes have them. */
const MAX_SLOT_RANGE = 500_000
const MAX_ACCOUNTS = 100
const MAX_SIGNATURES = 256

const VERSION = { 'feature-set': 3_640_012_085, 'solana-core': '3.1.8' } as const

const unsupportedVersionError = (version: number): JsonRpcError =>
  new JsonRpcError(
    -32015,
    `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
  )

const getBlock: RpcMethod = async ({ chain, blockJson }, params) => {
  const slot = slotParam(params, 0)
  const config = optionsParam(params, 1)
  const options = parseBlockOptions(config, 'rewards')
  const newest = await visibleSlot(chain, heightAtCommitment(chain, parseBlockCommitment(config)))
  if (slot > newest) throw new JsonRpcError(-32004, `Block not available for slot ${slot}`)
  const block = await blockInSlot(chain, slot)
  if (block === undefined)
    throw new JsonRpcError(
      -32007,
      `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`,
    )
  const version = unsupportedVersion(block, options)
  if (version !== undefined) throw unsupportedVersionError(version)
  return new JsonText(await blockJson.blockJson(block, options))
}

/** Slots with a block from one slot to another, both included. */
const slotsBetween = async (
  chain: SolanaChain,
  { from, to, most }: { readonly from: number; readonly to: number; readonly most: number },
): Promise<readonly number[]> => {
  const slots: number[] = []
  const { seed } = chain.producer.spec
  const { height: head } = chain.head()
  const first = Math.max(0, heightAt(seed, from))
  for (let height = first; height <= head && slots.length < most; height += 1) {
    const slot = await visibleSlot(chain, height)
    if (slot > to) break
    if (slot >= from) slots.push(slot)
  }
  return slots
}

const getBlocks: RpcMethod = async ({ chain }, params) => {
  const from = slotParam(params, 0)
  const hasEnd = typeof params[1] === 'number'
  const config = optionsParam(params, hasEnd || params[1] === null ? 2 : 1)
  const newest = await visibleSlot(chain, heightAtCommitment(chain, parseBlockCommitment(config)))
  const to = Math.min(newest, hasEnd ? slotParam(params, 1) : newest)
  if (to - from > MAX_SLOT_RANGE)
    throw new JsonRpcError(-32602, `Slot range too large; max ${MAX_SLOT_RANGE}`)
  return slotsBetween(chain, { from, to, most: Number.POSITIVE_INFINITY })
}

const getBlocksWithLimit: RpcMethod = async ({ chain }, params) => {
  const from = slotParam(params, 0)
  const most = slotParam(params, 1)
  if (most > MAX_SLOT_RANGE)
    throw new JsonRpcError(-32602, `Limit too large; max ${MAX_SLOT_RANGE}`)
  const newest = heightAtCommitment(chain, parseBlockCommitment(optionsParam(params, 2)))
  return slotsBetween(chain, { from, to: await visibleSlot(chain, newest), most })
}

const getBlockTime: RpcMethod = async ({ chain }, params) => {
  const slot = slotParam(params, 0)
  if (slot > chain.head().slot)
    throw new JsonRpcError(-32004, `Block not available for slot ${slot}`)
  const block = await blockInSlot(chain, slot)
  if (block === undefined)
    throw new JsonRpcError(-32009, `Slot ${slot} was skipped, or missing in long-term storage`)
  return Math.floor(block.timeMs / 1_000)
}

const findTransaction = async (chain: SolanaChain, hash: string) => {
  const height = chain.heightOfTransaction(hash)
  const block = height === undefined ? undefined : await chain.block(height)
  const tx = block?.transactions.find((one) => one.hash === hash)
  return block === undefined || tx === undefined ? undefined : { block, tx }
}

const getTransaction: RpcMethod = async ({ chain }, params) => {
  const hash = textParam(params, 0)
  const config = typeof params[1] === 'string' ? { encoding: params[1] } : optionsParam(params, 1)
  const { encoding, version } = parseBlockOptions(config, 'rewards')
  const commitment = parseBlockCommitment(config)
  const found = await findTransaction(chain, hash)
  if (found === undefined || found.block.height > heightAtCommitment(chain, commitment)) return null
  const { block, tx } = found
  if (tx.message.version === 0 && version === undefined) throw unsupportedVersionError(0)
  const blockTime = Math.floor(block.timeMs / 1_000)
  return { blockTime, ...transactionToJson(tx, encoding), slot: block.slot }
}

const getSignatureStatuses: RpcMethod = async ({ chain }, [hashes]) => {
  if (!Array.isArray(hashes) || hashes.length > MAX_SIGNATURES)
    throw invalidParams(`expected up to ${MAX_SIGNATURES} signatures.`)
  const { height, slot } = chain.head()
  const value = await Promise.all(
    hashes.map(async (_, at) => {
      const found = await findTransaction(chain, textParam(hashes, at))
      if (found === undefined) return null
      const { err, status } = transactionToJson(found.tx, 'json').meta
      const above = height - found.block.height
      const isFinal = above >= FINAL_DEPTH
      const confirmationStatus = isFinal ? 'finalized' : 'confirmed'
      const confirmations = isFinal ? null : above
      return { slot: found.block.slot, confirmations, err, status, confirmationStatus }
    }),
  )
  return { context: { apiVersion: VERSION['solana-core'], slot }, value }
}

/** What stands at an address in the state that is read. */
const accountInfoAt = (
  { chain, accountDirectory }: SimulatedNode,
  read: StateReader,
  address: string,
): AccountInfo | undefined => {
  const { scenario, launches } = chain.producer
  const old = accountDirectory.get(address)
  if (old !== undefined) {
    const facts = old(read)
    return facts.lamports === 0n ? undefined : facts
  }
  const { layout } = scenario
  const recent = launches.accountByAddress(address)
  if (recent !== undefined) {
    const { launch, account } = recent
    const isAlive = read(layout.launch(launch.slot, 'serial')) === BigInt(launch.serial + 1)
    if (isAlive)
      return lamportsOf(read, account) === 0n
        ? undefined
        : launchAccountInfo(read, scenario, recent)
  }
  const named = launches.byAddress(address, Number(read(layout.common('launches'))))
  return named?.mint.account.address === address ? retiredMintInfo(named) : undefined
}

const accountsJson = async (node: SimulatedNode, addresses: readonly string[], config: object) => {
  const { chain } = node
  const height = heightAtCommitment(chain, parseCommitment({ ...config }))
  const block = await chain.block(height)
  const read = await chain.read(block ?? chain.head())
  const value = addresses.map((address) => {
    const facts = accountInfoAt(node, read, address)
    if (facts === undefined) return null
    return {
      data: [Buffer.from(facts.data).toString('base64'), 'base64'],
      executable: facts.executable,
      lamports: Number(facts.lamports),
      owner: facts.owner,
      rentEpoch: 18_446_744_073_709_552_000,
      space: facts.data.length,
    }
  })
  const slot = block?.slot ?? chain.head().slot
  return { context: { apiVersion: VERSION['solana-core'], slot }, value }
}

const getMultipleAccounts: RpcMethod = (node, params) => {
  const [addresses] = params
  if (!Array.isArray(addresses)) throw invalidParams('expected a list of addresses.')
  if (addresses.length > MAX_ACCOUNTS)
    throw new JsonRpcError(-32602, `Too many inputs provided; max ${MAX_ACCOUNTS}`)
  const checked = addresses.map((_, at) => textParam(addresses, at))
  return accountsJson(node, checked, optionsParam(params, 1))
}

const getAccountInfo: RpcMethod = async (node, params) => {
  const address = textParam(params, 0)
  const { context, value } = await accountsJson(node, [address], optionsParam(params, 1))
  return { context, value: value[0] ?? null }
}

/** Every method that the node answers, by name; subscriptions belong to the socket. */
export const RPC_METHODS: Readonly<Record<string, RpcMethod>> = {
  getHealth: () => 'ok',
  getVersion: () => VERSION,
  getGenesisHash: ({ chain }) => chain.genesisHash,
  getFirstAvailableBlock: () => 0,
  minimumLedgerSlot: () => 0,
  getSlot: ({ chain }, params) =>
    visibleSlot(chain, heightAtCommitment(chain, parseCommitment(optionsParam(params, 0)))),
  getBlockHeight: ({ chain }, params) =>
    heightAtCommitment(chain, parseCommitment(optionsParam(params, 0))),
  getBlock,
  getBlocks,
  getBlocksWithLimit,
  getBlockTime,
  getTransaction,
  getSignatureStatuses,
  getAccountInfo,
  getMultipleAccounts,
}
