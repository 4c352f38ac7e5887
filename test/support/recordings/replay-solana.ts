import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { ConfigOverrides } from '../../../core/config/load.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import { recordedSource } from '../../../ingestors/recorded/replay.ts'
import { CHAINS } from '../../../schemas/chains.ts'
import type { Instruction, TradeEvents } from '../../../schemas/wire.ts'
import { type AppStack, startAppStack, type TestSubscription } from '../app-stack.ts'
import { brutePnl } from '../brute-force/pnl.ts'
import {
  bruteRecordedTrades,
  createdTokens,
  decimals,
  includedRecordings,
  instructionOrder,
  migratedTokens,
  readRecording,
  recordings,
  SOL,
  SOL_USD,
} from '../brute-force/recorded-solana.ts'
import { type BruteSwap, type BruteTrade, bruteCandles } from '../brute-force/trades-and-candles.ts'
import { createGatedSource } from '../gated-source.ts'
import { until, withTimeout } from '../until.ts'
import { startWebhookEndpoints, type WebhookEndpoints } from '../webhook-endpoints.ts'
import { solanaRecordingPath } from './solana.ts'

/** A wallet of several recordings, and a token that is traded twice in one transaction. */
const TRADER = 'BwWK17cbHxwWBKZkUYvzxLcNQ1YVyaFezduWbtm2de6s'
const TOKEN_TRADED_TWICE = '2Dg6nRk3m9QfFS7TvLwgkfzTbzfbyErHt2aXym1Z8Gxy'
/** Units of the brute force's USD. */
const USD = 10 ** 12

const assertClose = (got: number, want: number, what: string): void => {
  const error = Math.abs(got - want) / Math.max(Math.abs(want), 1e-300)
  assert.ok(error < 1e-9, `${what}: ${got}, want ${want}`)
}

const swapKey = ({ txHash, logIndex }: BruteSwap): string => `${txHash}/${logIndex}`
const instructionPosition = (at: Instruction | null): number =>
  instructionOrder(
    at?.is_inner_instruction ? `${at.index}.${at.inner_instruction_index}` : `${at?.index}`,
  )

/** The buses that the same run is made on, and who reads the topic beside the product. */
export interface RecordedSolanaReplay {
  readonly name: string
  readonly overrides: () => Promise<ConfigOverrides>
  /** Every value of `sol.dex.trades.processed`, as a consumer outside the app reads it. */
  readonly consume: (product: AppStack) => Promise<readonly TradeEvents[]>
  readonly close: () => Promise<void>
}

/** Replays the recorded transactions and holds every surface against the plain fold. */
export const testSolanaReplay = (run: RecordedSolanaReplay): Promise<void> =>
  describe(run.name, () => {
    let product: AppStack
    let hooks: WebhookEndpoints
    const heard = new Map<string, TestSubscription>()

    const folder = mkdtempSync(join(tmpdir(), 'sluice-recorded-sol-'))

    /** The product on the recordings, which it is given by the function that comes with it. */
    const start = async () => {
      const source = await recordedSource({
        chain: CHAINS.sol,
        files: includedRecordings().map(solanaRecordingPath),
        log: makeSilentLogger(),
        readFile: async (path) => readRecording(path),
      })
      const gate = createGatedSource(source)
      const started = await startAppStack({
        folder,
        chain: { row: CHAINS.sol, source: gate.source, metadata: source.metadata },
        overrides: {
          ...(await run.overrides()),
          pricesStatic: { [SOL]: SOL_USD },
          webhookAllow: ['127.0.0.0/8'],
          webhookMaxEventAgeSeconds: 0,
        },
      })
      const replay = async (): Promise<void> => {
        gate.release()
        await withTimeout(started.app.ingestors[0]?.done, 'the recordings are read', 240_000)
        await until(() => started.app.isCaughtUp(), 'everything is processed', 240_000)
      }
      return { started, replay }
    }

    before(async () => {
      hooks = await startWebhookEndpoints()
      const { started, replay } = await start()
      product = started
      await hooks.register(product, 'all')
      await hooks.register(product, 'migrated', ['sol.token.migrated'])
      for (const name of [
        `dex-trade:sol_${TOKEN_TRADED_TWICE}`,
        `dex-wallet-trade:sol_${TRADER}`,
        'dex-new-token:sol',
      ]) {
        heard.set(name, await product.subscribe(name))
      }
      await replay()
    })
    after(async () => {
      await product?.stop()
      await hooks?.stop()
      rmSync(folder, { recursive: true, force: true })
      await run.close()
    })

    test('the topic has exactly the recorded trades, with their prices', async () => {
      assert.ok(bruteRecordedTrades.length >= 8, `${bruteRecordedTrades.length} trades`)
      const events = new Map(
        (await run.consume(product)).flatMap(({ events: all }) =>
          all.map((event) => [
            `${event.transaction?.signature}/${instructionPosition(event.instruction)}`,
            event,
          ]),
        ),
      )
      assert.deepEqual([...events.keys()].sort(), bruteRecordedTrades.map(swapKey).sort())
      for (const trade of bruteRecordedTrades) {
        const what = swapKey(trade)
        const event = events.get(what)
        assert.equal(event?.trade?.token_a_address, trade.base, what)
        assert.equal(event?.trade?.token_b_address, trade.quote, what)
        assert.equal(event?.trade?.user_a_account_owner_address, trade.trader, what)
        if (trade.pool !== '') assert.equal(event?.trade?.pool_address, trade.pool, what)
        const [base, quote] =
          trade.side === 'sell'
            ? [trade.amountIn, trade.amountOut]
            : [trade.amountOut, trade.amountIn]
        assert.deepEqual(
          [event?.trade?.user_a_amount, event?.trade?.user_b_amount],
          [String(base), String(quote)],
          what,
        )
        const usd = event?.trade_processed?.token_a_price_in_usd ?? ''
        assert.ok(trade.priceUsd !== null, what)
        assertClose(Number(usd), trade.priceUsd, what)
      }
    })

    test('the cube DEXTrades equals the recorded trades', async () => {
      interface Leg {
        readonly Currency: { readonly MintAddress: string }
        readonly Amount: number
        readonly AmountInUSD: number
        readonly Account: { readonly Owner: string }
      }
      const leg = '{ Currency { MintAddress } Amount AmountInUSD Account { Owner } }'
      const rows = await product.cube<{
        readonly Transaction: { readonly Hash: string }
        readonly Trade: { readonly Buy: Leg; readonly Sell: Leg }
      }>(
        `{ Solana { DEXTrades(where: {any: [{IsSuspect: true}, {IsSuspect: false}]}, limit: {count: 1000}) {
          Transaction { Hash } Trade { Buy ${leg} Sell ${leg} } } } }`,
      )
      assert.equal(rows.length, bruteRecordedTrades.length)
      for (const trade of bruteRecordedTrades) {
        const units = (token: string, raw: bigint): number =>
          Number(raw) / 10 ** (decimals.get(token) ?? 0)
        const isLeg = ({ Currency, Amount }: Leg, token: string, raw: bigint): boolean =>
          Currency.MintAddress === token && Math.abs(Amount / units(token, raw) - 1) < 1e-9
        const row = rows.find(
          ({ Transaction, Trade }) =>
            Transaction.Hash === trade.txHash &&
            isLeg(Trade.Buy, trade.tokenOut, trade.amountOut) &&
            isLeg(Trade.Sell, trade.tokenIn, trade.amountIn),
        )
        assert.ok(row, `${swapKey(trade)} is not in the cube`)
        const { Buy, Sell } = row.Trade
        const [base, quote] = trade.side === 'buy' ? [Buy, Sell] : [Sell, Buy]
        assertClose(base.Amount, trade.baseAmount ?? 0, 'base amount')
        assertClose(quote.Amount, trade.quoteAmount ?? 0, 'quote amount')
        assertClose(base.AmountInUSD, trade.valueUsd ?? 0, 'value')
        assert.equal(base.Account.Owner, trade.trader)
      }
    })

    test('REST candles equal the plain fold', async () => {
      let compared = 0
      for (const token of new Set(bruteRecordedTrades.map(({ base }) => base))) {
        const mine = bruteRecordedTrades.filter(({ base }) => base === token)
        for (const resolution of ['1s', '1m', '1d', '1M']) {
          const want = bruteCandles(mine, resolution)
          const got = await product.rest<Readonly<Record<string, string>>[]>(
            `/v2/token/sol/${token}/candles?resolution=${resolution}&from=1&limit=1000`,
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
              compared += 1
            }
          }
        }
      }
      assert.ok(compared >= 80, `${compared} prices`)
    })

    test('holders of the created tokens equal the recorded balances', async () => {
      assert.ok(createdTokens.length >= 2)
      for (const { mint } of createdTokens) {
        const owned = new Map<string, bigint>()
        for (const { meta } of recordings) {
          for (const { mint: token, owner = '', uiTokenAmount } of meta.postTokenBalances ?? []) {
            if (token === mint) owned.set(owner, BigInt(uiTokenAmount.amount))
          }
        }
        const want = [...owned].filter(([, raw]) => raw > 0n)
        const market = await product.rest<{ readonly holders: unknown }>(
          `/v2/token/sol/${mint}/marketData`,
        )
        assert.equal(Number(market.holders), want.length, mint)
        const { data } = await product.rest<{
          readonly data: readonly { readonly walletAddress: string; readonly amount: string }[]
        }>(`/v2/token/sol/${mint}/holders?limit=100`)
        assert.deepEqual(
          data.map(({ walletAddress, amount }) => [walletAddress, Number(amount)]).sort(),
          want.map(([owner, raw]) => [owner, Number(raw) / 10 ** 6]).sort(),
          mint,
        )
      }
    })

    test('profit and loss of wallets equals the plain fold', async () => {
      const { positions } = brutePnl(
        // Trades of money itself make no position.
        bruteRecordedTrades
          .filter(({ base }) => base !== SOL)
          .map((trade) => ({
            wallet: trade.trader,
            token: trade.base,
            buy: trade.side === 'buy',
            raw: trade.side === 'buy' ? trade.amountOut : trade.amountIn,
            usd: trade.valueUsd === null ? null : BigInt(Math.round(trade.valueUsd * USD)),
            timeMs: trade.timeMs,
          })),
      )
      assert.ok(positions.size >= 7, `${positions.size} positions`)
      const usd = (units: bigint): number => Number(units) / USD
      for (const [key, want] of positions) {
        const [token = '', wallet = ''] = key.split('|')
        const units = (raw: bigint): number => Number(raw) / 10 ** (decimals.get(token) ?? 0)
        const all = await product.rest<readonly Readonly<Record<string, string>>[]>(
          `/wallet/v1/sol/${wallet}/stats`,
        )
        const got = all.find(({ tokenAddress }) => tokenAddress === token)
        assert.ok(got, key)
        assert.deepEqual([got.buys, got.sells], [String(want.buys), String(want.sells)], key)
        assert.equal(Number(got.buyAmount), units(want.boughtRaw), key)
        assert.equal(Number(got.sellAmount), units(want.soldRaw), key)
        const money: readonly (readonly [string, bigint])[] = [
          ['buyAmountInUsd', want.boughtUsd],
          ['sellAmountInUsd', want.soldUsd],
          ['realizedProfitInUsd', want.realized],
          ['totalRealizedProfitInUsd', want.total],
        ]
        for (const [field, value] of money) {
          assert.ok(Math.abs(Number(got[field]) - usd(value)) < 1e-6, `${key} ${field}`)
        }
      }
    })

    test('the stream published the trades and the new tokens', async () => {
      const framesOf = (name: string) => heard.get(name)?.data ?? []
      const hashes = (mine: readonly BruteTrade[]) => mine.map(({ txHash }) => txHash).sort()
      const heardOf = async (name: string, want: readonly string[]) => {
        await until(() => framesOf(name).length >= want.length, name)
        assert.deepEqual(
          framesOf(name)
            .map(({ h }) => h)
            .sort(),
          want,
        )
      }
      await heardOf(
        `dex-trade:sol_${TOKEN_TRADED_TWICE}`,
        hashes(bruteRecordedTrades.filter(({ base }) => base === TOKEN_TRADED_TWICE)),
      )
      const own = bruteRecordedTrades.filter(({ trader }) => trader === TRADER)
      assert.ok(own.length >= 2)
      await heardOf(`dex-wallet-trade:sol_${TRADER}`, hashes(own))
      await until(() => framesOf('dex-new-token:sol').length >= createdTokens.length, 'new tokens')
      assert.deepEqual(
        framesOf('dex-new-token:sol')
          .map(({ a, n, s }) => [a, n, s])
          .sort(),
        createdTokens.map(({ mint, name, symbol }) => [mint, name, symbol]).sort(),
      )
    })

    test('one webhook is sent per endpoint and event, for created and migrated tokens', async () => {
      const want = [
        ...createdTokens.map(({ mint }) => `sol.token.created ${mint}`),
        ...migratedTokens.map(({ mint }) => `sol.token.migrated ${mint}`),
      ].sort()
      const wantMigrated = want.filter((line) => line.startsWith('sol.token.migrated'))
      assert.ok(wantMigrated.length >= 1)
      const got = (name: string) =>
        hooks
          .delivered(name)
          .map(({ type, token }) => `${type} ${token}`)
          .sort()
      await until(() => got('all').length >= want.length, 'webhooks of every channel')
      await until(() => got('migrated').length >= wantMigrated.length, 'webhooks of one channel')
      assert.deepEqual(got('all'), want)
      assert.deepEqual(got('migrated'), wantMigrated)
    })

    test('a second replay sends no webhook and changes no trade', async () => {
      const before = hooks.delivered('all').length
      await product.stop()
      const { started, replay } = await start()
      product = started
      await replay()
      const rows = await product.cube<{ readonly count: number }>(
        '{ Solana { DEXTrades(where: {any: [{IsSuspect: true}, {IsSuspect: false}]}) { count } } }',
      )
      assert.equal(rows[0]?.count, bruteRecordedTrades.length)
      assert.equal((await hooks.quiet('all')).length, before)
    })
  })
