import { testEthereumReplay } from '../support/recordings/replay-ethereum.ts'

await testEthereumReplay({
  name: 'recorded ethereum blocks, replayed on the embedded parts',
  overrides: async () => ({}),
  consume: (product) => product.topic('eth.dex.trades.processed', 'dex.trade.TradeEvents'),
  close: async () => undefined,
})
