import { createConfig } from 'ponder'
import { parseAbi } from 'viem'
import { readPlan } from './plan.ts'

const { rpcUrl, databaseFolder, nodes, tokens, pairs } = readPlan()

const config = createConfig({
  database: { kind: 'pglite', directory: databaseFolder },
  chains: { local: { id: 1, rpc: Array.from({ length: nodes }, () => rpcUrl) } },
  contracts: {
    Token: {
      abi: parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)']),
      chain: 'local',
      address: [...tokens],
      startBlock: 0,
    },
    Pair: {
      abi: parseAbi([
        'event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)',
        'event Sync(uint112 reserve0, uint112 reserve1)',
      ]),
      chain: 'local',
      address: pairs.map(({ pair }) => pair),
      startBlock: 0,
    },
  },
})

// biome-ignore lint/style/noDefaultExport: Ponder takes its configuration from there.
export { config as default }
