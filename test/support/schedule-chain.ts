import { type FactReader, tableFacts } from '../../ingestors/decode/metadata-reader.ts'
import type { Source } from '../../ingestors/follow/contract.ts'
import { headWatch } from '../../ingestors/follow/head-tracker.ts'
import { type FollowedNode, followNode } from '../../ingestors/follow/node-follower.ts'
import { CHAINS, reorgBound } from '../../schemas/chains.ts'
import type { EvmBlock, Log, PoolFact, TokenFact, Transaction } from '../../schemas/events.ts'
import { createRandom, type Random } from '../../simulator/node/random.ts'
import { FACTORY, poolFact, USDC, WETH } from './hand-chain.ts'
import { TOPIC, topicOf, transfer, v2Swap, v2Sync } from './made-up-chain.ts'
import { logOf } from './recordings.ts'

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
  readonly facts: FactReader
  /** Every block that was ever shown. */
  readonly byHash: ReadonlyMap<string, EvmBlock>
  readonly reorgs: number
}

const FIRST = 100
/** Blocks that stay open below the tip; reorgs are less deep. */
const OPEN = 7
const DEEPEST = 5
const START_MS = Date.UTC(2026, 0, 31, 23, 55)
const STEPS_MS = [0, 1_000, 12_000, 12_000, 12_000, 61_000, 1_800_000] as const
const ZERO = `0x${'0'.repeat(40)}`

interface Pool {
  readonly address: string
  readonly coin: string
  readonly quote: string
}

/** A transaction before it has a place in a block. */
interface Draft extends Pick<Transaction, 'hash' | 'from' | 'to' | 'contractAddress'> {
  readonly logs: readonly Omit<Log, 'index'>[]
}

/** Tokens, pools and wallets of a chain. */
interface Cast {
  readonly random: Random
  readonly wallets: readonly string[]
  readonly pools: readonly Pool[]
  /** Made while the chain runs. */
  readonly born: readonly Pool[]
}

const address = (kind: string, number: number): string =>
  `0x${kind}${number.toString(16).padStart(40 - kind.length, '0')}`

const castOf = (random: Random): Cast => {
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

const factsOf = ({ pools, born }: Cast): FactReader => {
  const all = [...pools, ...born]
  const decimals = (token: string): number => (token === USDC ? 6 : token === WETH ? 18 : 9)
  const tokens = [...new Set([USDC, WETH, ...all.map(({ coin }) => coin)])].map(
    (token): TokenFact => ({
      address: token,
      decimals: decimals(token),
      name: `Token ${token.slice(-4)}`,
      symbol: token.slice(-4).toUpperCase(),
      totalSupplyRaw: 10n ** 24n,
    }),
  )
  const known: PoolFact[] = all.map((pool) => poolFact(pool.address, pool.coin, pool.quote))
  return { ...tableFacts(tokens, known), origin: 'node', proof: 'facts' }
}

const txOf = ({ random }: Cast, from: string, to: string | null, logs: Draft['logs']): Draft => ({
  hash: `0x${random.hex(64)}`,
  from,
  to,
  contractAddress: null,
  logs,
})

const amount = ({ random }: Cast, digits: number): bigint =>
  BigInt(1 + random.below(9_999)) * 10n ** BigInt(digits - 4)

const digitsOf = (token: string): number => (token === USDC ? 10 : token === WETH ? 19 : 12)

const reserves = (cast: Cast, { coin, quote }: Pool): readonly [bigint, bigint] => {
  const [coinRaw, quoteRaw] = [amount(cast, 15), amount(cast, digitsOf(quote) + 2)]
  return coin < quote ? [coinRaw, quoteRaw] : [quoteRaw, coinRaw]
}

const swapTx = (cast: Cast, pool: Pool): Draft => {
  const { random, wallets } = cast
  const [tokenIn, tokenOut] = random.chance(0.6) ? [pool.quote, pool.coin] : [pool.coin, pool.quote]
  const [inRaw, outRaw] = [amount(cast, digitsOf(tokenIn)), amount(cast, digitsOf(tokenOut))]
  const wallet = random.pick(wallets)
  const amounts = tokenIn < tokenOut ? [inRaw, 0n, 0n, outRaw] : [0n, inRaw, outRaw, 0n]
  return txOf(cast, wallet, pool.address, [
    transfer(tokenIn, wallet, pool.address, inRaw),
    transfer(tokenOut, pool.address, wallet, outRaw),
    v2Sync(reserves(cast, pool), pool.address),
    v2Swap(amounts, pool.address),
  ])
}

const moveTx = (cast: Cast, token: string): Draft => {
  const { random, wallets } = cast
  const raw = amount(cast, 11)
  const from = random.chance(0.15) ? ZERO : random.pick(wallets)
  const to = random.chance(0.15) ? ZERO : random.pick(wallets)
  return txOf(cast, random.pick(wallets), token, [transfer(token, from, to, raw)])
}

const liquidityTx = (cast: Cast, pool: Pool): Draft => {
  const { random, wallets } = cast
  const wallet = random.pick(wallets)
  const [first, second] = [amount(cast, 13), amount(cast, 20)]
  return txOf(cast, wallet, pool.address, [
    transfer(pool.coin, wallet, pool.address, first),
    transfer(pool.quote, wallet, pool.address, second),
    v2Sync(reserves(cast, pool), pool.address),
    logOf(
      pool.address,
      [TOPIC.v2Mint, topicOf(wallet)],
      pool.coin < pool.quote ? [first, second] : [second, first],
    ),
  ])
}

/** A new token, and the pair in which it is traded. */
const birthTxs = (cast: Cast, pool: Pool): readonly Draft[] => {
  const dev = cast.random.pick(cast.wallets)
  const [low = '', high = ''] = [pool.coin, pool.quote].sort()
  return [
    {
      ...txOf(cast, dev, null, [transfer(pool.coin, ZERO, dev, 10n ** 15n)]),
      contractAddress: pool.coin,
    },
    txOf(cast, dev, FACTORY, [
      logOf(FACTORY, [TOPIC.pairCreated, topicOf(low), topicOf(high)], [pool.address, 1n]),
    ]),
    liquidityTx(cast, pool),
  ]
}

const txsOf = (cast: Cast, born: readonly Pool[]): readonly Draft[] => {
  const { random, pools } = cast
  const traded = [...pools, ...born]
  return Array.from({ length: random.below(5) }, () => {
    const roll = random.unit()
    const pool = random.pick(traded)
    if (roll < 0.7) return swapTx(cast, pool)
    return roll < 0.85 ? moveTx(cast, pool.coin) : liquidityTx(cast, pool)
  })
}

const blockOf = (
  { random }: Cast,
  { parent, height }: { readonly parent: EvmBlock | undefined; readonly height: number },
  drafts: readonly Draft[],
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
class Growth {
  readonly #cast: Cast
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

  constructor(cast: Cast) {
    this.#cast = cast
  }

  get length(): number {
    return this.#blocks.length
  }

  /** Whether as many blocks were shown as ever. */
  get isHighest(): boolean {
    return this.#blocks.length >= this.#highest
  }

  extend(count: number, again: readonly Draft[] = []): void {
    const { random, born } = this.#cast
    const waiting = [...again]
    for (let added = 0; added < count; added += 1) {
      const own = [...txsOf(this.#cast, born.slice(0, this.#born))]
      const next = born[this.#born]
      if (next !== undefined && random.chance(0.2)) {
        own.push(...birthTxs(this.#cast, next))
        this.#born += 1
      }
      const taken = waiting.splice(0, random.below(4))
      const height = FIRST + this.#blocks.length
      const parent = this.#blocks.at(-1)
      const block = blockOf(this.#cast, { parent, height }, [...taken, ...own])
      this.byHash.set(block.hash, block)
      this.#blocks.push(block)
    }
  }

  /** Replaces up to so many of the newest blocks that are not final by others, or by a tail that stood there before. */
  replace(most: number): void {
    const { random } = this.#cast
    const depth = Math.min(most, FIRST + this.#blocks.length - 1 - this.#finalHeight)
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
      const again = random.chance(0.7) ? txs.map(draftOf) : []
      this.extend(Math.max(1, depth - 1 + random.below(3)), again)
    }
    this.#tails.push(removed)
  }

  /** Shows the chain as it is, after a while; `keep` blocks are not final. */
  show(waitMs: number, keep: number): void {
    this.#atMs += waitMs
    const highest = FIRST + this.#blocks.length - 1
    this.#highest = Math.max(this.#highest, this.#blocks.length)
    this.#finalHeight = Math.max(this.#finalHeight, highest - keep)
    this.views.push({
      atMs: this.#atMs,
      blocks: [...this.#blocks],
      finalHeight: this.#finalHeight,
    })
  }
}

const draftOf = ({ hash, from, to, contractAddress, logs }: Transaction): Draft => ({
  hash,
  from,
  to,
  contractAddress,
  logs: logs.map(({ index: _, ...log }) => log),
})

/** The chain of a seed: 10 to 40 blocks in the end, one to four reorgs of one to five blocks on the way. */
export const scheduleChain = (seed: number): ScheduleChain => {
  const random = createRandom(seed, 1)
  const cast = castOf(random)
  const growth = new Growth(cast)
  const blocks = 10 + Math.min(...[1, 2, 3].map(() => random.below(29)))
  const reorgs = 1 + random.below(4)
  const paceMs = 10 + random.below(random.chance(0.3) ? 400 : 120)
  const wait = (): number => Math.ceil(paceMs * (0.5 + random.unit()))
  growth.extend(3 + random.below(5))
  growth.show(0, OPEN)
  while (growth.reorgs < reorgs || growth.length < blocks || !growth.isHighest) {
    const isDue = growth.reorgs < reorgs && random.chance(reorgs / (blocks / 3))
    const isLong = growth.length + 4 >= blocks && growth.reorgs < reorgs
    if (isDue || isLong) growth.replace(1 + random.below(Math.min(DEEPEST, growth.length - 2)))
    else growth.extend(1 + random.below(3))
    growth.show(wait(), OPEN)
  }
  growth.extend(2)
  growth.show(wait(), OPEN)
  if (random.chance(0.5)) growth.show(wait(), 0)
  const { views, byHash } = growth
  const last = views.at(-1)
  if (last === undefined) throw new Error('a chain shows something')
  return { views, last, facts: factsOf(cast), byHash, reorgs: growth.reorgs }
}

/** How a process asks its node: a simulation may let it wait or fail. */
type Ask = <T>(work: () => T) => Promise<T>

/** How a process has its node. */
export interface NodeAccess {
  readonly ask: Ask
  /** Aborted when nobody asks any more. */
  readonly signal: AbortSignal
}

/** What a node answers with at this moment. */
export interface ShownChain {
  readonly facts: FactReader
  readonly view: () => ChainView
}

/** A node of the chain as the ingestor's source follows it. */
export const nodeSource = ({ facts, view }: ShownChain, { ask, signal }: NodeAccess): Source => {
  const chain = CHAINS.eth
  const at = (height: number): EvmBlock | undefined => view().blocks[height - FIRST]
  const newest = () => {
    const { hash, height } = view().blocks.at(-1) ?? { hash: null, height: 0 }
    return { hash, height }
  }
  const heads = headWatch({
    isNews: (told, held) => told.hash !== held.hash,
    ask: () => ask(newest),
    signal,
  })
  const node: FollowedNode = {
    heads,
    spacing: 'dense',
    blockTimeMs: 100,
    reorgBound: reorgBound(chain),
    nowMs: () => Number.MAX_SAFE_INTEGER,
    next: (tip, from) => ask(() => at(tip === null ? from : tip.height + 1)),
    forget: () => undefined,
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
    node: { facts: () => facts, primes: async () => [] },
    operations: (position, stop) => followNode(node, position, { from: FIRST, stop }),
  }
}
