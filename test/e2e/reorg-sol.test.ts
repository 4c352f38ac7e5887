import { testReorgs } from '../support/drills/reorg.ts'

await testReorgs('reorgs of a simulated Solana', {
  chain: 'sol',
  seed: 11,
  ratePerSecond: 4,
  genesisMs: Date.UTC(2026, 0, 5),
  from: 70,
  reorgs: [
    { at: 80, depth: 1 },
    { at: 86, depth: 5 },
    { at: 145, depth: 60 },
  ],
  end: 230,
  webhooks: ['sol.token.created', 'sol.token.migrated'],
})
