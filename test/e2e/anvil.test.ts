import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { parseEther } from 'viem'
import { type AnvilStack, startAnvilStack } from '../support/anvil-stack.ts'
import type { AppStack } from '../support/app-stack.ts'
import { type Anvil, startAnvil } from '../support/nodes/anvil.ts'
import { deployUniswapMarket, type UniswapMarket } from '../support/nodes/uniswap-v2-v3.ts'
import { until } from '../support/until.ts'

interface TradeRow {
  readonly Block: { readonly Height: number; readonly Hash: string }
  readonly Transaction: { readonly Hash: string }
  readonly Trade: { readonly Buy: { readonly Amount: number; readonly PriceInUSD: number | null } }
  readonly Pool: { readonly Address: string }
}

interface Candle {
  readonly timestamp: number
  readonly close: string
  readonly trades: number
}

/** A batch of events as every topic of events has it. */
interface Batch {
  readonly meta: { readonly op: string } | null
  readonly events: readonly { readonly transaction: { readonly signature: string } | null }[]
}

const TRADE_EVENTS = 'dex.trade.TradeEvents'
const POOL_EVENTS = 'dex.pool.DexPoolEvents'

/** Events of one transaction that a topic applied and took back. */
const netOf = (batches: readonly Batch[], hash: string) => {
  const counts = { applied: 0, reverted: 0 }
  for (const { meta, events } of batches) {
    const mine = events.filter(({ transaction }) => transaction?.signature === hash).length
    counts[meta?.op === 'OP_REVERT' ? 'reverted' : 'applied'] += mine
  }
  return counts
}

const TRADES =
  '{ EVM(network: eth) { DEXTrades(where: {any: [{IsSuspect: true}, {IsSuspect: false}]}, limit: {count: 1000}) { Block { Height Hash } Transaction { Hash } Trade { Buy { Amount PriceInUSD } } Pool { Address } } } }'

describe('real Uniswap contracts on a real node', () => {
  let anvil: Anvil
  let market: UniswapMarket
  let stack: AnvilStack
  let product: AppStack

  before(async () => {
    anvil = await startAnvil()
    market = await deployUniswapMarket(anvil.client)
    stack = await startAnvilStack(anvil, { extra: market.extra })
    product = stack.product
  })
  after(async () => {
    await stack.stop()
    await anvil.stop()
  })

  const caughtUp = (): Promise<void> => stack.caughtUp()
  const trades = () => product.cube<TradeRow>(TRADES)
  const tokenPath = (): string => market.token.toLowerCase()

  test('swaps made by transactions arrive as priced trades', async () => {
    // The first swap of the reference pool gives WETH its price; what comes after it is priced.
    await market.swapV2([market.usd, market.weth], parseEther('20000'))
    const frames = await product.subscribe(`dex-trade:eth_${tokenPath()}`)
    const v2 = await market.swapV2([market.weth, market.token], parseEther('1'))
    const v3 = await market.swapV3(market.usd, market.weth, parseEther('1000'))
    const routed = await market.swapV2([market.usd, market.weth, market.token], parseEther('500'))
    await caughtUp()
    const rows = await trades()
    const of = (hash: string) => rows.filter(({ Transaction }) => Transaction.Hash === hash)
    assert.equal(of(v2).length, 1)
    assert.equal(of(v3).length, 1)
    assert.equal(of(routed).length, 2, 'one pool hop is one trade')
    const [bought] = of(v2)
    assert.equal(bought?.Pool.Address, market.pools.v2Token.toLowerCase())
    assert.ok(
      (bought?.Trade.Buy.PriceInUSD ?? 0) > 1.5 && (bought?.Trade.Buy.PriceInUSD ?? 9) < 2.5,
    )
    await until(() => frames.data.length === 2, 'both trades of the token on the socket')
    assert.deepEqual(
      frames.data.map(({ h }) => h),
      [v2, routed],
    )
    frames.stop()
  })

  test('a reorg leaves no trace on any surface', async () => {
    const plain = await product.subscribe(`dex-trade:eth_${tokenPath()}`)
    const asking = await product.subscribe(
      `dex-wallet-trade:eth_${anvil.client.account.address.toLowerCase()}`,
      {
        retractions: true,
      },
    )
    const candleFrames = await product.subscribe(`dex-candle:eth_${tokenPath()}_1s`)
    await caughtUp()
    const before = {
      trades: await trades(),
      candles: await product.rest<Candle[]>(
        `/v2/token/ethereum/${tokenPath()}/candles?resolution=1s`,
      ),
      token: await product.rest<{ marketData: { priceInUsd: string } }>(
        `/v1/token/ethereum/${tokenPath()}`,
      ),
      byTokens: await product.cube<{ count: number }>(
        '{ EVM(network: eth) { DEXTradeByTokens { count } } }',
      ),
      pairs: await product.cube<object>(
        '{ Trading { Pairs(limit: {count: 1000}) { Token { Address } TimeMinute Stats { TradeCount } Volume { Usd } } } }',
      ),
    }
    const doomed = await market.swapV2([market.weth, market.token], parseEther('30'))
    await caughtUp()
    assert.ok((await trades()).some(({ Transaction }) => Transaction.Hash === doomed))
    await until(() => plain.data.length === 1, 'the doomed trade on the socket')
    const depth = 1
    await anvil.client.request({ method: 'anvil_reorg' as never, params: [depth, []] as never })
    await anvil.client.mine({ blocks: 1 })
    await until(
      async () => !(await trades()).some(({ Transaction }) => Transaction.Hash === doomed),
      'the doomed trade is gone',
    )
    await caughtUp()

    assert.deepEqual(await trades(), before.trades, 'cube DEXTrades')
    assert.deepEqual(
      await product.cube<{ count: number }>('{ EVM(network: eth) { DEXTradeByTokens { count } } }'),
      before.byTokens,
      'cube DEXTradeByTokens',
    )
    assert.deepEqual(
      await product.cube<object>(
        '{ Trading { Pairs(limit: {count: 1000}) { Token { Address } TimeMinute Stats { TradeCount } Volume { Usd } } } }',
      ),
      before.pairs,
      'cube Pairs',
    )
    assert.deepEqual(
      await product.rest<Candle[]>(`/v2/token/ethereum/${tokenPath()}/candles?resolution=1s`),
      before.candles,
      'REST candles',
    )
    const { marketData } = await product.rest<{ marketData: { priceInUsd: string } }>(
      `/v1/token/ethereum/${tokenPath()}`,
    )
    assert.equal(marketData.priceInUsd, before.token.marketData.priceInUsd, 'REST token')

    assert.equal(plain.data.length, 1, 'a plain subscriber hears no retraction')
    await until(
      () => asking.data.some(({ op, h }) => op === 'revert' && h === doomed),
      'a subscriber that asked hears the retraction',
    )
    await until(
      () => candleFrames.data.some(({ n }) => n === 0),
      'the emptied candle is sent once with no trades',
    )

    const nets: Readonly<Record<string, readonly Batch[]>> = {
      'eth.dex.trades': await product.topic('eth.dex.trades', TRADE_EVENTS),
      'eth.dex.trades.processed': await product.topic('eth.dex.trades.processed', TRADE_EVENTS),
      'eth.dex.pools': await product.topic('eth.dex.pools', POOL_EVENTS),
      'eth.dex.pools.processed': await product.topic('eth.dex.pools.processed', POOL_EVENTS),
      'eth.transfers': await product.topic('eth.transfers', 'transfer.TransferEvents'),
    }
    for (const [name, batches] of Object.entries(nets)) {
      const { applied, reverted } = netOf(batches, doomed)
      assert.ok(applied > 0, `${name} had it`)
      assert.equal(applied, reverted, `${name} nets to nothing`)
    }
    const blocks = await product.topic('eth.blocks', 'block.BlockEvent')
    assert.ok(blocks.some(({ meta }) => meta.op === 'OP_REVERT'))
    const candles = await product.topic('eth.candlesticks', 'candlestick.CandlestickEvents')
    const newest = new Map<string, number>()
    for (const { events } of candles) {
      for (const each of events) {
        if (each.resolution !== '1s' || each.dimension !== 'CANDLESTICK_DIMENSION_TOKEN_ADDRESS')
          continue
        newest.set(`${each.token_address}/${each.timestamp}`, each.trades)
      }
    }
    const standing = [...newest].filter(([key, count]) => key.startsWith(tokenPath()) && count > 0)
    assert.equal(standing.length, before.candles.length, 'eth.candlesticks, last value per key')
  })
})
