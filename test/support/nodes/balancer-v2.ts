import {
  type Address,
  encodeAbiParameters,
  type Hex,
  parseAbi,
  parseAbiParameters,
  parseEther,
  zeroAddress,
} from 'viem'
import type { ChainExtra } from '../../../core/config/settings.ts'
import { type AnvilClient, devAccount } from './anvil.ts'
import { createDeployer, sortTokens } from './contract-deployer.ts'

/** Real compiled contracts; only their bytecode is used, on the local node. */
const ARTIFACTS = {
  vault: '@balancer-labs/v2-deployments/deployed/mainnet/Vault.json',
  weighted: '@balancer-labs/v2-deployments/deployed/mainnet/WeightedPoolFactory.json',
  weth: '@uniswap/v2-periphery/build/WETH9.json',
  erc20: '@uniswap/v2-periphery/build/ERC20.json',
} as const

const ERC20 = parseAbi(['function approve(address spender, uint256 amount) returns (bool)'])
const FACTORY = parseAbi([
  'function create(string, string, address[], uint256[], uint256, address) returns (address)',
  'event PoolCreated(address indexed pool)',
])
const POOL = parseAbi(['function getPoolId() view returns (bytes32)'])
const VAULT = parseAbi([
  'struct Request { address[] assets; uint256[] limits; bytes userData; bool internal_; }',
  'struct Single { bytes32 poolId; uint8 kind; address assetIn; address assetOut; uint256 amount; bytes userData; }',
  'struct Step { bytes32 poolId; uint256 assetIn; uint256 assetOut; uint256 amount; bytes userData; }',
  'struct Funds { address sender; bool fromInternal; address recipient; bool toInternal; }',
  'function joinPool(bytes32, address, address, Request) payable',
  'function exitPool(bytes32, address, address, Request)',
  'function swap(Single, Funds, uint256, uint256) payable returns (uint256)',
  'function batchSwap(uint8, Step[], address[], Funds, int256[], uint256) payable returns (int256[])',
  'function getPoolTokens(bytes32) view returns (address[], uint256[], uint256)',
])

/** What a join or an exit does, as the pool's contract numbers it. Source: balancer-v2-monorepo WeightedPoolUserData. */
const JOIN = { init: 0n, exactTokens: 1n } as const
const EXIT = { oneToken: 0n, allTokens: 1n } as const
/** How a swap's amount is meant. Source: balancer-v2-monorepo IVault.SwapKind. */
const SWAP_KIND = { in: 0, out: 1 } as const
const DEADLINE = 2n ** 63n
const MAX_APPROVAL = 2n ** 255n

/** Windows in which an owner may pause the Vault, seconds: as on mainnet. */
const PAUSE_WINDOWS = [7_776_000n, 2_592_000n] as const

/** A pool of the Vault. Addresses are lower case. */
export interface VaultPool {
  readonly id: Hex
  readonly address: string
  readonly tokens: readonly Address[]
}

/** What the Vault's own books say of a pool at a block. */
export type VaultBalances = ReadonlyMap<string, bigint>

/** A Vault with two pools of weighted tokens: usd, weth and token; weth and token. */
export interface VaultMarket {
  readonly vault: string
  readonly tokens: { readonly usd: Address; readonly weth: Address; readonly token: Address }
  readonly pools: { readonly three: VaultPool; readonly two: VaultPool }
  readonly extra: ChainExtra
  books(pool: VaultPool, blockNumber: bigint): Promise<VaultBalances>
  join(pool: VaultPool, amounts: readonly bigint[]): Promise<Hex>
  /** Takes out all tokens by their shares. */
  exit(pool: VaultPool, shares: bigint): Promise<Hex>
  /** Takes out one token for shares. */
  exitOne(pool: VaultPool, shares: bigint, at: number): Promise<Hex>
  swap(pool: VaultPool, order: SwapOrder): Promise<Hex>
  /** usd for weth in one pool and weth for token in the other; what is in between never moves. */
  routed(amount: bigint): Promise<Hex>
}

/** A swap with the Vault; the zero address stands for the chain's coin. */
export interface SwapOrder {
  readonly give: Address
  readonly take: Address
  readonly amount: bigint
  /** What the amount is of; default: what is given. */
  readonly of?: keyof typeof SWAP_KIND
  /** What is taken stays with the Vault, in the trader's name. */
  readonly kept?: boolean
}

const joinExitData = (kind: bigint, amounts: readonly bigint[], least?: bigint): Hex =>
  least === undefined
    ? encodeAbiParameters(parseAbiParameters('uint256, uint256[]'), [kind, amounts])
    : encodeAbiParameters(parseAbiParameters('uint256, uint256[], uint256'), [kind, amounts, least])

/** Deploys a Vault and both pools and fills them: 1 weth = 2,000 usd = 1,000 tokens. */
export const deployVault = async (client: AnvilClient): Promise<VaultMarket> => {
  const { deploy, write, pay } = createDeployer(client, ARTIFACTS)
  const owner = devAccount(0).address
  const usd = await deploy('erc20', ['uint256'], [10n ** 27n])
  const token = await deploy('erc20', ['uint256'], [10n ** 27n])
  const weth = await deploy('weth', [], [])
  const deposit = { to: weth, data: '0xd0e30db0', value: parseEther('500'), gas: 100_000n } as const
  await client.waitForTransactionReceipt({ hash: await client.sendTransaction(deposit) })
  const vault = await deploy(
    'vault',
    ['address', 'address', 'uint256', 'uint256'],
    [owner, weth, ...PAUSE_WINDOWS],
  )
  const factory = await deploy('weighted', ['address'], [vault])
  for (const asset of [usd, token, weth])
    await write(asset, ERC20, 'approve', [vault, MAX_APPROVAL])

  const create = async (weights: ReadonlyMap<Address, string>): Promise<VaultPool> => {
    const tokens = sortTokens(...weights.keys())
    const shares = tokens.map((each) => parseEther(weights.get(each) ?? '0'))
    const args = ['Pool', 'POOL', tokens, shares, parseEther('0.003'), owner]
    const hash = await write(factory, FACTORY, 'create', args)
    const { blockNumber } = await client.getTransactionReceipt({ hash })
    const where = { address: factory, abi: FACTORY, eventName: 'PoolCreated' } as const
    const [made] = await client.getContractEvents({ ...where, fromBlock: blockNumber })
    const address = made?.args.pool
    if (address === undefined) throw new Error('no pool was made')
    const id = await client.readContract({ address, abi: POOL, functionName: 'getPoolId' })
    return { id, address: address.toLowerCase(), tokens }
  }
  const request = ({ tokens }: VaultPool, limits: readonly bigint[], userData: Hex) => ({
    assets: tokens,
    limits,
    userData,
    internal_: false,
  })
  const fill = (pool: VaultPool, amounts: readonly bigint[], userData: Hex): Promise<Hex> =>
    write(vault, VAULT, 'joinPool', [pool.id, owner, owner, request(pool, amounts, userData)])
  const leave = (pool: VaultPool, userData: Hex): Promise<Hex> => {
    const none = pool.tokens.map(() => 0n)
    return write(vault, VAULT, 'exitPool', [pool.id, owner, owner, request(pool, none, userData)])
  }
  const open = async (pool: VaultPool, amounts: ReadonlyMap<Address, string>): Promise<void> => {
    const raw = pool.tokens.map((each) => parseEther(amounts.get(each) ?? '0'))
    await fill(pool, raw, joinExitData(JOIN.init, raw))
  }
  const funds = { sender: owner, fromInternal: false, recipient: owner, toInternal: false }

  const three = await create(
    new Map([
      [usd, '0.5'],
      [weth, '0.25'],
      [token, '0.25'],
    ]),
  )
  const halves = new Map([weth, token].map((each) => [each, '0.5'] as const))
  const two = await create(halves)
  const amounts = new Map([
    [usd, '400000'],
    [weth, '100'],
    [token, '100000'],
  ])
  for (const pool of [three, two]) await open(pool, amounts)
  return {
    vault: vault.toLowerCase(),
    tokens: { usd, weth, token },
    pools: { three, two },
    extra: chainExtraOf(vault, { usd, weth }),
    books: async ({ id }, blockNumber) => {
      const where = { address: vault, abi: VAULT, functionName: 'getPoolTokens' } as const
      const [tokens, held] = await client.readContract({ ...where, args: [id], blockNumber })
      return new Map(tokens.map((each, at) => [each.toLowerCase(), held[at] ?? 0n]))
    },
    join: (pool, amounts) => fill(pool, amounts, joinExitData(JOIN.exactTokens, amounts, 0n)),
    exit: (pool, shares) =>
      leave(
        pool,
        encodeAbiParameters(parseAbiParameters('uint256, uint256'), [EXIT.allTokens, shares]),
      ),
    exitOne: (pool, shares, at) =>
      leave(
        pool,
        encodeAbiParameters(parseAbiParameters('uint256, uint256, uint256'), [
          ...([EXIT.oneToken, shares, BigInt(at)] as const),
        ]),
      ),
    swap: ({ id }, { give, take, amount, of = 'in', kept = false }) =>
      pay({
        address: vault,
        abi: VAULT,
        functionName: 'swap',
        args: [
          {
            poolId: id,
            kind: SWAP_KIND[of],
            assetIn: give,
            assetOut: take,
            amount,
            userData: '0x',
          },
          { ...funds, toInternal: kept },
          of === 'in' ? 0n : MAX_APPROVAL,
          DEADLINE,
        ],
        value: give === zeroAddress ? amount : 0n,
      }),
    routed: (amount) => {
      const first = { poolId: three.id, assetIn: 0n, assetOut: 1n, amount, userData: '0x' }
      const second = { poolId: two.id, assetIn: 1n, assetOut: 2n, amount: 0n, userData: '0x' }
      const limits = [MAX_APPROVAL - 1n, MAX_APPROVAL - 1n, MAX_APPROVAL - 1n]
      return write(vault, VAULT, 'batchSwap', [
        ...[SWAP_KIND.in, [first, second], [usd, weth, token], funds, limits, DEADLINE],
      ])
    },
  }
}

/** What the configuration must be told of such a chain. */
const chainExtraOf = (
  vault: Address,
  { usd, weth }: { readonly usd: Address; readonly weth: Address },
): ChainExtra => ({
  factories: [{ protocol: 'balancer_v2', factory: vault.toLowerCase() }],
  quotes: [
    { address: usd.toLowerCase(), symbol: 'USD', decimals: 18, kind: 'stable' },
    { address: weth.toLowerCase(), symbol: 'WETH', decimals: 18, kind: 'native' },
  ],
  referencePools: [],
  replace: true,
})
