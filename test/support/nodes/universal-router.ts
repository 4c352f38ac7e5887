import { createRequire } from 'node:module'
import { type Address, type Hex, keccak256, zeroAddress } from 'viem'
import type { AnvilClient } from './anvil.ts'
import { createDeployer } from './contract-deployer.ts'

const require = createRequire(import.meta.url)

const ARTIFACTS = {
  router: '@uniswap/universal-router/artifacts/contracts/UniversalRouter.sol/UniversalRouter.json',
} as const
const V2_PAIR = '@uniswap/v2-core/build/UniswapV2Pair.json'
const V3_POOL = '@uniswap/v3-core/artifacts/contracts/UniswapV3Pool.sol/UniswapV3Pool.json'
/** A script that holds the code of Permit2 as it is deployed. */
const PERMIT2_SCRIPT = '@uniswap/v4-periphery/foundry-out/DeployPermit2.sol/DeployPermit2.json'
/** Where Permit2 is on every public chain. Its code holds the hash of its domain for this address and chain 1. */
const PERMIT2: Address = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
/** `PUSH2 length, DUP2, MSTORE, PUSH1 32, ADD, PUSH2 place, PUSH2 length` before the script copies that code. */
const COPY = /61([0-9a-f]{4})81526020016101([0-9a-f]{2})61\1/

/** The contracts that swaps across both families go through. */
export interface UniversalRouterContracts {
  readonly router: Address
  readonly permit2: Address
}

/** What the router is made for. */
interface Pools {
  readonly weth: Address
  readonly v2Factory: Address
  readonly v3Factory: Address
}

const creationHash = (path: string): Hex => {
  const { bytecode } = require(path) as { readonly bytecode: string }
  return keccak256(`0x${bytecode.replace(/^0x/, '')}`)
}

const permit2Code = (): Hex => {
  const { bytecode } = require(PERMIT2_SCRIPT) as { readonly bytecode: { readonly object: string } }
  // The script's own code begins where its creation code ends: RETURN, INVALID.
  const [, running = ''] = bytecode.object.split(/f3fe(.*)/s)
  const [, length = '', place = ''] = COPY.exec(running) ?? []
  const start = Number.parseInt(`01${place}`, 16) * 2
  return `0x${running.slice(start, start + Number.parseInt(length, 16) * 2)}`
}

/** Fields of the one struct that the constructor takes, which is encoded as its fields are. */
const PARAMETERS = [
  ...['address', 'address', 'address', 'address', 'bytes32', 'bytes32'],
  ...['address', 'address', 'address', 'address'],
]

/** Puts Permit2 in its place and deploys the Universal Router over pools of both factories. */
export const deployUniversalRouter = async (
  client: AnvilClient,
  { weth, v2Factory, v3Factory }: Pools,
): Promise<UniversalRouterContracts> => {
  await client.setCode({ address: PERMIT2, bytecode: permit2Code() })
  const { deploy } = createDeployer(client, ARTIFACTS)
  const hashes = [creationHash(V2_PAIR), creationHash(V3_POOL)]
  const unused = [zeroAddress, zeroAddress, zeroAddress, zeroAddress]
  const parameters = [PERMIT2, weth, v2Factory, v3Factory, ...hashes, ...unused]
  return { router: await deploy('router', PARAMETERS, parameters), permit2: PERMIT2 }
}

/** The same for a configuration. */
export const universalRouterRow = ({ router, permit2 }: UniversalRouterContracts) => ({
  router: router.toLowerCase(),
  permit2: permit2.toLowerCase(),
})
