import { DAY_MS } from '../../core/time.ts'
import type { PredictionWalletSummary } from '../../schemas/api/prediction-positions.ts'
import type { PredictionTotalsRow } from '../queries/prediction-positions.ts'
import type { PredictionDayRow } from '../queries/prediction-wallets.ts'
import { predictionUnits, requiredRatio, STATE_QUALITY, sumOf } from './prediction-values.ts'

const WEEK_DAYS = 7

/** The day of a time, UTC, as `2026-11-20`. */
export const dayOf = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10)

/** What days of a window were together; it ends with the newest day that was read. */
export const windowOf = (days: readonly PredictionDayRow[], todayMs: number, length: number) => {
  const since = dayOf(todayMs - (length - 1) * DAY_MS)
  const inside = days.filter(({ day }) => day >= since)
  return {
    realized: predictionUnits(sumOf(...inside.map(({ realized }) => realized))),
    volume: predictionUnits(sumOf(...inside.map(({ volume }) => volume))),
    activities: inside.reduce((sum, { activities }) => sum + Number(activities), 0),
    markets: inside.reduce((sum, { last_conditions }) => sum + Number(last_conditions), 0),
  }
}

/** A wallet without positions. */
const NO_TOTALS: PredictionTotalsRow = {
  tokens: '0',
  markets: '0',
  open_positions: '0',
  wins: '0',
  losses: '0',
  entries: '0',
  wallet: '',
  decided: '0',
  decided_wins: '0',
  paid: '0',
  received: '0',
  redeemed: '0',
  volume: '0',
  worth: '0',
  gained: '0',
  lost: '0',
  realized: '0',
  unrealized: '0',
  first_paid: '0',
  held_ms: '0',
  last_ms: '0',
  best: ['', '', '', '0'],
  worst: ['', '', '', '0'],
}

/** Sums of a position, or of several. */
type TradeResultRow = Pick<
  PredictionTotalsRow,
  'realized' | 'unrealized' | 'paid' | 'received' | 'redeemed' | 'volume' | 'worth' | 'last_ms'
>

/** What was paid, received and made, of one position or of several together. */
export const tradeResultFields = (totals: TradeResultRow) => {
  const total = sumOf(totals.realized, totals.unrealized)
  return {
    totalBuyAmount: predictionUnits(totals.paid),
    totalSellAmount: predictionUnits(totals.received),
    totalRedeemAmount: predictionUnits(totals.redeemed),
    totalVolume: predictionUnits(totals.volume),
    currentValue: predictionUnits(totals.worth),
    realizedPnl: predictionUnits(totals.realized),
    unrealizedPnl: predictionUnits(totals.unrealized),
    totalPnl: predictionUnits(total),
    totalPnlRatio: requiredRatio(total, totals.paid),
    lastActivityTs: totals.last_ms,
    stateQuality: STATE_QUALITY,
  }
}

const extremeFields = ({ best, worst, gained, lost }: PredictionTotalsRow) => ({
  bestTradeTokenId: best[0],
  bestTradeConditionId: best[1],
  bestTradeOutcome: best[2],
  bestTradeMarketQuestion: '',
  bestTradePnl: predictionUnits(best[3]),
  bestTradePnlShare: BigInt(best[3]) > 0n ? requiredRatio(best[3], gained) : '0',
  worstTradeTokenId: worst[0],
  worstTradeConditionId: worst[1],
  worstTradeOutcome: worst[2],
  worstTradeMarketQuestion: '',
  worstTradePnl: predictionUnits(worst[3]),
  worstTradePnlShare: BigInt(worst[3]) < 0n ? requiredRatio(worst[3], lost) : '0',
})

/** All positions of a wallet together, and its last day and week. */
export const predictionSummaryBody = (
  wallet: string,
  totals: PredictionTotalsRow = NO_TOTALS,
  days: readonly PredictionDayRow[] = [],
  todayMs = 0,
): PredictionWalletSummary => {
  const today = windowOf(days, todayMs, 1)
  const week = windowOf(days, todayMs, WEEK_DAYS)
  const { tokens } = totals
  return {
    wallet,
    ...tradeResultFields(totals),
    tokenCount: Number(tokens),
    marketCount: Number(totals.markets),
    openPositionCount: Number(totals.open_positions),
    winCount: Number(totals.wins),
    lossCount: Number(totals.losses),
    winRate: requiredRatio(totals.wins, sumOf(totals.wins, totals.losses)),
    profitFactor: requiredRatio(totals.gained, totals.lost.replace('-', '')),
    settlementRatio: requiredRatio(totals.decided, tokens),
    settlementWinRate: requiredRatio(totals.decided_wins, totals.decided),
    avgEntryCount: requiredRatio(totals.entries, tokens),
    avgInitialCost:
      tokens === '0' ? '0' : predictionUnits(BigInt(totals.first_paid) / BigInt(tokens)),
    avgHoldingSeconds:
      tokens === '0' ? '0' : String(Number(totals.held_ms) / Number(tokens) / 1_000),
    ...extremeFields(totals),
    todayRealizedPnl: today.realized,
    todayVolume: today.volume,
    todayActivityCount: today.activities,
    todayMarketCount: today.markets,
    sevenDayRealizedPnl: week.realized,
    sevenDayVolume: week.volume,
    sevenDayActivityCount: week.activities,
    sevenDayMarketCount: week.markets,
  }
}
