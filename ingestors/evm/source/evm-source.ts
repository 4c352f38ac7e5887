import { InvalidInput, Outage } from '../../../core/errors.ts'
import type { Logger } from '../../../core/ops/logger.ts'
import type { Metrics } from '../../../core/ops/metrics.ts'
import { evmChainCheck } from '../../../core/rpc/evm-chain-check.ts'
import { type CallEndpoint, openRpcPool, RpcError, type RpcPool } from '../../../core/rpc/pool.ts'
import { type ChainRow, maxReorgBlocks } from '../../../schemas/chains.ts'
import type { Block, EvmBlock, Transaction } from '../../../schemas/events.ts'
import type { Feed } from '../../../schemas/feeds.ts'
import { canonicalBy, isReplacedBy } from '../../follow/canonical-branch.ts'
import type { BlockRef, Source } from '../../follow/contract.ts'
import {
  farBlocks,
  type Head,
  type HeadWatch,
  headWatch,
  implausibleFinality,
  proveHead,
} from '../../follow/head-tracker.ts'
import { type FollowedNode, followNode } from '../../follow/node-follower.ts'
import { prefetcher } from '../../follow/prefetch.ts'
import { type Fields, fieldsOf, invalid, listOf } from '../../input/json.ts'
import { collectRejectedResponses, type RejectedResponses } from '../../input/rejected-responses.ts'
import { skippingInvalid } from '../../input/skip-invalid.ts'
import { countOf, hashAt } from '../abi/json.ts'
import { evmNodeQueries } from '../metadata/node-queries.ts'
import { stateReader } from '../metadata/state-reader.ts'
import { type BlockOptions, normalizeBlock } from '../normalize/block.ts'
import { nativeBalanceReader } from './native-balances.ts'
import { traceReader } from './trace-reader.ts'
import { unclesOf } from './uncles.ts'

/** What a source of an EVM chain is made of. */
export interface EvmSourceOptions {
  readonly chain: ChainRow & { readonly chainId: number }
  readonly urls: readonly string[]
  readonly concurrency: number
  /** Calls per second and endpoint; absent = no limit. */
  readonly perSecond?: number
  readonly timeoutMs: number
  /** First height when there is no position; null = the head. */
  readonly from: number | null
  /** What is asked beside transactions and receipts. Default: nothing. */
  readonly feeds?: ReadonlySet<Feed>
  readonly metrics: Metrics
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Rounds over all endpoints for one block. What is not in shape after that is nowhere in shape: if it is one transaction, the block
 * is taken without it.
 */
const BLOCK_TRIES = { firstMs: 200, maxMs: 2_000, tries: 4 } as const
/** Header fields that the follower reads; the rest of the node's answer is not its business. */
const refOf = (value: unknown): BlockRef | undefined => {
  if (value === null || value === undefined) return undefined
  try {
    return headerRef(fieldsOf(value, 'header'))
  } catch (cause) {
    if (!(cause instanceof InvalidInput)) throw cause
    throw new InvalidInput('bad-header', cause.message, { cause })
  }
}

const headerRef = ({ number, hash, parentHash, timestamp }: Fields): BlockRef => {
  const timeMs = countOf(timestamp, 'header.timestamp') * 1_000
  if (!Number.isSafeInteger(timeMs)) throw invalid('too-big', 'header.timestamp', timestamp)
  return {
    height: countOf(number, 'header.number'),
    hash: hashAt(hash, 'header.hash'),
    parentHash: hashAt(parentHash, 'header.parentHash'),
    timeMs,
  }
}

const hex = (height: number): string => `0x${height.toString(16)}`

/** A header by tag or height; what is not of the height that was asked for is another block. */
const header = async (ask: CallEndpoint, tag: string): Promise<BlockRef | undefined> => {
  const ref = refOf(await ask({ method: 'eth_getBlockByNumber', params: [tag, false] }))
  if (ref !== undefined && tag.startsWith('0x') && ref.height !== Number(tag)) {
    throw new InvalidInput('wrong-block', `asked for block ${Number(tag)}, got ${ref.height}`)
  }
  return ref
}

const headerByHash = async (ask: CallEndpoint, hash: string): Promise<BlockRef | undefined> => {
  const ref = refOf(await ask({ method: 'eth_getBlockByHash', params: [hash, false] }))
  return ref?.hash === hash ? ref : undefined
}

/** Hash of the block that the endpoint shows at a height; undefined: it shows none, and says nothing by that. */
const shownAt = async (ask: CallEndpoint, height: number): Promise<string | undefined> =>
  (await header(ask, hex(height)))?.hash

/** A whole block by hash or height with its receipts by hash; undefined when this endpoint does not have it. */
const wholeBlock = async (
  ask: CallEndpoint,
  { chain, ...options }: BlockOptions & { readonly chain: string },
  at: string,
): Promise<EvmBlock | undefined> => {
  const byHash = at.length === 66
  const method = byHash ? 'eth_getBlockByHash' : 'eth_getBlockByNumber'
  const block = await ask({ method, params: [at, true] })
  const ref = refOf(block)
  if (ref === undefined) return undefined
  if (byHash ? ref.hash !== at : ref.height !== Number(at)) {
    throw new InvalidInput('wrong-block', `asked for block ${at}, got ${ref.height} ${ref.hash}`)
  }
  const receipts = await receiptsOf(ask, ref, block)
  return receipts === null ? undefined : normalizeBlock(chain, block, receipts, options)
}

/** What a node says of a method that it does not have. Sources: JSON-RPC 2.0, EIP-1474. */
const NO_METHOD = [-32_601, -32_004] as const

/**
 * Receipts of a block in one call; from a node without that call, one by one. null: the node does not have them (yet). The
 * check of the whole block finds a node that changed its mind in between.
 */
const receiptsOf = async (
  ask: CallEndpoint,
  { hash }: BlockRef,
  block: unknown,
): Promise<unknown> => {
  try {
    return await ask({ method: 'eth_getBlockReceipts', params: [hash] })
  } catch (error) {
    if (!(error instanceof RpcError) || !NO_METHOD.some((code) => code === error.code)) throw error
  }
  const transactions = listOf(fieldsOf(block, 'block').transactions, 'block.transactions')
  const receipts = await Promise.all(
    transactions.map((each, index) => {
      const raw = fieldsOf(each, `block.transactions[${index}]`)
      return ask({ method: 'eth_getTransactionReceipt', params: [raw.hash] })
    }),
  )
  return receipts.includes(null) ? null : receipts
}

const heightOf = ({ height }: BlockRef): number => height

const watchHeads = (
  rpc: RpcPool,
  { chain, urls, log, signal }: EvmSourceOptions,
  refuse: (error: InvalidInput) => void,
): HeadWatch => {
  const heads = headWatch({
    blockTimeMs: chain.blockTimeMs,
    endpoints: urls.length,
    refuse,
    ask: async (mustProve) => {
      const [ref] = await rpc.survey({
        work: async (ask) => {
          const latest = await header(ask, 'latest')
          if (latest !== undefined && mustProve(latest.height)) {
            const { height } = latest
            await proveHead(height, async () => (await header(ask, hex(height))) !== undefined)
          }
          return latest
        },
        heightOf,
        far: farBlocks(chain.blockTimeMs),
      })
      if (ref === undefined) throw new Outage('rpc', 'no endpoint returned the latest block')
      return ref
    },
    signal,
  })
  rpc.subscribe({ method: 'eth_subscribe', params: ['newHeads'] }, (value) => {
    try {
      const ref = refOf(value)
      if (ref) heads.see(ref)
    } catch (error) {
      log.warn({ err: error }, 'invalid head notification')
    }
  })
  return heads
}

/** Opens a node as a source. Throws `Outage` when no endpoint answers, `final` when all serve another chain. */
export const evmSource = async (options: EvmSourceOptions): Promise<Source> => {
  const { chain, signal } = options
  const rejectedResponses = collectRejectedResponses(chain.id, options.metrics)
  const rpc = openRpcPool({
    ...options,
    role: 'ingest',
    chain: chain.id,
    identity: evmChainCheck(chain.chainId),
    onMalformed: rejectedResponses.add,
  })
  signal.addEventListener('abort', () => rpc.close(), { once: true })
  const genesis = await rpc.attempt((ask) => header(ask, hex(0)))
  if (genesis === undefined) throw new Outage('rpc', 'no endpoint has block 0')
  const heads = watchHeads(rpc, options, (error) => rejectedResponses.add(error, null))
  const head = await heads.refresh()
  const { from } = options
  const startTag = hex(from ?? head.height)
  const first = await rpc.attempt((ask) => header(ask, startTag))
  const node = nodeOf({ rpc, heads, rejectedResponses, options })
  return {
    origin: `${chain.id}:${genesis.hash}`,
    ...(first && { startMs: first.timeMs }),
    commitment: 'processed',
    gaps: false,
    node: evmNodeQueries(stateReader(rpc, options.log)),
    head: heads.newest,
    takeRejectedResponses: rejectedResponses.take,
    operations: (position, stop) => followNode(node(), position, { from, stop }),
  }
}

interface NodeParts {
  readonly rpc: RpcPool
  readonly heads: HeadWatch
  readonly rejectedResponses: RejectedResponses
  readonly options: EvmSourceOptions
}

/** The node as each new follower asks it: with nothing fetched ahead. */
const nodeOf = (parts: NodeParts) => (): FollowedNode => {
  const { rpc, heads, rejectedResponses, options } = parts
  const { chain } = options
  const withParts = partsReader(parts)
  const whole = (ask: CallEndpoint, at: string, skipInvalid: boolean) =>
    wholeBlock(
      ask,
      { chain: chain.id, skipInvalid, withGas: options.feeds?.has('transactions') === true },
      at,
    )
  const blocks = prefetcher({
    concurrency: options.concurrency,
    fetch: (height, head) => {
      const at = height === head.height && head.hash !== null ? head.hash : hex(height)
      const read = async (skipInvalid: boolean): Promise<Block | undefined> => {
        const block = await rpc.attempt((ask) => whole(ask, at, skipInvalid))
        return block && withParts(block, skipInvalid)
      }
      return skippingInvalid(read, { ...BLOCK_TRIES, signal: options.signal })
    },
  })
  return {
    heads,
    spacing: 'dense',
    blockTimeMs: chain.blockTimeMs,
    reorgBound: maxReorgBlocks(chain),
    nowMs: Date.now,
    next: async (tip, from, head) => {
      const height = tip === null ? from : tip.height + 1
      return head.height < height ? undefined : blocks.take(height, head)
    },
    clearCache: blocks.clear,
    above: async ({ height }, fits) => {
      const block = await rpc.attempt(async (ask) => {
        const offered = await whole(ask, hex(height + 1), false)
        if (offered !== undefined) fits(offered)
        return offered
      })
      return block && withParts(block, false)
    },
    isCanonical: async ({ height, hash }) =>
      canonicalBy(await rpc.poll((ask) => shownAt(ask, height)), hash),
    isReplacedEverywhere: async ({ height, hash }) =>
      isReplacedBy(await rpc.poll((ask) => shownAt(ask, height), 'all'), hash),
    hasOtherTime: async ({ hash, timeMs }) => {
      const views = await rpc.poll((ask) => headerByHash(ask, hash))
      const times = views.flatMap(({ value }) => (value === undefined ? [] : [value.timeMs]))
      return times.filter((each) => each !== timeMs).length > times.length / 2
    },
    finalHeight: (head) => finalHeight(parts, head),
    refuse: (error) => rejectedResponses.add(error, null),
  }
}

/**
 * Height of the `finalized` block, the lowest that an endpoint names: one that is wrong makes nothing final too early. One far
 * above the head is not an answer. The confirmation depth of the chain where none says.
 */
const finalHeight = async (
  { rpc, rejectedResponses, options }: NodeParts,
  head: Head,
): Promise<number> => {
  const { chain } = options
  const raw = await rpc.survey({
    work: async (ask) => {
      const ref = await header(ask, 'finalized').catch((error: unknown) => {
        if (error instanceof RpcError) return undefined
        throw error
      })
      const implausible = ref && implausibleFinality(ref.height, head, chain)
      if (implausible === undefined) return ref
      rejectedResponses.add(implausible, null)
      return undefined
    },
    heightOf,
  })
  return raw.at(-1)?.height ?? head.height - chain.finalityDepth
}

/**
 * Adds what the feeds ask for beside transactions and receipts. Leniently, what is nowhere in shape is left out and noted: the
 * calls of one transaction, all calls, or balances; a chain is not blocked by them. Uncles are waited for: rewards hang on them.
 */
const partsReader = ({ rpc, rejectedResponses, options }: NodeParts) => {
  const { feeds, log } = options
  const traces = traceReader(rpc, log)
  const nativeBalances = nativeBalanceReader(rpc, log)
  return async (block: EvmBlock, skipInvalid: boolean): Promise<EvmBlock> => {
    const leaveOut = (what: string, { reason, message }: InvalidInput): void => {
      log.warn(
        { height: block.height, what, reason },
        'skipped: no endpoint returned a valid response',
      )
      rejectedResponses.add(
        { reason, message: `${what} of block ${block.height}: ${message}` },
        null,
      )
    }
    const part = <T>(what: string, requested: Promise<T | undefined>): Promise<T | undefined> =>
      requested.catch((error: unknown) => {
        if (!skipInvalid || !(error instanceof InvalidInput)) throw error
        leaveOut(what, error)
        return undefined
      })
    const spare = (tx: Transaction, error: InvalidInput): void =>
      leaveOut(`calls of transaction ${tx.hash}`, error)
    const calls = feeds?.has('calls')
      ? await part('calls', traces(block, skipInvalid ? spare : undefined))
      : undefined
    const coins = feeds?.has('coin-balances')
      ? await part('balances of the native token', nativeBalances(block))
      : undefined
    const hashes = block.uncleHashes ?? []
    const isAsked = feeds?.has('uncles') || feeds?.has('miner-rewards')
    const uncles = isAsked && hashes.length > 0 ? await unclesOf(rpc, block, hashes) : undefined
    if (calls === undefined && coins === undefined && uncles === undefined) return block
    return { ...block, ...(calls && { calls }), ...(coins && { coins }), ...(uncles && { uncles }) }
  }
}
