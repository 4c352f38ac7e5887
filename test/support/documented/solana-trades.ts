import { type DocumentedContent, inBlock, type Leg, type Swap, swapRow } from './content.ts'

const t = (raw: string, priceUsd?: number): Leg => ({
  token: 'T',
  decimals: 6,
  raw,
  ...(priceUsd !== undefined && { priceUsd }),
})
const q = (raw: string, priceUsd?: number): Leg => ({
  token: 'Q',
  decimals: 9,
  raw,
  ...(priceUsd !== undefined && { priceUsd }),
})
const RAYDIUM = ['P', 'Raydium CPMM', 'raydium'] as const
const FILLERS = 40
const FILLER_TIME = '2026-03-03T12:00:00Z'

/** `FILLERS` swaps of one token each, without a price: the page before the second one. */
const fillers = Array.from(
  { length: FILLERS },
  (_, index): Swap => ({
    place: inBlock(13, FILLER_TIME, `f${index + 1}`, [index, index]),
    wallet: 'F',
    bought: t('1000000'),
    sold: q('1000000000'),
    pool: 'PF',
    dex: ['PF', 'Ray test', 'raydium'],
  }),
)

const SWAPS: readonly Swap[] = [
  {
    place: inBlock(5, '2026-01-01T05:30:00Z', 's0'),
    wallet: 'F',
    bought: q('1000000000'),
    sold: { token: 'Z', decimals: 0, raw: '7' },
    pool: 'P0',
    dex: RAYDIUM,
  },
  {
    place: inBlock(6, '2026-01-02T00:00:00Z', 's00'),
    wallet: 'F',
    bought: q('1000000000'),
    sold: { token: 'Z', decimals: 0, raw: '7' },
    pool: 'P0',
    dex: RAYDIUM,
  },
  {
    place: inBlock(10, '2026-02-10T10:00:00Z', 's'),
    wallet: 'W',
    bought: t('2500000', 2),
    sold: q('1000000000', 5),
    usd: 5,
    pool: 'P',
    dex: RAYDIUM,
  },
  {
    place: inBlock(11, '2026-03-02T00:20:00Z', 's2'),
    wallet: 'W2',
    bought: t('1000000', 3),
    sold: q('500000000', 6),
    usd: 3,
    pool: 'P1',
    dex: ['P2', 'Orca', 'orca'],
  },
  {
    place: inBlock(12, '2026-03-02T00:25:00Z', 's3'),
    wallet: 'W',
    bought: q('2000000000', 400),
    sold: t('4000000', 200),
    usd: 800,
    pool: 'P',
    dex: RAYDIUM,
    baseIsSold: true,
  },
  ...fillers,
  {
    place: inBlock(27, '2026-04-01T06:00:00Z', 's4'),
    wallet: 'W',
    bought: t('3000000'),
    sold: q('1000000000'),
    pool: 'P2',
    dex: ['P3', 'Raydium CPMM', 'raydium'],
    suspect: true,
  },
  {
    place: inBlock(28, '2026-04-01T06:00:30Z', 's5'),
    wallet: 'W2',
    bought: t('10000000', 15),
    sold: q('4000000000', 37.5),
    usd: 150,
    pool: 'P',
    dex: RAYDIUM,
  },
  {
    place: inBlock(30, '2026-04-01T06:00:50Z', 's6'),
    wallet: 'W',
    bought: t('1000000', 12),
    sold: q('500000000', 24),
    usd: 12,
    pool: 'P',
    dex: RAYDIUM,
  },
]

/** A block that is no longer in the chain. */
const orphaned = {
  ...swapRow({
    place: inBlock(31, '2026-04-01T06:01:00Z', 's7'),
    wallet: 'W',
    bought: t('1000000', 999),
    sold: q('1', 1),
    usd: 999,
    pool: 'P',
    dex: RAYDIUM,
  }),
  _ver: 2,
  _del: 1,
}

const coin = { MintAddress: 'T', Symbol: 'Usd1', Name: 'My usd Coin', Decimals: 6 }
const swapOf = (
  block: object,
  hash: string,
  pool: string,
  buy: object,
  sell: object,
  [ProgramAddress, ProtocolName, ProtocolFamily]: readonly string[],
) => ({
  Block: block,
  Transaction: { Hash: hash, FeeInNative: 0.000005 },
  Pool: { Address: pool },
  IsSuspect: false,
  Trade: {
    Buy: { Currency: coin, ...buy },
    Sell: { Currency: { MintAddress: 'Q' }, ...sell },
    Dex: { ProgramAddress, ProtocolName, ProtocolFamily },
  },
})
const fillerSwap = (number: number) =>
  swapOf(
    { Time: FILLER_TIME, Slot: 13, Height: 12 },
    `f${number}`,
    'PF',
    {
      Amount: 1,
      AmountInUSD: null,
      PriceInUSD: null,
      PriceInNative: null,
      Account: { Owner: 'F' },
    },
    { Amount: 1, AmountInUSD: null, Account: { Owner: 'F' } },
    ['PF', 'Ray test', 'raydium'],
  )
const ofWallet = (Owner: string) => ({ Account: { Owner } })
const bucket = (Time: string, count: number) => ({ Block: { Time }, count })
const week = (Time: string, Type: string, sum: number | null) => ({
  Block: { Time },
  Trade: { Side: { Type } },
  sum,
})

/** Trades of Solana: pages, filters, groups, intervals, rows per value. */
export const SOLANA_TRADES: DocumentedContent = {
  rows: [
    ['sol_dex_trades', [...SWAPS.map(swapRow), orphaned]],
    [
      'sol_tokens',
      [
        { token_address: 'T', symbol: 'Usd1', name: 'My usd Coin', decimals: 6, _ver: 1 },
        { token_address: 'Q', symbol: 'QQ', name: 'Quote', decimals: 9, _ver: 1 },
      ],
    ],
  ],
  answers: {
    // The two newest buys of T and 38 of the fillers are the page before.
    Q01: {
      Solana: {
        DEXTrades: [
          fillerSwap(2),
          fillerSwap(1),
          swapOf(
            { Time: '2026-03-02T00:20:00Z', Slot: 11, Height: 10 },
            's2',
            'P1',
            {
              Amount: 1,
              AmountInUSD: 3,
              PriceInUSD: 3,
              PriceInNative: 0.03,
              ...ofWallet('W2'),
            },
            { Amount: 0.5, AmountInUSD: 3, ...ofWallet('W2') },
            ['P2', 'Orca', 'orca'],
          ),
          swapOf(
            { Time: '2026-02-10T10:00:00Z', Slot: 10, Height: 9 },
            's',
            'P',
            { Amount: 2.5, AmountInUSD: 5, PriceInUSD: 2, PriceInNative: 0.02, ...ofWallet('W') },
            { Amount: 1, AmountInUSD: 5, ...ofWallet('W') },
            RAYDIUM,
          ),
        ],
      },
    },
    Q02: {
      Solana: {
        DEXTrades: [
          { Block: { Time: '2026-04-01T06:00:30Z' } },
          { Block: { Time: '2026-04-01T06:00:50Z' } },
        ],
      },
    },
    Q04: { Solana: { DEXTrades: [{ Transaction: { Signature: 's4' }, IsSuspect: true }] } },
    Q05: {
      Solana: {
        DEXTrades: [false, false, true, false].map((IsSuspect) => ({
          IsSuspect,
          Trade: { Dex: { ProtocolName: 'Raydium CPMM' } },
        })),
      },
    },
    Q07: { Solana: { DEXTrades: [{ count: 44, buyers: 3, first: '2026-02-10T10:00:00Z' }] } },
    Q08: {
      Solana: {
        DEXTrades: [
          { count: 2, sum: 3.5, Trade: { Buy: { Account: { Owner: 'W' } } } },
          { count: 2, sum: 11, Trade: { Buy: { Account: { Owner: 'W2' } } } },
          { count: 40, sum: 40, Trade: { Buy: { Account: { Owner: 'F' } } } },
        ],
      },
    },
    // Of W since March: 4 T sold for 800 USD, 3 bought at a price that is not known, 1 bought for 12.
    Q09: {
      Solana: {
        DEXTradeByTokens: [
          {
            Trade: { Currency: { Symbol: 'Usd1' } },
            bought: 12,
            sold: 800,
            n: 3,
            buys: 2,
            pnl: 788,
            avg_pnl: 788 / 3,
          },
        ],
      },
    },
    Q11: {
      Solana: {
        DEXTradeByTokens: [
          {
            Block: { Time: '2026-04-01T06:00:50Z' },
            Transaction: { Signature: 's6', Fee: 0.000005, FeeInUSD: 0.0005 },
            Trade: {
              Price: 0.5,
              PriceInUSD: 12,
              PriceInNative: 0.12,
              Amount: 1,
              AmountInUSD: 12,
              Side: {
                Type: 'buy',
                Currency: { MintAddress: 'Q', Symbol: 'QQ' },
                Amount: 0.5,
                AmountInUSD: 12,
              },
              Account: { Owner: 'W' },
              Market: { PoolAddress: 'P', MarketAddress: 'P' },
            },
          },
          {
            Block: { Time: '2026-03-02T00:25:00Z' },
            Transaction: { Signature: 's3', Fee: 0.000005, FeeInUSD: 0.0005 },
            Trade: {
              Price: 2,
              PriceInUSD: 400,
              PriceInNative: 4,
              Amount: 2,
              AmountInUSD: 800,
              Side: {
                Type: 'buy',
                Currency: { MintAddress: 'T', Symbol: 'Usd1' },
                Amount: 4,
                AmountInUSD: 800,
              },
              Account: { Owner: 'W' },
              Market: { PoolAddress: 'P', MarketAddress: 'P' },
            },
          },
        ],
      },
    },
    // Every swap has two rows; weeks start on Monday.
    Q12: {
      Solana: {
        day: [bucket('2026-01-02T00:00:00Z', 2), bucket('2026-01-01T05:00:00Z', 2)],
        week: [
          week('2026-03-30T00:00:00Z', 'sell', 162),
          week('2026-03-30T00:00:00Z', 'buy', 162),
          week('2026-03-02T00:00:00Z', 'sell', 803),
          week('2026-03-02T00:00:00Z', 'buy', 803),
          week('2026-02-09T00:00:00Z', 'sell', 5),
          week('2026-02-09T00:00:00Z', 'buy', 5),
          week('2025-12-29T00:00:00Z', 'sell', null),
          week('2025-12-29T00:00:00Z', 'buy', null),
        ],
        month: [
          bucket('2026-04-01T00:00:00Z', 6),
          bucket('2026-03-01T00:00:00Z', 84),
          bucket('2026-02-01T00:00:00Z', 2),
          bucket('2026-01-01T00:00:00Z', 4),
        ],
      },
    },
  },
}
