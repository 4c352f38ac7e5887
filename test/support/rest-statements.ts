/**
 * Every statement that the REST API sends to ClickHouse, for sample requests, as one text: `test/fixtures/statements/rest.sql`. A change
 * of a comparison, a bound or an order shows there as a changed line, whether or not recorded data notice it.
 */
import type { Query } from '../../core/clickhouse/client.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { SEARCH_BOUNDS } from '../../schemas/risk.ts'
import { activityList } from '../../serving/queries/activities.ts'
import { candleQuery } from '../../serving/queries/candles.ts'
import { freshnessQuery } from '../../serving/queries/chain-freshness.ts'
import * as pools from '../../serving/queries/dex-pools.ts'
import { blockFeesQuery } from '../../serving/queries/gas-price.ts'
import { holdersQuery, poolsAmongQuery, walletHoldersQuery } from '../../serving/queries/holders.ts'
import {
  type KeysetList,
  membersOnly,
  membersQuery,
  sliceQuery,
} from '../../serving/queries/keyset-list.ts'
import { latestBlockQuery } from '../../serving/queries/latest-block.ts'
import * as worth from '../../serving/queries/net-worth.ts'
import {
  blocksInSlotsQuery,
  lastBlockQuery,
  newBlocksQuery,
  standingBlocksQuery,
  standingTipQuery,
} from '../../serving/queries/new-blocks.ts'
import * as pastWorth from '../../serving/queries/past-net-worth.ts'
import {
  poolBinsQuery,
  poolStatesQuery,
  poolTicksQuery,
} from '../../serving/queries/pool-states.ts'
import { predictionActivityList } from '../../serving/queries/prediction-activities.ts'
import * as positions from '../../serving/queries/prediction-positions.ts'
import * as predictionWallets from '../../serving/queries/prediction-wallets.ts'
import {
  claimedRedPackets,
  currentRedPacket,
  redPacketClaimCount,
  redPacketClaimList,
  redPacketClaimOf,
  redPacketCount,
  redPacketList,
  redPacketTotals,
} from '../../serving/queries/red-packets.ts'
import * as risk from '../../serving/queries/risk-graph.ts'
import { createdTokenList, creatorsQuery } from '../../serving/queries/token-creators.ts'
import * as details from '../../serving/queries/token-details.ts'
import * as history from '../../serving/queries/token-history.ts'
import { hotTokensQuery, rankingQuery, tokenList } from '../../serving/queries/token-list.ts'
import { tokenNamesQuery } from '../../serving/queries/token-names.ts'
import { matchesQuery, searchQuery } from '../../serving/queries/token-search.ts'
import { statsQuery } from '../../serving/queries/token-stats.ts'
import { tokenTradersList, tokenTradersQuery } from '../../serving/queries/token-traders.ts'
import { tokensQuery } from '../../serving/queries/tokens.ts'
import { taggedTraderList } from '../../serving/queries/trader-tags.ts'
import { gainerList, topTradersList, tradesList } from '../../serving/queries/trades.ts'
import * as wallet from '../../serving/queries/wallet-history.ts'
import { pnlList, pnlTotalsQuery } from '../../serving/queries/wallet-pnl.ts'
import { pnlSummaryQuery } from '../../serving/queries/wallet-pnl-summary.ts'
import { walletStatsQuery } from '../../serving/queries/wallet-stats.ts'
import {
  attemptsQuery,
  messageQuery,
  wasAttemptedQuery,
} from '../../serving/queries/webhook-attempts.ts'
import { endpointMessagesQuery, endpointStatsQuery } from '../../serving/queries/webhook-stats.ts'
import {
  failedMessagesQuery,
  unattemptedMessagesQuery,
} from '../../serving/queries/webhook-tasks.ts'

const CHAIN = 'eth'
const TOKEN = 'token-1'
const WALLET = 'wallet-1'
const CREATION = { chain: CHAIN, packet_id: 'packet-1', slot: '7', event: 0 }
const POOL = 'pool-1'
const ROWS = 26
const [FROM, TO] = [1_700_000_000_000, 1_700_003_600_000]
const TIMES = { beforeTimestamp: TO, afterTimestamp: FROM }
const HEIGHTS = { beforeBlockHeight: 20, afterBlockHeight: 10 }

const firstPageQuery = (list: KeysetList): Query =>
  sliceQuery(list, { direction: 'next', after: undefined, rows: ROWS })

const HOLDERS = { chain: CHAIN, token: TOKEN, rows: ROWS } as const
const SEARCH = { chains: [CHAIN, 'bsc'], keyword: 'Cat%', rows: ROWS } as const
const SEARCH_BY_RELEVANCE = {
  ...SEARCH,
  protocols: [],
  sortBy: 'relevance',
  descending: true,
  direction: 'next',
  after: undefined,
} as const
const HOURS = [FROM / 1_000, FROM / 1_000 + 3_600]
const HOUR = 472_222
const NET_WORTH = { chain: CHAIN, wallets: [WALLET] } as const
const PNL = { chain: CHAIN, wallets: [WALLET] } as const
const WEBHOOK_TASK = {
  endpointId: 'ep-1',
  sinceMs: FROM,
  untilMs: TO,
  after: '',
  rows: ROWS,
} as const
const CANDLES = { chain: CHAIN, fromMs: FROM, toMs: TO, limit: 100 } as const

const EDGES = { side: 'received', addresses: [WALLET], untilMs: TO } as const

/** Statements by a name that says what was asked for. */
const STATEMENTS: Readonly<Record<string, Query | KeysetList | undefined>> = {
  'activities of all tokens': activityList(CHAIN, { sort: 'time', descending: true }),
  'activities of a token, every filter': activityList(CHAIN, {
    tokenAddress: TOKEN,
    walletAddress: WALLET,
    poolAddress: POOL,
    type: 'SELL',
    transactionsSignature: 'tx-1',
    minAmountUsd: '1.5',
    maxAmountUsd: '2.5',
    ...TIMES,
    ...HEIGHTS,
    traderTags: ['dev', 'sniper'],
    sort: 'value',
    descending: false,
  }),
  'latest block': latestBlockQuery(CHAINS.eth),
  'fees of blocks': blockFeesQuery(CHAINS.eth),
  'candles of a token': candleQuery({
    ...CANDLES,
    series: { kind: 'token', token: TOKEN },
    resolution: '5m',
    priceType: 'usd',
  }),
  'candles of a pool': candleQuery({
    ...CANDLES,
    series: { kind: 'pool', pool: POOL },
    resolution: '1h',
    priceType: 'native',
  }),
  'candles of a pair': candleQuery({
    ...CANDLES,
    series: { kind: 'pair', token: TOKEN, side: 'token-2' },
    resolution: '1s',
    priceType: 'usd',
  }),
  'freshness by slot': freshnessQuery(CHAINS.sol),
  'freshness by height': freshnessQuery(CHAINS.eth),
  'block operations after one': newBlocksQuery(CHAINS.eth, { afterSeq: 7, fromSlot: 5 }),
  'last block operation': lastBlockQuery(CHAINS.eth),
  'newest block after an operation': standingTipQuery(CHAINS.eth, 7),
  'blocks of a range of slots': blocksInSlotsQuery(CHAINS.eth, { fromSlot: 5, toSlot: 9 }),
  'standing blocks from a slot on': standingBlocksQuery(CHAINS.eth, {
    fromSlot: 5,
    upToSeq: 7,
    limit: 256,
  }),
  'pools by address': pools.poolsQuery(CHAIN, [POOL]),
  'pools of a token, every filter': pools.tokenPoolsList(
    CHAIN,
    TOKEN,
    {
      sortBy: 'tvlInSol',
      minTvlInSol: '1',
      maxTvlInSol: '2',
      minTvlInUsd: '3',
      maxTvlInUsd: '4',
    },
    false,
  ),
  'pools of a token': pools.tokenPoolsList(CHAIN, TOKEN, {}, true),
  'states of pools at a start': poolStatesQuery(CHAIN, ['uniswap_v2', 'uniswap_v3'], ROWS),
  'ticks of pools at a start': poolTicksQuery(CHAIN, ROWS),
  'bins of pools at a start': poolBinsQuery(CHAIN, ROWS),
  'risk: counterparties above the floors': risk.edgesQuery(CHAIN, EDGES, SEARCH_BOUNDS),
  'risk: labelled counterparties': risk.labelledEdgesQuery(CHAIN, EDGES, TO),
  'risk: labels of addresses': risk.labelsQuery(CHAIN, [WALLET], TO),
  'risk: labels of an address so far': risk.labelHistoryQuery(CHAIN, WALLET),
  'risk: whether an address has a label of some categories': risk.labelledQuery(
    WALLET,
    ['mixer'],
    TO,
  ),
  'risk: version of the labels': risk.labelsVersionQuery(),
  'risk: end of the sums': risk.edgesEndQuery(CHAIN),
  'risk: what an address moved': risk.totalsQuery(CHAIN, WALLET),
  'risk: transfers of a transaction': risk.transactionTransfersQuery(CHAIN, {
    tx: 'tx-1',
    asset: TOKEN,
    nativeTokens: ['coin-1'],
  }),
  'risk: whether a reorg took a transaction back': risk.retractionQuery(CHAIN, {
    tx: 'tx-1',
    slot: 7,
    blockHash: 'hash-1',
  }),
  'new pools': pools.newPoolsQuery(CHAIN, ['uniswapv2'], ROWS),
  'snapshots of a pool': pools.poolSnapshotsList(CHAIN, POOL, undefined),
  'snapshot of a pool at a time': pools.poolSnapshotsList(CHAIN, POOL, TO),
  'liquidity of a token by hour': pools.liquidityHoursList(CHAIN, TOKEN, undefined),
  'liquidity of a token at a time': pools.liquidityHoursList(CHAIN, TOKEN, TO),
  'liquidity of a token at the end of hours': pools.hourLiquidityQuery(CHAIN, TOKEN, HOURS),
  'holders, largest first': holdersQuery({
    ...HOLDERS,
    sort: 'amountPercentage',
    descending: true,
    direction: 'next',
    after: undefined,
  }),
  'holders, second page backwards': holdersQuery({
    ...HOLDERS,
    sort: 'amountPercentage',
    descending: true,
    direction: 'prev',
    after: { key: '5', holder: WALLET },
  }),
  'holders by profit': holdersQuery({
    ...HOLDERS,
    sort: 'totalPnl',
    descending: true,
    direction: 'next',
    after: undefined,
  }),
  'some holders': walletHoldersQuery(CHAIN, TOKEN, [WALLET]),
  'pools among holders': poolsAmongQuery(CHAIN, [WALLET]),
  'tokens that a wallet holds': worth.holdingList({ ...NET_WORTH, trusted: false }),
  'some tokens that a wallet holds': worth.holdingList({
    ...NET_WORTH,
    trusted: true,
    tokens: [TOKEN],
  }),
  'worth of all that a wallet holds': worth.netWorthQuery({ ...NET_WORTH, trusted: false }),
  'net worth': worth.netWorthQuery({ ...NET_WORTH, trusted: true }),
  'newest block time': worth.chainHeadQuery(CHAIN),
  'worth of a wallet by hour': pastWorth.hourWorthQuery(CHAIN, WALLET, {
    since: HOUR - 24,
    until: HOUR,
  }),
  'worth of a wallet at an hour': pastWorth.pastWorthQuery(CHAIN, WALLET, HOUR),
  'holdings of a wallet at an hour': pastWorth.pastHoldingList(CHAIN, WALLET, HOUR),
  'holder trend': details.holderTrendQuery(CHAIN, TOKEN, {
    fromS: FROM / 1_000,
    toS: TO / 1_000,
    stepS: 3_600,
  }),
  'burnt by the creator': details.burnedByCreatorQuery(CHAIN, TOKEN),
  'fees of a token': details.medianFeeQuery(CHAIN, TOKEN),
  'price of a token at a time': history.priceQuery(CHAIN, TOKEN, TO),
  'prices of a token': history.priceList(CHAIN, TOKEN),
  'creation of a token': history.creationQuery(CHAIN, TOKEN),
  'mints and burns': history.supplyChangeList(CHAIN, TOKEN, 'all'),
  burns: history.supplyChangeList(CHAIN, TOKEN, 'burn'),
  'transfers of a token': history.tokenTransfersList(CHAIN, TOKEN, { from: FROM, to: TO }),
  'number of transfers': history.tokenTransferTotalQuery(CHAIN, TOKEN, {
    before: TO,
    after: FROM,
  }),
  'which tokens are known': membersQuery(
    { members: { column: 'token_address', table: `${CHAIN}_tokens FINAL` }, params: {} },
    [TOKEN],
  ),
  'tokens of a creator, those that are still its own alone': membersOnly(
    createdTokenList(CHAIN, WALLET),
  ),
  'tokens by volume, known ones alone': membersOnly(
    tokenList(CHAIN, { sortBy: 'h24VolumeInUsd', descending: true, bounds: {} }),
  ),
  'tokens by volume, with bounds': tokenList(CHAIN, {
    sortBy: 'h24VolumeInUsd',
    descending: true,
    bounds: { minH1Trades: '5' },
  }),
  'new tokens': rankingQuery(CHAIN, 'newTokens'),
  'migrated tokens': rankingQuery(CHAIN, 'migrated'),
  'tokens close to their migration': rankingQuery(CHAIN, 'finalStretch'),
  'hot tokens': hotTokensQuery(CHAIN, '1h', 3_600_000),
  'tokens with the same picture': details.sameImageQuery(CHAIN, TOKEN),
  'activities of a condition': predictionActivityList('polygon', {
    conditionIds: ['condition-1'],
    descending: true,
  }),
  'activities of a group of questions, every filter': predictionActivityList('polygon', {
    marketIds: ['market-1'],
    conditionIds: ['condition-1'],
    tokenId: '7',
    wallet: WALLET,
    type: 'buy',
    descending: false,
  }),
  'holders of a condition': positions.predictionHolderList(
    'polygon',
    { conditionId: 'condition-1', tokenId: '7' },
    { sort: 'holding_value', descending: true },
  ),
  'traders of a condition': positions.predictionTraderList('polygon', 'condition-1', {
    sort: 'total_pnl',
    descending: true,
  }),
  'holders of a condition by outcome': positions.predictionOutcomeStatsQuery(
    'polygon',
    'condition-1',
  ),
  'positions of a wallet': positions.predictionPositionList(
    'polygon',
    { wallets: [WALLET], conditionId: 'condition-1', tokenId: '7' },
    { sort: 'lastActive', descending: false },
  ),
  'positions of wallets together': positions.predictionTotalsQuery('polygon', {
    wallets: [WALLET],
  }),
  'positions of wallets by day': predictionWallets.predictionDaysQuery('polygon', {
    wallets: [WALLET],
    conditionId: 'condition-1',
    tokenId: '7',
    today: '2026-11-20',
  }),
  'last changes of positions': predictionWallets.predictionLastChangesQuery('polygon', WALLET, [
    '7',
  ]),
  'leaderboard of prediction markets': predictionWallets.predictionLeaderList('polygon', 'all'),
  'leaderboard of prediction markets, seven days': predictionWallets.predictionLeaderList(
    'polygon',
    '7d',
  ),
  'rank in the leaderboard': predictionWallets.predictionRankQuery('polygon', '7d', {
    wallet: WALLET,
    score: '5',
  }),
  'red packets of a creator on two chains': redPacketList({
    chains: [CHAIN, 'sol'],
    creator: WALLET,
  }),
  'claims of a red packet': redPacketClaimList({ chains: [CHAIN], id: '7TqVxm3Kfa' }),
  'number of claims of a wallet': redPacketClaimCount({ chains: [CHAIN], claimer: WALLET }),
  'number of red packets': redPacketCount({ chains: [CHAIN] }),
  'a red packet by its share id': currentRedPacket({ chains: [CHAIN, 'sol'], id: '7TqVxm3Kfa' }),
  'red packets that were claimed from': claimedRedPackets([CHAIN], [CREATION]),
  'claims of a red packet since its creation': redPacketClaimList({
    chains: [CHAIN],
    id: 'packet-1',
    since: CREATION,
  }),
  'what was paid out of red packets': redPacketTotals([CHAIN], [CREATION]),
  'a claim of a wallet': redPacketClaimOf(CREATION, WALLET),
  'creators of tokens': creatorsQuery(CHAIN, [TOKEN]),
  'tokens of a creator': createdTokenList(CHAIN, WALLET),
  'names of tokens': tokenNamesQuery(CHAIN, [TOKEN]),
  'tokens that may fit a search': matchesQuery(SEARCH_BY_RELEVANCE),
  'search by relevance': searchQuery(SEARCH_BY_RELEVANCE, null),
  'search by relevance, among matches': searchQuery(
    SEARCH_BY_RELEVANCE,
    new Map(SEARCH.chains.map((chain) => [chain, [TOKEN]])),
  ),
  'search by price, second page': searchQuery(
    {
      ...SEARCH,
      protocols: ['uniswapv2'],
      sortBy: 'priceInUsd',
      descending: false,
      direction: 'prev',
      after: { rank: 1, k: '7', chain: CHAIN, address: TOKEN },
    },
    new Map([[CHAIN, [TOKEN]]]),
  ),
  'statistics of tokens': statsQuery(CHAIN, [TOKEN]),
  'traders of a token': tokenTradersList(CHAIN, TOKEN, {
    sort: 'createdAt',
    descending: true,
    tag: undefined,
  }),
  'traders of a token by profit': tokenTradersList(CHAIN, TOKEN, {
    sort: 'totalPnl',
    descending: true,
    tag: undefined,
  }),
  'some traders of a token': tokenTradersQuery(CHAIN, TOKEN, [WALLET]),
  'snipers of a token': tokenTradersList(CHAIN, TOKEN, {
    sort: 'createdAt',
    descending: false,
    tag: 'sniper',
  }),
  'tokens by address': tokensQuery(CHAIN, [TOKEN]),
  'tagged traders': taggedTraderList(CHAIN, TOKEN, 'sniper'),
  'trades of a chain': tradesList(CHAIN, {}),
  'trades of a token, every filter': tradesList(CHAIN, {
    tokenAddress: TOKEN,
    poolAddress: POOL,
    transactionsSignature: 'tx-1',
    type: 'BUY',
    ...TIMES,
    ...HEIGHTS,
  }),
  'trades of a wallet': tradesList(CHAIN, { walletAddress: WALLET }),
  'top traders by amount': topTradersList(CHAIN, {
    token: TOKEN,
    timeFrame: '24h',
    by: 'amount',
    descending: true,
  }),
  'top traders by count': topTradersList(CHAIN, {
    token: TOKEN,
    timeFrame: '30m',
    by: 'count',
    descending: false,
  }),
  gainers: gainerList(CHAIN, { resolution: '7d', descending: true }),
  losers: gainerList(CHAIN, { resolution: '1d', descending: false }),
  'changes of balances, every filter': wallet.balanceUpdateList('sol', WALLET, {
    tokenAddress: TOKEN,
    timeFrom: FROM,
    timeTo: TO,
    type: 'SPL',
    changeType: 'DECREASE',
  }),
  'changes of balances of the native token': wallet.balanceUpdateList('sol', WALLET, {
    type: 'SOL',
    changeType: 'INCREASE',
  }),
  'transfers of a wallet': wallet.walletTransferList(CHAIN, WALLET, {}),
  'number of transfers of a wallet, every filter': wallet.walletTransferTotalQuery(CHAIN, WALLET, {
    tokenAddress: TOKEN,
    fromTimestamp: FROM,
    toTimestamp: TO,
    minTokenAmount: '1',
    maxTokenAmount: '2',
    minTokenAmountInUsd: '3',
    maxTokenAmountInUsd: '4',
  }),
  'first transactions': wallet.firstTransactionsQuery(CHAIN, [WALLET]),
  'profit and loss of a day': pnlList({ ...PNL, resolution: '1d', state: 'open' }, 'totalPnl'),
  'profit and loss of a life': pnlList(
    { ...PNL, tokens: [TOKEN], resolution: 'all', state: 'closed' },
    'realizedPnl',
  ),
  'totals of profit and loss': pnlTotalsQuery({ ...PNL, resolution: '30d' }),
  'summary of profit and loss by window': pnlSummaryQuery(CHAIN, WALLET),
  'statistics of a wallet': walletStatsQuery(CHAIN, WALLET, undefined),
  'statistics of a wallet and a token': walletStatsQuery(CHAIN, WALLET, [TOKEN]),
  'webhook attempts': attemptsQuery({ endpointIds: ['ep-1'], rows: ROWS }),
  'webhook attempts of a message': attemptsQuery({
    endpointIds: ['ep-1'],
    messageId: 'msg-1',
    status: 'failed',
    rows: ROWS,
    before: { atMs: TO, id: 'a-1' },
  }),
  'webhook message': messageQuery('msg-1'),
  'webhook message attempted': wasAttemptedQuery(['ep-1', 'ep-2'], 'msg-1'),
  'webhook messages of an endpoint': endpointMessagesQuery({
    endpointId: 'ep-1',
    sinceMs: 0,
    untilMs: TO,
    rows: ROWS,
  }),
  'webhook statistics': endpointStatsQuery('ep-1', 0),
  'webhook messages that failed': failedMessagesQuery(WEBHOOK_TASK),
  'webhook messages without an attempt': unattemptedMessagesQuery(WEBHOOK_TASK, [
    'sol.token.created',
  ]),
}

/** The same list from a place inwards, forwards and backwards. */
const PAGES: Readonly<Record<string, Query>> = Object.fromEntries(
  (['next', 'prev'] as const).flatMap((direction) =>
    [true, false].map((descending) => [
      `page ${direction} of a list that ${descending ? 'descends' : 'ascends'}`,
      sliceQuery(
        {
          columns: 't.a AS a',
          from: 't',
          where: ['t.a > 0'],
          descending,
          params: {},
          order: [
            { sql: 't.usd', type: 'Decimal256(12)' },
            { sql: 't.a', type: 'UInt64' },
          ],
        },
        { direction, after: ['1.5', '7'], rows: ROWS },
      ),
    ]),
  ),
)

/** The text of the file. */
export const restStatements = (): string =>
  Object.entries({ ...STATEMENTS, ...PAGES })
    .map(([name, statement]) => {
      if (statement === undefined) throw new Error(`no statement: ${name}`)
      const { sql, params } = 'sql' in statement ? statement : firstPageQuery(statement)
      return `-- ${name}\n${sql}\n-- ${JSON.stringify(params ?? {})}\n`
    })
    .join('\n')
