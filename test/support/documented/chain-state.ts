import { type DocumentedContent, inBlock, inBlockOnly } from './content.ts'

const S6 = '2026-04-01T06:00:50Z'
const E1 = '2026-03-01T00:00:10Z'
const block = (number: number, time: string, other: object): object => {
  const { event_index: _, ...place } = inBlockOnly(number, time)
  return { ...place, ...other }
}
const supply = (place: object, other: object): object => ({
  ...place,
  event_type: 'MINT',
  decimals: 6,
  amount: '1',
  ...other,
})
const supplyOf = (
  Currency: object,
  supply: number | null,
  price: number | null,
  cap: number | null,
) => ({
  TokenSupplyUpdate: {
    Currency,
    PostBalance: supply,
    TotalSupply: supply,
    PriceInUSD: price,
    MarketCapInUSD: cap,
    FDVInUSD: cap,
  },
})

/** Blocks and supplies of tokens. */
export const CHAIN_STATE: DocumentedContent = {
  rows: [
    [
      'sol_blocks',
      [
        block(27, '2026-03-31T23:59:59Z', {}),
        block(30, S6, {
          parent_slot: 28,
          parent_hash: 'b28',
          tx_count: 5,
          rewards_count: 2,
        }),
      ],
    ],
    [
      'eth_blocks',
      [
        block(100, '2026-03-01T00:00:00Z', { gas_used: 100, tx_count: 2 }),
        block(101, '2026-03-01T00:30:00Z', {
          gas_used: 200,
          tx_count: 1,
          coinbase: 'm',
          gas_limit: 30_000_000,
          base_fee: '1000000007',
        }),
        block(102, '2026-03-01T01:00:00Z', {
          gas_used: 300,
          tx_count: 3,
          coinbase: 'm2',
          gas_limit: 30_000_001,
          base_fee: '0',
          difficulty: '17',
        }),
      ],
    ],
    [
      'sol_token_supplies',
      [
        supply(inBlock(20, '2026-04-01T05:00:20Z', 'x20'), {
          token_address: 'T',
          post_supply: '900',
        }),
        supply(inBlock(21, '2026-04-01T05:00:21Z', 'x21'), {
          token_address: 'T',
          post_supply: '1000.5',
          market_cap_usd: 2_001,
        }),
      ],
    ],
    ['eth_token_supplies', [supply(inBlock(100, E1, '0xe1'), { token_address: 't' })]],
  ],
  answers: {
    Q20: {
      sol: {
        TokenSupplyUpdates: [
          {
            Block: { Time: '2026-04-01T05:00:21Z' },
            ...supplyOf(
              { MintAddress: 'T', Decimals: 6, Symbol: 'Usd1', Name: 'My usd Coin' },
              1_000.5,
              2,
              2_001,
            ),
            Transaction: { Signature: 'x21' },
          },
        ],
      },
      eth: {
        TokenSupplyUpdates: [
          {
            Block: { Time: E1 },
            ...supplyOf(
              { MintAddress: 't', Decimals: 6, Symbol: 'TT', Name: 'Tt' },
              null,
              null,
              null,
            ),
            Transaction: { Hash: '0xe1' },
          },
        ],
      },
    },
    Q21: {
      Solana: {
        Blocks: [
          {
            Block: {
              Time: S6,
              Date: '2026-04-01',
              Slot: 30,
              Height: 29,
              Hash: 'b30',
              ParentSlot: 28,
              ParentHash: 'b28',
              TxCount: 5,
              RewardsCount: 2,
            },
          },
        ],
      },
      EVM: {
        Blocks: [
          [102, 'm2', 30_000_001, 300, 0, 17],
          [101, 'm', 30_000_000, 200, 1.000000007e-9, 0],
        ].map(([number, Coinbase, GasLimit, GasUsed, BaseFee, Difficulty]) => ({
          Block: { Number: number, Coinbase, GasLimit, GasUsed, BaseFee, Difficulty },
        })),
        hourly: [
          { Block: { Time: '2026-03-01T01:00:00Z' }, avg: 300, max: 3 },
          { Block: { Time: '2026-03-01T00:00:00Z' }, avg: 150, max: 2 },
        ],
      },
    },
  },
}
