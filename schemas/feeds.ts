import type { ChainFeed, ChainRow, Vm } from './chains.ts'
import type { Topic } from './topics.ts'

/** What an operator may add to a chain's topics. */
interface FeedRow {
  /** Virtual machines whose chains have it; absent: every chain. */
  readonly vms?: readonly Vm[]
  /** Not on chains on which a contract logs every transfer of the native token: there the token's own events tell it. */
  readonly unloggedNative?: true
  /** Topics that exist with the feed only; none where it adds to one that is always there. */
  readonly topics: readonly Topic[]
}

/** Those that only chains have whose rows name them: the types hold this list and the rows together. */
const CHAIN_FEEDS: Readonly<Record<ChainFeed, true>> = {
  'miner-rewards': true,
  uncles: true,
  predictions: true,
}

/** Feeds by the word that turns them on. All are off by default: each is a multiple of what trades cost. */
const FEEDS = {
  /** Calls inside transactions; the node is asked for traces. */
  calls: { vms: ['evm'], topics: ['calls'] },
  /** The native token's own transfers, in the topic of transfers; with `calls` also those inside transactions. */
  'native-transfers': { vms: ['evm'], topics: [] },
  /** What accounts hold of the native token, in the topic of balances; the node is asked for traces. ZKsync's native token is a contract. */
  'coin-balances': {
    vms: ['evm'],
    unloggedNative: true,
    topics: [],
  },
  /** Every log. */
  events: { vms: ['evm'], topics: ['events'] },
  /** What a block pays who made it, on chains whose rule is known. */
  'miner-rewards': { vms: ['evm'], topics: ['minerRewards'] },
  /** Blocks that a block names as its uncles. */
  uncles: { vms: ['evm'], topics: ['uncles'] },
  /** Trades, managements and settlements of prediction markets, and positions in their outcome tokens. */
  predictions: {
    vms: ['evm'],
    topics: [
      ...(['predictionTrades', 'predictionManagements'] as const),
      ...(['predictionSettlements', 'predictionPositions'] as const),
    ],
  },
  /** Gifts that several addresses share: creations, claims and refunds of listed contracts and programs. */
  'red-packets': { vms: ['evm', 'svm'], topics: ['redpackets'] },
  /** What listed contracts say of addresses: sanctions, freezes of issuers. Labels of risk screening are made of it. */
  'address-labels': { vms: ['evm'], topics: ['addressLabels'] },
  /** Every instruction that is not a vote. */
  instructions: { vms: ['svm'], topics: ['instructions'] },
  /** Rewards of a block to its leader, to voters and stakes. */
  rewards: { vms: ['svm'], topics: ['rewards'] },
  /** Orders of order books. */
  orders: { vms: ['svm'], topics: ['orders'] },
  /** Every transaction that is read, failed ones too: all but Solana's votes. */
  transactions: { topics: ['transactions'] },
} as const satisfies Record<string, FeedRow>

export type Feed = keyof typeof FEEDS

/** Words of all feeds. */
export const FEED_NAMES = Object.keys(FEEDS) as readonly Feed[]

type FeedChain = Pick<ChainRow, 'vm' | 'nativeTokenContract' | 'feeds'>

const isChainFeed = (feed: Feed): feed is ChainFeed => Object.hasOwn(CHAIN_FEEDS, feed)

/** Those of the feeds that a chain has. */
export const feedsOfChain = (
  { vm, nativeTokenContract, feeds: own }: FeedChain,
  feeds: readonly Feed[],
): ReadonlySet<Feed> =>
  new Set(
    feeds.filter((feed) => {
      const row: FeedRow = FEEDS[feed]
      const offered = row.unloggedNative === undefined || nativeTokenContract === undefined
      const hasVm = row.vms?.includes(vm) !== false
      return hasVm && (!isChainFeed(feed) || own.includes(feed)) && offered
    }),
  )

/** Topics that a chain has with these feeds and not without. */
export const feedTopics = (chain: FeedChain, feeds: readonly Feed[]): readonly Topic[] =>
  [...feedsOfChain(chain, feeds)].flatMap((feed) => FEEDS[feed].topics)
