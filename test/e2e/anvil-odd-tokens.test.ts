/** Swaps of tokens that take fees, refuse sales, or are taken out of their pools: refused with the reason, or mined as quoted. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type Address, type Hex, keccak256, parseAbi, parseEther, toHex } from 'viem'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { type FaultyNode, startFaultyNode } from '../support/nodes/faulty.ts'
import { deployOddToken, type OddTerms, type OddToken } from '../support/nodes/odd-token.ts'
import { deployUniswap, type UniswapContracts } from '../support/nodes/uniswap-contracts.ts'
import { type ContractQuoter, deployContractQuoter } from '../support/nodes/uniswap-quoter.ts'
import { chainExtraOf } from '../support/nodes/uniswap-v2-v3.ts'
import { deployUniversalRouter, universalRouterRow } from '../support/nodes/universal-router.ts'
import { COIN, type SwapStack, startSwapStack } from '../support/swap-stack.ts'
import { until } from '../support/until.ts'

const TOKEN = parseAbi(['function transfer(address to, uint256 amount) returns (bool)'])
const PAIR = parseAbi(['function sync()'])
const FULL = [-887_220, 887_220] as const

/** The routers and the pools that they lead over. */
const WAYS = [
  { dex: 'uniswap_v2', router: 'protocol' },
  { dex: 'uniswap_v3', router: 'protocol' },
  { dex: 'uniswap_v2', router: 'universal' },
  { dex: 'uniswap_v3', router: 'universal' },
] as const
type Way = (typeof WAYS)[number]

let anvil: Anvil
/** What the product reads accounts from: the node itself, unless a test meddles with it. */
let node: FaultyNode
let uniswap: UniswapContracts
let quoteByContract: ContractQuoter
let stack: SwapStack
let usd: Address
let odd: OddToken
let pools: Readonly<Record<Way['dex'], Address>>
/** Has approved every router; has approved none; is on the token's list of sellers. */
const [trader, holder, seller] = [1, 2, 3].map(devAccount) as [Signer, Signer, Signer]
const amount = parseEther('40') + 7n

type Signer = ReturnType<typeof devAccount>

before(async () => {
  anvil = await startAnvil()
  node = await startFaultyNode(anvil.httpUrl)
  const { client } = anvil
  uniswap = await deployUniswap(client, parseEther('6000'))
  const { weth, v2Factory, v3Factory, v2Router, v3Router, v3Positions } = uniswap
  const universal = await deployUniversalRouter(client, uniswap)
  quoteByContract = await deployContractQuoter(client, uniswap)
  usd = await uniswap.newToken()
  const amounts = [parseEther('2000000'), parseEther('1000')] as const
  const v2Usd = await uniswap.addV2([usd, weth], amounts)
  const v3Usd = await uniswap.openV3([usd, weth], 3_000, [2_000n, 1n])
  await uniswap.mintV3([usd, weth], 3_000, { ticks: FULL, amounts })
  odd = await deployOddToken(client, [v2Router, v3Router, v3Positions])
  const deep = [parseEther('500000'), parseEther('500')] as const
  const pair = [odd.address, weth] as const
  pools = {
    uniswap_v2: await uniswap.addV2(pair, deep),
    uniswap_v3: await uniswap.openV3(pair, 3_000, [1_000n, 1n]),
  }
  await uniswap.mintV3(pair, 3_000, { ticks: FULL, amounts: deep })
  await uniswap.swapV2([usd, weth], parseEther('2000'))
  await uniswap.swapV3([usd, weth], 3_000, parseEther('2000'))
  await uniswap.swapV2(pair, parseEther('1000'))
  await uniswap.swapV3(pair, 3_000, parseEther('1000'))
  for (const pool of Object.values(pools)) await odd.addPool(pool)
  for (const { address } of [trader, holder, seller]) {
    await odd.transfer(address, parseEther('1000'))
    const args = [address, parseEther('5000')] as const
    const call = { address: usd, abi: TOKEN, gas: 200_000n } as const
    await client.writeContract({ ...call, functionName: 'transfer', args })
  }
  await odd.addSeller(seller.address)
  stack = await startSwapStack(
    { ...anvil, httpUrl: node.httpUrl },
    {
      ...chainExtraOf({ usd, weth, v2Factory, v3Factory, v2Usd, v3Usd }),
      routers: [
        { protocol: 'uniswap_v2', router: v2Router.toLowerCase() },
        { protocol: 'uniswap_v3', router: v3Router.toLowerCase() },
      ],
      universalRouter: universalRouterRow(universal),
    },
  )
  for (const way of WAYS) {
    for (const each of [trader, seller]) await approveAll(way, each)
  }
})
afterEach(() => odd.setTerms({}))
after(async () => {
  await stack?.stop()
  await node.stop()
  await anvil.stop()
})

const purchase = () => ({ sold: COIN, bought: odd.address, amount: parseEther('0.04') + 3n })
const sale = () => ({ sold: odd.address, bought: uniswap.weth, amount })

type Wanted = ReturnType<typeof sale>

interface Details {
  readonly reason?: string
  readonly token?: string
  readonly pool?: string
  readonly sent?: string
  readonly arrived?: string
}

/** What the API answers once it knows the prices of the newest block. */
const ask = async (way: Way, wanted: Wanted, by: Signer, more: object = {}) =>
  until(async () => {
    const { dex, router } = way
    const asked = { ...wanted, dex, owner: by.address }
    const { status, body } = await stack.build(asked, { router, ...more })
    const { code, details = {} } = body as { readonly code?: number; readonly details?: Details }
    // Nothing is quoted from a chain that stands still, nor before its pools have been read.
    if (code === 50_003) await anvil.client.mine({ blocks: 1 })
    assert.ok(status === 200 || code === 50_012, JSON.stringify(body))
    assert.notEqual(details.reason, 'price_moved')
    for (const hop of body.routeInfo?.hops ?? []) {
      assert.equal(BigInt(hop.outAmount), await quoteByContract(hop, true))
    }
    return { status, body, code, details }
  }, 'an answer at the prices of the newest block')

/** Sends what the answers ask to approve, until nothing is missing. */
const approveAll = async (way: Way, by: Signer): Promise<void> => {
  const { body } = await ask(way, { ...sale(), amount: parseEther('900') }, by)
  if (body.approval === undefined) return
  const { token, data } = body.approval
  const call = { account: by, to: token as Address, data: data as Hex, gas: 200_000n }
  const hash = await anvil.client.sendTransaction(call)
  const receipt = await until(() => anvil.client.getTransactionReceipt({ hash }), 'a receipt')
  assert.equal(receipt.status, 'success')
  await approveAll(way, by)
}

/** The refusal of a swap, which must be one of the simulation. */
const refusal = async (...args: Parameters<typeof ask>): Promise<Details> => {
  const { status, code, details, body } = await ask(...args)
  assert.deepEqual([status, code], [422, 50_012], JSON.stringify(body))
  return details
}

/** Mines what is built, and requires that it costs and pays what the answer says. */
const requireMined = async (way: Way, wanted: Wanted, by: Signer): Promise<void> => {
  const { status, body } = await ask(way, wanted, by)
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual([body.routeInfo.simulated, body.approval], [true, undefined])
  const held = (token: Address) => stack.heldBy(by.address, token)
  const before = [await held(wanted.sold), await held(wanted.bought)] as const
  const gas = await stack.signAndMine(by, body.txHex as Hex)
  const paid = before[0] - (await held(wanted.sold)) - (wanted.sold === COIN ? gas : 0n)
  const got = (await held(wanted.bought)) - before[1]
  const { inAmount, outAmount } = body.routeInfo
  assert.deepEqual([paid, got], [BigInt(inAmount), BigInt(outAmount)])
}

const nameOf = ({ dex, router }: Way): string => `${dex} by the router ${router}`

for (const way of WAYS) {
  test(`${nameOf(way)}: without odd terms both directions are mined as quoted`, async () => {
    await requireMined(way, purchase(), trader)
    await requireMined(way, sale(), trader)
  })

  test(`${nameOf(way)}: a token that keeps a part of each transfer is refused with both amounts, whatever the slippage`, async () => {
    await odd.setTerms({ buyFee: 200, sellFee: 200 })
    const swaps = [
      [purchase(), trader],
      [sale(), trader],
      [sale(), holder],
      [{ ...purchase(), sold: usd }, holder],
    ] as const
    for (const [wanted, by] of swaps) {
      for (const slippage of [0.5, 20]) {
        const { reason, token, sent = '', arrived } = await refusal(way, wanted, by, { slippage })
        assert.deepEqual([reason, token], ['transfer_fee', odd.address.toLowerCase()])
        const kept = (BigInt(sent) * 200n) / 10_000n
        assert.equal(arrived, String(BigInt(sent) - kept))
        if (wanted.sold === odd.address) assert.equal(sent, String(wanted.amount))
      }
    }
  })

  test(`${nameOf(way)}: a token with a fee on sales only is bought as quoted, and its sale refused`, async () => {
    await odd.setTerms({ sellFee: 500 })
    await requireMined(way, purchase(), trader)
    for (const by of [trader, holder]) {
      assert.equal((await refusal(way, sale(), by)).reason, 'transfer_fee')
    }
  })

  test(`${nameOf(way)}: a token with a fee on purchases only is sold as quoted, and its purchase refused`, async () => {
    await odd.setTerms({ buyFee: 500 })
    await requireMined(way, sale(), trader)
    assert.equal((await refusal(way, purchase(), trader)).reason, 'transfer_fee')
  })

  for (const closed of ['reverts', 'says false'] as const) {
    test(`${nameOf(way)}: a token whose sale ${closed} is neither bought nor sold, except by its sellers`, async () => {
      await odd.setTerms({ closed })
      const token = odd.address.toLowerCase()
      for (const by of [trader, holder]) {
        for (const wanted of [sale(), purchase()]) {
          const found = await refusal(way, wanted, by)
          assert.deepEqual([found.reason, found.token], ['sale_blocked', token])
        }
      }
      const forOther = { recipientAddress: holder.address }
      assert.equal((await refusal(way, purchase(), seller, forOther)).reason, 'sale_blocked')
      const forSeller = { recipientAddress: seller.address }
      assert.equal((await ask(way, purchase(), trader, forSeller)).status, 200)
      await requireMined(way, purchase(), seller)
      await requireMined(way, sale(), seller)
    })
  }

  test(`${nameOf(way)}: a token that takes most of each sale counts as one that cannot be sold`, async () => {
    await odd.setTerms({ sellFee: 6_000 })
    const { reason, sent = '', arrived } = await refusal(way, purchase(), trader)
    assert.equal(reason, 'sale_blocked')
    assert.equal(arrived, String(BigInt(sent) - (BigInt(sent) * 6_000n) / 10_000n))
  })

  test(`${nameOf(way)}: a pool whose tokens are taken between the quote and the build is refused, with and without an allowance`, async () => {
    const pool = pools[way.dex]
    const { status } = await ask(way, purchase(), trader)
    assert.equal(status, 200)
    const held = await stack.heldBy(pool, odd.address)
    await drain(way, held - 1n)
    try {
      for (const [wanted, by] of [
        [purchase(), trader],
        [{ ...purchase(), sold: usd, amount }, holder],
      ] as const) {
        const { reason, pool: named } = await refusal(way, wanted, by, { slippage: 20 })
        assert.deepEqual([reason, named], ['pool_drained', pool.toLowerCase()])
      }
    } finally {
      await drain(way, 1n - held)
    }
    await requireMined(way, purchase(), trader)
  })
}

/** Takes tokens out of a pool, or with less than 0 gives them back; a pair also takes its balances as its reserves, which makes no event that pools are priced by. */
const drain = async ({ dex }: Way, taken: bigint): Promise<void> => {
  const pool = pools[dex]
  if (taken > 0n) await odd.seize(pool, taken)
  else await odd.transfer(pool, -taken)
  if (dex !== 'uniswap_v2') return
  const call = { address: pool, abi: PAIR, functionName: 'sync', gas: 200_000n } as const
  const hash = await anvil.client.writeContract(call)
  await until(() => anvil.client.getTransactionReceipt({ hash }), 'a receipt')
}

test('over a named pool the same is refused, and a fair swap built', async () => {
  const terms: readonly (readonly [OddTerms, Wanted, string | undefined])[] = [
    [{ buyFee: 200 }, purchase(), 'transfer_fee'],
    [{ sellFee: 200 }, sale(), 'transfer_fee'],
    [{ closed: 'reverts' }, purchase(), 'sale_blocked'],
    [{ closed: 'reverts' }, sale(), 'sale_blocked'],
    [{}, sale(), undefined],
  ]
  for (const [term, wanted, expected] of terms) {
    await odd.setTerms(term)
    for (const [dex, pool] of Object.entries(pools)) {
      const asked = { ...wanted, dex, pool, owner: holder.address, slippage: 5 }
      const { status, body } = await stack.buildOverPool(asked)
      const { code, details } = body as { readonly code?: number; readonly details?: Details }
      const found = expected === undefined ? [200, undefined] : [422, 50_012]
      assert.deepEqual([status, code, details?.reason], [...found, expected], JSON.stringify(body))
    }
  }
})

test('over a node that takes no code for a call, what reverts is refused with its reason, and a fee on a purchase is not found', async () => {
  const error = { code: -32_602, message: 'too many arguments, want at most 2' }
  node.meddle = ({ id, method, params }) =>
    method === 'eth_call' && params.length > 2
      ? { raw: JSON.stringify({ jsonrpc: '2.0', id, error }) }
      : undefined
  try {
    const cases = [
      [{ buyFee: 200, sellFee: 200 }, 'transfer_fee'],
      [{ closed: 'reverts' }, 'sale_blocked'],
    ] as const
    for (const [terms, reason] of cases) {
      await odd.setTerms(terms)
      for (const dex of ['uniswap_v2', 'uniswap_v3'] as const) {
        const way = { dex, router: 'protocol' } as const
        assert.equal((await refusal(way, sale(), trader)).reason, reason)
        const unseen = await ask(way, purchase(), trader)
        assert.deepEqual([unseen.status, unseen.body.routeInfo.simulated], [200, true])
      }
    }
  } finally {
    node.meddle = () => undefined
  }
})

test('a wallet that does not hold what it wants to sell is refused, whatever the token does', async () => {
  const nobody = `0x${keccak256(toHex('nobody')).slice(26)}` as Address
  for (const terms of [{}, { closed: 'reverts' }, { sellFee: 500 }] as const) {
    await odd.setTerms(terms)
    for (const { dex, router } of WAYS) {
      const { status, body } = await stack.build({ ...sale(), dex, owner: nobody }, { router })
      const { code, details } = body as { readonly code?: number; readonly details?: object }
      const amounts = { required: String(amount), available: '0' }
      assert.deepEqual([status, code, details], [422, 50_017, amounts])
    }
  }
})
