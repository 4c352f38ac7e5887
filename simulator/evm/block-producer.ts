import { createHash } from 'node:crypto'
import type { Hex } from 'viem'
import type { BlockProducer, ChainSpec, HeaderCodec } from '../node/producer.ts'
import { createRandom, type Random } from '../node/random.ts'
import { segmentLength } from '../node/segments.ts'
import { State } from '../node/state.ts'
import { failedTrade, flashSwap, forgedSwaps, suspectTrade } from './adversarial-trades.ts'
import { type BlockBuilder, createBlockBuilder } from './block-builder.ts'
import {
  bloomOf,
  EMPTY_ROOT,
  type Header,
  headerHash,
  headerOnly,
  type SealedBlock,
} from './blocks.ts'
import { type BloomCache, createBloomCache } from './bloom-filter.ts'
import { runDeployments } from './deployments.ts'
import { type ExecutionContext, firstAccount } from './execution.ts'
import { stepFairPrices } from './fair-prices.ts'
import { correctPrices, returnSurplus } from './market-makers.ts'
import {
  holderTrade,
  moveLiquidity,
  plainTransaction,
  retailTrade,
  routedTrade,
} from './retail-traders.ts'
import { type Account, createScenario, type Scenario } from './scenario.ts'
import { type StateLayout, stateLayoutOf } from './state-layout.ts'
import type { SealedTransaction } from './transactions.ts'

/** Raise it when the same spec gives another chain than before: it is part of the genesis hash. */
const MODEL_VERSION = 1

const BLOCK_TIME_MS = 12_000
/** Seconds of transactions that are kept in memory: those of the deepest reorg, and at most so many transactions. */
const CACHED_SECONDS = 800
const MAX_CACHED_TRANSACTIONS = 60_000
/** Most blocks of a segment: a checkpoint every six minutes at least. */
const MAX_SEGMENT_BLOCKS = 32

/** First block in which people trade; before it tokens and pools are made. */
const FIRST_TRADING_HEIGHT = 7

/** Makes the blocks of one spec. */
export interface EvmBlockProducer extends BlockProducer<Header, SealedBlock> {
  readonly scenario: Scenario
  readonly layout: StateLayout
  readonly blooms: BloomCache
}

const codec: HeaderCodec<Header> = {
  model: MODEL_VERSION,
  pack: (head) => ({ ...head, baseFeeRaw: head.baseFeeRaw.toString() }),
  unpack: (packed) => {
    const head = packed as Omit<Header, 'baseFeeRaw'> & { readonly baseFeeRaw: string }
    return { ...head, baseFeeRaw: BigInt(head.baseFeeRaw) }
  },
  hashBytes: (hash) => Buffer.from(hash.slice(2), 'hex'),
  hashText: (bytes) => `0x${Buffer.from(bytes).toString('hex')}`,
}

/** What happens in a block, and how often relative to the others. Returns the pool swaps that it made. */
const ACTIONS: readonly (readonly [number, (builder: BlockBuilder) => number])[] = [
  [30, correctPrices],
  [34, retailTrade],
  [12, holderTrade],
  [6, routedTrade],
  [2, moveLiquidity],
  [9, plainTransaction],
  [2, returnSurplus],
  [2.5, failedTrade],
  [0.7, suspectTrade],
  [0.4, flashSwap],
  [0.4, forgedSwaps],
]
const TOTAL_WEIGHT = ACTIONS.reduce((sum, [weight]) => sum + weight, 0)

const ZERO_HASH = `0x${'0'.repeat(64)}` as const

const GWEI = 1_000_000_000n
const FIRST_BASE_FEE = 8n * GWEI
const GAS_PER_SWAP = 190_000
/** Actions that may come to nothing before a block is closed short of its quota. */
const MAX_IDLE_ACTIONS = 400

const runRandomAction = (builder: BlockBuilder): number => {
  let at = builder.random.unit() * TOTAL_WEIGHT
  for (const [weight, action] of ACTIONS) {
    at -= weight
    if (at < 0) return action(builder)
  }
  return 0
}

/** Base fee of the next block: a walk around its first value, never by more than an eighth (EIP-1559). */
const nextBaseFee = (baseFee: bigint, random: Random): bigint => {
  const drift = (FIRST_BASE_FEE - baseFee) / 40n
  const step = (baseFee * BigInt(Math.round(random.gaussian() * 150))) / 10_000n
  const bound = baseFee / 8n
  const move = drift + step
  return baseFee + (move > bound ? bound : move < -bound ? -bound : move)
}

/** Ether of the first block, whole native tokens by role. */
const GENESIS_ETHER: Readonly<Record<string, bigint>> = {
  exchange: 50_000_000n,
  deployer: 100n,
  liquidity: 200n,
  'market-maker': 200n,
  arbitrageur: 200n,
  whale: 300n,
  forger: 20n,
  retail: 12n,
  holder: 8n,
  validator: 32n,
}

/** Swaps that a block is due, in thousandths: the rate, loosely, less what was made too much before. */
const swapQuota = (spec: ChainSpec, random: Random): number =>
  Math.round(spec.ratePerSecond * BLOCK_TIME_MS * (0.7 + 0.6 * random.unit()))

const digestOf = (parts: Iterable<string>): Hex => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return `0x${hash.digest('hex')}`
}

function* receiptParts(transactions: readonly SealedTransaction[]): Generator<string> {
  for (const { success, gasUsed, logs } of transactions) {
    let text = `${success} ${gasUsed}`
    for (const { address, topics } of logs) text += `${address}${topics.join('')}`
    yield text
  }
}

const writesText = (parentRoot: string, writes: ReadonlyMap<number, bigint>): string => {
  let text = parentRoot
  for (const [place, value] of writes) text += `${place}=${value.toString(16)};`
  return text
}

/**
 * Roots of a block: plain digests of its signatures, its receipts and what it wrote. Tries would cost more than all the
 * rest, and nothing can be proved against them over JSON-RPC without `eth_getProof`.
 */
const rootsOf = (
  parentRoot: string,
  transactions: readonly SealedTransaction[],
  writes: ReadonlyMap<number, bigint>,
) =>
  ({
    stateRoot: digestOf([writesText(parentRoot, writes)]),
    transactionsRoot:
      transactions.length === 0 ? EMPTY_ROOT : digestOf(transactions.map(({ r, s }) => r + s)),
    receiptsRoot: transactions.length === 0 ? EMPTY_ROOT : digestOf(receiptParts(transactions)),
  }) as const

/** Text that says where the blocks of this chain come from: its builder. */
const EXTRA_DATA = '0x6c6f63616c206275696c646572'

const genesisState = (
  scenario: ReturnType<typeof createScenario>,
  layout: ReturnType<typeof stateLayoutOf>,
): State => {
  const state = new State(new Array<bigint>(layout.size).fill(0n))
  for (const { role, index } of scenario.accounts)
    state.set(layout.ether(index), (GENESIS_ETHER[role] ?? 0n) * 10n ** 18n)
  state.set(layout.baseFee, FIRST_BASE_FEE)
  state.commit()
  return state
}

/** A producer for one spec. */
export const createEvmBlockProducer = (spec: ChainSpec): EvmBlockProducer => {
  const scenario = createScenario(spec.seed)
  const layout = stateLayoutOf(scenario)
  const blooms = createBloomCache()
  const due = spec.ratePerSecond * (BLOCK_TIME_MS / 1_000) * GAS_PER_SWAP
  const gasLimit = Math.max(36_000_000, Math.ceil((due * 3) / 1e6) * 1_000_000)
  const validators = scenario.byRole.validator
  const coinbaseOf = (height: number): Account =>
    validators[height % validators.length] ?? firstAccount(validators)

  const seal = (parent: Header | null, builder: BlockBuilder): SealedBlock => {
    const { height, state } = builder.context
    const { random, transactions } = builder
    const writes = state.drainWrites()
    const header = {
      height,
      parentHash: parent?.hash ?? ZERO_HASH,
      timeMs: spec.genesisMs + height * BLOCK_TIME_MS,
      coinbase: coinbaseOf(height).address,
      ...rootsOf(
        parent?.stateRoot ?? `${MODEL_VERSION} ${JSON.stringify(spec)}`,
        transactions,
        writes,
      ),
      logsBloom: bloomOf(blooms, transactions),
      gasLimit,
      gasUsed: builder.gasUsed,
      baseFeeRaw: state.get(layout.baseFee),
      extraData: EXTRA_DATA,
      mixHash: `0x${random.hex(64)}`,
      parentBeaconBlockRoot: `0x${random.hex(64)}`,
    } as const
    return { ...header, hash: headerHash(header), transactions, writes }
  }

  const builderAt = (state: State, height: number, branch: number): BlockBuilder => {
    const random = createRandom(spec.seed, height, branch)
    const machine: ExecutionContext = { scenario, layout, state, height, logs: [] }
    return createBlockBuilder(machine, random, coinbaseOf(height).index)
  }

  return {
    spec,
    codec,
    maxCachedTransactions: Math.min(MAX_CACHED_TRANSACTIONS, CACHED_SECONDS * spec.ratePerSecond),
    segmentBlocks: segmentLength((spec.ratePerSecond * BLOCK_TIME_MS) / 1_000, MAX_SEGMENT_BLOCKS),
    heightAt: (timeMs) => Math.floor((timeMs - spec.genesisMs) / BLOCK_TIME_MS),
    headOf: headerOnly,
    scenario,
    layout,
    blooms,
    genesis: () => {
      const state = genesisState(scenario, layout)
      return { block: seal(null, builderAt(state, 0, 0)), state }
    },
    *next(parent, state, branch) {
      const builder = builderAt(state, parent.height + 1, branch)
      const { random, context } = builder
      state.set(layout.baseFee, nextBaseFee(state.get(layout.baseFee), random))
      stepFairPrices(context, random)
      runDeployments(builder)
      yield
      const quota = swapQuota(spec, random) - Number(state.get(layout.surplus))
      let made = 0
      for (
        let idle = 0;
        context.height >= FIRST_TRADING_HEIGHT && made < quota && idle < MAX_IDLE_ACTIONS;
      ) {
        const swaps = runRandomAction(builder)
        made += swaps * 1_000
        idle = swaps > 0 ? 0 : idle + 1
        yield
      }
      if (context.height >= FIRST_TRADING_HEIGHT) state.set(layout.surplus, BigInt(made - quota))
      state.commit()
      return seal(parent, builder)
    },
  }
}
