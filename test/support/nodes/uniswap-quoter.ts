import { type Address, parseAbi } from 'viem'
import type { SwapRouteResponse } from '../../../schemas/api/swap.ts'
import type { AnvilClient } from './anvil.ts'
import { createDeployer } from './contract-deployer.ts'
import type { UniswapContracts } from './uniswap-contracts.ts'

const ARTIFACTS = {
  quoter: '@uniswap/v3-periphery/artifacts/contracts/lens/Quoter.sol/Quoter.json',
} as const
const QUOTER = parseAbi([
  'function quoteExactInputSingle(address,address,uint24,uint256,uint160) view returns (uint256)',
  'function quoteExactOutputSingle(address,address,uint24,uint256,uint160) view returns (uint256)',
])
const V2_ROUTER = parseAbi([
  'function getAmountsOut(uint256, address[]) view returns (uint256[])',
  'function getAmountsIn(uint256, address[]) view returns (uint256[])',
])
const POOL = parseAbi(['function fee() view returns (uint24)'])

type Hop = SwapRouteResponse['routeInfo']['hops'][number]

/** What the contracts themselves say that a swap of one pool gives, or costs, now. */
export type ContractQuoter = (hop: Hop, isExactIn: boolean) => Promise<bigint>

/** Deploys Uniswap's own quoter beside its routers. */
export const deployContractQuoter = async (
  client: AnvilClient,
  { v2Router, v3Factory, weth }: UniswapContracts,
): Promise<ContractQuoter> => {
  const { deploy } = createDeployer(client, ARTIFACTS)
  const quoter = await deploy('quoter', ['address', 'address'], [v3Factory, weth])
  return async ({ dex, pool, inputMint, outputMint, inAmount, outAmount }, isExactIn) => {
    const tokens = [inputMint as Address, outputMint as Address] as const
    const exact = BigInt(isExactIn ? inAmount : outAmount)
    if (dex === 'uniswap_v2') {
      const [given, got] = await client.readContract({
        address: v2Router,
        abi: V2_ROUTER,
        args: [exact, tokens],
        functionName: isExactIn ? 'getAmountsOut' : 'getAmountsIn',
      })
      return (isExactIn ? got : given) ?? 0n
    }
    const fee = await client.readContract({
      address: pool as Address,
      abi: POOL,
      functionName: 'fee',
    })
    return client.readContract({
      address: quoter,
      abi: QUOTER,
      args: [...tokens, fee, exact, 0n],
      functionName: isExactIn ? 'quoteExactInputSingle' : 'quoteExactOutputSingle',
    })
  }
}
