import { testRecordedSol } from '../support/recorded-sol-run.ts'

await testRecordedSol({
  name: 'recorded Solana transactions, replayed on the embedded parts',
  overrides: async () => ({}),
  consume: (product) => product.topic('sol.dex.trades.processed', 'dex.trade.TradeEvents'),
  close: async () => undefined,
})
