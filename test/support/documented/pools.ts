import { type DocumentedContent, inBlock } from './content.ts'

const LEVELS = [10, 50, 100, 200, 500, 1_000]
const FEE = 0.003

const poolEvent = (place: object, other: object): object => ({
  ...place,
  event_type: 'SWAP',
  pool_address: 'p',
  program_address: '0xfac',
  protocol_name: 'Uniswap V2',
  protocol_family: 'uniswap_v2',
  base_token: 't',
  base_decimals: 6,
  quote_token: 'q',
  quote_decimals: 9,
  ...other,
})
const EARLY = inBlock(100, '2026-03-01T00:00:10Z', '0xe1')
const LATE = inBlock(101, '2026-03-01T00:30:00Z', '0xe2')
const OTHER = inBlock(102, '2026-03-01T01:00:00Z', '0xe3')
const REVERSED = inBlock(103, '2026-03-01T01:30:00Z', '0xe4')

const eventOf = (
  [Time, Signature, Address]: readonly string[],
  [base, change, price]: readonly (number | null)[],
  [quote, quoteChange]: readonly (number | null)[],
  LiquidityInUSD: number | null,
  [ProgramAddress, ProtocolName] = ['0xfac', 'Uniswap V2'],
) => ({
  Block: { Time },
  Transaction: { Signature },
  Pool: {
    Market: { Address },
    Dex: { ProgramAddress, ProtocolName },
    Base: { PostAmount: base, ChangeAmount: change, PriceInUSD: price },
    Quote: { PostAmount: quote, ChangeAmount: quoteChange },
    LiquidityInUSD,
  },
})

/**
 * The swap that moves the price of reserves `a` and `b` by `level`: what is left of the input after the fee gets a share of `b` so that
 * the product stays, and its average price is that much below `b / a`.
 */
const swapAt = (a: number, b: number, level: number) => {
  const got = (b * level) / 10_000
  const paid = (a * b) / (b - got) - a
  const given = paid / (1 - FEE)
  return { Price: got / given, MinAmountOut: got, MaxAmountIn: given }
}
const levelsOf = (a: number, b: number) =>
  LEVELS.toReversed().map((level) => ({
    Price: {
      AtoB: b / a,
      BtoA: a / b,
      AtoBMin: (b / a) * (1 - level / 10_000),
      AtoBMax: b / a,
      SlippageBasisPoints: level,
      Dex: { ProtocolName: 'Uniswap V2' },
    },
  }))
const percentOf = (time: string, slot: number, a: number, b: number) => ({
  Block: { Time: time, Number: slot },
  Price: {
    AtoB: swapAt(a, b, 100),
    BtoA: swapAt(b, a, 100),
    Pool: {
      SmartContract: 'p',
      CurrencyA: { SmartContract: 't', Decimals: 6 },
      CurrencyB: { Symbol: null },
    },
    Dex: { ProtocolVersion: '2' },
  },
})

const pool = (address: string, [a, b]: readonly [string, string], other: object): object => ({
  pool_address: address,
  token_a: a,
  token_b: b,
  decimals_a: 6,
  decimals_b: 9,
  program_address: 'prog',
  _ver: 1,
  ...other,
})
const day = (number: number): string => `2026-03-0${number}T00:00:00Z`
const deep = (Address: string, TokenBAddress: string, LiquidityUSD: number, updated: number) => ({
  Pool: {
    Address,
    ProgramAddress: 'prog',
    TokenAAddress: 'T',
    TokenBAddress,
    LiquidityUSD,
    PriceAtoB: 1.5,
    PriceBtoA: 0.625,
    LastUpdated: day(updated),
  },
})
const prices = { price_a_to_b: 1.5, price_b_to_a: 0.625 }

/** Pools: their events, their state, and how deep they are. */
export const POOLS: DocumentedContent = {
  rows: [
    [
      'eth_dex_pool_events_enriched',
      [
        poolEvent(EARLY, {
          event_type: 'INCREASE_LIQUIDITY',
          base_change: '5000000',
          base_post: '5000000',
          quote_change: '2000000000',
          quote_post: '2000000000',
        }),
        poolEvent(LATE, {
          base_change: '-1000000',
          base_post: '4000000',
          base_price_usd: 100,
          quote_change: '500000000',
          quote_post: '2500000000',
          liquidity_usd: '800',
        }),
        poolEvent(OTHER, {
          pool_address: 'p1',
          base_post: '9000000',
          protocol_family: 'curve',
          protocol_name: 'Curve',
        }),
        poolEvent(REVERSED, {
          pool_address: 'p2',
          base_token: 'q',
          base_decimals: 9,
          quote_token: 't',
          quote_decimals: 6,
          quote_post: '3000000',
          protocol_family: 'curve',
          protocol_name: 'Curve',
        }),
        poolEvent(REVERSED, {
          event_index: 1,
          pool_address: 'p3',
          base_token: 'q',
          quote_token: 'c',
        }),
      ],
    ],
    [
      'sol_dex_pool_events_enriched',
      [
        poolEvent(inBlock(10, '2026-02-10T10:00:00Z', 's'), {
          pool_address: 'P',
          liquidity_usd: '50',
        }),
        poolEvent(inBlock(12, '2026-03-02T00:25:00Z', 's3'), { pool_address: 'P' }),
        poolEvent(inBlock(28, '2026-04-01T06:00:30Z', 's5'), {
          pool_address: 'P',
          liquidity_usd: '77',
        }),
      ],
    ],
    [
      'bsc_dex_pool_events_enriched',
      [
        poolEvent(inBlock(203, '2026-01-02T03:30:00Z', '0xb203'), {
          protocol_family: 'pancakeswap_v2',
          base_post: '1',
          quote_post: '1',
        }),
      ],
    ],
    [
      'sol_dex_pools',
      [
        pool('P', ['T', 'Q'], {
          ...prices,
          reserve_a: '4000000',
          liquidity_usd: '20000.5',
          last_updated: day(5),
        }),
        pool('P1', ['T', 'Z'], { ...prices, liquidity_usd: '15000', last_updated: day(4) }),
        pool('P2', ['T', 'Q'], { liquidity_usd: '10000', last_updated: day(3) }),
        pool('PB', ['Q', 'T'], { last_updated: day(2) }),
        pool('PB2', ['Q', 'T'], { reserve_a: '500000', liquidity_usd: '5', last_updated: day(1) }),
        pool('PZ', ['Q', 'Z'], { liquidity_usd: '90000', last_updated: day(6) }),
      ],
    ],
    ['bsc_dex_pools', [pool('p', ['t', 'q'], { last_updated: '2026-01-01T00:00:00Z' })]],
  ],
  answers: {
    Q18: {
      EVM: {
        a: [
          ['p1', 9],
          ['p', 4],
        ].map(([MarketAddress, PostAmount]) => ({
          Pool: {
            Market: {
              MarketAddress,
              BaseCurrency: { Symbol: 'TT' },
              QuoteCurrency: { Symbol: null },
            },
            Base: { PostAmount },
          },
        })),
        b: [
          eventOf(['2026-03-01T01:30:00Z', '0xe4', 'p2'], [null, 0, null], [3, 0], null, [
            '0xfac',
            'Curve',
          ]),
          eventOf(['2026-03-01T01:00:00Z', '0xe3', 'p1'], [9, 0, null], [null, 0], null, [
            '0xfac',
            'Curve',
          ]),
          eventOf(['2026-03-01T00:30:00Z', '0xe2', 'p'], [4, -1, 100], [2.5, 0.5], 800),
          eventOf(['2026-03-01T00:00:10Z', '0xe1', 'p'], [5, 5, null], [2, 2], null),
        ],
      },
    },
    Q19: {
      Solana: {
        DEXPoolEvents: [
          ['2026-03-02T00:25:00Z', null, 2],
          ['2026-02-10T10:00:00Z', 50, 2.5],
        ].map(([Time, LiquidityInUSD, Amount]) => ({
          Block: { Time },
          Pool: { LiquidityInUSD },
          joinDEXTrades: { Trade: { Buy: { Amount } } },
        })),
      },
    },
    Q32: {
      EVM: {
        leaf: [...levelsOf(4, 2.5), ...levelsOf(5, 2)],
        full: [
          percentOf('2026-03-01T00:30:00Z', 101, 4, 2.5),
          percentOf('2026-03-01T00:00:10Z', 100, 5, 2),
        ],
      },
    },
    Q37: {
      Solana: {
        a: [deep('P', 'Q', 20_000.5, 5), deep('P1', 'Z', 15_000, 4)],
        b: [{ Pool: { Address: 'PB2' } }],
        c: [{ count: 1 }],
        d: [
          [5, 20_000.5, 'T', 4],
          [4, 15_000, 'T', null],
          [3, 10_000, 'T', null],
          [2, null, 'Q', null],
          [1, 5, 'Q', 0.5],
        ].map(([updated, LiquidityInUSD, Address, PostAmount]) => ({
          Block: { Time: day(Number(updated)) },
          Pool: { LiquidityInUSD, Base: { Address, PostAmount } },
        })),
      },
    },
  },
}
