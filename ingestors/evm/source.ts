import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { Malformed, Outage } from '../../core/fault.ts'
import type { Logger } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import { retry } from '../../core/retry.ts'
import { type Ask, openRpc, type Rpc, RpcError } from '../../core/rpc.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import { applied, finalizable, finalized, judge, reverted, tipOf } from '../follow.ts'
import type { BlockRef, ChainOp, Position, Source } from '../source.ts'
import { normalizeBlock } from './normalize.ts'
import { stateReader } from './state.ts'

/** What a source of an EVM chain is made of. */
export interface EvmSourceOptions {
  readonly chain: ChainRow & { readonly chainId: number }
  readonly urls: readonly string[]
  readonly concurrency: number
  readonly timeoutMs: number
  /** First height when there is no position; null = the head. */
  readonly from: number | null
  readonly metrics: Metrics
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Rounds over all endpoints for one block; what is not in shape after that is nowhere in shape. */
const BLOCK_TRIES = { firstMs: 200, maxMs: 2_000, tries: 4 } as const
/** Blocks fetched ahead of the one that is consumed, while catching up. */
const AHEAD = 16
/** A finality step while catching up covers at most this many blocks. */
const FINAL_STEP = 32
/** Times a candidate may not fit a tip that the node still calls canonical, before that counts as an outage. */
const MAX_MISFITS = 5

/** Header fields that the follower reads; the rest of the node's answer is not its business. */
const refOf = (value: unknown): BlockRef | undefined => {
  if (value === null || value === undefined) return undefined
  const { number, hash, parentHash, timestamp } = value as Readonly<Record<string, unknown>>
  const height = Number(number)
  const timeMs = Number(timestamp) * 1_000
  if (
    typeof hash !== 'string' ||
    typeof parentHash !== 'string' ||
    !/^0x[0-9a-fA-F]{64}$/.test(hash) ||
    !/^0x[0-9a-fA-F]{64}$/.test(parentHash) ||
    !Number.isSafeInteger(height) ||
    !Number.isSafeInteger(timeMs)
  ) {
    throw new Malformed('bad-header', 'a block header lacks its number, hash, parent or time')
  }
  return { height, hash: hash.toLowerCase(), parentHash: parentHash.toLowerCase(), timeMs }
}

const hex = (height: number): string => `0x${height.toString(16)}`

const header = async (ask: Ask, tag: string): Promise<BlockRef | undefined> =>
  refOf(await ask({ method: 'eth_getBlockByNumber', params: [tag, false] }))

/** A whole block by hash or height with its receipts by hash; undefined when this endpoint does not have it. */
const wholeBlock = async (ask: Ask, chain: string, at: string): Promise<Block | undefined> => {
  const byHash = at.length === 66
  const method = byHash ? 'eth_getBlockByHash' : 'eth_getBlockByNumber'
  const block = await ask({ method, params: [at, true] })
  const ref = refOf(block)
  if (ref === undefined) return undefined
  if (byHash ? ref.hash !== at : ref.height !== Number(at)) {
    throw new Malformed('wrong-block', `asked for block ${at}, got ${ref.height} ${ref.hash}`)
  }
  const receipts = await ask({ method: 'eth_getBlockReceipts', params: [ref.hash] })
  if (receipts === null) return undefined
  return normalizeBlock(chain, block, receipts)
}

/** Newest heads: pushed where a socket pushes, asked for where none does or it fell silent. */
interface HeadWatch {
  newest(): BlockRef | null
  /** Resolves when a head was seen after the call, or after `ms`. */
  changed(ms: number): Promise<void>
  refresh(): Promise<BlockRef>
}

const watchHeads = (rpc: Rpc, { log, signal }: EvmSourceOptions): HeadWatch => {
  let newest: BlockRef | null = null
  let wake = new AbortController()
  const see = (ref: BlockRef): void => {
    if (ref.hash === newest?.hash) return
    newest = ref
    wake.abort()
    wake = new AbortController()
  }
  rpc.onHead((value) => {
    try {
      const ref = refOf(value)
      if (ref) see(ref)
    } catch (error) {
      log.warn({ err: error }, 'unreadable head notice')
    }
  })
  return {
    newest: () => newest,
    changed: async (ms) => {
      await sleep(ms, undefined, { signal: AbortSignal.any([wake.signal, signal]) }).catch(
        () => undefined,
      )
      signal.throwIfAborted()
    },
    refresh: async () => {
      const ref = await rpc.attempt((ask) => header(ask, 'latest'))
      if (ref === undefined) throw new Outage('rpc', 'no endpoint has a head')
      see(ref)
      return ref
    },
  }
}

/** Opens a node as a source. Throws `Outage` when no endpoint answers, `final` when all serve another chain. */
export const evmSource = async (options: EvmSourceOptions): Promise<Source> => {
  const { chain, signal } = options
  const rpc = openRpc({ ...options, chain: chain.id, chainId: chain.chainId })
  signal.addEventListener('abort', () => rpc.close(), { once: true })
  const genesis = await rpc.attempt((ask) => header(ask, hex(0)))
  if (genesis === undefined) throw new Outage('rpc', 'no endpoint has block 0')
  const heads = watchHeads(rpc, options)
  const head = await heads.refresh()
  const { from } = options
  const first = from === null ? head : await rpc.attempt((ask) => header(ask, hex(from)))
  return {
    origin: `${chain.id}:${genesis.hash}`,
    ...(first && { startMs: first.timeMs }),
    gaps: false,
    state: stateReader(rpc, options.log),
    head: heads.newest,
    operations: (position, stop) => follow({ rpc, heads, options, stop }, position),
  }
}

interface Following {
  readonly rpc: Rpc
  readonly heads: HeadWatch
  readonly options: EvmSourceOptions
  readonly stop: AbortSignal
}

async function* follow(following: Following, start: Position | null): AsyncGenerator<ChainOp> {
  const { heads, options, stop } = following
  const blocks = prefetcher(following)
  let position = start
  let first = options.from
  let misfits = 0
  while (!stop.aborted) {
    for await (const op of settle(following, position)) {
      if (position)
        position = op.op === 'finalize' ? finalized(position, op.ref) : reverted(position).next
      if (op.op === 'revert') first = op.ref.height
      yield op
    }
    const tip = tipOf(position)
    const head = heads.newest()
    const next = tip === null ? (first ?? head?.height ?? 0) : tip.height + 1
    const block = head === null || head.height < next ? undefined : await blocks.take(next, head)
    if (block === undefined) {
      await waitForHead(following, head)
    } else if (judge(position, block) === 'apply') {
      misfits = 0
      position = applied(position, refFrom(block))
      yield { op: 'apply', block }
    } else {
      blocks.clear()
      misfits += 1
      if (await isCanonical(following, tip)) {
        if (misfits < MAX_MISFITS) continue
        throw new Outage('rpc', `endpoints disagree about the block above ${tip?.height}`)
      }
      const { ref, next: under } = reverted(position as Position)
      position = under
      first = ref.height
      yield { op: 'revert', ref }
    }
  }
}

const isCanonical = async ({ rpc }: Following, ref: BlockRef | null): Promise<boolean> =>
  ref !== null && (await rpc.attempt((ask) => header(ask, hex(ref.height))))?.hash === ref.hash

const refFrom = ({ height, hash, parentHash, timeMs }: Block): BlockRef => ({
  height,
  hash,
  parentHash,
  timeMs,
})

/** Waits for a head other than `seen`; asks for one when none is pushed in time. */
const waitForHead = async ({ heads, options }: Following, seen: BlockRef | null): Promise<void> => {
  if (heads.newest()?.hash !== seen?.hash) return
  await heads.changed(Math.min(options.chain.blockTimeMs * 1.5, 3_000))
  if (heads.newest()?.hash === seen?.hash) await heads.refresh()
}

/**
 * What finality and the canonical chain say of the blocks we hold: FINALIZE operations, and REVERT of a tip that another
 * block has replaced at its height. Asked once per head and every `FINAL_STEP` blocks while catching up.
 */
async function* settle(following: Following, position: Position | null): AsyncGenerator<ChainOp> {
  const { rpc, heads, options } = following
  const tip = tipOf(position)
  const head = heads.newest()
  if (position === null || tip === null || head === null) return
  const live = head.height <= tip.height
  if (!live && position.stack.length < FINAL_STEP) return
  let held: Position = position
  while (live && head.hash !== tip.hash) {
    const top = tipOf(held)
    if (top === null || (await isCanonical(following, top))) break
    const { ref, next } = reverted(held)
    held = next
    yield { op: 'revert', ref }
  }
  const candidate = finalizable(held, await finalHeight(rpc, options.chain, head))
  if (candidate !== null && (await isCanonical(following, candidate))) {
    yield { op: 'finalize', ref: candidate }
  }
}

/** Height of the node's `finalized` block; the confirmation depth of the chain where the node does not say. */
const finalHeight = async (rpc: Rpc, chain: ChainRow, head: BlockRef): Promise<number> => {
  const said = await rpc.attempt((ask) =>
    header(ask, 'finalized').catch((error: unknown) => {
      if (error instanceof RpcError) return undefined
      throw error
    }),
  )
  return said?.height ?? head.height - chain.finalityDepth
}

/** Fetches the next blocks in parallel while the head is far; hands them out in order. */
const prefetcher = ({ rpc, options }: Following) => {
  const limit = pLimit(Math.min(AHEAD, options.concurrency))
  const ahead = new Map<number, Promise<Block | undefined>>()
  const fetchAt = (height: number, head: BlockRef): Promise<Block | undefined> => {
    const at = height === head.height ? head.hash : hex(height)
    const block = limit(() =>
      retry(() => rpc.attempt((ask) => wholeBlock(ask, options.chain.id, at)), {
        ...BLOCK_TRIES,
        signal: options.signal,
      }),
    )
    block.catch(() => undefined)
    return block
  }
  return {
    clear: () => ahead.clear(),
    take: async (height: number, head: BlockRef): Promise<Block | undefined> => {
      const until = Math.min(head.height, height + AHEAD - 1)
      for (let next = height; next <= until; next += 1) {
        if (!ahead.has(next)) ahead.set(next, fetchAt(next, head))
      }
      const block = ahead.get(height)
      ahead.delete(height)
      const found = await block
      if (found === undefined) ahead.clear()
      return found
    },
  }
}
