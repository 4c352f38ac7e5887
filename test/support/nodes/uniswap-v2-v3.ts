import { type Address, type Hex, parseAbi } from 'viem'
import type { ChainExtra } from '../../../core/config/settings.ts'
import { type AnvilClient, devAccount } from './anvil.ts'
import { createDeployer, sortTokens } from './contract-deployer.ts'

/** Real compiled contracts; only their bytecode is used, on the local node. */
const ARTIFACTS = {
  v2Factory: '@uniswap/v2-core/build/UniswapV2Factory.json',
  weth: '@uniswap/v2-periphery/build/WETH9.json',
  erc20: '@uniswap/v2-periphery/build/ERC20.json',
  v2Router: '@uniswap/v2-periphery/build/UniswapV2Router02.json',
  v3Factory: '@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json',
  v3Positions:
    '@uniswap/v3-periphery/artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json',
  v3Router: '@uniswap/v3-periphery/artifacts/contracts/SwapRouter.sol/SwapRouter.json',
} as const

const ERC20 = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function transfer(address to, uint256 amount) returns (bool)',
])
const V2_FACTORY = parseAbi(['function getPair(address,address) view returns (address)'])
const V3_FACTORY = parseAbi(['function getPool(address,address,uint24) view returns (address)'])
const V2_ROUTER = parseAbi([
  'function addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256) returns (uint256,uint256,uint256)',
  'function swapExactTokensForTokens(uint256,uint256,address[],address,uint256) returns (uint256[])',
])
const POSITIONS = parseAbi([
  'function createAndInitializePoolIfNecessary(address,address,uint24,uint160) payable returns (address)',
  'function mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256)) payable returns (uint256,uint128,uint256,uint256)',
])
const V3_ROUTER = parseAbi([
  'function exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160)) payable returns (uint256)',
])
const DEADLINE = 2n ** 63n
const MAX_APPROVAL = 2n ** 255n

/** Tokens of the deployed market; all have 18 decimals, as the compiled ERC-20 has. */
export interface UniswapMarket {
  readonly usd: Address
  readonly weth: Address
  readonly token: Address
  /** usd/weth and weth/token on V2, usd/weth on V3 at 0.3 %. */
  readonly pools: { readonly v2Usd: Address; readonly v2Token: Address; readonly v3Usd: Address }
  readonly extra: ChainExtra
  /** Sells `amount` of the first token along the path; returns the transaction hash. */
  swapV2(path: readonly Address[], amount: bigint): Promise<Hex>
  swapV3(tokenIn: Address, tokenOut: Address, amount: bigint): Promise<Hex>
}

const integerSqrt = (value: bigint): bigint => {
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / 2))
  for (;;) {
    const next = (root + value / root) / 2n
    if (next >= root) return root
    root = next
  }
}

/** Deploys factories, routers and three pools: 1 WETH = 2,000 USD, 1 token = 0.001 WETH. */
export const deployUniswapMarket = async (client: AnvilClient): Promise<UniswapMarket> => {
  const { deploy, write } = createDeployer(client, ARTIFACTS)
  const owner = devAccount(0).address
  const supply = 10n ** 27n
  const usd = await deploy('erc20', ['uint256'], [supply])
  const token = await deploy('erc20', ['uint256'], [supply])
  const weth = await deploy('weth', [], [])
  const deposit = await client.sendTransaction({
    to: weth,
    data: '0xd0e30db0',
    value: 5_000n * 10n ** 18n,
    gas: 100_000n,
  })
  await client.waitForTransactionReceipt({ hash: deposit })
  const v2Factory = await deploy('v2Factory', ['address'], [owner])
  const v2Router = await deploy('v2Router', ['address', 'address'], [v2Factory, weth])
  const v3Factory = await deploy('v3Factory', [], [])
  const zero = '0x0000000000000000000000000000000000000000'
  const positions = await deploy(
    'v3Positions',
    ['address', 'address', 'address'],
    [v3Factory, weth, zero],
  )
  const v3Router = await deploy('v3Router', ['address', 'address'], [v3Factory, weth])
  for (const asset of [usd, token, weth]) {
    for (const spender of [v2Router, positions, v3Router]) {
      await write(asset, ERC20, 'approve', [spender, MAX_APPROVAL])
    }
  }
  const unit = 10n ** 18n
  const addV2 = (a: Address, b: Address, amountA: bigint, amountB: bigint) =>
    write(v2Router, V2_ROUTER, 'addLiquidity', [a, b, amountA, amountB, 0n, 0n, owner, DEADLINE])
  await addV2(usd, weth, 2_000_000n * unit, 1_000n * unit)
  await addV2(token, weth, 500_000n * unit, 500n * unit)
  const [token0, token1] = sortTokens(usd, weth)
  const ratio = token0 === weth ? 2_000n * 2n ** 192n : 2n ** 192n / 2_000n
  await write(positions, POSITIONS, 'createAndInitializePoolIfNecessary', [
    ...[token0, token1, 3_000, integerSqrt(ratio)],
  ])
  const wethFirst = token0 === weth
  await write(positions, POSITIONS, 'mint', [
    [
      ...[token0, token1, 3_000, -887_220, 887_220],
      wethFirst ? 1_000n * unit : 2_000_000n * unit,
      wethFirst ? 2_000_000n * unit : 1_000n * unit,
      ...[0n, 0n, owner, DEADLINE],
    ],
  ])
  const pair = (a: Address, b: Address) =>
    client.readContract({
      address: v2Factory,
      abi: V2_FACTORY,
      functionName: 'getPair',
      args: [a, b],
    })
  const v3Usd = await client.readContract({
    address: v3Factory,
    abi: V3_FACTORY,
    functionName: 'getPool',
    args: [token0, token1, 3_000],
  })
  const pools = { v2Usd: await pair(usd, weth), v2Token: await pair(token, weth), v3Usd }
  return {
    usd,
    weth,
    token,
    pools,
    extra: chainExtraOf({ usd, weth, v2Factory, v3Factory, v2Usd: pools.v2Usd, v3Usd }),
    swapV2: (path, amount) =>
      write(v2Router, V2_ROUTER, 'swapExactTokensForTokens', [
        ...[amount, 0n, [...path], owner, DEADLINE],
      ]),
    swapV3: (tokenIn, tokenOut, amount) =>
      write(v3Router, V3_ROUTER, 'exactInputSingle', [
        [tokenIn, tokenOut, 3_000, owner, DEADLINE, amount, 0n, 0n],
      ]),
  }
}

/** What the configuration must be told of such a chain. */
const chainExtraOf = (deployed: Readonly<Record<string, Address>>): ChainExtra => {
  const low = (name: string): string => (deployed[name] ?? '').toLowerCase()
  return {
    factories: [
      { protocol: 'uniswap_v2', factory: low('v2Factory') },
      { protocol: 'uniswap_v3', factory: low('v3Factory') },
    ],
    quotes: [
      { address: low('usd'), symbol: 'USD', decimals: 18, kind: 'stable' },
      { address: low('weth'), symbol: 'WETH', decimals: 18, kind: 'native' },
    ],
    referencePools: [
      { pool: low('v2Usd'), token: low('weth'), quote: low('usd'), protocol: 'uniswap_v2' },
      { pool: low('v3Usd'), token: low('weth'), quote: low('usd'), protocol: 'uniswap_v3' },
    ],
    replace: true,
  }
}
