/** What a chain's users see of it, and what its tables and topics hold, as lines that two runs can be compared by. */
import { readChainHistory } from '../../cli/checksum/chain-history.ts'
import type { NamedDigest } from '../../cli/checksum/checksum.ts'
import { TABLE_RULES, TOPIC_RULES } from '../../cli/checksum/comparison-rules.ts'
import { columnsByTable, tableDigest } from '../../cli/checksum/table-digest.ts'
import { type ChecksumTarget, topicDigest } from '../../cli/checksum/topic-digest.ts'
import { TOPICS, type Topic, topicName } from '../../schemas/topics.ts'
import type { AppStack } from './app-stack.ts'

/** Lines by the name of what they are of. */
export type AppContent = Readonly<Record<string, readonly string[]>>

/** Addresses that people look at. */
export interface ComparedAddresses {
  readonly tokens: readonly string[]
  readonly pools: readonly string[]
  /** `A-B`, sorted. */
  readonly pairs: readonly string[]
  readonly wallets: readonly string[]
}

/** A chain by the words that its surfaces know it by. */
export interface SurfaceChain {
  readonly id: 'sol' | 'eth'
  /** Group of the cubes. */
  readonly group: string
}

/** The chains that can be simulated. */
export const SURFACE_CHAINS: Readonly<Record<'sol' | 'eth', SurfaceChain>> = {
  sol: { id: 'sol', group: 'Solana' },
  eth: { id: 'eth', group: 'EVM(network: eth)' },
}

const INCLUDE_SUSPECT = 'where: {any: [{IsSuspect: true}, {IsSuspect: false}]}, '
const BLOCK = 'Block { Time Slot Height Hash } Transaction { Hash }'
const LEG =
  '{ Currency { MintAddress Symbol Decimals } Amount AmountInUSD PriceInUSD PriceInNative Account { Owner } }'
const CANDLE = 'Price { Ohlc { Open High Low Close } OhlcNative { Open High Low Close } }'

/** Fields of each cube; without the USD of balances and transfers, which is taken on arrival. */
const CUBES: Readonly<Record<string, readonly [args: string, fields: string]>> = {
  DEXTrades: [
    INCLUDE_SUSPECT,
    `${BLOCK} Pool { Address } IsSuspect Trade { Index Buy ${LEG} Sell ${LEG} Dex { ProtocolName } }`,
  ],
  DEXTradeByTokens: [
    INCLUDE_SUSPECT,
    `${BLOCK} Trade { Currency { MintAddress } AmountInUSD PriceInUSD }`,
  ],
  Tokens: [
    '',
    'Token { Address Symbol } Block { Time } Volume { Usd BuyVolumeUSD SellVolumeUSD Base } Stats { TradeCount BuyCount SellCount UniqueBuyers UniqueSellers UniqueTraders }',
  ],
  Pairs: [
    '',
    `Token { Address Symbol } Block { Time } ${CANDLE} Volume { Usd Native Base } Stats { TradeCount BuyCount SellCount }`,
  ],
  TokenHolders: [
    '',
    'Token { Address Symbol } Holder { Address } LatestBalance LatestBalanceUSD FirstSeen LastSeen',
  ],
  WalletTokenPnL: [
    '',
    'Wallet { Address } Token { Address } BuyVolumeUSD SellVolumeUSD BuyCount SellCount FirstTrade LastTrade RealizedPnLUSD UnrealizedPnLUSD',
  ],
  BalanceUpdates: [
    '',
    `${BLOCK} BalanceUpdate { Currency { MintAddress } Account { Address Owner } PreBalance PostBalance Amount Index }`,
  ],
  Transfers: [
    '',
    `${BLOCK} Transfer { Currency { MintAddress } Sender { Address } Receiver { Address } Amount Success Index }`,
  ],
  DEXPools: [
    '',
    'Pool { Address TokenAAddress TokenBAddress LiquidityUSD PriceAtoB PriceBtoA CurveProgress LastUpdated Base { PostAmount } Quote { PostAmount } }',
  ],
}
const PAGE = 5_000

const sortedLines = (rows: readonly unknown[]): readonly string[] =>
  rows.map((row) => JSON.stringify(row)).sort()

/** Every row of every cube. */
export const cubeContent = async (
  product: AppStack,
  { group }: SurfaceChain,
): Promise<Record<string, readonly string[]>> => {
  const content: Record<string, readonly string[]> = {}
  for (const [name, [args, fields]] of Object.entries(CUBES)) {
    const rows: unknown[] = []
    for (;;) {
      const limit = `limit: {count: ${PAGE}, offset: ${rows.length}}`
      const page = await product.cube(`{ ${group} { ${name}(${args}${limit}) { ${fields} } } }`)
      rows.push(...page)
      if (page.length < PAGE) break
    }
    content[`cube ${name}`] = sortedLines(rows)
  }
  return content
}

const RESOLUTIONS = ['1s', '1m', '1h']

const restPaths = (
  { id }: SurfaceChain,
  { tokens, pools, pairs, wallets }: ComparedAddresses,
): readonly (readonly [name: string, path: string])[] => [
  ...tokens.flatMap((token): (readonly [string, string])[] => [
    ['token', `/v2/token/${id}/${token}`],
    ['stats', `/v2/token/${id}/${token}/stats`],
    ['marketData', `/v2/token/${id}/${token}/marketData`],
    ['holders', `/v2/token/${id}/${token}/holders?limit=100`],
    ...candlePaths(`/v2/token/${id}/${token}/candles`),
  ]),
  ...pools.flatMap((pool) => candlePaths(`/v2/token/${id}/pool/${pool}/candles`)),
  ...pairs.flatMap((pair) => candlePaths(`/v2/token/${id}/pair/${pair}/candles`)),
  ...wallets.map((wallet): [string, string] => [
    'wallet stats',
    `/wallet/v1/${id}/${wallet}/stats`,
  ]),
]

const candlePaths = (path: string): [string, string][] =>
  RESOLUTIONS.map((each) => ['candles', `${path}?resolution=${each}&from=1&limit=1000`])

/** Statistics say when they were written. */
const withoutWriteTime = (key: string, value: unknown): unknown =>
  key === 'updatedAt' ? undefined : value

/** Answers of every REST family about the subjects. */
export const restContent = async (
  product: AppStack,
  chain: SurfaceChain,
  subjects: ComparedAddresses,
): Promise<Record<string, readonly string[]>> => {
  const content: Record<string, string[]> = {}
  for (const [name, path] of restPaths(chain, subjects)) {
    const answer = await product.rest(path).catch((error: Error) => error.message.split('"')[0])
    const lines = content[`REST ${name}`] ?? []
    content[`REST ${name}`] = lines
    lines.push(`${path} ${JSON.stringify(answer, withoutWriteTime)}`)
  }
  return content
}

/** Statistics say when they were last written: after a reorg that is the retraction's moment where nothing has traded since. */
const WRITE_TIME_COLUMNS: ReadonlySet<string> = new Set(['stat_time'])
const EXCLUDED_COLUMNS: Readonly<Record<string, ReadonlySet<string>>> = {
  token_stats: WRITE_TIME_COLUMNS,
}
/**
 * Topics whose newest states carry such a moment, also that of a token which only a lost branch had: their content is compared
 * in their tables.
 */
const COMPARED_AS_TABLES: ReadonlySet<string> = new Set([
  ...['tradeStats', 'tokensProcessed', 'tokenHoldings'],
])

const digestLines = (digests: readonly NamedDigest[]): Record<string, readonly string[]> =>
  Object.fromEntries(digests.map(({ name, rows, digest }) => [name, [`${rows} ${digest}`]]))

/** Digests of every compared table and topic as of a height; buckets only where `final`, because they wait for that. */
const readDigests = async (
  { app: { bus, codec, warehouse } }: AppStack,
  place: ChecksumTarget,
  final: boolean,
): Promise<readonly NamedDigest[]> => {
  const { chain } = place
  const digests: NamedDigest[] = []
  const topics = new Set(await bus.topics(''))
  for (const [topic, facts] of Object.entries(TOPIC_RULES)) {
    if (facts.how === 'left out' || !isTopic(topic) || COMPARED_AS_TABLES.has(topic)) continue
    if (!topics.has(topicName(topic, chain))) continue
    const digest = await topicDigest({ bus, codec, target: place, topic, rule: facts })
    digests.push({ name: topicName(topic, chain), ...digest })
  }
  const columns = await columnsByTable(warehouse)
  for (const [table, facts] of Object.entries(TABLE_RULES)) {
    if (facts.how === 'left out' || (facts.how === 'buckets' && !final)) continue
    const name = `${chain}_${table}`
    const all = columns.get(name) ?? []
    const compared = all.filter((column) => EXCLUDED_COLUMNS[table]?.has(column) !== true)
    const digest = await tableDigest(warehouse, { name, columns: compared, rule: facts }, place)
    digests.push({ name, ...digest })
  }
  return digests
}

const isTopic = (name: string): name is Topic => Object.hasOwn(TOPICS, name)

/** Digests of everything as of the tip, final or not. */
export const currentContent = async (
  product: AppStack,
  chain: string,
): Promise<Record<string, readonly string[]>> => {
  const { bus, codec } = product.app
  const { tip } = await readChainHistory({ bus, codec, chain })
  if (tip === null) throw new Error(`${chain} has no blocks`)
  const place = { chain, height: tip.height, timeMs: tip.timeMs }
  return digestLines(await readDigests(product, place, false))
}

/** Digests of everything as of a final height, rolled-up buckets too. */
export const finalContent = async (
  product: AppStack,
  chain: string,
  height: number,
): Promise<Record<string, readonly string[]>> => {
  const { bus, codec } = product.app
  const { blocks, finalHeight } = await readChainHistory({ bus, codec, chain })
  const block = blocks.get(height)
  if (block === undefined || finalHeight < height) throw new Error(`${height} is not final`)
  const place = { chain, height, timeMs: block.timeMs }
  return digestLines(await readDigests(product, place, true))
}

/** The busiest addresses up to now. */
export const busiestAddresses = async (
  { app: { warehouse } }: AppStack,
  chain: string,
): Promise<ComparedAddresses> => {
  const top = async (column: string, count: number, table = 'dex_trades_enriched') => {
    const { rows } = await warehouse.query<{ name: string }>({
      sql: `SELECT ${column} AS name FROM ${chain}_${table} FINAL GROUP BY name ORDER BY count() DESC, name LIMIT ${count}`,
    })
    return rows.map(({ name }) => name)
  }
  const pair = `concat(least(buy_token, sell_token), '-', greatest(buy_token, sell_token))`
  return {
    tokens: await top('token_address', 5),
    pools: await top('pool_address', 2),
    pairs: await top(pair, 2, 'dex_trades'),
    wallets: await top('owner', 6),
  }
}
