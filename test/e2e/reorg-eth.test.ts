import { testReorgs } from '../support/drills/reorg.ts'

await testReorgs('reorgs of a simulated Ethereum', {
  chain: 'eth',
  seed: 7,
  ratePerSecond: 0.2,
  genesisMs: Date.UTC(2026, 0, 5),
  from: 80,
  reorgs: [
    { at: 90, depth: 1 },
    { at: 100, depth: 5 },
    { at: 170, depth: 60 },
  ],
  end: 250,
})
