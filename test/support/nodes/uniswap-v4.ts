import {
  type Address,
  concatHex,
  encodeAbiParameters,
  type Hex,
  keccak256,
  numberToHex,
  parseAbi,
  parseAbiParameters,
  parseEther,
  zeroAddress,
} from 'viem'
import type { ChainExtra } from '../../../core/config/settings.ts'
import { type AnvilClient, devAccount } from './anvil.ts'
import { createDeployer, sortTokens } from './contract-deployer.ts'

const OUT = '@uniswap/v4-periphery/foundry-out'

/** Real compiled contracts; only their bytecode is used, on the local node. */
const ARTIFACTS = {
  manager: `${OUT}/PoolManager.sol/PoolManager.default.json`,
  positions: `${OUT}/PositionManager.sol/PositionManager.json`,
  swapper: `${OUT}/PoolSwapTest.sol/PoolSwapTest.default.json`,
  filler: `${OUT}/PoolModifyLiquidityTest.sol/PoolModifyLiquidityTest.default.json`,
  weth: '@uniswap/v2-periphery/build/WETH9.json',
  erc20: '@uniswap/v2-periphery/build/ERC20.json',
} as const

const ERC20 = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function transfer(address to, uint256 amount) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
])
const KEY =
  'struct Key { address currency0; address currency1; uint24 fee; int24 tickSpacing; address hooks; }'
const MANAGER = parseAbi([
  KEY,
  'function initialize(Key, uint160) returns (int24)',
  'function balanceOf(address owner, uint256 id) view returns (uint256)',
])
const POSITIONS = parseAbi(['function modifyLiquidities(bytes, uint256) payable'])
const FILLER = parseAbi([
  KEY,
  'struct Range { int24 lower; int24 upper; int256 liquidity; bytes32 salt; }',
  'function modifyLiquidity(Key, Range, bytes) payable returns (int256)',
])
const SWAPPER = parseAbi([
  KEY,
  'struct Params { bool zeroForOne; int256 amountSpecified; uint160 sqrtPriceLimitX96; }',
  'struct Settings { bool takeClaims; bool settleUsingBurn; }',
  'function swap(Key, Params, Settings, bytes) payable returns (int256)',
])

/** What a PositionManager does in a batch. Source: Uniswap/v4-periphery src/libraries/Actions.sol. */
const ACTION = { decrease: 0x01, mint: 0x02, settle: 0x0b, takePair: 0x11, sweep: 0x14 } as const
/** Who called the batch. Source: Uniswap/v4-periphery src/libraries/ActionConstants.sol. */
const SENDER = '0x0000000000000000000000000000000000000001'
const KEY_WORDS = '(address, address, uint24, int24, address)'
/** Square root prices of one, of next to nothing, of nearly all. Source: Uniswap/v4-core src/libraries/TickMath.sol. */
const PRICE = {
  one: 2n ** 96n,
  lowest: 4_295_128_740n,
  highest: 1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_341n,
} as const
const TICK_SPACING = 60
const MAX_TICK = 887_220
const DEADLINE = 2n ** 63n
const MAX_APPROVAL = 2n ** 255n
/** Liquidity of a pool at the price of one: so much of both tokens. */
const INITIAL_LIQUIDITY = parseEther('10000')

/** A pool of the PoolManager: its key and the key's hash. */
export interface V4Pool {
  readonly id: Hex
  readonly key: readonly [Address, Address, number, number, Address]
}

/** A swap; above zero `amount` is what is taken, below zero what is given. */
export interface V4SwapOrder {
  readonly zeroForOne: boolean
  readonly amount: bigint
  /** What is taken stays with the PoolManager, in the trader's name. */
  readonly kept?: boolean
}

/** A PoolManager with three pools at a price of one. The chain's coin is the zero address, as pools have it. */
export interface V4Market {
  /** Lower case. */
  readonly manager: string
  readonly positions: string
  readonly tokens: { readonly usd: Address; readonly weth: Address; readonly token: Address }
  readonly pools: {
    /** Both were opened by the PositionManager, which keeps their keys. */
    readonly tokens: V4Pool
    readonly coin: V4Pool
    /** Its key is kept by nobody. */
    readonly keyless: V4Pool
  }
  readonly extra: ChainExtra
  /** What the PoolManager holds of a token that is not the trader's claim, at a block. */
  held(token: Address, blockNumber: bigint): Promise<bigint>
  swap(pool: V4Pool, order: V4SwapOrder): Promise<Hex>
  /** Opens a position at the PositionManager, which keeps the pool's key from then on. */
  keep(pool: V4Pool): Promise<Hex>
  /** Takes liquidity out of the first position of the pool of two tokens. */
  decrease(liquidity: bigint): Promise<Hex>
}

const encodeActions = (steps: readonly (readonly [action: number, params: Hex])[]): Hex =>
  encodeAbiParameters(parseAbiParameters('bytes, bytes[]'), [
    concatHex(steps.map(([action]) => numberToHex(action, { size: 1 }))),
    steps.map(([, params]) => params),
  ])

const settleAction = (currency: Address): readonly [number, Hex] => [
  ACTION.settle,
  encodeAbiParameters(parseAbiParameters('address, uint256, bool'), [currency, 0n, false]),
]

/** A new position over all prices, paid from what the PositionManager holds; coin that is left over goes back. */
const encodeMint = (key: V4Pool['key'], liquidity: bigint, owner: Address): Hex => {
  const words = `${KEY_WORDS}, int24, int24, uint256, uint128, uint128, address, bytes`
  const position = encodeAbiParameters(parseAbiParameters(words), [
    ...([
      key,
      -MAX_TICK,
      MAX_TICK,
      liquidity,
      INITIAL_LIQUIDITY * 2n,
      INITIAL_LIQUIDITY * 2n,
      owner,
      '0x',
    ] as const),
  ])
  const swept = encodeAbiParameters(parseAbiParameters('address, address'), [zeroAddress, SENDER])
  const [first, second] = key
  return encodeActions([
    [ACTION.mint, position],
    settleAction(first),
    settleAction(second),
    [ACTION.sweep, swept],
  ])
}

/** Less liquidity in the first position, whose tokens go to the owner. */
const encodeDecrease = ([first, second]: V4Pool['key'], liquidity: bigint, owner: Address): Hex => {
  const words = parseAbiParameters('uint256, uint256, uint128, uint128, bytes')
  const pair = parseAbiParameters('address, address, address')
  return encodeActions([
    [ACTION.decrease, encodeAbiParameters(words, [1n, liquidity, 0n, 0n, '0x'])],
    [ACTION.takePair, encodeAbiParameters(pair, [first, second, owner])],
  ])
}

const createPoolKey = (one: Address, other: Address, fee: number): V4Pool => {
  const [first, second] = sortTokens(one, other)
  const key = [first, second, fee, TICK_SPACING, zeroAddress] as const
  return { id: keccak256(encodeAbiParameters(parseAbiParameters(KEY_WORDS), [key])), key }
}

/** Deploys a PoolManager, a PositionManager and two routers, opens three pools and fills them. */
export const deployV4Market = async (client: AnvilClient): Promise<V4Market> => {
  const { deploy, write, pay } = createDeployer(client, ARTIFACTS)
  const owner = devAccount(0).address
  const usd = await deploy('erc20', ['uint256'], [10n ** 27n])
  const token = await deploy('erc20', ['uint256'], [10n ** 27n])
  const weth = await deploy('weth', [], [])
  const manager = await deploy('manager', ['address'], [owner])
  const positions = await deploy(
    'positions',
    ['address', 'address', 'uint256', 'address', 'address'],
    [manager, zeroAddress, 300_000n, zeroAddress, weth],
  )
  const swapper = await deploy('swapper', ['address'], [manager])
  const filler = await deploy('filler', ['address'], [manager])
  for (const asset of [usd, token]) {
    for (const spender of [swapper, filler])
      await write(asset, ERC20, 'approve', [spender, MAX_APPROVAL])
    await write(asset, ERC20, 'transfer', [positions, INITIAL_LIQUIDITY * 4n])
  }
  const pools = {
    tokens: createPoolKey(usd, token, 3_000),
    coin: createPoolKey(zeroAddress, token, 500),
    keyless: createPoolKey(usd, token, 10_000),
  }
  for (const { key } of Object.values(pools)) {
    await write(manager, MANAGER, 'initialize', [key, PRICE.one])
  }
  const mint = ({ key }: V4Pool, liquidity: bigint): Promise<Hex> =>
    pay({
      address: positions,
      abi: POSITIONS,
      functionName: 'modifyLiquidities',
      args: [encodeMint(key, liquidity, owner), DEADLINE],
      value: key[0] === zeroAddress ? liquidity * 2n : 0n,
    })
  await mint(pools.tokens, INITIAL_LIQUIDITY)
  await mint(pools.coin, INITIAL_LIQUIDITY / 10n)
  const salt = numberToHex(0, { size: 32 })
  const range = { lower: -MAX_TICK, upper: MAX_TICK, liquidity: INITIAL_LIQUIDITY, salt }
  await write(filler, FILLER, 'modifyLiquidity', [pools.keyless.key, range, '0x'])
  return {
    manager: manager.toLowerCase(),
    positions: positions.toLowerCase(),
    tokens: { usd, weth, token },
    pools,
    extra: chainExtraOf({ manager, positions, usd, weth }),
    held: async (asset, blockNumber) => {
      const balanceOf = { functionName: 'balanceOf', blockNumber } as const
      const claimed = await client.readContract({
        ...balanceOf,
        address: manager,
        abi: MANAGER,
        args: [owner, BigInt(asset)],
      })
      if (asset === zeroAddress) {
        return (await client.getBalance({ address: manager, blockNumber })) - claimed
      }
      const erc20 = { ...balanceOf, address: asset, abi: ERC20 }
      return (await client.readContract({ ...erc20, args: [manager] })) - claimed
    },
    swap: ({ key }, { zeroForOne, amount, kept = false }) =>
      pay({
        address: swapper,
        abi: SWAPPER,
        functionName: 'swap',
        args: [
          key,
          {
            zeroForOne,
            amountSpecified: amount,
            sqrtPriceLimitX96: zeroForOne ? PRICE.lowest : PRICE.highest,
          },
          { takeClaims: kept, settleUsingBurn: false },
          '0x',
        ],
        value: zeroForOne && key[0] === zeroAddress ? parseEther('10') : 0n,
      }),
    keep: (pool) => mint(pool, INITIAL_LIQUIDITY / 10n),
    decrease: (liquidity) =>
      write(positions, POSITIONS, 'modifyLiquidities', [
        encodeDecrease(pools.tokens.key, liquidity, owner),
        DEADLINE,
      ]),
  }
}

/** What the configuration must be told of such a chain. */
const chainExtraOf = (
  deployed: Readonly<Record<'manager' | 'positions' | 'usd' | 'weth', Address>>,
): ChainExtra => {
  const low = (name: keyof typeof deployed): string => deployed[name].toLowerCase()
  return {
    factories: [
      { protocol: 'uniswap_v4', factory: low('manager'), registries: [low('positions')] },
    ],
    quotes: [
      { address: low('usd'), symbol: 'USD', decimals: 18, kind: 'stable' },
      { address: low('weth'), symbol: 'WETH', decimals: 18, kind: 'native' },
    ],
    referencePools: [],
    replace: true,
  }
}
