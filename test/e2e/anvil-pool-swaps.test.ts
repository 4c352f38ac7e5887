/** Swaps over one named pool through the API: signed, mined by a real node, and paid to the last unit by real Uniswap contracts. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type Address,
  type Hex,
  keccak256,
  numberToHex,
  parseEther,
  parseTransaction,
  toHex,
} from 'viem'
import type { DexQuote, SwapResponse } from '../../schemas/api/swap.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { deployUniswapMarket, type UniswapMarket } from '../support/nodes/uniswap-v2-v3.ts'
import { COIN, type SwapStack, startSwapStack } from '../support/swap-stack.ts'
import { until } from '../support/until.ts'

/** Slot of the reserves in a pair. Source: Uniswap/v2-core UniswapV2Pair.sol behind UniswapV2ERC20.sol. */
const RESERVES_SLOT = numberToHex(8, { size: 32 })

let anvil: Anvil
let market: UniswapMarket
let stack: SwapStack

before(async () => {
  anvil = await startAnvil()
  market = await deployUniswapMarket(anvil.client)
  stack = await startSwapStack(anvil, market.extra)
  for (const dex of ['uniswap_v2', 'uniswap_v3']) await knownPool(dex)
})
after(async () => {
  await stack.stop()
  await anvil.stop()
})

/** Waits until the product quotes the pool of a venue. */
const knownPool = (dex: string): Promise<DexQuote> => {
  const { usd, weth } = market
  const query = { dex, amount: '1000000', inputMint: usd, outputMint: weth }
  const path = new URLSearchParams({ ...query, exactIn: 'true', slippage: '5' })
  return until(
    () => stack.product.rest<DexQuote>(`/v2/dex/ethereum/quote?${path}`),
    `a quote of ${dex}`,
  )
}

const poolOf = (dex: string): Address =>
  dex === 'uniswap_v2' ? market.pools.v2Usd : market.pools.v3Usd

for (const dex of ['uniswap_v2', 'uniswap_v3'] as const) {
  test(`${dex}: a swap over a named pool is mined and pays the stated amount`, async () => {
    const signer = devAccount(dex === 'uniswap_v2' ? 1 : 2)
    const owner = signer.address
    const asked = { dex: 'auto', pool: poolOf(dex), owner, sold: COIN, bought: market.usd }
    for (const exactIn of [true, false]) {
      const amount = exactIn ? parseEther('0.3') + 1n : parseEther('700') + 3n
      // The state of the pool is that behind the last swap as soon as its block has been read.
      const last = exactIn ? 0n : await stack.heldBy(owner, market.usd)
      const { status, body } = await until(async () => {
        const built = await stack.buildOverPool({ ...asked, amount, exactIn, slippage: 0.01 })
        return built.body.code !== 50_012 && built
      }, 'a transaction at the price of the newest block')
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual(
        body.routeInfo.hops.map((hop) => [hop.pool, hop.dex]),
        [[poolOf(dex).toLowerCase(), dex]],
      )
      assert.deepEqual([body.approval, body.routeInfo.simulated], [undefined, true])
      assert.equal(body.txHex, `0x${Buffer.from(body.serializedTx, 'base64').toString('hex')}`)
      const held = await stack.heldBy(owner, COIN)
      const gas = await stack.signAndMine(signer, body.txHex as Hex)
      const paid = held - (await stack.heldBy(owner, COIN)) - gas
      const received = (await stack.heldBy(owner, market.usd)) - last
      assert.deepEqual(
        [paid, received],
        [BigInt(body.routeInfo.inAmount), BigInt(body.routeInfo.outAmount)],
      )
    }
  })
}

test('a swap of a part of the balance keeps the native token that its gas may cost', async () => {
  const signer = devAccount(4)
  const owner = signer.address
  const asked = { dex: 'auto', pool: market.pools.v2Usd, owner, slippage: 50 }
  await anvil.client.setBalance({ address: owner, value: parseEther('0.5') })
  const built = async (
    more: Pick<Parameters<SwapStack['buildOverPool']>[0], 'amount' | 'sold' | 'bought'>,
  ) => {
    const { status, body } = await until(async () => {
      const answer = await stack.buildOverPool({ ...asked, ...more })
      return answer.body.code !== 50_012 && answer
    }, 'a transaction at the price of the newest block')
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }
  const all = await built({ amount: 'auto', sold: COIN, bought: market.usd })
  const gas = await stack.signAndMine(signer, all.txHex as Hex)
  const left = await stack.heldBy(owner, COIN)
  assert.equal(parseEther('0.5') - left - gas, BigInt(all.routeInfo.inAmount))
  const held = await stack.heldBy(owner, market.usd)
  const half = await built({ amount: '50%', sold: market.usd, bought: market.weth })
  assert.equal(BigInt(half.routeInfo.inAmount), held / 2n)
})

test('a pool that was drained after its last event is refused when the transaction is built', async () => {
  const { usd, weth, pools } = market
  const owner = devAccount(3).address
  const asked = { dex: 'uniswap_v2', pool: pools.v2Usd, owner, sold: COIN, bought: usd }
  const amount = parseEther('0.1')
  const { client } = anvil
  const stored = await client.getStorageAt({ address: pools.v2Usd, slot: RESERVES_SLOT })
  await client.setStorageAt({
    address: pools.v2Usd,
    index: RESERVES_SLOT,
    value: numberToHex((1n << 112n) | 1n, { size: 32 }),
  })
  const drained = await stack.buildOverPool({ ...asked, amount })
  assert.deepEqual([drained.status, drained.body.code], [422, 50_012])
  await client.setStorageAt({
    address: pools.v2Usd,
    index: RESERVES_SLOT,
    value: stored ?? '0x',
  })
  assert.equal((await stack.buildOverPool({ ...asked, amount })).status, 200)
  const other = await stack.buildOverPool({ ...asked, dex: 'uniswap_v3', amount })
  assert.deepEqual([other.status, other.body.code], [400, 40_030])
  const nobody = `0x${keccak256(toHex('nobody')).slice(26)}` as Address
  const poor = await stack.buildOverPool({ ...asked, owner: nobody, sold: weth, amount })
  assert.deepEqual([poor.status, poor.body.code], [422, 50_017])
})

test('a swap over a named pool has the deadline, the fees and the gas of its request', async () => {
  const { usd, pools } = market
  const owner = devAccount(5).address
  const deadline = Math.floor(Date.now() / 1_000) + 900
  const { body, status } = await stack.post<SwapResponse>('/v2/dex/ethereum/swap', {
    dex: 'auto',
    userAddress: owner,
    recipientAddress: owner.toLowerCase(),
    poolAddress: pools.v2Usd,
    slippage: 1,
    amount: parseEther('0.01').toString(),
    inputMint: COIN,
    outputMint: usd,
    maxFeePerGas: '7000000000',
    maxPriorityFeePerGas: '11',
    gasLimit: '345678',
    deadline,
  })
  assert.equal(status, 200, JSON.stringify(body))
  const {
    gas,
    maxFeePerGas,
    maxPriorityFeePerGas,
    data = '0x',
  } = parseTransaction(body.txHex as Hex)
  assert.deepEqual([gas, maxFeePerGas, maxPriorityFeePerGas], [345_678n, 7_000_000_000n, 11n])
  assert.ok(data.includes(numberToHex(deadline, { size: 32 }).slice(2)), data)
})

test('a swap of a token without an allowance is returned with its approval', async () => {
  const { usd, weth, pools } = market
  const owner = devAccount(1).address
  const asked = { dex: 'kyberswap', pool: pools.v2Usd, owner, sold: usd, bought: weth }
  const { status, body } = await stack.buildOverPool({ ...asked, amount: parseEther('1') })
  assert.deepEqual([status, body.approval?.token], [200, usd.toLowerCase()])
  assert.equal(body.routeInfo.simulated, false)
})
