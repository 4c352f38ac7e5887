import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createPublicClient, http, parseAbi } from 'viem'
import { mainnet } from 'viem/chains'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type Simulator, startSimulator } from '../../simulator/start.ts'
import type { ChildMessage, ChildOptions } from '../support/app-stack-child.ts'
import {
  type BruteMetadata,
  type BruteTrade,
  bruteCandles,
  bruteSwaps,
  bruteTrades,
  type RawBlock,
} from '../support/brute-force/trades-and-candles.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000
/** Times faster than the clock: the hour goes by in a minute. */
const PACE = 60
const GENESIS_MS = Date.UTC(2026, 0, 5)
const CHILD = fileURLToPath(new URL('../support/app-stack-child.ts', import.meta.url))
const KILLS = 3

type Content = Readonly<Record<string, readonly string[]>>

/** A run of the product in a process of its own. */
class Run {
  readonly #order: ChildOptions
  #child: ChildProcess
  height = -1
  content: Content | undefined
  stream: readonly string[] = []
  deaths = 0

  constructor(order: ChildOptions) {
    this.#order = order
    this.#child = this.#launch()
  }

  #launch(): ChildProcess {
    const child = fork(CHILD, [JSON.stringify(this.#order)], {
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    child.on('message', (word: ChildMessage) => {
      if (word.kind === 'at') this.height = word.height
      else {
        this.content = word.content
        this.stream = word.stream
      }
    })
    return child
  }

  async kill(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await gone
    this.deaths += 1
    this.height = -1
    this.#child = this.#launch()
  }

  finish(hash: string): void {
    this.#child.send(hash)
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const gone = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await gone
  }
}

describe('an hour of a simulated chain with reorgs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-hour-'))
  let simulator: Simulator
  let clean: Run
  let interrupted: Run

  before(async () => {
    const startedMs = Date.now()
    simulator = await startSimulator({
      chain: 'eth',
      seed: 11,
      ratePerSecond: 2,
      genesisMs: GENESIS_MS,
      reorgEvery: 12,
      nowMs: () => Math.min(GENESIS_MS + (Date.now() - startedMs) * PACE, GENESIS_MS + HOUR_MS),
      log: makeSilentLogger(),
    })
    const { wsUrl: nodeUrl, extra } = simulator
    const channels = extra.quotes.map(({ address }) => `dex-trade:eth_${address}`)
    const chain = { nodeUrl, extra }
    clean = new Run({ ...chain, channels, laneThreads: 0, folder: join(folder, 'clean') })
    // Threads must not change what is stored.
    const broken = join(folder, 'interrupted')
    interrupted = new Run({ ...chain, channels: [], laneThreads: 2, folder: broken })
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const height = Math.floor((kill * HOUR_MS) / 12_000 / (KILLS + 1))
      await until(() => interrupted.height >= height, `the run is at ${height}`, 240_000)
      await interrupted.kill()
    }
    const last = HOUR_MS / 12_000
    await until(() => simulator.head().height === last, 'the hour is over', 180_000)
    const { hash } = simulator.head()
    clean.finish(hash)
    interrupted.finish(hash)
    await until(() => clean.content && interrupted.content, 'both runs are processed', 240_000)
  })
  after(async () => {
    await clean?.stop()
    await interrupted?.stop()
    await simulator?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('the interrupted run and the clean one hold the same', () => {
    assert.equal(interrupted.deaths, KILLS)
    const [left, right] = [clean.content ?? {}, interrupted.content ?? {}]
    assert.deepEqual(Object.keys(left), Object.keys(right))
    for (const [name, lines] of Object.entries(left)) {
      assert.ok(lines.length > 0, `${name} holds something`)
      const other = right[name] ?? []
      const onlyHere = lines.filter((line) => !other.includes(line)).slice(0, 3)
      const onlyThere = other.filter((line) => !lines.includes(line)).slice(0, 3)
      assert.deepEqual(onlyHere, onlyThere, name)
      assert.equal(lines.length, other.length, name)
    }
  })

  test('trades and candles equal a plain fold of the canonical chain of the node', async () => {
    const chain = await canonicalChain(simulator.httpUrl)
    const facts = await factsOf(simulator)
    const factories = new Set(simulator.extra.factories.map(({ factory }) => factory))
    const brute = bruteTrades(bruteSwaps(chain, factories), facts)
    const lines = (clean.content?.['eth.dex.trades.processed'] ?? []).map(
      (line) => JSON.parse(line.slice(line.indexOf(' ') + 1)) as readonly unknown[],
    )
    const byKey = new Map(lines.map((line) => [`${line[2]}/${line[3]}`, line]))
    assert.equal(byKey.size, lines.length, 'no trade stands twice')
    assert.equal(brute.length, lines.length, 'as many trades')
    let priced = 0
    const cleanTrades: BruteTrade[] = []
    for (const trade of brute) {
      const what = `${trade.txHash}/${trade.logIndex}`
      const line = byKey.get(what)
      assert.ok(line, `${what} is missing`)
      const usd = String(line[10])
      assert.equal(usd === '', trade.priceUsd === null, `${what}: ${usd}, want ${trade.priceUsd}`)
      if (line[11] === false) cleanTrades.push(trade)
      if (trade.priceUsd === null) continue
      priced += 1
      assert.ok(
        Math.abs(Number(usd) / trade.priceUsd - 1) < 1e-9,
        `${what}: ${usd}, want ${trade.priceUsd}`,
      )
    }
    assert.ok(priced >= 1_000, `${priced} priced trades`)
    const { quotes } = simulator.extra
    const stables = quotes.filter(({ kind }) => kind === 'stable').map(({ address }) => address)
    compareCandles(clean.content?.['eth.candlesticks'] ?? [], cleanTrades, new Set(stables))
    compareCube(clean.content?.['cube DEXTrades'] ?? [], brute)
    compareRest(clean.content?.['REST candles'] ?? [], cleanTrades)
    compareStream(clean.stream, brute, simulator)
  })
})

/** Every token candle of the topic against the plain fold, in all resolutions; stablecoins have none. */
const compareCandles = (
  lines: readonly string[],
  trades: readonly BruteTrade[],
  stables: ReadonlySet<string>,
): void => {
  const candles = lines
    .map((line) => JSON.parse(line) as Readonly<Record<string, string>>)
    .filter(({ dimension }) => dimension === 'CANDLESTICK_DIMENSION_TOKEN_ADDRESS')
  const byToken = new Map<string, BruteTrade[]>()
  for (const trade of trades) {
    if (stables.has(trade.base)) continue
    byToken.set(trade.base, [...(byToken.get(trade.base) ?? []), trade])
  }
  assert.ok(candles.every(({ token = '' }) => !stables.has(token)))
  let compared = 0
  const resolutions = new Set(candles.map((candle) => candle.resolution ?? ''))
  assert.equal(resolutions.size, 18)
  for (const [token, mine] of byToken) {
    for (const resolution of resolutions) {
      const want = bruteCandles(mine, resolution)
      const got = candles
        .filter((each) => each.token === token && each.resolution === resolution)
        .sort((a, b) => Number(a.startMs) - Number(b.startMs))
      assert.deepEqual(
        got.map(({ startMs, trades: count }) => [Number(startMs), Number(count)]),
        want.map(({ startMs, trades: count }) => [startMs, count]),
        `${token} ${resolution}`,
      )
      for (const [index, candle] of want.entries()) {
        for (const field of ['open', 'high', 'low', 'close'] as const) {
          const value = Number(got[index]?.[field])
          assert.ok(Math.abs(value / candle[field] - 1) < 1e-9, `${token} ${resolution} ${field}`)
        }
        compared += 1
      }
    }
  }
  assert.ok(compared >= 1_000, `${compared} candles`)
}

/** The cube holds every trade once, with its legs. */
const compareCube = (lines: readonly string[], trades: readonly BruteTrade[]): void => {
  const legs = (hash: string, pool: string, bought: string, sold: string): string =>
    [hash, pool, bought, sold].join()
  const got = lines.map((line) => {
    const { Transaction, Pool, Trade } = JSON.parse(line)
    const { Buy, Sell } = Trade
    return legs(Transaction.Hash, Pool.Address, Buy.Currency.MintAddress, Sell.Currency.MintAddress)
  })
  const want = trades.map(({ txHash, pool, tokenIn, tokenOut }) =>
    legs(txHash, pool, tokenOut, tokenIn),
  )
  assert.deepEqual(got.sort(), want.sort(), 'cube DEXTrades')
}

/** REST minute candles of every token. */
const compareRest = (lines: readonly string[], trades: readonly BruteTrade[]): void => {
  const got = lines.map((line) => JSON.parse(line) as Readonly<Record<string, string>>)
  const tokens = [...new Set(trades.map(({ base }) => base))].sort()
  const want = tokens.flatMap((token) => {
    const mine = trades.filter(({ base }) => base === token)
    return bruteCandles(mine, '1m').map((candle) => ({ token, ...candle }))
  })
  assert.deepEqual(
    got.map(({ token, timestamp, trades: count }) => [token, Number(timestamp), Number(count)]),
    want.map(({ token, startMs, trades: count }) => [token, startMs, count]),
    'REST candles',
  )
  for (const [index, candle] of want.entries()) {
    const close = Number(got[index]?.close)
    assert.ok(Math.abs(close / candle.close - 1) < 1e-9, `${candle.token} ${candle.startMs}`)
  }
}

/** A stream of each quote asset: what it told and did not take back is every trade of that asset. */
const compareStream = (
  lines: readonly string[],
  trades: readonly BruteTrade[],
  { extra }: Simulator,
): void => {
  const counts = new Map<string, number>()
  for (const { address } of extra.quotes) {
    for (const { txHash, tokenIn, tokenOut } of trades) {
      if (tokenIn !== address && tokenOut !== address) continue
      const line = JSON.stringify([`dex-trade:eth_${address}`, txHash, tokenOut, tokenIn])
      counts.set(line, (counts.get(line) ?? 0) + 1)
    }
  }
  const want = [...counts].map(([line, count]) => `${count} ${line}`).sort()
  assert.deepEqual(lines.slice(0, 3), want.slice(0, 3))
  assert.equal(
    lines.join('\n') === want.join('\n'),
    true,
    `${lines.length} of ${want.length} lines`,
  )
}

const canonicalChain = async (url: string): Promise<readonly RawBlock[]> => {
  const client = createPublicClient({ chain: mainnet, transport: http(url, { batch: true }) })
  const top = Number(await client.getBlockNumber())
  const chain: RawBlock[] = []
  for (let height = 0; height <= top; height += 1) {
    const at = `0x${height.toString(16)}` as const
    const [block, receipts] = await Promise.all([
      client.request({ method: 'eth_getBlockByNumber', params: [at, true] }),
      client.request({ method: 'eth_getBlockReceipts' as never, params: [at] as never }),
    ])
    chain.push({ block, receipts } as unknown as RawBlock)
  }
  return chain
}

/** Decimals as the node gives them now; a token without an answer has none. */
const factsOf = async ({ httpUrl, extra }: Simulator): Promise<BruteMetadata> => {
  const client = createPublicClient({ chain: mainnet, transport: http(httpUrl) })
  const chain = await canonicalChain(httpUrl)
  const tokens = new Set(
    bruteSwaps(chain, new Set(extra.factories.map(({ factory }) => factory))).flatMap(
      ({ tokenIn, tokenOut }) => [tokenIn, tokenOut],
    ),
  )
  const decimals = new Map<string, number>()
  for (const token of tokens) {
    const answer = await client
      .readContract({
        address: token as `0x${string}`,
        abi: parseAbi(['function decimals() view returns (uint8)']),
        functionName: 'decimals',
      })
      .catch(() => undefined)
    if (answer !== undefined) decimals.set(token, answer)
  }
  const ranks = { stable: 3, native: 2, btc: 1 } as const
  return {
    decimals,
    ranks: new Map(extra.quotes.map(({ address, kind }) => [address, ranks[kind]])),
    native: extra.quotes.find(({ kind }) => kind === 'native')?.address ?? '',
  }
}
