import { testSolanaReplay } from '../support/recordings/replay-solana.ts'

await testSolanaReplay({
  name: 'recorded Solana transactions, replayed on the embedded parts',
  overrides: async () => ({}),
  consume: (product) => product.topic('sol.dex.trades.processed', 'dex.trade.TradeEvents'),
  close: async () => undefined,
})
