import { addressFromNumber, marketTradeRows } from './builders/market-trade.ts'

/** Rows of one table. */
export interface TableRows {
  readonly table: string
  readonly rows: readonly object[]
}

/** A list of the API over tables: where it is read, and rows that it shows. */
export interface StoredList {
  /** Path behind the version, with a query that holds a small `limit`; several for several orders. */
  readonly paths: readonly string[]
  /** Field of the answer that holds the items, where it is not `items`. */
  readonly field?: string
  /** Field of an item that tells it from the others. */
  readonly id: string
  /** Largest `limit`; absent: that of most lists. */
  readonly largestLimit?: number
  /** What the list needs beside its rows. */
  readonly setup?: readonly TableRows[]
  /** The rows behind item `n`, by the id that it is served with. */
  readonly row: (n: number) => {
    readonly id: string | number
    readonly tables: readonly TableRows[]
  }
}

/** Newest time of the chain. */
export const HEAD_MS = Date.UTC(2026, 10, 20, 12)
const HOUR_MS = 3_600_000
const at = (ms: number): string => new Date(ms).toISOString()

/** Amounts above 2^53, of which many are equal and the others closer together than doubles are. */
const amount = (n: number): bigint => 48_500_000_123_456_789_012_345_678n + BigInt((n * 7) % 4)
/** USD above 2^53 with twelve places, many of them equal. */
const usd = (n: number): string => `900719925474099${n % 3}.00000000000${n % 2}`

const [TOKEN, QUOTE, POOL, WALLET] = [1, 2, 3, 4].map(addressFromNumber) as [
  ...[string, string, string, string],
]
/** Addresses whose order is not that of their numbers. */
const address = (n: number): string => addressFromNumber(0x10_000 + ((n * 7_919) % 10_007))
const hash = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`

/** Five events to a transaction, three transactions to a block, all of one moment: arrivals fall between those that are there. */
const position = (n: number) => {
  const slot = 1_000 + (n % 3)
  return {
    block_time: at(HEAD_MS - 1_000 * (1_003 - slot)),
    block_slot: slot,
    block_height: slot,
    block_hash: `0x${slot}`,
    tx_hash: hash(n),
    tx_index: (n * 5) % 4,
    event_index: n,
    _ver: 1,
  }
}

const trade = (n: number, more: object = {}): object => ({
  ...marketTradeRows({
    timeMs: HEAD_MS,
    slot: 1,
    index: n,
    token: TOKEN,
    quote: QUOTE,
    pool: POOL,
    side: n % 2 === 0 ? 'BUY' : 'SELL',
    amountRaw: amount(n),
    priceUsd: 2,
    priceNative: 1,
    valueUsd: usd(n),
    valueNative: usd(n),
    suspect: false,
  }),
  ...position(n),
  ...more,
})
const owned = (owner: string): object => ({ buy_owner: owner, sell_owner: owner })

const poolEvent = (n: number, more: object = {}): object => ({
  ...position(n),
  event_type: 'INCREASE_LIQUIDITY',
  pool_address: POOL,
  base_token: TOKEN,
  base_decimals: 18,
  quote_token: QUOTE,
  quote_decimals: 6,
  base_change: String(amount(n)),
  quote_change: String(amount(n)),
  base_post: String(amount(n)),
  quote_post: String(amount(n)),
  base_price_usd: 1,
  quote_price_usd: 1,
  liquidity_usd: usd(n),
  liquidity_native: usd(n),
  ...more,
})

const profit = (n: number, wallet: string, token: string): object => ({
  wallet,
  token_address: token,
  buys: 2,
  sells: 1,
  wins: 1,
  losses: 0,
  _ver: 1,
  buy_amount: '100',
  buy_amount_usd: usd(n),
  sell_amount: '40',
  sell_amount_usd: usd(n),
  realized_usd: usd(n),
  total_realized_usd: `-${usd(n)}`,
  position_amount: '60',
  position_cost_usd: usd(n),
  open_time: at(HEAD_MS),
  close_time: at(0),
  first_time: at(HEAD_MS - (n % 3)),
  last_time: at(HEAD_MS - (n % 2)),
})

const known = (token: string, more: object = {}): object => ({
  token_address: token,
  name: 'Paged',
  symbol: 'PGD',
  decimals: 18,
  _ver: 1,
  ...more,
})
const price = (token: string): object => ({
  token_address: token,
  price_time: at(HEAD_MS),
  price_usd: 0.5,
  price_native: 1,
  _ver: 1,
})
const pool = (n: number, token: string): object => ({
  pool_address: address(n),
  token_a: token,
  token_b: QUOTE,
  liquidity_usd: usd(n),
  liquidity_native: usd(n),
  _ver: 1,
})
const balance = (n: number): object => ({
  token_address: address(n),
  holder: WALLET,
  decimals: 18,
  balance: String(amount(n)),
  first_seen: at(0),
  last_seen: at(HEAD_MS),
  _ver: 1,
})
const change = (n: number, more: object = {}): object => ({
  ...position(n),
  token_address: TOKEN,
  decimals: 18,
  token_account: WALLET,
  owner: WALLET,
  pre_balance: '0',
  post_balance: String(amount(n)),
  owner_balance: String(amount(n)),
  ...more,
})
const one = (table: string, row: object): TableRows => ({ table: `eth_${table}`, rows: [row] })

const byPosition = (paths: readonly string[], tables: (n: number) => readonly TableRows[]) => ({
  paths,
  id: 'transactionSignature',
  row: (n: number) => ({ id: hash(n), tables: tables(n) }),
})
const byWallet = (
  paths: readonly string[],
  tables: (n: number, wallet: string) => readonly TableRows[],
) => ({
  paths,
  id: 'walletAddress',
  row: (n: number) => ({ id: address(n), tables: tables(n, address(n)) }),
})
const byToken = (
  paths: readonly string[],
  tables: (n: number, token: string) => readonly TableRows[],
) => ({
  paths,
  id: 'tokenAddress',
  row: (n: number) => ({ id: address(n), tables: tables(n, address(n)) }),
})

const ofToken = `/token/eth/${TOKEN}`
const ofWallet = `/wallet/eth/${WALLET}`
const profits = (n: number, wallet: string) => [one('wallet_token_pnl', profit(n, wallet, TOKEN))]
/** The position of a row in a table without indices of transactions. */
const positionOfEvent = (n: number): object => {
  const { tx_index: _, ...rest } = position(n)
  return rest
}
const sales = (n: number, wallet: string) => [
  one('wallet_pnl_trades', {
    ...positionOfEvent(n),
    wallet,
    token_address: TOKEN,
    side: 'SELL',
    amount: '1',
    amount_usd: usd(n),
    realized_usd: usd(n),
    cost_usd: '0',
    position_amount: '1',
    position_cost_usd: '1',
  }),
]
const transfers = (n: number) => [
  one('transfers', {
    ...position(n),
    token_address: TOKEN,
    decimals: 18,
    sender: WALLET,
    // Some to the wallet itself: one transfer, not two.
    receiver: n % 4 === 0 ? WALLET : address(n),
    amount: String(amount(n)),
    amount_usd: usd(n),
    success: 1,
  }),
]
const liquidityHours = (n: number) => ({
  ...position(n),
  block_time: at(HEAD_MS - n * HOUR_MS),
})

const CONDITION = hash(0xc0)
const GROUP = hash(0xe0)
const ofMarket = (table: string, row: object): TableRows => ({
  table: `polygon_prediction_${table}`,
  rows: [{ condition_id: CONDITION, ...row }],
})
/** Trades and settlements at places of one order. */
const activities = (n: number): readonly TableRows[] => [
  n % 2 === 0
    ? ofMarket('trades', {
        ...position(n),
        log_index: n,
        outcome_token: '7',
        amount: String(amount(n)),
        price: 0.5,
        buyer: WALLET,
        seller: address(n),
        collateral_amount: String(amount(n)),
      })
    : ofMarket('settlements', {
        ...position(n),
        log_index: n,
        event_type: 'Redemption',
        holder: WALLET,
        outcome_token_ids: ['7'],
        amounts: [String(amount(n))],
      }),
]
const PACKET = hash(0xd1)
const packetAt = (n: number, more: object = {}): TableRows => ({
  table: 'eth_redpackets',
  rows: [
    {
      ...position(n),
      packet_id: hash(0x1_000 + ((n * 7_919) % 10_007)),
      total_amount: String(amount(n)),
      max_claims: 3,
      created_at: at(HEAD_MS - 1_000 * (n % 2)),
      creator: WALLET,
      ...more,
    },
  ],
})
const claimAt = (n: number): TableRows => ({
  table: 'eth_redpacket_claims',
  rows: [{ ...position(n), packet_id: PACKET, claimer: WALLET, amount: String(amount(n)) }],
})
const PACKET_ORDERS = ['', '&direction=asc', '&direction=DESC']
const packetList = (path: string): StoredList => ({
  paths: PACKET_ORDERS.map((order) => `${path}?limit=7${order}`),
  id: 'id',
  field: 'records',
  row: (n) => ({ id: hash(0x1_000 + ((n * 7_919) % 10_007)), tables: [packetAt(n)] }),
})
const packetClaimList = (path: string): StoredList => ({
  paths: PACKET_ORDERS.map((order) => `${path}?limit=7${order}`),
  id: 'txHash',
  field: 'records',
  setup: [packetAt(0, { packet_id: PACKET, block_slot: 0 })],
  row: (n) => ({ id: hash(n), tables: [claimAt(n)] }),
})
const QUESTION = hash(0xd0)
const GROUP_ROWS: readonly TableRows[] = [
  { condition_id: '', question_id: QUESTION, market_id: GROUP, event_type: 'QuestionPrepared' },
  { question_id: QUESTION, event_type: 'ConditionPreparation' },
].map((row, index) => ofMarket('managements', { ...position(index), ...row }))
const activityList = (path: string, setup: readonly TableRows[] = []): StoredList => ({
  paths: ['desc', 'asc'].flatMap((order) =>
    ['', `&wallet=${WALLET}`].map((query) => `${path}/activities?limit=7&order=${order}${query}`),
  ),
  id: 'txHash',
  field: 'activities',
  setup,
  row: (n) => ({ id: hash(n), tables: activities(n) }),
})

/** Outcome tokens whose order is not that of their numbers. */
const outcomeToken = (n: number): string => String(1 + ((n * 7_919) % 10_007))
/** A wallet's position, in both of its tables. */
const heldPosition = (n: number, wallet: string, outcome_token: string): readonly TableRows[] => {
  const times = { first_time: at(HEAD_MS - n * 1_000), last_time: at(HEAD_MS - n * 1_000) }
  const sums = {
    quantity: String(amount(n)),
    volume: String(amount(n)),
    realized: String(amount(n % 3)),
  }
  const row = { wallet, outcome_token, ...sums, ...times, changes: 1, _ver: 1 }
  return [ofMarket('positions', row), ofMarket('wallet_positions', row)]
}

/** What the paths of the lists ask for. */
export const ASKED = {
  token: TOKEN,
  quote: QUOTE,
  pool: POOL,
  wallet: WALLET,
  condition: CONDITION,
  packet: PACKET,
} as const

/** Lists over tables, by the path of their route behind the version. */
export const STORED_LISTS: Readonly<Record<string, StoredList>> = {
  '/token/{chain}/{tokenAddress}/holders': byWallet([`${ofToken}/holders?limit=7`], (n, holder) => [
    one('token_holders', { ...balance(n), token_address: TOKEN, holder }),
  ]),
  '/token/{chain}/{tokenAddress}/topHolders': byWallet(
    [`${ofToken}/topHolders?limit=7&sortDirection=asc`],
    (n, holder) => [one('token_holders', { ...balance(n), token_address: TOKEN, holder })],
  ),
  '/token/search': {
    paths: ['/token/search?chain=eth&keyword=paged&limit=7'],
    id: 'address',
    row: (n) => ({ id: address(n), tables: [one('tokens', known(address(n)))] }),
  },
  '/token/{chain}/dev/{devAddress}/tokens': {
    paths: [`/token/eth/dev/${WALLET}/tokens?limit=7`],
    id: 'address',
    row: (n) => ({
      id: address(n),
      tables: [
        one('tokens', known(address(n), { dev: WALLET, created_at: at(HEAD_MS - (n % 3)) })),
      ],
    }),
  },
  '/token/{chain}/{tokenAddress}/prices': {
    paths: [`${ofToken}/prices?limit=7`],
    id: 'timestamp',
    row: (n) => {
      const timeMs = HEAD_MS - ((n * 7) % 101) * 60_000
      return { id: timeMs, tables: [one('dex_trades', trade(n, { block_time: at(timeMs) }))] }
    },
  },
  ...Object.fromEntries(
    ['mintAndBurn', 'mintandburn'].map((name) => [
      `/token/{chain}/{tokenAddress}/${name}`,
      byPosition([`${ofToken}/${name}?limit=7`], (n) => [
        one('token_supplies', {
          ...position(n),
          token_address: TOKEN,
          event_type: n % 2 === 0 ? 'MINT' : 'BURN',
          amount: String(amount(n)),
          decimals: 18,
        }),
      ]),
    ]),
  ),
  '/token/{chain}/{tokenAddress}/transfers': byPosition(
    [`${ofToken}/transfers?limit=7`],
    transfers,
  ),
  '/wallet/{chain}/{walletAddress}/transfers': byPosition(
    [`${ofWallet}/transfers?limit=7`],
    transfers,
  ),
  '/token/{chain}/{tokenAddress}/pools': {
    paths: ['tvlInUsd', 'tvlInSol'].flatMap((sort) =>
      ['asc', 'desc'].map((way) => `${ofToken}/pools?limit=7&sortBy=${sort}&sortDirection=${way}`),
    ),
    id: 'poolAddress',
    row: (n) => ({ id: address(n), tables: [one('dex_pools', pool(n, TOKEN))] }),
  },
  '/dexpools/{chain}/{poolAddress}/snapshots': {
    paths: [`/dexpools/eth/${POOL}/snapshots?limit=7`],
    id: 'blockSlot',
    // Changes of liquidity, one to a block: an item does not tell its transaction.
    row: (n) => ({
      id: 1_000 + ((n * 7) % 101),
      tables: [
        one('dex_pool_events_enriched', poolEvent(n, { block_slot: 1_000 + ((n * 7) % 101) })),
      ],
    }),
  },
  ...Object.fromEntries(
    ['liquiditySnapshots', 'liquiditysnapshots'].map((name) => [
      `/token/{chain}/{tokenAddress}/${name}`,
      {
        paths: [`${ofToken}/${name}?limit=7`],
        id: 'snapshotTime',
        setup: [one('dex_pools', { ...pool(0, TOKEN), pool_address: POOL })],
        row: (n: number) => ({
          id: HEAD_MS - n * HOUR_MS,
          tables: [one('dex_pool_events_enriched', poolEvent(n, liquidityHours(n)))],
        }),
      },
    ]),
  ),
  '/token/{chain}/list': {
    paths: ['h24VolumeInUsd', 'h24PriceChangeRatio', 'm1Buys'].flatMap((sort) =>
      ['asc', 'desc'].map((way) => `/token/eth/list?limit=7&sortBy=${sort}&sort=${way}`),
    ),
    id: 'address',
    row: (n) => ({
      id: address(n),
      tables: [
        one('tokens', known(address(n))),
        one('token_stats', {
          token_address: address(n),
          resolution: '24h',
          version: 1,
          stat_time: at(HEAD_MS),
          buys: n % 3,
          sells: 1,
          buyers: 1,
          sellers: 1,
          traders: 2,
          pools: 1,
          programs: 1,
          buy_volume_usd: usd(n),
          sell_volume_usd: usd(n + 1),
          open_usd: n % 2,
          close_usd: 1,
          buy_volume: '1',
          sell_volume: '1',
        }),
      ],
    }),
  },
  ...Object.fromEntries(
    ['traders', 'topTraders', 'toptraders'].map((name) => [
      `/token/{chain}/{tokenAddress}/${name}`,
      byWallet(
        ['totalPnl', 'buyVolume', 'netflowUsd', 'lastActiveAt'].map(
          (sort) => `${ofToken}/${name}?limit=7&sortBy=${sort}`,
        ),
        profits,
      ),
    ]),
  ),
  '/token/{chain}/{tokenAddress}/traders/{tag}': {
    paths: [`${ofToken}/traders/sniper?limit=7`],
    id: 'address',
    row: (n) => ({
      id: address(n),
      tables: [one('dex_trades', trade(n * 2, owned(address(n))))],
    }),
  },
  '/trade/{chain}': byPosition(
    ['', `&tokenAddress=${TOKEN}`, `&walletAddress=${WALLET}`].map(
      (query) => `/trade/eth?limit=7${query}`,
    ),
    (n) => [one('dex_trades', trade(n, owned(WALLET)))],
  ),
  '/trade/{chain}/activities': {
    paths: ['timestampDesc', 'timestampAsc', 'totalUsdDesc', 'totalUsdAsc'].flatMap((sort) => [
      `/trade/eth/activities?limit=7&sortBy=${sort}`,
      `/trade/eth/activities?limit=7&sortBy=${sort}&tokenAddress=${TOKEN}`,
    ]),
    id: 'transactionSignature',
    // Trades and changes of liquidity are counted apart: a transaction has both at one place.
    row: (n) => ({
      id: hash(n),
      tables: [
        n % 2 === 0
          ? one('dex_trades', trade(n, { event_index: n }))
          : one('dex_pool_events_enriched', poolEvent(n, { ...position(n - 1), tx_hash: hash(n) })),
      ],
    }),
  },
  '/trade/{chain}/top-traders': byWallet(
    ['tradeAmount', 'tradeCount'].map(
      (sort) => `/trade/eth/top-traders?tokenAddress=${TOKEN}&limit=7&sortBy=${sort}`,
    ),
    (n, wallet) => [one('dex_trades', trade(n, owned(wallet)))],
  ),
  '/trade/{chain}/trader-gainers-losers': {
    ...byWallet(
      ['asc', 'desc'].map((way) => `/trade/eth/trader-gainers-losers?limit=7&sortType=${way}`),
      sales,
    ),
    id: 'address',
  },
  '/trade/{chain}/gainers-losers': {
    ...byWallet(['/trade/eth/gainers-losers?type=1d&sortBy=PnL&limit=7'], sales),
    id: 'address',
    largestLimit: 10,
  },
  '/wallet/{chain}/{walletAddress}/pnl-details': byToken(
    ['totalPnl', 'realizedPnl', 'unrealizedPnl'].map(
      (sort) => `${ofWallet}/pnl-details?limit=7&sortBy=${sort}`,
    ),
    (n, token) => [one('wallet_token_pnl', profit(n, WALLET, token))],
  ),
  '/wallet/{chain}/{walletAddress}/tokens-balance': byToken(
    [`${ofWallet}/tokens-balance?limit=7`],
    (n) => [one('wallet_balances', balance(n))],
  ),
  '/wallet/{chain}/{walletAddress}/net-worth': byToken(
    [`${ofWallet}/net-worth?limit=7`],
    (n, token) => [
      one('token_prices', price(token)),
      one('dex_pools', pool(n, token)),
      one('wallet_balances', balance(n)),
    ],
  ),
  '/wallet/{chain}/{walletAddress}/net-worth-details': byToken(
    [0, 2].map((hours) => `${ofWallet}/net-worth-details?limit=7&hours=${hours}`),
    (n, token) => {
      const early = { block_time: at(HEAD_MS - 3 * HOUR_MS) }
      return [
        one('token_prices', price(token)),
        one('dex_pools', pool(n, token)),
        one('wallet_balances', balance(n)),
        one(
          'dex_trades',
          trade(n, { ...early, buy_token: token, sell_token: QUOTE, base_is_buy: 1 }),
        ),
        one('balance_updates', change(n, { ...early, token_address: token })),
      ]
    },
  ),
  '/prediction/markets/{conditionId}/activities': activityList(`/prediction/markets/${CONDITION}`),
  '/prediction/events/{eventSlug}/activities': activityList(
    `/prediction/events/${GROUP}`,
    GROUP_ROWS,
  ),
  '/prediction/markets/{conditionId}/holders': {
    paths: ['balance', 'holding_value', 'total_pnl'].map(
      (sort) => `/prediction/markets/${CONDITION}/holders?limit=7&sort_by=${sort}`,
    ),
    id: 'wallet',
    field: 'holders',
    row: (n) => ({ id: address(n), tables: heldPosition(n, address(n), '7') }),
  },
  '/prediction/markets/{conditionId}/traders': {
    paths: ['asc', 'desc'].map(
      (order) =>
        `/prediction/markets/${CONDITION}/traders?limit=7&sort_by=realized_pnl&order=${order}`,
    ),
    id: 'wallet',
    field: 'traders',
    row: (n) => ({ id: address(n), tables: heldPosition(n, address(n), '7') }),
  },
  '/prediction/wallets/{wallet}/pnl': {
    paths: ['realizedPnl', 'lastActive'].map(
      (sort) => `/prediction/wallets/${WALLET}/pnl?limit=7&sort_by=${sort}`,
    ),
    id: 'tokenId',
    field: 'tokens',
    row: (n) => ({ id: outcomeToken(n), tables: heldPosition(n, WALLET, outcomeToken(n)) }),
  },
  '/prediction/leaderboard': {
    paths: ['all', '7d'].map((interval) => `/prediction/leaderboard?limit=7&interval=${interval}`),
    id: 'wallet',
    field: 'entries',
    row: (n) => {
      const row = { wallet: address(n), realized: String(amount(n % 3)), changes: 1, _ver: 1 }
      const totals = { ...row, last_time: at(HEAD_MS) }
      return {
        id: address(n),
        tables: [
          { table: 'polygon_prediction_wallets', rows: [totals] },
          { table: 'polygon_prediction_wallet_days', rows: [{ ...totals, day: 20_000 }] },
        ],
      }
    },
  },
  '/redpacket': packetList('/redpacket'),
  '/redpacket/wallet/{address}/redpackets': packetList(`/redpacket/wallet/${WALLET}/redpackets`),
  '/redpacket/{id}/claims': packetClaimList(`/redpacket/${PACKET}/claims`),
  '/redpacket/wallet/{address}/claims': packetClaimList(`/redpacket/wallet/${WALLET}/claims`),
  '/wallet/{chain}/{walletAddress}/balance-updates': byPosition(
    [`${ofWallet}/balance-updates?limit=7`],
    (n) => [one('balance_updates', change(n))],
  ),
}
