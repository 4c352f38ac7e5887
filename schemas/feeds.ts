import type { ChainRow, Vm } from './chains.ts'
import type { Topic } from './topics.ts'

/** What an operator may add to a chain's topics. */
interface FeedRow {
  readonly vm: Vm
  /** Only these chains have it; absent: every chain of the virtual machine. */
  readonly chains?: readonly string[]
  /** Not on chains on which a contract logs every transfer of the native token: there the token's own events tell it. */
  readonly unloggedNative?: true
  /** Topics that exist with the feed only; none where it adds to one that is always there. */
  readonly topics: readonly Topic[]
}

/** Feeds by the word that turns them on. All are off by default: each is a multiple of what trades cost. */
const FEEDS = {
  /** Calls inside transactions; the node is asked for traces. */
  calls: { vm: 'evm', topics: ['calls'] },
  /** The coin's own moves, in the topic of transfers; with `calls` also those inside transactions. */
  'native-transfers': { vm: 'evm', topics: [] },
  /** What accounts hold of the coin, in the topic of balances; the node is asked for traces. ZKsync's coin is a contract. */
  'coin-balances': {
    vm: 'evm',
    unloggedNative: true,
    topics: [],
  },
  /** Every log. */
  events: { vm: 'evm', topics: ['events'] },
  /** What a block pays who made it, on chains whose rule is known. */
  'miner-rewards': { vm: 'evm', chains: ['eth', 'bsc', 'polygon'], topics: ['minerRewards'] },
  /** Blocks that a block names as its uncles. */
  uncles: { vm: 'evm', chains: ['eth'], topics: ['uncles'] },
  /** Trades, managements and settlements of prediction markets. */
  predictions: {
    vm: 'evm',
    chains: ['polygon'],
    topics: ['predictionTrades', 'predictionManagements', 'predictionSettlements'],
  },
  /** Every instruction that is not a vote. */
  instructions: { vm: 'svm', topics: ['instructions'] },
  /** Rewards of a block to its leader, to voters and stakes. */
  rewards: { vm: 'svm', topics: ['rewards'] },
  /** Orders of order books. */
  orders: { vm: 'svm', topics: ['orders'] },
} as const satisfies Record<string, FeedRow>

export type Feed = keyof typeof FEEDS

/** Words of all feeds. */
export const FEED_NAMES = Object.keys(FEEDS) as readonly Feed[]

type FeedChain = Pick<ChainRow, 'id' | 'vm' | 'coinContract'>

/** Those of the feeds that a chain has. */
export const feedsOfChain = (
  { id, vm, coinContract }: FeedChain,
  feeds: readonly Feed[],
): ReadonlySet<Feed> =>
  new Set(
    feeds.filter((feed) => {
      const row: FeedRow = FEEDS[feed]
      const offered = row.unloggedNative === undefined || coinContract === undefined
      return row.vm === vm && row.chains?.includes(id) !== false && offered
    }),
  )

/** Topics that a chain has with these feeds and not without. */
export const feedTopics = (chain: FeedChain, feeds: readonly Feed[]): readonly Topic[] =>
  [...feedsOfChain(chain, feeds)].flatMap((feed) => FEEDS[feed].topics)
