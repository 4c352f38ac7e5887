import {
  type MetadataReader,
  readTableMetadata,
} from '../../../ingestors/decode/metadata-reader.ts'
import type { Source } from '../../../ingestors/follow/contract.ts'
import { headWatch } from '../../../ingestors/follow/head-tracker.ts'
import { type FollowedNode, followNode } from '../../../ingestors/follow/node-follower.ts'
import { CHAINS, maxReorgBlocks } from '../../../schemas/chains.ts'
import type {
  EvmBlock,
  Log,
  PoolMetadata,
  TokenMetadata,
  Transaction,
} from '../../../schemas/events.ts'
import { createRandom, type Random } from '../../../simulator/node/random.ts'
import { addressTopic, TOPIC, transferLog, v2SwapLog, v2SyncLog } from '../builders/dex-logs.ts'
import { buildPoolMetadata, FACTORY, USDC, WETH } from '../builders/evm-block.ts'
import { buildLog } from '../recordings/ethereum.ts'

/** What a node shows from one moment on. */
export interface ChainView {
  /** Since the start of the schedule. */
  readonly atMs: number
  /** The node's own chain, oldest first; the first has height `FIRST`. */
  readonly blocks: readonly EvmBlock[]
  readonly finalHeight: number
}

/** A small chain that a seed decides, with everything that its node shows on the way. */
export interface ScheduleChain {
  readonly views: readonly ChainView[]
  /** What it shows in the end. */
  readonly last: ChainView
  readonly facts: MetadataReader
  /** Every block that was ever shown. */
  readonly byHash: ReadonlyMap<string, EvmBlock>
  readonly reorgs: number
}

const FIRST_HEIGHT = 100
/** Blocks that stay open below the tip; reorgs are less deep. */
const UNFINALIZED_BLOCKS = 7
const MAX_REORG_DEPTH = 5
const START_MS = Date.UTC(2026, 0, 31, 23, 55)
const STEPS_MS = [0, 1_000, 12_000, 12_000, 12_000, 61_000, 1_800_000] as const
const ZERO = `0x${'0'.repeat(40)}`

interface Pool {
  readonly address: string
  readonly coin: string
  readonly quote: string
}

/** A transaction before it has a place in a block. */
interface TransactionDraft extends Pick<Transaction, 'hash' | 'from' | 'to' | 'contractAddress'> {
  readonly logs: readonly Omit<Log, 'index'>[]
}

/** Tokens, pools and wallets of a chain. */
interface ScenarioEntities {
  readonly random: Random
  readonly wallets: readonly string[]
  readonly pools: readonly Pool[]
  /** Made while the chain runs. */
  readonly born: readonly Pool[]
}

const address = (kind: string, number: number): string =>
  `0x${kind}${number.toString(16).padStart(40 - kind.length, '0')}`

const createEntities = (random: Random): ScenarioEntities => {
  const pool = (kind: string) => (_: unknown, at: number) => ({
    address: address(`b${kind}`, at + 1),
    coin: address(`c${kind}`, at + 1),
    quote: WETH,
  })
  const dollars = { address: address('bd', 1), coin: WETH, quote: USDC }
  return {
    random,
    wallets: Array.from({ length: 4 }, (_, at) => address('aa', at + 1)),
    pools: [dollars, ...Array.from({ length: 2 + random.below(3) }, pool('0'))],
    born: Array.from({ length: random.below(3) }, pool('f')),
  }
}

const createFactReader = ({ pools, born }: ScenarioEntities): MetadataReader => {
  const all = [...pools, ...born]
  const decimals = (token: string): number => (token === USDC ? 6 : token === WETH ? 18 : 9)
  const tokens = [...new Set([USDC, WETH, ...all.map(({ coin }) => coin)])].map(
    (token): TokenMetadata => ({
      address: token,
      decimals: decimals(token),
      name: `Token ${token.slice(-4)}`,
      symbol: token.slice(-4).toUpperCase(),
      totalSupplyRaw: 10n ** 24n,
    }),
  )
  const known: PoolMetadata[] = all.map((pool) =>
    buildPoolMetadata(pool.address, pool.coin, pool.quote),
  )
  return { ...readTableMetadata(tokens, known), metadataSource: 'node', verification: 'facts' }
}

const createTransaction = (
  { random }: ScenarioEntities,
  from: string,
  to: string | null,
  logs: TransactionDraft['logs'],
): TransactionDraft => ({
  hash: `0x${random.hex(64)}`,
  from,
  to,
  contractAddress: null,
  logs,
})

const amount = ({ random }: ScenarioEntities, digits: number): bigint =>
  BigInt(1 + random.below(9_999)) * 10n ** BigInt(digits - 4)

const amountDigits = (token: string): number => (token === USDC ? 10 : token === WETH ? 19 : 12)

const reserves = (cast: ScenarioEntities, { coin, quote }: Pool): readonly [bigint, bigint] => {
  const [coinRaw, quoteRaw] = [amount(cast, 15), amount(cast, amountDigits(quote) + 2)]
  return coin < quote ? [coinRaw, quoteRaw] : [quoteRaw, coinRaw]
}

const swapTransaction = (cast: ScenarioEntities, pool: Pool): TransactionDraft => {
  const { random, wallets } = cast
  const [tokenIn, tokenOut] = random.chance(0.6) ? [pool.quote, pool.coin] : [pool.coin, pool.quote]
  const [inRaw, outRaw] = [
    amount(cast, amountDigits(tokenIn)),
    amount(cast, amountDigits(tokenOut)),
  ]
  const wallet = random.pick(wallets)
  const amounts = tokenIn < tokenOut ? [inRaw, 0n, 0n, outRaw] : [0n, inRaw, outRaw, 0n]
  return createTransaction(cast, wallet, pool.address, [
    transferLog(tokenIn, wallet, pool.address, inRaw),
    transferLog(tokenOut, pool.address, wallet, outRaw),
    v2SyncLog(reserves(cast, pool), pool.address),
    v2SwapLog(amounts, pool.address),
  ])
}

const transferTransaction = (cast: ScenarioEntities, token: string): TransactionDraft => {
  const { random, wallets } = cast
  const raw = amount(cast, 11)
  const from = random.chance(0.15) ? ZERO : random.pick(wallets)
  const to = random.chance(0.15) ? ZERO : random.pick(wallets)
  return createTransaction(cast, random.pick(wallets), token, [transferLog(token, from, to, raw)])
}

const liquidityTransaction = (cast: ScenarioEntities, pool: Pool): TransactionDraft => {
  const { random, wallets } = cast
  const wallet = random.pick(wallets)
  const [first, second] = [amount(cast, 13), amount(cast, 20)]
  return createTransaction(cast, wallet, pool.address, [
    transferLog(pool.coin, wallet, pool.address, first),
    transferLog(pool.quote, wallet, pool.address, second),
    v2SyncLog(reserves(cast, pool), pool.address),
    buildLog(
      pool.address,
      [TOPIC.v2Mint, addressTopic(wallet)],
      pool.coin < pool.quote ? [first, second] : [second, first],
    ),
  ])
}

/** A new token, and the pair in which it is traded. */
const tokenLaunchTransactions = (
  cast: ScenarioEntities,
  pool: Pool,
): readonly TransactionDraft[] => {
  const dev = cast.random.pick(cast.wallets)
  const [low = '', high = ''] = [pool.coin, pool.quote].sort()
  return [
    {
      ...createTransaction(cast, dev, null, [transferLog(pool.coin, ZERO, dev, 10n ** 15n)]),
      contractAddress: pool.coin,
    },
    createTransaction(cast, dev, FACTORY, [
      buildLog(
        FACTORY,
        [TOPIC.pairCreated, addressTopic(low), addressTopic(high)],
        [pool.address, 1n],
      ),
    ]),
    liquidityTransaction(cast, pool),
  ]
}

const blockTransactions = (
  cast: ScenarioEntities,
  born: readonly Pool[],
): readonly TransactionDraft[] => {
  const { random, pools } = cast
  const traded = [...pools, ...born]
  return Array.from({ length: random.below(5) }, () => {
    const roll = random.unit()
    const pool = random.pick(traded)
    if (roll < 0.7) return swapTransaction(cast, pool)
    return roll < 0.85 ? transferTransaction(cast, pool.coin) : liquidityTransaction(cast, pool)
  })
}

const createBlock = (
  { random }: ScenarioEntities,
  { parent, height }: { readonly parent: EvmBlock | undefined; readonly height: number },
  drafts: readonly TransactionDraft[],
): EvmBlock => {
  let index = 0
  const transactions = drafts.map(
    (draft, at): Transaction => ({
      hash: draft.hash,
      index: at,
      from: draft.from,
      to: draft.to,
      valueRaw: 0n,
      feeRaw: 21_000n,
      success: true,
      contractAddress: draft.contractAddress,
      logs: draft.logs.map((log) => {
        index += 1
        return { ...log, index: index - 1 }
      }),
    }),
  )
  return {
    vm: 'evm',
    chain: 'eth',
    height,
    hash: `0x${random.hex(64)}`,
    parentHash: parent?.hash ?? `0x${'1'.repeat(64)}`,
    timeMs: (parent?.timeMs ?? START_MS) + random.pick(STEPS_MS),
    coinbase: ZERO,
    gasLimitRaw: 30_000_000n,
    gasUsedRaw: 21_000n,
    baseFeeRaw: 7n,
    difficultyRaw: 0n,
    nonce: '0x0000000000000000',
    extra: '0x6869',
    transactions,
  }
}

/** A chain as it grows and is replaced, and what its node shows of it. */
class ChainGrowth {
  readonly #cast: ScenarioEntities
  readonly views: ChainView[] = []
  readonly byHash = new Map<string, EvmBlock>()
  reorgs = 0
  #blocks: EvmBlock[] = []
  #born = 0
  #atMs = 0
  #highest = 0
  #finalHeight = 0
  /** Tails that were replaced: a node may come back to one. */
  readonly #tails: (readonly EvmBlock[])[] = []

  constructor(cast: ScenarioEntities) {
    this.#cast = cast
  }

  get length(): number {
    return this.#blocks.length
  }

  /** Whether as many blocks were shown as ever. */
  get isHighest(): boolean {
    return this.#blocks.length >= this.#highest
  }

  extend(count: number, again: readonly TransactionDraft[] = []): void {
    const { random, born } = this.#cast
    const waiting = [...again]
    for (let added = 0; added < count; added += 1) {
      const own = [...blockTransactions(this.#cast, born.slice(0, this.#born))]
      const next = born[this.#born]
      if (next !== undefined && random.chance(0.2)) {
        own.push(...tokenLaunchTransactions(this.#cast, next))
        this.#born += 1
      }
      const taken = waiting.splice(0, random.below(4))
      const height = FIRST_HEIGHT + this.#blocks.length
      const parent = this.#blocks.at(-1)
      const block = createBlock(this.#cast, { parent, height }, [...taken, ...own])
      this.byHash.set(block.hash, block)
      this.#blocks.push(block)
    }
  }

  /** Replaces up to so many of the newest blocks that are not final by others, or by a tail that stood there before. */
  replace(most: number): void {
    const { random } = this.#cast
    const depth = Math.min(most, FIRST_HEIGHT + this.#blocks.length - 1 - this.#finalHeight)
    if (depth < 1) return
    const removed = this.#blocks.splice(-depth)
    this.reorgs += 1
    const parent = this.#blocks.at(-1)?.hash
    const old = this.#tails.find(
      (tail) => tail[0]?.parentHash === parent && tail.length >= depth - 1,
    )
    if (old !== undefined && random.chance(0.5)) this.#blocks.push(...old)
    else {
      const txs = removed.flatMap(({ transactions }) => transactions)
      const again = random.chance(0.7) ? txs.map(toDraft) : []
      this.extend(Math.max(1, depth - 1 + random.below(3)), again)
    }
    this.#tails.push(removed)
  }

  /** Shows the chain as it is, after a while; `keep` blocks are not final. */
  show(waitMs: number, keep: number): void {
    this.#atMs += waitMs
    const highest = FIRST_HEIGHT + this.#blocks.length - 1
    this.#highest = Math.max(this.#highest, this.#blocks.length)
    this.#finalHeight = Math.max(this.#finalHeight, highest - keep)
    this.views.push({
      atMs: this.#atMs,
      blocks: [...this.#blocks],
      finalHeight: this.#finalHeight,
    })
  }
}

const toDraft = ({ hash, from, to, contractAddress, logs }: Transaction): TransactionDraft => ({
  hash,
  from,
  to,
  contractAddress,
  logs: logs.map(({ index: _, ...log }) => log),
})

/** The chain of a seed: 10 to 40 blocks in the end, one to four reorgs of one to five blocks on the way. */
export const createScheduleChain = (seed: number): ScheduleChain => {
  const random = createRandom(seed, 1)
  const cast = createEntities(random)
  const growth = new ChainGrowth(cast)
  const blocks = 10 + Math.min(...[1, 2, 3].map(() => random.below(29)))
  const reorgs = 1 + random.below(4)
  const paceMs = 10 + random.below(random.chance(0.3) ? 400 : 120)
  const wait = (): number => Math.ceil(paceMs * (0.5 + random.unit()))
  growth.extend(3 + random.below(5))
  growth.show(0, UNFINALIZED_BLOCKS)
  while (growth.reorgs < reorgs || growth.length < blocks || !growth.isHighest) {
    const isDue = growth.reorgs < reorgs && random.chance(reorgs / (blocks / 3))
    const isLong = growth.length + 4 >= blocks && growth.reorgs < reorgs
    if (isDue || isLong)
      growth.replace(1 + random.below(Math.min(MAX_REORG_DEPTH, growth.length - 2)))
    else growth.extend(1 + random.below(3))
    growth.show(wait(), UNFINALIZED_BLOCKS)
  }
  growth.extend(2)
  growth.show(wait(), UNFINALIZED_BLOCKS)
  if (random.chance(0.5)) growth.show(wait(), 0)
  const { views, byHash } = growth
  const last = views.at(-1)
  if (last === undefined) throw new Error('a chain shows something')
  return { views, last, facts: createFactReader(cast), byHash, reorgs: growth.reorgs }
}

/** How a process asks its node: a simulation may let it wait or fail. */
type CallNode = <T>(work: () => T) => Promise<T>

/** How a process has its node. */
export interface NodeAccess {
  readonly ask: CallNode
  /** Aborted when nobody asks any more. */
  readonly signal: AbortSignal
}

/** What a node answers with at this moment. */
export interface VisibleChain {
  readonly facts: MetadataReader
  readonly view: () => ChainView
}

/** A node of the chain as the ingestor's source follows it. */
export const createNodeSource = (
  { facts, view }: VisibleChain,
  { ask, signal }: NodeAccess,
): Source => {
  const chain = CHAINS.eth
  const at = (height: number): EvmBlock | undefined => view().blocks[height - FIRST_HEIGHT]
  const newest = () => {
    const { hash, height } = view().blocks.at(-1) ?? { hash: null, height: 0 }
    return { hash, height }
  }
  const heads = headWatch({
    blockTimeMs: 100,
    endpoints: 1,
    refuse: () => undefined,
    ask: () => ask(newest),
    signal,
  })
  const node: FollowedNode = {
    heads,
    spacing: 'dense',
    blockTimeMs: 100,
    reorgBound: maxReorgBlocks(chain),
    nowMs: () => Number.MAX_SAFE_INTEGER,
    next: (tip, from) => ask(() => at(tip === null ? from : tip.height + 1)),
    clearCache: () => undefined,
    above: (tip, fits) =>
      ask(() => {
        const block = at(tip.height + 1)
        return block && fits(block) && block
      }) as Promise<EvmBlock | undefined>,
    isCanonical: ({ height, hash }) =>
      ask(() => {
        const shown = at(height)
        return shown && shown.hash === hash
      }),
    isReplacedEverywhere: async ({ height, hash }) => {
      const shown = at(height)
      return shown !== undefined && shown.hash !== hash
    },
    finalHeight: () => ask(() => view().finalHeight),
    refuse: () => undefined,
  }
  return {
    origin: 'schedule',
    commitment: 'processed',
    gaps: false,
    head: heads.newest,
    node: { metadataReader: () => facts, seedPrices: async () => [] },
    operations: (position, stop) => followNode(node, position, { from: FIRST_HEIGHT, stop }),
  }
}
