import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { ConfigOverrides } from '../../../core/config/load.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import { parseMetadataTable } from '../../../ingestors/decode/metadata-table.ts'
import { recordedSource } from '../../../ingestors/recorded/replay.ts'
import { CHAINS } from '../../../schemas/chains.ts'
import type { TradeEvents } from '../../../schemas/wire.ts'
import { type AppStack, startAppStack, type TestSubscription } from '../app-stack.ts'
import {
  type BruteMetadata,
  type BruteSwap,
  type BruteTrade,
  bruteCandles,
  bruteTrades,
  type RawBlock,
} from '../brute-force/trades-and-candles.ts'
import { createGatedSource } from '../gated-source.ts'
import { until, withTimeout } from '../until.ts'
import {
  type ExpectedSwap,
  ethereumExpectations,
  expectedPool,
  recordingJson,
  recordingPath,
} from './ethereum.ts'

const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
/** What the run is told an ether and a bitcoin cost: recorded blocks are months apart and have no price of their own. */
const FIXED_USD = new Map([
  [WETH, 2_000],
  ['0x2260fac5e5542a773aa44fbcfedf7c193bc2c599', 30_000],
])
const QUOTE_RANKS = new Map<string, number>([
  ['0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', 3],
  ['0xdac17f958d2ee523a2206206994597c13d831ec7', 3],
  ['0x6b175474e89094c44da98b954eedeac495271d0f', 3],
  [WETH, 2],
  ['0x2260fac5e5542a773aa44fbcfedf7c193bc2c599', 1],
])
const METADATA_FILE = fileURLToPath(new URL('../../fixtures/ethereum-facts.json', import.meta.url))

interface TokenMetadataRow {
  readonly token: string
  readonly decimals: number
}

const readTokenMetadata = (): readonly TokenMetadataRow[] =>
  JSON.parse(readFileSync(METADATA_FILE, 'utf8')).tokens
/** Recordings that hold their block's header; the others have no time, and so no place in a chain. */
const names = [...ethereumExpectations().keys()].filter(
  (name) => recordingJson(name).eth_getBlockByNumber !== null,
)

/** The recorded expectation of a block as swaps: who, where, what, but no product code. */
const recordedSwaps = (name: string): readonly BruteSwap[] => {
  const json = recordingJson(name)
  const block = json.eth_getBlockByNumber as RawBlock['block']
  const transaction = json.eth_getTransactionByHash as { readonly hash: string } | undefined
  const isOurs = ({ event, spoof, tokenIn, tokenOut }: ExpectedSwap): boolean =>
    /^(univ[234]|pancakev3|curve|balv[23])\./.test(event) &&
    !spoof &&
    tokenIn !== null &&
    tokenOut !== null
  return (ethereumExpectations().get(name)?.swaps ?? []).filter(isOurs).map((swap) => ({
    height: Number(block.number),
    timeMs: Number(block.timestamp) * 1_000,
    txHash: swap.txHash ?? String(transaction?.hash),
    logIndex: swap.logIndex,
    pool: expectedPool(swap),
    trader: '',
    tokenIn: swap.tokenIn ?? '',
    tokenOut: swap.tokenOut ?? '',
    amountIn: BigInt(swap.amountIn),
    amountOut: BigInt(swap.amountOut),
  }))
}

const METADATA: BruteMetadata = {
  decimals: new Map(readTokenMetadata().map(({ token, decimals }) => [token, decimals])),
  ranks: QUOTE_RANKS,
  native: WETH,
  fixedUsd: FIXED_USD,
}

/** Two numbers that went through different arithmetic. */
const assertClose = (got: number, want: number, what: string): void => {
  const error = Math.abs(got - want) / Math.max(Math.abs(want), 1e-300)
  assert.ok(error < 1e-9, `${what}: ${got}, want ${want}`)
}

interface CubeTrade {
  readonly Transaction: { readonly Hash: string }
  readonly Trade: {
    readonly Index: number
    readonly Buy: Leg
    readonly Sell: Leg
  }
  readonly Pool: { readonly Address: string }
  readonly IsSuspect: boolean
}
interface Leg {
  readonly Currency: { readonly MintAddress: string }
  readonly Amount: number | null
  readonly AmountInUSD: number | null
  readonly PriceInUSD: number | null
}

const CUBE_QUERY = `{ EVM(network: eth) { DEXTrades(
  where: {any: [{IsSuspect: true}, {IsSuspect: false}]}, limit: {count: 10000}) {
    Transaction { Hash } Pool { Address } IsSuspect
    Trade { Index Buy { Currency { MintAddress } Amount AmountInUSD PriceInUSD }
      Sell { Currency { MintAddress } Amount AmountInUSD PriceInUSD } } } } }`

/** The buses that the same run is made on, and who reads the topic beside the product. */
export interface RecordedReplay {
  readonly name: string
  /** Where the parts are; called once, before anything starts. */
  readonly overrides: () => Promise<ConfigOverrides>
  /** Every value of `eth.dex.trades.processed`, as a consumer outside the app reads it. */
  readonly consume: (product: AppStack) => Promise<readonly TradeEvents[]>
  readonly close: () => Promise<void>
}

/** Replays the recorded blocks and holds every surface against the plain fold. */
export const testEthereumReplay = (run: RecordedReplay): Promise<void> =>
  describe(run.name, () => {
    let product: AppStack
    let frames: TestSubscription
    let consumed: readonly TradeEvents[] | undefined
    const brute = bruteTrades(names.flatMap(recordedSwaps), METADATA)
    const busiest = '0x6982508145454ce325ddbe47a25d4ec3d2311933'

    before(async () => {
      const facts = parseMetadataTable(JSON.parse(readFileSync(METADATA_FILE, 'utf8')))
      const files = names.map(recordingPath)
      const source = await recordedSource({
        chain: CHAINS.eth,
        files,
        metadata: facts,
        log: makeSilentLogger(),
      })
      const gate = createGatedSource(source)
      product = await startAppStack({
        chain: { row: CHAINS.eth, source: gate.source, metadata: source.metadata },
        overrides: { ...(await run.overrides()), pricesStatic: Object.fromEntries(FIXED_USD) },
      })
      frames = await product.subscribe(`dex-trade:eth_${busiest}`)
      gate.release()
      await withTimeout(product.app.ingestors[0]?.done, 'the recordings are read', 240_000)
      await until(() => product.app.isCaughtUp(), 'everything is processed', 240_000)
    })
    after(async () => {
      await product?.stop()
      await run.close()
    })

    /** Trades of the plain topic by transaction and log, as a Kafka consumer reads them. */
    const published = async () => {
      consumed ??= await run.consume(product)
      return new Map(
        consumed.flatMap(({ events }) =>
          events.map((event) => [
            `${event.transaction?.signature}/${event.instruction?.log_index}`,
            event,
          ]),
        ),
      )
    }
    const keyOf = ({ txHash, logIndex }: BruteSwap): string => `${txHash}/${logIndex}`

    test('the topic has at least 100 priced trades, equal to the plain fold', async () => {
      const events = await published()
      let priced = 0
      for (const trade of brute) {
        const event = events.get(keyOf(trade))
        const what = keyOf(trade)
        assert.ok(event?.trade, `${what} is not on the topic`)
        assert.equal(event.trade.token_a_address, trade.base, what)
        assert.equal(event.trade.token_b_address, trade.quote, what)
        assert.equal(event.trade.pool_address, trade.pool, what)
        assert.equal(event.trade.was_original_direction, trade.side === 'sell', what)
        const [base, quote] =
          trade.side === 'sell'
            ? [trade.amountIn, trade.amountOut]
            : [trade.amountOut, trade.amountIn]
        assert.equal(event.trade.user_a_amount, String(base), what)
        assert.equal(event.trade.user_b_amount, String(quote), what)
        const usd = event.trade_processed?.token_a_price_in_usd ?? ''
        assert.equal(usd === '', trade.priceUsd === null, `${what}: ${usd}, want ${trade.priceUsd}`)
        if (trade.priceUsd === null) continue
        priced += 1
        assertClose(Number(usd), trade.priceUsd, what)
      }
      assert.ok(priced >= 100, `${priced} priced trades`)
    })

    test('the topic has no other trades but swaps whose tokens the recording alone does not name', async () => {
      const known = new Set(brute.map(keyOf))
      const open = new Set(
        names.flatMap((name) =>
          (ethereumExpectations().get(name)?.swaps ?? []).map(
            ({ txHash, logIndex, spoof }) => `${txHash}/${logIndex}${spoof ? ' forged' : ''}`,
          ),
        ),
      )
      for (const key of (await published()).keys()) {
        assert.ok(known.has(key) || open.has(key), `${key} is not a trade of the recording`)
      }
    })

    test('the cube DEXTrades equals the topic', async () => {
      const rows = await product.cube<CubeTrade>(CUBE_QUERY)
      const byKey = new Map(
        rows.map((row) => [
          `${row.Transaction.Hash}/${row.Pool.Address}/${row.Trade.Buy.Amount}`,
          row,
        ]),
      )
      const events = await published()
      assert.equal(rows.length, events.size)
      for (const trade of brute) {
        const bought = trade.side === 'buy' ? trade.baseAmount : trade.quoteAmount
        const row = [...byKey.values()].find(
          (each) =>
            each.Transaction.Hash === trade.txHash &&
            each.Pool.Address === trade.pool &&
            each.Trade.Buy.Currency.MintAddress === trade.tokenOut &&
            Math.abs((each.Trade.Buy.Amount ?? 0) / (bought ?? 1) - 1) < 1e-9,
        )
        assert.ok(row, `${keyOf(trade)} is not in the cube`)
        const base = trade.side === 'buy' ? row.Trade.Buy : row.Trade.Sell
        if (trade.valueUsd === null) assert.equal(base.AmountInUSD, null)
        else if (trade.valueUsd > 1e-6) assertClose(base.AmountInUSD ?? 0, trade.valueUsd, 'value')
        if (trade.priceUsd !== null) assertClose(base.PriceInUSD ?? 0, trade.priceUsd, 'price')
      }
    })

    test('REST candles equal the plain fold of the same trades, in every token that has any', async () => {
      const events = await published()
      const isClean = (trade: BruteTrade): boolean =>
        events.get(keyOf(trade))?.trade_processed?.is_token_a_price_in_usd_suspect === false
      const open = new Set([...events.keys()])
      for (const trade of brute) open.delete(keyOf(trade))
      const openTokens = new Set(
        [...open].map((key) => events.get(key)?.trade?.token_a_address ?? ''),
      )
      let compared = 0
      for (const token of new Set(brute.map(({ base }) => base))) {
        if (QUOTE_RANKS.has(token) || openTokens.has(token)) continue
        const mine = brute.filter((trade) => trade.base === token && isClean(trade))
        for (const resolution of ['1s', '1m', '1h', '1d', '1w', '1M']) {
          const want = bruteCandles(mine, resolution)
          const got = await product.rest<Readonly<Record<string, string>>[]>(
            `/v2/token/ethereum/${token}/candles?resolution=${resolution}&from=1&limit=1000`,
          )
          assert.deepEqual(
            got.map(({ timestamp, trades }) => [Number(timestamp), Number(trades)]),
            want.map(({ startMs, trades }) => [startMs, trades]),
            `${token} ${resolution}`,
          )
          for (const [index, candle] of want.entries()) {
            for (const field of ['open', 'high', 'low', 'close'] as const) {
              assertClose(
                Number(got[index]?.[field]),
                candle[field],
                `${token} ${resolution} ${field}`,
              )
            }
            compared += 1
          }
        }
      }
      assert.ok(compared >= 100, `${compared} candles`)
    })

    test('the stream published every trade of the most traded token, in order', async () => {
      const mine = brute.filter(({ base }) => base === busiest)
      assert.ok(mine.length >= 10)
      const events = [...(await published()).values()].filter(
        ({ trade }) => trade?.token_a_address === busiest,
      )
      await until(() => frames.data.length >= events.length, 'all frames')
      assert.deepEqual(
        frames.data.map(({ h }) => h),
        events.map(({ transaction }) => transaction?.signature),
      )
    })
  })
