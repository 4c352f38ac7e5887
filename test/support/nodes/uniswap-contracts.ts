import { type Address, type Hex, parseAbi } from 'viem'
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

/** Amounts of two tokens, in the order in which the tokens are named. */
type Amounts = readonly [bigint, bigint]
type Pair = readonly [Address, Address]

/** Factories and routers of Uniswap V2 and V3, and what the first account does with them. */
export interface UniswapContracts {
  readonly weth: Address
  readonly v2Factory: Address
  readonly v2Router: Address
  readonly v3Factory: Address
  readonly v3Router: Address
  /** The contract through which positions are added. */
  readonly v3Positions: Address
  /** An ERC-20 of 18 decimals; the first account has a billion of it, and every contract may take it. */
  newToken(): Promise<Address>
  /** Adds to the V2 pair of two tokens, which is made if need be; gives its address. */
  addV2(pair: Pair, amounts: Amounts): Promise<Address>
  /** Opens a V3 pool at the price of these amounts; gives its address. */
  openV3(pair: Pair, fee: number, price: Amounts): Promise<Address>
  /** Adds a position with at most these amounts. */
  mintV3(pair: Pair, fee: number, position: V3Position): Promise<Hex>
  swapV2(path: readonly Address[], amount: bigint): Promise<Hex>
  swapV3(pair: Pair, fee: number, amount: bigint): Promise<Hex>
}

/** Liquidity between two ticks. */
export interface V3Position {
  readonly ticks: readonly [number, number]
  readonly amounts: Amounts
}

const UNIT = 10n ** 18n
const SUPPLY = 1_000_000_000n * UNIT
const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000'

const integerSqrt = (value: bigint): bigint => {
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / 2))
  for (;;) {
    const next = (root + value / root) / 2n
    if (next >= root) return root
    root = next
  }
}

/** Deploys both DEXes; `wrapped` of the coin are in the first account as WETH. */
export const deployUniswap = async (
  client: AnvilClient,
  wrapped: bigint,
): Promise<UniswapContracts> => {
  const { deploy, write } = createDeployer(client, ARTIFACTS)
  const owner = devAccount(0).address
  const weth = await deploy('weth', [], [])
  const data = '0xd0e30db0'
  const deposit = await client.sendTransaction({ to: weth, data, value: wrapped, gas: 100_000n })
  await client.waitForTransactionReceipt({ hash: deposit })
  const v2Factory = await deploy('v2Factory', ['address'], [owner])
  const v2Router = await deploy('v2Router', ['address', 'address'], [v2Factory, weth])
  const v3Factory = await deploy('v3Factory', [], [])
  const positions = await deploy(
    'v3Positions',
    ['address', 'address', 'address'],
    [v3Factory, weth, ZERO_ADDRESS],
  )
  const v3Router = await deploy('v3Router', ['address', 'address'], [v3Factory, weth])
  const approve = async (token: Address): Promise<void> => {
    for (const spender of [v2Router, positions, v3Router]) {
      await write(token, ERC20, 'approve', [spender, MAX_APPROVAL])
    }
  }
  await approve(weth)
  /** Tokens in the order of pools, and the amounts in theirs. */
  const inOrder = ([a, b]: Pair, [one, other]: Amounts) => {
    const [token0, token1] = sortTokens(a, b)
    const amounts: Amounts = token0 === a ? [one, other] : [other, one]
    return { token0, token1, amounts }
  }
  return {
    weth,
    v2Factory,
    v2Router,
    v3Factory,
    v3Router,
    v3Positions: positions,
    newToken: async () => {
      const token = await deploy('erc20', ['uint256'], [SUPPLY])
      await approve(token)
      return token
    },
    addV2: async (args, amounts) => {
      const more = [...args, ...amounts, 0n, 0n, owner, DEADLINE]
      await write(v2Router, V2_ROUTER, 'addLiquidity', more)
      const factory = { address: v2Factory, abi: V2_FACTORY } as const
      return client.readContract({ ...factory, functionName: 'getPair', args })
    },
    openV3: async (pair, fee, price) => {
      const { token0, token1, amounts } = inOrder(pair, price)
      const root = integerSqrt((amounts[1] << 192n) / amounts[0])
      const args = [token0, token1, fee, root]
      await write(positions, POSITIONS, 'createAndInitializePoolIfNecessary', args)
      const factory = { address: v3Factory, abi: V3_FACTORY } as const
      return client.readContract({
        ...factory,
        functionName: 'getPool',
        args: [token0, token1, fee],
      })
    },
    mintV3: (pair, fee, { ticks, amounts: most }) => {
      const { token0, token1, amounts } = inOrder(pair, most)
      const position = [token0, token1, fee, ...ticks, ...amounts, 0n, 0n, owner, DEADLINE]
      return write(positions, POSITIONS, 'mint', [position])
    },
    swapV2: (path, amount) => {
      const args = [amount, 0n, [...path], owner, DEADLINE]
      return write(v2Router, V2_ROUTER, 'swapExactTokensForTokens', args)
    },
    swapV3: ([sold, bought], fee, amount) => {
      const swap = [sold, bought, fee, owner, DEADLINE, amount, 0n, 0n]
      return write(v3Router, V3_ROUTER, 'exactInputSingle', [swap])
    },
  }
}
