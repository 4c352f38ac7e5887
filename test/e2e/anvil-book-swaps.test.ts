/** Transactions of the API over bins: signed, mined with the real router, and paid as quoted. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Address, type Hex, parseAbi, parseEther } from 'viem'
import type { DexQuote } from '../../schemas/api/swap.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { type BookMarket, deployBookMarket } from '../support/nodes/book-market.ts'
import { COIN, type SwapStack, startSwapStack } from '../support/swap-stack.ts'
import { until } from '../support/until.ts'

const TRANSFER = parseAbi(['function transfer(address to, uint256 amount) returns (bool)'])

let anvil: Anvil
let market: BookMarket
let stack: SwapStack

before(async () => {
  anvil = await startAnvil()
  // The fee follows the time in another test: here no period ends between a quote and its block.
  const terms = [20_000, 3_000, 4_000, 5_000, 40_000, 1_000, 350_000] as const
  market = await deployBookMarket(anvil.client, terms)
  stack = await startSwapStack(anvil, market.extra)
})
after(async () => {
  await stack.stop()
  await anvil.stop()
})

/** A quote that knows the pools as the newest block left them. */
const quoteNow = async (dex: string): Promise<DexQuote> => {
  const height = Number(await anvil.client.getBlockNumber({ cacheTime: 0 }))
  const { usd, weth } = market.uniswap
  const path = `/v2/dex/ethereum/quote?dex=${dex}&amount=1000000000000&inputMint=${weth}&outputMint=${usd}&exactIn=true&slippage=1`
  return until(async () => {
    try {
      const quote = await stack.product.rest<DexQuote>(path)
      return (quote.block ?? 0) >= height && quote
    } catch (error) {
      // A chain without new blocks is one that is behind.
      if (!String(error).includes('CHAIN_SYNC_ERROR')) throw error
      await anvil.client.mine({ blocks: 1 })
      return false
    }
  }, 'a quote of the newest block')
}

test('a quote over bins tells their price and their fee', async () => {
  const { hops, fee, currentPrice, priceImpact } = await quoteNow('lfj_v2_2')
  assert.deepEqual([hops.length, hops[0]?.dex], [1, 'lfj_v2_2'])
  assert.ok(Math.abs(Number(currentPrice) / 2_000 - 1) < 0.01)
  // 0.4 % of the input, and the swap stays in its bin.
  assert.deepEqual([fee, priceImpact], ['4000000000', '0'])
})

test('built transactions are signed, mined, and pay the amount of their route', async () => {
  const signer = devAccount(1)
  const owner = signer.address
  const { usd, weth, token } = market.uniswap
  for (const address of [usd, token]) {
    const hash = await anvil.client.writeContract({
      ...({ address, abi: TRANSFER, functionName: 'transfer' } as const),
      args: [owner, parseEther('500000')],
    })
    await until(() => anvil.client.getTransactionReceipt({ hash }), 'the funds')
  }
  const [one, two] = ['lfj_v2_1', 'lfj_v2_2'] as const
  const cases = [
    { dex: one, sold: usd, bought: weth, exactIn: true },
    { dex: one, sold: COIN, bought: usd, exactIn: true },
    { dex: one, sold: usd, bought: COIN, exactIn: false },
    { dex: one, sold: COIN, bought: usd, exactIn: false },
    { dex: two, sold: usd, bought: token, exactIn: true },
    { dex: two, sold: token, bought: usd, exactIn: false },
    { dex: two, sold: usd, bought: COIN, exactIn: true },
    { dex: two, sold: usd, bought: weth, exactIn: false },
    { dex: two, sold: COIN, bought: token, exactIn: false },
  ] as const
  for (const each of cases) {
    const amount =
      each.exactIn && each.sold === usd
        ? parseEther('30000') + 3n
        : parseEther(each.bought === usd && !each.exactIn ? '20000' : '12') + 1n
    const asked = { ...each, amount, owner }
    const name = `${each.dex} ${each.sold} ${each.bought} ${each.exactIn}`
    await quoteNow(each.dex)
    const first = await stack.build(asked)
    assert.equal(first.status, 200, `${name} ${JSON.stringify(first.body)}`)
    const { approval } = first.body
    if (approval !== undefined) {
      const approved = await anvil.client.sendTransaction({
        account: signer,
        to: approval.token as Address,
        data: approval.data as Hex,
      })
      await until(() => anvil.client.getTransactionReceipt({ hash: approved }), 'the approval')
      await quoteNow(each.dex)
    }
    const { body, status } = await stack.build(asked)
    assert.equal(status, 200, `${name} ${JSON.stringify(body)}`)
    assert.equal(body.routeInfo.simulated, true)
    const [spent, got] = [
      await stack.heldBy(owner, each.sold),
      await stack.heldBy(owner, each.bought),
    ]
    const gas = await stack.signAndMine(signer, body.txHex as Hex)
    const paid = spent - (await stack.heldBy(owner, each.sold)) - (each.sold === COIN ? gas : 0n)
    const received =
      (await stack.heldBy(owner, each.bought)) - got + (each.bought === COIN ? gas : 0n)
    const { inAmount, outAmount, hops } = body.routeInfo
    assert.deepEqual(new Set(hops.map(({ dex }) => dex)), new Set([each.dex]))
    assert.equal(paid, BigInt(inAmount), name)
    // A pair rounds what it is paid, and may pay some units more than was asked for.
    const more = received - BigInt(outAmount)
    assert.ok(each.exactIn ? more === 0n : more >= 0n && more < 10_000n, `${name} ${more}`)
  }
})

test('a swap over one named pair, and one that the price has left', async () => {
  const { v2_2: venue } = market
  const signer = devAccount(2)
  await quoteNow(venue.dex)
  const asked = {
    owner: signer.address,
    dex: venue.dex,
    pool: venue.pair.address,
    sold: COIN,
    bought: market.uniswap.usd,
    amount: parseEther('2'),
  }
  const { status, body } = await stack.buildOverPool({ ...asked, sold: venue.pair.tokenX })
  // The named token is WETH, of which the signer has none.
  assert.deepEqual([status, body.code], [422, 50_017])
  const built = await stack.build(asked)
  assert.equal(built.status, 200, JSON.stringify(built.body))
  await venue.swap({ sellsX: true, exactIn: true, amount: parseEther('150') })
  await assert.rejects(stack.signAndMine(signer, built.body.txHex as Hex))
})
