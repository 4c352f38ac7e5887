import { formatDecimal } from '../../core/amounts.ts'
import type { Query } from '../../core/clickhouse/client.ts'
import { RESOLUTIONS } from '../../core/time.ts'
import type { ChannelQuery, Ranking } from '../../schemas/channels.ts'
import { hotTokensQuery, rankingQuery } from '../queries/token-list.ts'
import { type StatRow, statsQuery } from '../queries/token-stats.ts'
import { type TokenRow, tokensQuery } from '../queries/tokens.ts'
import { type PnlSummaryRow, pnlSummaryQuery } from '../queries/wallet-pnl-summary.ts'
import { type Channel, splitRanking } from './channel-name.ts'
import type { Payload } from './payload.ts'
import {
  curvePayload,
  holdersPayload,
  numberPayloads,
  type RankedToken,
  rankingPayload,
  statsPayload,
  supplyPayload,
} from './ranking-payloads.ts'

/** Runs a statement. Throws what the store throws. */
export type ReadRows = <Row>(query: Query) => Promise<readonly Row[]>

/** What a list is read of; channels with equal sources share the answer. */
export interface ListSource {
  readonly name: string
  /** Payloads of the channels that are made of it, by the query of their family and the time that they tell as that of the reading. */
  read(rows: ReadRows): Promise<(query: ChannelQuery, readMs: number) => readonly Payload[]>
}

/** Tokens of a ranking on a channel. */
const MAX_RANKED_TOKENS = 100
/** Window of the tokens with the largest volume. */
const TRENDING_WINDOW = '1h'

/** Where the elements of a list channel come from. */
export const listSourceOf = ({ row, chain, address }: Channel): ListSource =>
  row.query === 'walletPnl' ? walletSource(chain, address) : rankingSource(chain, address)

const RANKING_QUERIES: Readonly<Record<Exclude<Ranking, 'stocks'>, (chain: string) => Query>> = {
  new: (chain) => rankingQuery(chain, 'newTokens'),
  trending: (chain) => hotTokensQuery(chain, TRENDING_WINDOW, RESOLUTIONS[TRENDING_WINDOW]),
  completed: (chain) => rankingQuery(chain, 'finalStretch'),
  graduated: (chain) => rankingQuery(chain, 'migrated'),
}

const each =
  (payload: (token: RankedToken) => Payload | undefined) =>
  (tokens: readonly RankedToken[]): readonly Payload[] =>
    tokens.map(payload).filter((one) => one !== undefined)

/** Every query of a ranking has its elements. */
const RANKING_ELEMENTS: Readonly<
  Record<Exclude<ChannelQuery, 'walletPnl'>, (tokens: readonly RankedToken[]) => readonly Payload[]>
> = {
  ranking: each(rankingPayload),
  rankingStats: each(statsPayload),
  rankingHolders: each(holdersPayload),
  rankingSupply: each(supplyPayload),
  rankingNumbers: (tokens) => tokens.flatMap(numberPayloads),
  rankingCurves: each(curvePayload),
}

const rankingSource = (chain: string, address: string): ListSource => ({
  name: `ranking ${chain} ${address}`,
  read: async (rows) => {
    const { ranking, launchpad } = splitRanking(address)
    const tokens = await readRanking(rows, { chain, ranking: ranking as Ranking, launchpad })
    return (query, readMs) =>
      query === 'walletPnl'
        ? []
        : RANKING_ELEMENTS[query](tokens.map((token) => ({ ...token, readMs })))
  },
})

const readRanking = async (
  rows: ReadRows,
  list: { readonly chain: string; readonly ranking: Ranking; readonly launchpad: string },
): Promise<readonly Omit<RankedToken, 'readMs'>[]> => {
  const { chain, ranking, launchpad } = list
  // No list of tokenized stocks is configured.
  if (ranking === 'stocks') return []
  const found = await rows<{ readonly token_address: string }>(RANKING_QUERIES[ranking](chain))
  const candidates = found.map(({ token_address: address }) => address)
  const selected = launchpad === '' ? candidates.slice(0, MAX_RANKED_TOKENS) : candidates
  if (selected.length === 0) return []
  const rowByAddress = new Map(
    (await rows<TokenRow>(tokensQuery(chain, selected))).map((row) => [row.token_address, row]),
  )
  const listed = selected
    .flatMap((address) => rowByAddress.get(address) ?? [])
    .filter(({ launch_family: family }) => launchpad === '' || family === launchpad)
    .slice(0, MAX_RANKED_TOKENS)
  if (listed.length === 0) return []
  const addresses = listed.map(({ token_address: address }) => address)
  const stats = new Map<string, StatRow[]>()
  for (const stat of await rows<StatRow>(statsQuery(chain, addresses))) {
    stats.set(stat.token_address, [...(stats.get(stat.token_address) ?? []), stat])
  }
  return listed.map((row) => ({ row, stats: stats.get(row.token_address) ?? [] }))
}

const walletSource = (chain: string, wallet: string): ListSource => ({
  name: `wallet ${chain} ${wallet}`,
  read: async (rows) => {
    const summaries = await rows<PnlSummaryRow>(pnlSummaryQuery(chain, wallet))
    return () => summaries.map((row) => summaryPayload(wallet, row))
  },
})

const ratio = (part: number, whole: number): string =>
  whole === 0 ? '' : formatDecimal(part / whole)

const summaryPayload = (wallet: string, row: PnlSummaryRow): Payload => {
  const [buys, sells, wins, losses] = [row.buys, row.sells, row.wins, row.losses].map(Number)
  const profit = Number(row.realized_usd)
  return {
    a: wallet,
    bs: buys,
    ba: row.buy_amount,
    baiu: row.buy_usd,
    abpiu: ratio(Number(row.buy_usd), Number(row.valued_bought)),
    sa: row.sell_amount,
    saiu: row.sell_usd,
    ss: sells,
    ws: wins,
    wr: ratio(wins ?? 0, (wins ?? 0) + (losses ?? 0)),
    piu: row.realized_usd,
    apiu: ratio(profit, sells ?? 0),
    pr: ratio(profit, Number(row.cost_usd)),
    pd: Number(row.profitable_days),
    ld: Number(row.losing_days),
    ts: Number(row.tokens),
    r: row.resolution,
  }
}
