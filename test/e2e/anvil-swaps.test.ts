/** Quotes of the API against what real Uniswap contracts on a real node pay. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Address, type Hex, parseAbi, parseEther, parseTransaction } from 'viem'
import type { JobBody } from '../../schemas/api/job.ts'
import type { DexQuote } from '../../schemas/api/swap.ts'
import { createSeededRandom } from '../support/builders/market-trade.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { deployUniswapMarket, type UniswapMarket } from '../support/nodes/uniswap-v2-v3.ts'
import { COIN, type SwapStack, startSwapStack, type WantedSwap } from '../support/swap-stack.ts'
import { until } from '../support/until.ts'

const RESERVES = parseAbi(['function getReserves() view returns (uint112, uint112, uint32)'])
const SLOT0 = parseAbi([
  'function slot0() view returns (uint160, int24, uint16, uint16, uint16, uint8, bool)',
])
const TRANSFER = parseAbi(['function transfer(address to, uint256 amount) returns (bool)'])
/** Swaps per venue; a drill takes more. */
const SWAPS = Number(process.env.SWAP_TEST_SWAPS ?? 12)

let anvil: Anvil
let market: UniswapMarket
let stack: SwapStack

before(async () => {
  anvil = await startAnvil()
  market = await deployUniswapMarket(anvil.client)
  await market.mintV3([-6_000, 6_000], parseEther('10'))
  const near = await priceTick()
  await market.mintV3([near - 600, near + 900], parseEther('25'))
  await market.mintV3([near - 3_000, near - 1_200], parseEther('45'))
  stack = await startSwapStack(anvil, market.extra)
})
after(async () => {
  await stack.stop()
  await anvil.stop()
})

/** The usable tick at the V3 pool's price. */
const priceTick = async (): Promise<number> => Math.floor((await slot0())[1] / 60) * 60

const rest = <T>(path: string): Promise<T> => stack.product.rest<T>(path)

const slot0 = () =>
  anvil.client.readContract({ address: market.pools.v3Usd, abi: SLOT0, functionName: 'slot0' })

const balanceOf = (token: Address): Promise<bigint> => stack.heldBy(devAccount(0).address, token)

/** Base units of token 1 for one of token 0, as the contracts have it now. */
const contractPrice = async (dex: 'uniswap_v2' | 'uniswap_v3'): Promise<number> => {
  if (dex === 'uniswap_v3') return (Number((await slot0())[0]) / 2 ** 96) ** 2
  const [one, other] = await anvil.client.readContract({
    address: market.pools.v2Usd,
    abi: RESERVES,
    functionName: 'getReserves',
  })
  return Number(other) / Number(one)
}

const quotePath = ({ dex, sold, bought, amount, exactIn = true }: WantedSwap): string =>
  `/v2/dex/ethereum/quote?dex=${dex}&amount=${amount}&inputMint=${sold}&outputMint=${bought}&exactIn=${exactIn}&slippage=49`

/** A quote that knows the pool as the contracts have it now. */
const quote = async (asked: WantedSwap & { readonly dex: 'uniswap_v2' | 'uniswap_v3' }) => {
  const sellsFirst = BigInt(asked.sold) < BigInt(asked.bought)
  const price = await contractPrice(asked.dex)
  const wanted = sellsFirst ? price : 1 / price
  return until(async () => {
    const found = await rest<DexQuote>(quotePath(asked))
    return Math.abs(Number(found.currentPrice) / wanted - 1) < 1e-12 && found
  }, `a quote at the price of ${asked.dex}`)
}

const randomSwaps = (seed: number, largest: number) => {
  const random = createSeededRandom(seed)
  return Array.from({ length: SWAPS }, () => {
    const sellsUsd = random() < 0.5
    const share = random() ** 3 * largest
    const amount = parseEther((sellsUsd ? 2_000_000 * share : 1_000 * share).toFixed(18)) + 1n
    const [sold, bought] = sellsUsd ? [market.usd, market.weth] : [market.weth, market.usd]
    return { sold, bought, amount }
  })
}

for (const dex of ['uniswap_v2', 'uniswap_v3'] as const) {
  test(`${dex}: swaps pay what the API quoted, to the last unit`, async () => {
    for (const swap of randomSwaps(dex === 'uniswap_v2' ? 3 : 5, 0.1)) {
      const { amountOut, hops } = await quote({ ...swap, dex })
      assert.deepEqual([hops.length, hops[0]?.dex], [1, dex])
      const held = await balanceOf(swap.bought)
      const { sold, bought, amount } = swap
      await (dex === 'uniswap_v2'
        ? market.swapV2([sold, bought], amount)
        : market.swapV3(sold, bought, amount))
      assert.equal((await balanceOf(bought)) - held, BigInt(amountOut))
    }
  })

  test(`${dex}: an ExactOut quote buys at least the requested amount, and one unit less of input does not`, async () => {
    const [sold, bought] = [market.usd, market.weth]
    const wanted = parseEther('1.5') + 7n
    const found = await quote({ dex, sold, bought, amount: wanted, exactIn: false })
    assert.equal(found.amountOut, wanted.toString())
    const outOf = async (amount: bigint): Promise<bigint> =>
      BigInt((await quote({ dex, sold, bought, amount })).amountOut)
    assert.ok((await outOf(BigInt(found.amountIn))) >= wanted)
    assert.ok((await outOf(BigInt(found.amountIn) - 1n)) < wanted)
  })
}

test('a reorg restores the pool states', async () => {
  const asked = { sold: market.usd, bought: market.weth, amount: parseEther('1000') }
  const before = {
    uniswap_v2: await quote({ ...asked, dex: 'uniswap_v2' }),
    uniswap_v3: await quote({ ...asked, dex: 'uniswap_v3' }),
  }
  await market.swapV2([market.weth, market.usd], parseEther('20'))
  await market.swapV3(market.weth, market.usd, parseEther('20'))
  await market.mintV3([(await priceTick()) - 120, (await priceTick()) + 120], parseEther('3'))
  const moved = await quote({ ...asked, dex: 'uniswap_v3' })
  assert.notEqual(moved.amountOut, before.uniswap_v3.amountOut)
  await anvil.client.request({ method: 'anvil_reorg' as never, params: [3, []] as never })
  await anvil.client.mine({ blocks: 1 })
  for (const dex of ['uniswap_v2', 'uniswap_v3'] as const) {
    const { block: _now, ...again } = await quote({ ...asked, dex })
    const { block: _then, ...first } = before[dex]
    assert.deepEqual(again, first, dex)
  }
})

test('swap routes use several venues and pools', async () => {
  const { token, usd, weth } = market
  const long = await rest<DexQuote>(
    quotePath({ dex: 'auto', sold: usd, bought: token, amount: parseEther('40000') }),
  )
  assert.ok(long.hops.length >= 2)
  assert.equal(long.hops.at(-1)?.pool, market.pools.v2Token.toLowerCase())
  const split = await rest<DexQuote>(
    quotePath({ dex: 'kyberswap', sold: usd, bought: weth, amount: parseEther('300000') }),
  )
  assert.deepEqual(new Set(split.hops.map(({ dex }) => dex)), new Set(['uniswap_v2', 'uniswap_v3']))
  assert.equal(
    split.hops.reduce((sum, { inAmount }) => sum + BigInt(inAmount), 0n),
    parseEther('300000'),
  )
})

test('built transactions are signed, mined, and pay the amount of their route', async () => {
  const signer = devAccount(1)
  const owner = signer.address
  const { usd, weth, token } = market
  const hash = await anvil.client.writeContract({
    address: usd,
    abi: TRANSFER,
    functionName: 'transfer',
    args: [owner, parseEther('500000')],
  })
  await anvil.client.waitForTransactionReceipt({ hash })
  const cases = [
    { dex: 'uniswap_v2', sold: usd, bought: weth, exactIn: true },
    { dex: 'uniswap_v3', sold: usd, bought: weth, exactIn: true },
    { dex: 'uniswap_v2', sold: usd, bought: token, exactIn: true },
    { dex: 'uniswap_v2', sold: usd, bought: COIN, exactIn: true },
    { dex: 'uniswap_v3', sold: usd, bought: COIN, exactIn: true },
    { dex: 'uniswap_v2', sold: COIN, bought: token, exactIn: true },
    { dex: 'uniswap_v3', sold: COIN, bought: usd, exactIn: true },
    { dex: 'uniswap_v2', sold: usd, bought: weth, exactIn: false },
    { dex: 'uniswap_v3', sold: usd, bought: weth, exactIn: false },
    { dex: 'uniswap_v2', sold: COIN, bought: token, exactIn: false },
    { dex: 'uniswap_v3', sold: COIN, bought: usd, exactIn: false },
    { dex: 'uniswap_v2', sold: usd, bought: COIN, exactIn: false },
    { dex: 'uniswap_v3', sold: usd, bought: COIN, exactIn: false },
    { dex: 'auto', sold: usd, bought: weth, exactIn: true },
  ] as const
  for (const each of cases) {
    const amount =
      each.exactIn === (each.sold === usd) ? parseEther('900') + 3n : parseEther('0.3') + 1n
    const asked = { ...each, amount, owner }
    // Both pools are known as the contracts have them now.
    const pair = { sold: usd, bought: weth, amount: 1_000_000n }
    for (const dex of ['uniswap_v2', 'uniswap_v3'] as const) await quote({ ...pair, dex })
    const first = await stack.build(asked)
    assert.equal(first.status, 200, JSON.stringify(first.body))
    const { approval } = first.body
    if (approval !== undefined) {
      assert.equal(first.body.routeInfo.simulated, false)
      const hash = await anvil.client.sendTransaction({
        account: signer,
        to: approval.token as Address,
        data: approval.data as Hex,
      })
      await until(() => anvil.client.getTransactionReceipt({ hash }), 'the approval')
    }
    const { body, args } = await stack.build(asked)
    assert.deepEqual(body.args, args)
    assert.equal(body.routeInfo.simulated, true)
    assert.equal(body.txHex, `0x${Buffer.from(body.serializedTx, 'base64').toString('hex')}`)
    const [spent, got] = [
      await stack.heldBy(owner, each.sold),
      await stack.heldBy(owner, each.bought),
    ]
    const gas = await stack.signAndMine(signer, body.txHex as Hex)
    const name = `${each.dex} ${each.sold} ${each.bought} ${each.exactIn}`
    const paid = spent - (await stack.heldBy(owner, each.sold)) - (each.sold === COIN ? gas : 0n)
    const received =
      (await stack.heldBy(owner, each.bought)) - got + (each.bought === COIN ? gas : 0n)
    assert.deepEqual(
      [paid, received],
      [BigInt(body.routeInfo.inAmount), BigInt(body.routeInfo.outAmount)],
      name,
    )
  }
})

/** Hands a signed transaction to the API; the end of its job. */
const sendThroughApi = async (signedTx: Hex): Promise<JobBody> => {
  const { status, body } = await stack.post<{ readonly jobId: string }>(
    '/v2/transaction/ethereum/send',
    { signedTx },
  )
  assert.equal(status, 200)
  return until(async () => {
    const job = await rest<JobBody>(`/v2/job/${body.jobId}`)
    return job.state !== 'pending' && job
  }, 'the end of the job')
}

test('a swap is routed, signed, sent and followed through the API alone', async () => {
  const signer = devAccount(3)
  const { usd, weth } = market
  const asked = { dex: 'auto', sold: COIN, bought: usd, amount: parseEther('0.7') + 1n } as const
  for (const dex of ['uniswap_v2', 'uniswap_v3'] as const)
    await quote({ dex, sold: usd, bought: weth, amount: 1_000_000n })
  const { body } = await stack.build({ ...asked, owner: signer.address })
  const signed = await signer.signTransaction(parseTransaction(body.txHex as Hex) as never)
  const held = await stack.heldBy(signer.address, usd)
  const { state, result } = await sendThroughApi(signed)
  assert.deepEqual([state, result.state], ['completed', 'confirmed'])
  const received = (await stack.heldBy(signer.address, usd)) - held
  assert.equal(received, BigInt(body.routeInfo.outAmount))
  // What a pool no longer gives fails in its block, and its job says so.
  const { body: late } = await stack.build({ ...asked, owner: signer.address })
  const stale = await signer.signTransaction(parseTransaction(late.txHex as Hex) as never)
  await market.swapV2([weth, usd], parseEther('40'))
  await market.swapV3(weth, usd, parseEther('40'))
  const failed = await sendThroughApi(stale)
  assert.deepEqual([failed.state, failed.result.state], ['failed', 'reverted'])
  assert.equal((await stack.heldBy(signer.address, usd)) - held, received)
})

test('a swap that cannot be built is refused with its own code', async () => {
  const owner = devAccount(1).address
  const { usd, weth } = market
  const asked = { dex: 'auto', sold: usd, bought: weth, amount: parseEther('1'), owner }
  const codeOf = async (more: object, changed: Partial<typeof asked> = {}) => {
    const { status, body } = await stack.build({ ...asked, ...changed }, more)
    return [status, body.code]
  }
  assert.deepEqual(await codeOf({}, { owner: devAccount(7).address }), [422, 50017])
  assert.deepEqual(await codeOf({ deadline: 1_700_000_000 }), [400, 40031])
  assert.deepEqual(await codeOf({ swapMode: 'Both' }), [400, 40021])
  assert.deepEqual(await codeOf({ gasPrice: '1', maxFeePerGas: '2' }), [400, 40022])
  assert.deepEqual(await codeOf({ maxFeePerGas: '1', maxPriorityFeePerGas: '2' }), [400, 40022])
  assert.deepEqual(await codeOf({ slippage: 0 }), [400, 40019])
  assert.deepEqual(await codeOf({ slippage: '60' }), [400, 40008])
  // This chain has no Universal Router here, which permits are for.
  assert.deepEqual(await codeOf({ permit: '0x00' }), [400, 40002])
  assert.deepEqual(await codeOf({ router: 'universal' }), [400, 50009])
  assert.deepEqual(await codeOf({}, { owner: '0x' }), [400, 40005])
  const { body } = await stack.build(asked, { gasPrice: '7000000000', gasLimit: '300000' })
  const { type, gas, gasPrice } = parseTransaction(body.txHex as Hex)
  assert.deepEqual([type, gas, gasPrice], ['legacy', 300_000n, 7_000_000_000n])
})
