/** Random swaps over a random graph of real pools: what is mined is what was answered. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Address, decodeFunctionData, type Hex, parseAbi, parseTransaction } from 'viem'
import { createSeededRandom } from '../support/builders/market-trade.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import {
  deployRandomPoolGraph,
  type RandomPoolGraph,
  unitsWorth,
} from '../support/nodes/random-pool-graph.ts'
import { type ContractQuoter, deployContractQuoter } from '../support/nodes/uniswap-quoter.ts'
import { deployUniversalRouter, universalRouterRow } from '../support/nodes/universal-router.ts'
import { COIN, type SwapStack, startSwapStack } from '../support/swap-stack.ts'
import { until } from '../support/until.ts'

const SWAPS = Number(process.env.SLUICE_SWAPS ?? 300)
const SEED = Number(process.env.SLUICE_SWAPS_SEED ?? 17)
/** Requests without a route, or with too large a price impact, that are drawn anew before the drill gives up. */
const MAX_REFUSED = SWAPS * 4
/** Part of the swaps that asks for the Universal Router. */
const UNIVERSAL_SHARE = 0.35
/** A swap over one pool pays to the last unit; over several pools the answer may be off by a thousandth. */
const TOLERANCE = 1_000n

const ROUTERS = parseAbi([
  'function swapExactTokensForTokens(uint256, uint256, address[] path, address, uint256)',
  'function swapTokensForExactTokens(uint256, uint256, address[] path, address, uint256)',
  'function swapExactETHForTokens(uint256, address[] path, address, uint256) payable',
  'function swapETHForExactTokens(uint256, address[] path, address, uint256) payable',
  'function swapExactTokensForETH(uint256, uint256, address[] path, address, uint256)',
  'function swapTokensForExactETH(uint256, uint256, address[] path, address, uint256)',
  'function exactInput((bytes path, address, uint256, uint256, uint256)) payable',
  'function exactOutput((bytes path, address, uint256, uint256, uint256)) payable',
  'function multicall(bytes[] data) payable',
  'function execute(bytes commands, bytes[] inputs, uint256 deadline) payable',
])
const ERC20 = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function transfer(address to, uint256 amount) returns (bool)',
])

let anvil: Anvil
let graph: RandomPoolGraph
let quoteByContract: ContractQuoter
let stack: SwapStack
const random = createSeededRandom(SEED)
const signer = devAccount(1)
const owner = signer.address

before(async () => {
  anvil = await startAnvil(['--balance', '100000'])
  graph = await deployRandomPoolGraph(anvil.client, { random, tokens: 6, morePools: 12 })
  quoteByContract = await deployContractQuoter(anvil.client, graph.uniswap)
  const { tokens, prices, uniswap } = graph
  const universal = await deployUniversalRouter(anvil.client, uniswap)
  for (const token of tokens) {
    const amount = unitsWorth(1_000_000, prices.get(token) ?? 1)
    const call = { address: token, abi: ERC20, gas: 200_000n } as const
    await anvil.client.writeContract({ ...call, functionName: 'transfer', args: [owner, amount] })
    for (const router of [uniswap.v2Router, uniswap.v3Router, universal.permit2]) {
      const args = [router, 2n ** 255n] as const
      await anvil.client.writeContract({ ...call, account: signer, functionName: 'approve', args })
    }
  }
  stack = await startSwapStack(anvil, {
    ...graph.extra,
    universalRouter: universalRouterRow(universal),
  })
  const [usd, weth] = tokens as [Address, Address]
  const asked = { dex: 'auto', sold: usd, bought: weth, amount: unitsWorth(10, 1), owner }
  const isFollowed = async () => (await stack.build(asked)).status === 200
  await until(isFollowed, 'the product has followed the chain', 120_000)
})
after(async () => {
  await stack?.stop()
  await anvil.stop()
})

const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T

const drawSwap = () => {
  const ends = [...graph.tokens, COIN]
  const [sold, bought] = [pick(ends), pick(ends)]
  const exactIn = random() < 0.5
  const priceOf = (token: Address) => graph.prices.get(token === COIN ? weth() : token) ?? 1
  const amount = unitsWorth(10 ** (0.5 + random() * 3.5), priceOf(exactIn ? sold : bought)) + 1n
  const dex = pick(['auto', 'auto', 'uniswap_v2', 'uniswap_v3'])
  const router = random() < UNIVERSAL_SHARE ? 'universal' : 'protocol'
  return { dex, sold, bought, amount, exactIn, router }
}

const weth = (): Address => graph.uniswap.weth

const isPossible = ({ sold, bought }: ReturnType<typeof drawSwap>): boolean =>
  (sold === COIN ? weth() : sold) !== (bought === COIN ? weth() : bought)

/** The answer to a request; where the Universal Router needs a permit, to the same request with a signed one. */
const buildPermitted = async ({ router, ...swap }: ReturnType<typeof drawSwap>) => {
  const wanted = { ...swap, owner }
  const first = await stack.build(wanted, { router })
  const { permitData } = first.body
  if (first.status !== 200 || permitData === undefined) return first
  const permit = await signer.signTypedData(permitData as never)
  return stack.build(wanted, { router, permit, permitData })
}

/** The route of a request whose hops are those of the contracts now: the answer may be of a block that is not the newest yet. */
const buildNow = (asked: ReturnType<typeof drawSwap>) =>
  until(
    async () => {
      const { status, body } = await buildPermitted(asked)
      // A swap of the newest block may be under way to the states: what was quoted before it may revert.
      if (status === 503 || body.code === 50012) return false
      if (status !== 200) return { refused: body.code }
      for (const hop of body.routeInfo.hops) {
        const expected = await quoteByContract(hop, asked.exactIn)
        const said = BigInt(asked.exactIn ? hop.outAmount : hop.inAmount)
        if (said !== expected) return false
      }
      return body
    },
    `a route as the contracts have it, for ${JSON.stringify(asked, (_, value) => String(value))}`,
  )

const within = (got: bigint, said: bigint, hops: number): boolean => {
  const off = got > said ? got - said : said - got
  return hops === 1 ? off === 0n : off * TOLERANCE <= said
}

test(`${SWAPS} random swaps are signed, mined, and pay the quoted amounts`, async () => {
  const counts = {
    mined: 0,
    refused: 0,
    single: 0,
    exactOut: 0,
    coin: 0,
    universal: 0,
    mixed: 0,
    families: new Set(),
  }
  while (counts.mined < SWAPS) {
    assert.ok(counts.refused <= MAX_REFUSED, `${counts.refused} requests were refused`)
    const asked = drawSwap()
    if (!isPossible(asked)) continue
    const built = await buildNow(asked)
    if ('refused' in built) {
      assert.ok([50010, 40006, 40007, 40015].includes(built.refused ?? 0), `${built.refused}`)
      counts.refused += 1
      continue
    }
    const { hops, inAmount, outAmount, simulated } = built.routeInfo
    const hex = built.txHex as Hex
    const { data = '0x', to } = parseTransaction(hex)
    assert.ok(simulated)
    assert.ok(decodeFunctionData({ abi: ROUTERS, data }).args)
    const before = [
      await stack.heldBy(owner, asked.sold),
      await stack.heldBy(owner, asked.bought),
    ] as const
    const gas = await stack.signAndMine(signer, hex)
    const coinBack = (token: Address): bigint => (token === COIN ? gas : 0n)
    const paid = before[0] - (await stack.heldBy(owner, asked.sold)) - coinBack(asked.sold)
    const got = (await stack.heldBy(owner, asked.bought)) - before[1] + coinBack(asked.bought)
    const name = `swap ${counts.mined} of seed ${SEED}: ${asked.dex}, ${asked.router}, ${hops.length} pools`
    assert.ok(within(paid, BigInt(inAmount), hops.length), `${name}: paid ${paid} of ${inAmount}`)
    // The Universal Router has a V2 pool hand out all that the rounded-up input is worth.
    const isExact = asked.router === 'protocol' || asked.exactIn
    const isRight = within(got, BigInt(outAmount), isExact ? hops.length : 2)
    assert.ok(isRight, `${name}: got ${got} of ${outAmount}`)
    counts.mined += 1
    counts.single += hops.length === 1 ? 1 : 0
    counts.exactOut += asked.exactIn ? 0 : 1
    counts.coin += [asked.sold, asked.bought].includes(COIN) ? 1 : 0
    counts.universal += asked.router === 'universal' ? 1 : 0
    counts.mixed += new Set(hops.map(({ dex }) => dex)).size > 1 ? 1 : 0
    for (const { dex } of hops) counts.families.add(dex)
    counts.families.add(to)
  }
  const { families, ...numbers } = counts
  console.log(JSON.stringify({ pools: graph.poolCount, seed: SEED, ...numbers }))
  assert.equal(families.size, 5, 'both families and all three routers')
  for (const [what, count] of Object.entries({ ...numbers, multi: SWAPS - counts.single })) {
    // Only swaps of the Universal Router can lead over both families, and few of them gain by it: a short run may have none.
    const least = Math.floor(SWAPS / (what === 'mixed' ? 60 : 20))
    if (what !== 'refused') assert.ok(count >= least, `${what}: ${count} of ${SWAPS}`)
  }
})
