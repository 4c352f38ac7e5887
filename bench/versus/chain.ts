import {
  type Address,
  encodeFunctionData,
  erc20Abi,
  type GetLogsReturnType,
  type Hex,
  parseAbi,
  parseAbiItem,
} from 'viem'
import type { ChainExtra } from '../../core/config/settings.ts'
import { createRandom, type Random } from '../../simulator/node/random.ts'
import { type Anvil, devAccount, startAnvil } from '../../test/support/nodes/anvil.ts'
import { createDeployer, sortTokens } from '../../test/support/nodes/contract-deployer.ts'

/** How much happens on the chain. */
interface ChainSize {
  readonly blocks: number
  readonly swapsPerBlock: number
  /** Plain transfers of a token, beside the two that a swap makes. */
  readonly transfersPerBlock: number
}

/** A pair of the chain; `quote` is what its prices are told in. */
interface Pair {
  readonly pair: Address
  readonly base: Address
  readonly quote: Address
}

/** What the node itself tells of the chain: both products must find the same. */
export interface Found {
  readonly swaps: number
  readonly transfers: number
  /** What `PreparedChain.probe.owner` holds of `token`. */
  readonly balanceRaw: string
  /** Of the last swap of `PreparedChain.probe.pair`: units of the quote token for one of the base token. */
  readonly price: number
}

/** A node with everything on it. All addresses are in lower case. */
export interface PreparedChain {
  readonly anvil: Anvil
  readonly tokens: readonly Address[]
  readonly pairs: readonly Pair[]
  readonly probe: { readonly token: Address; readonly owner: Address; readonly pair: Address }
  /** The last block in which anything happens. */
  readonly lastHeight: number
  readonly extra: ChainExtra
  readonly truth: Found
}

/** Real compiled contracts; only their bytecode is used, on the local node. */
const ARTIFACTS = {
  factory: '@uniswap/v2-core/build/UniswapV2Factory.json',
  router: '@uniswap/v2-periphery/build/UniswapV2Router02.json',
  erc20: '@uniswap/v2-periphery/build/ERC20.json',
} as const

const FACTORY = parseAbi(['function getPair(address,address) view returns (address)'])
const ROUTER = parseAbi([
  'function addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256) returns (uint256,uint256,uint256)',
  'function swapExactTokensForTokens(uint256,uint256,address[],address,uint256) returns (uint256[])',
])
const SWAP = parseAbiItem(
  'event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)',
)
const TRANSFER = parseAbiItem(
  'event Transfer(address indexed from, address indexed to, uint256 value)',
)
const UNIT = 10n ** 18n
const FOREVER = 2n ** 63n
const MAX = 2n ** 255n
const BLOCK_SECONDS = 12
const AGE_SECONDS = 6 * 3_600
const TOKENS = 4
const TRADERS = 8
const OWNERS = 500
/** Blocks without anything at the end, so that for both products every block with something in it is final. */
const EMPTY_BLOCKS = 80
/** Blocks whose logs are asked for at once. */
const PAGE = 25n
const GAS_PRICE = '0x2540be400'

/** Addresses of the owner and of the traders behind it; deriving one takes milliseconds. */
const PEOPLE: readonly Address[] = Array.from(
  { length: TRADERS + 1 },
  (_, index) => devAccount(index).address,
)

const personAt = (index: number): Address => {
  const address = PEOPLE[index]
  if (address === undefined) throw new RangeError(`no account at ${index}`)
  return address
}

const low = (address: Address): Address => address.toLowerCase() as Address

const hex = (value: number | bigint): Hex => `0x${value.toString(16)}`

/** Calls the node in one request. Throws for any answer that is an error. */
const batch = async (
  url: string,
  calls: readonly { readonly method: string; readonly params: readonly unknown[] }[],
): Promise<void> => {
  const body = JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })))
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const answers = (await response.json()) as readonly { readonly error?: unknown }[]
  const failed = answers.find(({ error }) => error !== undefined)
  if (failed) throw new Error(`the node refused: ${JSON.stringify(failed.error)}`)
}

/** Contracts of the market before anything is traded. */
interface Market {
  readonly router: Address
  readonly usd: Address
  readonly weth: Address
  readonly tokens: readonly Address[]
  readonly pairs: readonly Pair[]
  readonly factory: Address
}

/**
 * Deploys the market: WETH against USD at 2,000, and each token against WETH; every trader has all of them. WETH is a plain token
 * here: coins that are wrapped log no Transfer, which only one of the products would count.
 */
const deployMarket = async ({ client }: Anvil): Promise<Market> => {
  const { deploy, write } = createDeployer(client, ARTIFACTS)
  const owner = personAt(0)
  const supply = 10n ** 28n
  const usd = await deploy('erc20', ['uint256'], [supply])
  const weth = await deploy('erc20', ['uint256'], [supply])
  const others: Address[] = []
  for (let index = 0; index < TOKENS; index += 1) {
    others.push(await deploy('erc20', ['uint256'], [supply]))
  }
  const factory = await deploy('factory', ['address'], [owner])
  const router = await deploy('router', ['address', 'address'], [factory, weth])
  const tokens = [usd, weth, ...others]
  for (const token of tokens) await write(token, erc20Abi, 'approve', [router, MAX])
  const pairs: Pair[] = []
  const open = async (base: Address, quote: Address, baseRaw: bigint, quoteRaw: bigint) => {
    const amounts = [baseRaw, quoteRaw, 0n, 0n]
    await write(router, ROUTER, 'addLiquidity', [base, quote, ...amounts, owner, FOREVER])
    const args = [base, quote] as const
    const place = { address: factory, abi: FACTORY, functionName: 'getPair', args } as const
    const pair = await client.readContract(place)
    pairs.push({ pair: low(pair), base: low(base), quote: low(quote) })
  }
  await open(weth, usd, 1_000n * UNIT, 2_000_000n * UNIT)
  for (const token of others) await open(token, weth, 1_000_000n * UNIT, 1_000n * UNIT)
  for (let index = 1; index <= TRADERS; index += 1) {
    const address = personAt(index)
    for (const token of tokens) {
      await write(token, erc20Abi, 'transfer', [address, 1_000_000n * UNIT])
    }
  }
  const lower = { usd: low(usd), weth: low(weth), factory: low(factory), router: low(router) }
  return { ...lower, tokens: tokens.map(low), pairs }
}

/** A transaction of one of the traders. */
interface Sent {
  readonly trader: number
  readonly to: Address
  readonly data: Hex
}

const swapOf = ({ router, pairs, usd }: Market, random: Random): Sent => {
  const { base, quote } = random.pick(pairs)
  const trader = 1 + random.below(TRADERS)
  const sellsBase = random.chance(0.5)
  const [tokenIn, tokenOut] = sellsBase ? [base, quote] : [quote, base]
  // About the same worth whatever is sold, so that no side runs dry.
  const worth = BigInt(1 + random.below(100)) * 10n ** 14n
  const one = quote === usd ? { base: 1n, quote: 2_000n } : { base: 1_000n, quote: 1n }
  const amount = worth * (sellsBase ? one.base : one.quote)
  const args = [amount, 0n, [tokenIn, tokenOut], personAt(trader), FOREVER] as const
  return {
    trader,
    to: router,
    data: encodeFunctionData({ abi: ROUTER, functionName: 'swapExactTokensForTokens', args }),
  }
}

const ownerAt = (index: number): Address =>
  `0x${(0xabc0_0000_0000n + BigInt(index)).toString(16).padStart(40, '7')}`

const transferOf = ({ tokens }: Market, random: Random): Sent => {
  const args = [
    ownerAt(random.below(OWNERS)),
    BigInt(1 + random.below(1_000)) * 10n ** 12n,
  ] as const
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args })
  return { trader: 1 + random.below(TRADERS), to: random.pick(tokens), data }
}

/** Everybody's allowances in one block, then one block after the other with swaps between transfers. */
const trade = async (anvil: Anvil, market: Market, size: ChainSize): Promise<void> => {
  const random = createRandom(13)
  const nonces = new Map<number, number>()
  const mine = async (sent: readonly Sent[]): Promise<void> => {
    const calls = sent.map(({ trader, to, data }) => {
      const nonce = nonces.get(trader) ?? 0
      nonces.set(trader, nonce + 1)
      const from = personAt(trader)
      const transaction = { from, to, data, nonce: hex(nonce), gas: hex(300_000) }
      return {
        method: 'eth_sendTransaction',
        params: [{ ...transaction, gasPrice: GAS_PRICE }],
      }
    })
    await batch(anvil.httpUrl, [...calls, { method: 'evm_mine', params: [] }])
  }
  await batch(anvil.httpUrl, [{ method: 'evm_setAutomine', params: [false] }])
  const args = [market.router, MAX] as const
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args })
  const traders = Array.from({ length: TRADERS }, (_, index) => index + 1)
  await mine(traders.flatMap((trader) => market.tokens.map((to) => ({ trader, to, data }))))
  const { swapsPerBlock, transfersPerBlock } = size
  for (let block = 0; block < size.blocks; block += 1) {
    await mine([
      ...Array.from({ length: swapsPerBlock }, () => swapOf(market, random)),
      ...Array.from({ length: transfersPerBlock }, () => transferOf(market, random)),
    ])
  }
}

/** What is on the chain, as the node's own logs and state tell it. Throws where a swap failed. */
const truthOf = async (
  { client }: Anvil,
  { tokens, pairs }: Market,
  probe: PreparedChain['probe'],
  expectedSwaps: number,
): Promise<Found> => {
  const address = pairs.map(({ pair }) => pair)
  const head = await client.getBlockNumber({ cacheTime: 0 })
  const swaps: GetLogsReturnType<typeof SWAP, readonly [typeof SWAP], true> = []
  let transfers = 0
  for (let fromBlock = 0n; fromBlock <= head; fromBlock += PAGE) {
    const range = { fromBlock, toBlock: fromBlock + PAGE - 1n }
    swaps.push(...(await client.getLogs({ ...range, address, event: SWAP, strict: true })))
    transfers += (await client.getLogs({ ...range, address: [...tokens], event: TRANSFER })).length
  }
  if (swaps.length !== expectedSwaps) throw new Error(`the chain has ${swaps.length} swaps`)
  const balance = await client.readContract({
    address: probe.token,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [probe.owner],
  })
  const last = swaps.findLast((each) => low(each.address) === probe.pair)
  const pair = pairs.find((each) => each.pair === probe.pair)
  if (!(last && pair)) throw new Error('the pair that is compared has no swap')
  const { amount0In, amount1In, amount0Out, amount1Out } = last.args
  const moved = [Number(amount0In + amount0Out), Number(amount1In + amount1Out)] as const
  const isQuoteFirst = sortTokens(pair.base, pair.quote)[0] === pair.quote
  return {
    swaps: swaps.length,
    transfers,
    balanceRaw: String(balance),
    price: isQuoteFirst ? moved[0] / moved[1] : moved[1] / moved[0],
  }
}

const extraOf = ({ factory, usd, weth, pairs }: Market): ChainExtra => ({
  factories: [{ protocol: 'uniswap_v2', factory }],
  quotes: [
    { address: usd, symbol: 'USD', decimals: 18, kind: 'stable' },
    { address: weth, symbol: 'WETH', decimals: 18, kind: 'native' },
  ],
  referencePools: pairs
    .filter(({ quote }) => quote === usd)
    .map(({ pair }) => ({ pool: pair, token: weth, quote: usd, protocol: 'uniswap_v2' as const })),
  replace: true,
})

/** Starts anvil as chain 1 and fills it. The caller stops it. */
export const prepareChain = async (size: ChainSize): Promise<PreparedChain> => {
  const genesis = Math.floor(Date.now() / 1_000) - AGE_SECONDS
  const anvil = await startAnvil(['--timestamp', String(genesis)])
  try {
    await batch(anvil.httpUrl, [
      { method: 'anvil_setBlockTimestampInterval', params: [BLOCK_SECONDS] },
    ])
    const market = await deployMarket(anvil)
    await trade(anvil, market, size)
    const lastHeight = Number(await anvil.client.getBlockNumber({ cacheTime: 0 }))
    await batch(anvil.httpUrl, [{ method: 'anvil_mine', params: [hex(EMPTY_BLOCKS)] }])
    const [wethPair] = market.pairs
    if (wethPair === undefined) throw new Error('no pair')
    const probe = { token: market.usd, owner: low(personAt(1)), pair: wethPair.pair }
    const truth = await truthOf(anvil, market, probe, size.blocks * size.swapsPerBlock)
    const { tokens, pairs } = market
    return { anvil, tokens, pairs, probe, lastHeight, extra: extraOf(market), truth }
  } catch (error) {
    await anvil.stop()
    throw error
  }
}
