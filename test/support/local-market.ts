/** `node --import tsx test/support/local-market.ts FILE`: a local node with real Uniswap contracts and pools, until it is stopped. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseEther } from 'viem'
import { devAccount, startAnvil } from './nodes/anvil.ts'
import { deployUniswapMarket } from './nodes/uniswap-v2-v3.ts'

/** Quotes are refused when the newest block is old, so blocks come also without transactions. */
const SECONDS_PER_BLOCK = 2

const [path] = process.argv.slice(2)
if (path === undefined) {
  console.error('usage: local-market.ts FILE, where FILE gets the variables of the market')
  process.exit(2)
}
const node = await startAnvil()
const { usd, weth, extra, swapV2 } = await deployUniswapMarket(node.client)
await swapV2([weth, usd], parseEther('1'))
await node.client.setIntervalMining({ interval: SECONDS_PER_BLOCK })
mkdirSync(dirname(path), { recursive: true })
const lines = [
  `export CHAIN_EXTRA='${JSON.stringify({ eth: extra })}'`,
  `node=${node.httpUrl}`,
  `usd=${usd.toLowerCase()}`,
  `weth=${weth.toLowerCase()}`,
  `wallet=${devAccount(1).address}`,
]
writeFileSync(path, `${lines.join('\n')}\n`)
console.log(`a local node serves at ${node.httpUrl}, its market is in ${path}`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void node.stop().then(() => process.exit(0))
  })
}
