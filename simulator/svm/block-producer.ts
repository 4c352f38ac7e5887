import { createHash } from 'node:crypto'
import { base58Decode, base58Encode } from '../../core/base58.ts'
import type { BlockProducer, ChainSpec, HeaderCodec } from '../node/producer.ts'
import { createRandom, type Random } from '../node/random.ts'
import { segmentLength } from '../node/segments.ts'
import type { State } from '../node/state.ts'
import {
  failedTrade,
  plainTransaction,
  submitVotes,
  twoPoolTrade,
} from './background-transactions.ts'
import { type BlockBuilder, createBlockBuilder } from './block-builder.ts'
import { type Header, headerOnly, type SealedBlock } from './blocks.ts'
import { curveTrade } from './curve-trades.ts'
import { stepFairPrices } from './fair-prices.ts'
import { genesisState } from './genesis.ts'
import { launchToken, migrateCompleteCurves } from './launch-and-migrate.ts'
import { createLaunchRegistry, type LaunchRegistry } from './launches.ts'
import { poolTrade } from './pumpswap-trades.ts'
import { raydiumTrade } from './raydium-trades.ts'
import { createScenario, type Scenario } from './scenario.ts'
import { forkSlotAt, heightAt, SLOT_MS, slotAt } from './slots.ts'

/** Makes the blocks of one Solana chain. */
export interface SvmBlockProducer extends BlockProducer<Header, SealedBlock> {
  readonly scenario: Scenario
  readonly launches: LaunchRegistry
}

/** Raise it when the same spec gives another chain than before: it is part of the genesis hash. */
const MODEL_VERSION = 1_001
/** Most blocks of a segment: a checkpoint every minute at least. */
const MAX_SEGMENT_BLOCKS = 128
/** Seconds of trades whose transactions are kept in memory, 12 kB each: those of the deepest reorg, and at most so many. */
const CACHED_SECONDS = 40
const MAX_CACHED_TRANSACTIONS = 20_000
/** Leaders have four slots in a row. */
const LEADER_SLOTS = 4
/** Launches before there is anything else. */
const FIRST_LAUNCHES = 3
/** Most launches per second, whatever the rate. The record of pump.fun is 0.83. */
const LAUNCHES_PER_SECOND = 0.5
/** Actions that may come to nothing before a block is closed short of its quota. */
const MAX_IDLE_ACTIONS = 200

/** What happens in a block, and how often relative to the others. Returns the pool trades that it made. */
type WeightedAction = readonly [weight: number, action: (blockBuilder: BlockBuilder) => number]

const actionsFor = (ratePerSecond: number): readonly WeightedAction[] => [
  [45, curveTrade],
  [24, poolTrade],
  [24, raydiumTrade],
  [1.5, twoPoolTrade],
  [Math.min(2.5, (100 * LAUNCHES_PER_SECOND) / ratePerSecond), launchToken],
  [7, plainTransaction],
  [4, failedTrade],
]

const codec: HeaderCodec<Header> = {
  model: MODEL_VERSION,
  pack: (head) => ({
    ...head,
    rewardRaw: head.rewardRaw.toString(),
    leaderRaw: head.leaderRaw.toString(),
  }),
  unpack: (packed) => {
    const head = packed as Header & { readonly rewardRaw: string; readonly leaderRaw: string }
    return { ...head, rewardRaw: BigInt(head.rewardRaw), leaderRaw: BigInt(head.leaderRaw) }
  },
  hashBytes: (hash) => base58Decode(hash) ?? new Uint8Array(32),
  hashText: base58Encode,
}

/** Trades that a block is due, in thousandths: the rate, loosely, over the time since its parent. */
const tradeQuota = ({ ratePerSecond }: ChainSpec, slots: number, random: Random): number =>
  Math.round(ratePerSecond * slots * SLOT_MS * (0.6 + 0.8 * random.unit()))

const blockHash = (
  head: Omit<Header, 'hash'>,
  blockBuilder: BlockBuilder,
  writes: ReadonlyMap<number, bigint>,
) => {
  const hash = createHash('sha256')
  hash.update(`${head.parentHash} ${head.slot} ${head.height} ${head.timeMs} ${head.rewardRaw}`)
  for (const { signatures, trace } of blockBuilder.transactions)
    for (const part of [...signatures, String(trace.length)]) hash.update(part)
  let text = ''
  for (const [place, value] of writes) text += `${place}=${value.toString(16)};`
  return base58Encode(hash.update(text).digest())
}

/** Runs one action at random, by weight; gives the trades that it made. */
const randomActions = (ratePerSecond: number): ((builder: BlockBuilder) => number) => {
  const actions = actionsFor(ratePerSecond)
  const totalWeight = actions.reduce((sum, [weight]) => sum + weight, 0)
  return (builder) => {
    let at = builder.random.unit() * totalWeight
    for (const [weight, action] of actions) {
      at -= weight
      if (at < 0) return action(builder)
    }
    return 0
  }
}

/** A producer for one spec. */
export const createSvmBlockProducer = (spec: ChainSpec): SvmBlockProducer => {
  const { seed, ratePerSecond, genesisMs } = spec
  const scenario = createScenario(seed, ratePerSecond)
  const launches = createLaunchRegistry(scenario)
  const { layout, validators } = scenario
  const act = randomActions(ratePerSecond)
  const surplusAt = layout.common('surplus')

  const seal = (parent: Header | undefined, blockBuilder: BlockBuilder): SealedBlock => {
    const { height, slot, state } = blockBuilder.context
    const leader = Math.floor(slot / LEADER_SLOTS) % validators.length
    const place = layout.validator(leader)
    state.add(place, blockBuilder.rewardRaw)
    state.commit()
    const writes = state.drainWrites()
    const head = {
      height,
      slot,
      leader,
      parentSlot: parent?.slot ?? 0,
      parentHash: parent?.hash ?? base58Encode(new Uint8Array(32)),
      timeMs: genesisMs + slot * SLOT_MS,
      rewardRaw: blockBuilder.rewardRaw,
      leaderRaw: state.get(place),
    }
    const named =
      parent === undefined ? { ...head, parentHash: JSON.stringify([MODEL_VERSION, spec]) } : head
    const hash = blockHash(named, blockBuilder, writes)
    return { ...head, hash, transactions: blockBuilder.transactions, writes }
  }
  const builderAt = (
    state: State,
    at: { height: number; slot: number; branch: number },
    hash: string,
  ) => {
    const { height, slot, branch } = at
    const timeSec = Math.floor((genesisMs + slot * SLOT_MS) / 1_000)
    const random = createRandom(seed, height, branch)
    return createBlockBuilder({ scenario, launches, state, slot, height, timeSec }, random, hash)
  }

  return {
    spec,
    codec,
    scenario,
    launches,
    segmentBlocks: segmentLength((ratePerSecond * SLOT_MS) / 1_000, MAX_SEGMENT_BLOCKS),
    maxCachedTransactions: Math.min(MAX_CACHED_TRANSACTIONS, CACHED_SECONDS * ratePerSecond),
    heightAt: (timeMs) => heightAt(seed, Math.floor((timeMs - genesisMs) / SLOT_MS)),
    headOf: headerOnly,
    genesis: () => {
      const state = genesisState(scenario)
      const blockBuilder = builderAt(state, { height: 0, slot: 0, branch: 0 }, '')
      return { block: seal(undefined, blockBuilder), state }
    },
    *next(parent, state, branch) {
      const height = parent.height + 1
      const slot = branch === 0 ? slotAt(seed, height) : forkSlotAt(seed, height)
      const blockBuilder = builderAt(state, { height, slot, branch }, parent.hash)
      const { random, context } = blockBuilder
      stepFairPrices(context, random)
      state.commit()
      submitVotes(blockBuilder)
      yield
      let made = height <= FIRST_LAUNCHES ? launchToken(blockBuilder) * 1_000 : 0
      migrateCompleteCurves(blockBuilder)
      yield
      const quota = tradeQuota(spec, slot - parent.slot, random) - Number(state.get(surplusAt))
      for (let idle = 0; made < quota && idle < MAX_IDLE_ACTIONS; ) {
        const trades = act(blockBuilder)
        made += trades * 1_000
        idle = trades > 0 ? 0 : idle + 1
        yield
      }
      state.set(surplusAt, BigInt(made - quota))
      return seal(parent, blockBuilder)
    },
  }
}
