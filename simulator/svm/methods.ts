import { JsonText, RpcError } from '../node/rpc.ts'
import type { Read } from '../node/state.ts'
import { type AccountFacts, launchFacts, makeDirectory, retiredMint } from './account-data.ts'
import { lamportsOf } from './accounts.ts'
import { type BlockTexts, makeBlockTexts, unknownVersion } from './block-text.ts'
import { blockInSlot, type Chain, FINAL_DEPTH, newestHeight, shownSlot } from './chain.ts'
import {
  blockCommitment,
  blockOptions,
  commitmentOf,
  configParam,
  invalid,
  slotParam,
  textParam,
} from './params.ts'
import { transactionJson } from './render.ts'
import { heightAt } from './slots.ts'

/** A chain and what its node keeps beside it. */
export interface Node {
  readonly chain: Chain
  readonly texts: BlockTexts
  readonly directory: ReturnType<typeof makeDirectory>
}

/** A node of a chain. */
export const makeNode = (chain: Chain): Node => ({
  chain,
  texts: makeBlockTexts(chain.producer.world),
  directory: makeDirectory(chain.producer.world),
})

type Method = (node: Node, params: readonly unknown[]) => unknown

/** Bounds, as nodes have them. */
const SLOT_RANGE = 500_000
const ACCOUNTS = 100
const SIGNATURES = 256

const VERSION = { 'feature-set': 3_640_012_085, 'solana-core': '3.1.8' } as const

const unsupported = (version: number): RpcError =>
  new RpcError(
    -32015,
    `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
  )

const getBlock: Method = async ({ chain, texts }, params) => {
  const slot = slotParam(params, 0)
  const config = configParam(params, 1)
  const options = blockOptions(config, 'rewards')
  const newest = await shownSlot(chain, newestHeight(chain, blockCommitment(config)))
  if (slot > newest) throw new RpcError(-32004, `Block not available for slot ${slot}`)
  const block = await blockInSlot(chain, slot)
  if (block === undefined)
    throw new RpcError(
      -32007,
      `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`,
    )
  const version = unknownVersion(block, options)
  if (version !== undefined) throw unsupported(version)
  return new JsonText(await texts.text(block, options))
}

/** Slots with a block from one slot to another, both included. */
const slotsBetween = async (
  chain: Chain,
  { from, to, most }: { readonly from: number; readonly to: number; readonly most: number },
): Promise<readonly number[]> => {
  const slots: number[] = []
  const { seed } = chain.producer.spec
  const { height: head } = chain.head()
  const first = Math.max(0, heightAt(seed, from))
  for (let height = first; height <= head && slots.length < most; height += 1) {
    const slot = await shownSlot(chain, height)
    if (slot > to) break
    if (slot >= from) slots.push(slot)
  }
  return slots
}

const getBlocks: Method = async ({ chain }, params) => {
  const from = slotParam(params, 0)
  const hasEnd = typeof params[1] === 'number'
  const config = configParam(params, hasEnd || params[1] === null ? 2 : 1)
  const newest = await shownSlot(chain, newestHeight(chain, blockCommitment(config)))
  const to = Math.min(newest, hasEnd ? slotParam(params, 1) : newest)
  if (to - from > SLOT_RANGE) throw new RpcError(-32602, `Slot range too large; max ${SLOT_RANGE}`)
  return slotsBetween(chain, { from, to, most: Number.POSITIVE_INFINITY })
}

const getBlocksWithLimit: Method = async ({ chain }, params) => {
  const from = slotParam(params, 0)
  const most = slotParam(params, 1)
  if (most > SLOT_RANGE) throw new RpcError(-32602, `Limit too large; max ${SLOT_RANGE}`)
  const newest = newestHeight(chain, blockCommitment(configParam(params, 2)))
  return slotsBetween(chain, { from, to: await shownSlot(chain, newest), most })
}

const getBlockTime: Method = async ({ chain }, params) => {
  const slot = slotParam(params, 0)
  if (slot > chain.head().slot) throw new RpcError(-32004, `Block not available for slot ${slot}`)
  const block = await blockInSlot(chain, slot)
  if (block === undefined)
    throw new RpcError(-32009, `Slot ${slot} was skipped, or missing in long-term storage`)
  return Math.floor(block.timeMs / 1_000)
}

const located = async (chain: Chain, hash: string) => {
  const height = chain.heightOfTransaction(hash)
  const block = height === undefined ? undefined : await chain.block(height)
  const tx = block?.transactions.find((one) => one.hash === hash)
  return block === undefined || tx === undefined ? undefined : { block, tx }
}

const getTransaction: Method = async ({ chain }, params) => {
  const hash = textParam(params, 0)
  const config = typeof params[1] === 'string' ? { encoding: params[1] } : configParam(params, 1)
  const { encoding, version } = blockOptions(config, 'rewards')
  const commitment = blockCommitment(config)
  const found = await located(chain, hash)
  if (found === undefined || found.block.height > newestHeight(chain, commitment)) return null
  const { block, tx } = found
  if (tx.message.version === 0 && version === undefined) throw unsupported(0)
  const blockTime = Math.floor(block.timeMs / 1_000)
  return { blockTime, ...transactionJson(tx, encoding), slot: block.slot }
}

const getSignatureStatuses: Method = async ({ chain }, [hashes]) => {
  if (!Array.isArray(hashes) || hashes.length > SIGNATURES)
    throw invalid(`expected up to ${SIGNATURES} signatures.`)
  const { height, slot } = chain.head()
  const value = await Promise.all(
    hashes.map(async (_, at) => {
      const found = await located(chain, textParam(hashes, at))
      if (found === undefined) return null
      const { err, status } = transactionJson(found.tx, 'json').meta
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
const factsAt = (
  { chain, directory }: Node,
  read: Read,
  address: string,
): AccountFacts | undefined => {
  const { world, launches } = chain.producer
  const old = directory.get(address)
  if (old !== undefined) {
    const facts = old(read)
    return facts.lamports === 0n ? undefined : facts
  }
  const { layout } = world
  const recent = launches.account(address)
  if (recent !== undefined) {
    const { launch, account } = recent
    const isAlive = read(layout.launch(launch.slot, 'serial')) === BigInt(launch.serial + 1)
    if (isAlive)
      return lamportsOf(read, account) === 0n ? undefined : launchFacts(read, world, recent)
  }
  const named = launches.named(address, Number(read(layout.common('launches'))))
  return named?.mint.account.address === address ? retiredMint(named) : undefined
}

const accountsJson = async (node: Node, addresses: readonly string[], config: object) => {
  const { chain } = node
  const height = newestHeight(chain, commitmentOf({ ...config }))
  const block = await chain.block(height)
  const read = await chain.read(block ?? chain.head())
  const value = addresses.map((address) => {
    const facts = factsAt(node, read, address)
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

const getMultipleAccounts: Method = (node, params) => {
  const [addresses] = params
  if (!Array.isArray(addresses)) throw invalid('expected a list of addresses.')
  if (addresses.length > ACCOUNTS)
    throw new RpcError(-32602, `Too many inputs provided; max ${ACCOUNTS}`)
  const checked = addresses.map((_, at) => textParam(addresses, at))
  return accountsJson(node, checked, configParam(params, 1))
}

const getAccountInfo: Method = async (node, params) => {
  const address = textParam(params, 0)
  const { context, value } = await accountsJson(node, [address], configParam(params, 1))
  return { context, value: value[0] ?? null }
}

/** Every method that the node answers, by name; subscriptions belong to the socket. */
export const METHODS: Readonly<Record<string, Method>> = {
  getHealth: () => 'ok',
  getVersion: () => VERSION,
  getGenesisHash: ({ chain }) => chain.genesisHash,
  getFirstAvailableBlock: () => 0,
  minimumLedgerSlot: () => 0,
  getSlot: ({ chain }, params) =>
    shownSlot(chain, newestHeight(chain, commitmentOf(configParam(params, 0)))),
  getBlockHeight: ({ chain }, params) => newestHeight(chain, commitmentOf(configParam(params, 0))),
  ...{ getBlock, getBlocks, getBlocksWithLimit, getBlockTime, getTransaction },
  ...{ getSignatureStatuses, getAccountInfo, getMultipleAccounts },
}
