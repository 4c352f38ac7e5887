/**
 * Every number of statistics, candles, and profit and loss against one that is computed here, the slow way, from the trades that
 * REST serves: at random moments of a tape with reorgs, of tokens that trade all the time and of one that stops.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Bus, Writer } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { processorTopics, type RunningProcessors, startProcessors } from '../../processors/start.ts'
import type { Candle } from '../../schemas/api/candle.ts'
import type { TokenStatPeriod, TokenStats } from '../../schemas/api/stats.ts'
import type { TradeDetail } from '../../schemas/api/trade.ts'
import type { PnlDetailsResult } from '../../schemas/api/wallet-pnl.ts'
import { startApi, type TestApi } from '../support/api-stack.ts'
import { type BruteCandleTrade, bruteCandles } from '../support/brute-force/candles.ts'
import { type BrutePnlTrade, brutePnl } from '../support/brute-force/pnl.ts'
import {
  BRUTE_WINDOWS,
  type BrutePrices,
  type BruteSpan,
  type BruteStatTrade,
  bruteWindow,
} from '../support/brute-force/statistics.ts'
import { addressFromNumber, createSeededRandom } from '../support/builders/market-trade.ts'
import { publishTradeTape } from '../support/builders/publish-tape.ts'
import { buildTape, type ChainStep, type TapeTrade } from '../support/builders/trade-tape.ts'
import { isDrained } from '../support/is-drained.ts'
import { createRestReader } from '../support/rest-reader.ts'
import { until } from '../support/until.ts'

const CONFIG = { partitions: 2, retention: 'off' } as const
const USDC = addressFromNumber(0xc0)
const TOKENS = [0xa1, 0xa2, 0xa3].map(addressFromNumber)
/** Trades in the first quarter of the tape only. */
const RESTING = addressFromNumber(0xa4)
const WALLETS = [0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7].map(addressFromNumber)
const POOLS = [0xd1, 0xd2].map(addressFromNumber)
const DECIMALS = 6
const CANDLE_RESOLUTIONS = ['1s', '15m', '1h'] as const

const random = createSeededRandom(11)
const below = (count: number): number => Math.floor(random() * count)
const oneOf = <Item>(list: readonly Item[]): Item => list[below(list.length)] as Item

const tradeOf = (base: string): TapeTrade => {
  const baseRaw = BigInt(1_000_000 + below(9_000_000))
  return {
    base,
    quote: USDC,
    pool: oneOf(POOLS),
    baseRaw,
    quoteRaw: (baseRaw * BigInt(190 + below(20))) / 100n,
    baseDecimals: DECIMALS,
    quoteDecimals: DECIMALS,
    buy: random() < 0.6,
    quoteUsd: '1',
    quoteNative: random() < 0.2 ? '' : '0.0004',
    suspect: false,
    trader: oneOf(WALLETS),
  }
}

const LENGTH = 150
const STEPS_MS = [1_000, 1_000, 2_000, 12_000, 12_000, 47_000, 130_000, 601_000, 1_750_000]
const steps = Array.from({ length: LENGTH }, (_, index): ChainStep => {
  const kind = random()
  if (kind < 0.12) return { kind: 'revert' }
  if (kind < 0.25) return { kind: 'finalize', keep: below(8) }
  const live = index < LENGTH / 4 ? [...TOKENS, RESTING] : TOKENS
  const trades = Array.from({ length: below(4) }, () => tradeOf(oneOf(live)))
  return { kind: 'apply', stepMs: oneOf(STEPS_MS), trades }
})
const tape = buildTape(steps, Date.UTC(2026, 2, 1, 10, 0, 7))

let folder = ''
let bus: Bus
let writer: Writer
let api: TestApi
let processors: RunningProcessors
const codec = localCodec()
const log = makeSilentLogger()
const { read, readAll } = createRestReader(() => api)

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-recomputed-'))
  bus = await openEmbeddedBus({
    path: join(folder, 'log'),
    mapSizeBytes: 1_073_741_824,
    log,
    retention: 'off',
  })
  await bus.createTopics([
    ...topicSpecs({ chains: ['eth'], ...CONFIG }),
    ...processorTopics(['eth'], CONFIG),
  ])
  writer = await bus.writer('ingest.eth')
  api = await startApi()
  processors = await startProcessors({
    chains: ['eth'],
    bus,
    codec,
    warehouse: api.warehouse,
    config: CONFIG,
    metrics: makeMetrics(),
    log,
  })
})

after(async () => {
  await processors.stop()
  await api.stop()
  await bus.close()
  await rm(folder, { recursive: true, force: true })
})

/** What REST says of a trade; "0" stands for what is not known. */
const known = (text: string): number | null => (text === '0' ? null : Number(text))

const statTrade = (trade: TradeDetail): BruteStatTrade => ({
  timeMs: trade.blockTimestamp,
  buy: trade.type === 'BUY',
  trader: trade.accountOwnerAddress,
  pool: trade.poolAddress,
  program: trade.dexProgramAddress ?? '',
  amount: Number(trade.tokenAmount),
  valueUsd: known(trade.tokenAmountInUsd),
  valueNative: known(trade.tokenAmountInNative),
  priceUsd: known(trade.tokenPriceInUsd),
  priceNative: known(trade.tokenPriceInNative),
})

const number = (text: string | null | undefined): number | null =>
  text === null || text === undefined ? null : Number(text)

const assertNear = (found: number | null, wanted: number | null, label: string): void => {
  if (wanted === null || found === null) {
    assert.equal(found, wanted, label)
    return
  }
  const error = Math.abs(found - wanted) / Math.max(1, Math.abs(wanted))
  assert.ok(error < 1e-9, `${label}: ${found}, not ${wanted}`)
}

const PRICE_FIELDS = ['open', 'close', 'high', 'low'] as const
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** A window's numbers by the names of the fields; `prefix` says which window. */
const assertSpan = (
  period: TokenStatPeriod,
  wanted: BruteSpan,
  prefix: '' | 'prev',
  label: string,
): void => {
  const field = (name: string): number | null => {
    const key = prefix === '' ? name : `prev${capital(name)}`
    assert.ok(key in period, `${label}: ${key} is missing`)
    return number((period as Readonly<Record<string, string | null>>)[key])
  }
  const expected: Readonly<Record<string, number>> = {
    buys: wanted.buys,
    sells: wanted.sells,
    trades: wanted.buys + wanted.sells,
    buyers: wanted.buyers,
    sellers: wanted.sellers,
    poolCount: wanted.pools,
    dappProgramCount: wanted.programs,
    buyVolume: wanted.buyVolume,
    sellVolume: wanted.sellVolume,
    buyVolumeInUsd: wanted.buyUsd,
    sellVolumeInUsd: wanted.sellUsd,
    buyVolumeInNative: wanted.buyNative,
    sellVolumeInNative: wanted.sellNative,
  }
  for (const [name, value] of Object.entries(expected)) {
    assertNear(field(name), value, `${label} ${prefix} ${name}`)
  }
  const prices = (unit: string, list: BrutePrices): void => {
    for (const [at, name] of PRICE_FIELDS.entries()) {
      assertNear(field(`${name}In${unit}`), list[at] ?? null, `${label} ${prefix} ${name} ${unit}`)
    }
  }
  prices('Usd', wanted.usd)
  prices('Native', wanted.native)
}

const checkPeriod = (
  period: TokenStatPeriod,
  trades: readonly BruteStatTrade[],
  seconds: number,
  headMs: number,
  label: string,
): void => {
  const atMs = Date.parse(period.updatedAt ?? '')
  const noticeMs = Math.max(5, seconds / 60) * 1_000
  for (const ms of [atMs, Math.max(atMs, Math.floor(headMs / noticeMs) * noticeMs)]) {
    const { current, previous } = bruteWindow(trades, seconds, ms)
    assertSpan(period, current, '', `${label} at ${ms}`)
    assertSpan(period, previous, 'prev', `${label} at ${ms}`)
    assertNear(number(period.traders), current.traders, `${label} traders`)
    const [volume, before] = [current, previous].map(({ buyUsd, sellUsd }) => buyUsd + sellUsd)
    const change = before ? (volume ?? 0) / before - 1 : null
    assertNear(number(period.volumeChangeRatio), change, `${label} volumeChangeRatio`)
    const [open, close] = current.usd
    assertNear(number(period.priceChangeRatioInUsd), open ? (close ?? 0) / open - 1 : 0, label)
  }
}

const checkStats = async (
  token: string,
  trades: readonly TradeDetail[],
  headMs: number,
): Promise<number> => {
  if (trades.length === 0) return 0
  const stats = await read<TokenStats>(`/v2/token/eth/${token}/stats`)
  const list = trades.map(statTrade)
  for (const [window, seconds] of Object.entries(BRUTE_WINDOWS)) {
    const period = stats.periods[window]
    assert.ok(period, `${token} has no ${window}`)
    checkPeriod(period, list, seconds, headMs, `${token} ${window}`)
  }
  return number(stats.periods['1h']?.trades) ?? 0
}

const candleTrade = (trade: TradeDetail): BruteCandleTrade => ({
  timeMs: trade.blockTimestamp,
  base: trade.tokenAddress,
  quote: trade.sideTokenAddress,
  pool: trade.poolAddress,
  buy: trade.type === 'BUY',
  suspect: false,
  priceUsd: known(trade.tokenPriceInUsd),
  priceNative: known(trade.tokenPriceInNative),
  valueUsd: Number(trade.tokenAmountInUsd),
  valueNative: Number(trade.tokenAmountInNative),
  volumeRaw: BigInt(Math.round(Number(trade.tokenAmount) * 10 ** DECIMALS)),
})

const checkCandles = async (
  token: string,
  trades: readonly TradeDetail[],
  headMs: number,
): Promise<void> => {
  const all = bruteCandles(trades.map(candleTrade))
  for (const resolution of CANDLE_RESOLUTIONS) {
    const prefix = `TOKEN_ADDRESS|${token}|${token}|${resolution}|`
    const wanted = [...all].flatMap(([key, candle]) =>
      key.startsWith(prefix) ? [[Number(key.slice(prefix.length)), candle] as const] : [],
    )
    const query = `resolution=${resolution}&limit=1000&to=${headMs + 1}`
    const found = await read<readonly Candle[]>(`/v2/token/eth/${token}/candles?${query}`)
    assert.deepEqual(
      found.map(({ timestamp }) => timestamp),
      wanted.map(([start]) => start).toSorted((one, other) => one - other),
      `${token} ${resolution}`,
    )
    const served = new Map(found.map((candle) => [candle.timestamp, candle]))
    for (const [start, candle] of wanted) {
      const label = `${token} ${resolution} ${start}`
      const shown = served.get(start)
      assertNear(number(shown?.open), candle.open, `${label} open`)
      assertNear(number(shown?.close), candle.close, `${label} close`)
      assertNear(number(shown?.high), candle.high, `${label} high`)
      assertNear(number(shown?.low), candle.low, `${label} low`)
      assertNear(number(shown?.volume), candle.valueUsd, `${label} volume`)
      assert.equal(shown?.trades, candle.trades, `${label} trades`)
    }
  }
}

const USD_UNIT = 10n ** 12n
/** Exact: REST serves money and amounts exactly. */
const rawOf = (text: string, decimals: number): bigint => {
  const [whole = '0', part = ''] = text.split('.')
  return BigInt(whole) * 10n ** BigInt(decimals) + BigInt(part.padEnd(decimals, '0') || '0')
}

const pnlTrade = (trade: TradeDetail): BrutePnlTrade => ({
  wallet: trade.accountOwnerAddress,
  token: trade.tokenAddress,
  buy: trade.type === 'BUY',
  raw: rawOf(trade.tokenAmount, DECIMALS),
  usd: rawOf(trade.tokenAmountInUsd, 12),
  timeMs: trade.blockTimestamp,
})

const checkPnl = async (trades: readonly TradeDetail[]): Promise<void> => {
  const { positions } = brutePnl(trades.map(pnlTrade))
  const usd = (raw: bigint): number => Number(raw) / Number(USD_UNIT)
  const units = (raw: bigint): number => Number(raw) / 10 ** DECIMALS
  for (const wallet of WALLETS) {
    const mine = [...positions].filter(([key]) => key.endsWith(`|${wallet}`))
    const { data } = await read<PnlDetailsResult>(`/v2/wallet/eth/${wallet}/pnl-details?limit=100`)
    assert.equal(data.length, mine.length, wallet)
    for (const [key, position] of mine) {
      const item = data.find(({ tokenAddress }) => key.startsWith(tokenAddress))
      assert.ok(item, key)
      assert.deepEqual(
        [item.buys, item.sells, item.wins, item.losses].map(number),
        [position.buys, position.sells, position.wins, position.losses],
        key,
      )
      assertNear(number(item.buyAmount), units(position.boughtRaw), `${key} bought`)
      assertNear(number(item.sellAmount), units(position.soldRaw), `${key} sold`)
      assertNear(number(item.buyAmountInUsd), usd(position.boughtUsd), `${key} paid`)
      assertNear(number(item.sellAmountInUsd), usd(position.soldUsd), `${key} got`)
      assertNear(number(item.realizedProfitInUsd), usd(position.total), `${key} realized`)
      assertNear(number(item.totalCostInUsd), usd(position.boughtUsd), `${key} cost`)
    }
  }
}

const chainTime = (done: number): number => {
  const times: number[] = []
  for (const { op, block } of tape.ops.slice(0, done)) {
    if (op === 'apply') times.push(block.timeMs)
    else if (op === 'revert') times.pop()
  }
  return times.at(-1) ?? 0
}

test('statistics, candles, and profit and loss follow from the served trades, at random moments', async () => {
  const counts: number[] = []
  let done = 0
  let restingTrades = 0
  while (done < tape.ops.length) {
    const next = Math.min(tape.ops.length, done + 15 + below(45))
    await publishTradeTape({ bus, codec, writer }, tape.ops.slice(done, next))
    done = next
    await until(() => isDrained(bus, processors, done), `${done} operations are stored`, 60_000)
    const headMs = chainTime(done)
    const all: TradeDetail[] = []
    for (const token of [...TOKENS, RESTING]) {
      const path = `/v2/trade/eth?tokenAddress=${token}&limit=100`
      const trades = (await readAll<TradeDetail>(path)).toReversed()
      all.push(...trades)
      const inHour = await checkStats(token, trades, headMs)
      await checkCandles(token, trades, headMs)
      if (token === RESTING) [restingTrades] = [trades.length]
      if (token === RESTING) counts.push(inHour)
    }
    await checkPnl(all)
  }
  assert.ok(counts.length > 3, `${counts.length} moments`)
  assert.ok(restingTrades > 0 && Math.max(...counts) > 0, 'the token traded')
  assert.equal(counts.at(-1), 0, 'its windows have emptied without a trade')
})
