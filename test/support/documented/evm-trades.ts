import { CHAINS } from '../../../schemas/chains.ts'
import { type DocumentedContent, inBlock, type Leg, type Swap, swapRow } from './content.ts'

const V3 = ['0xfac', 'Uniswap V3', 'uniswap_v3'] as const
const CURVE = ['0xcfac', 'Curve', 'curve'] as const

/** USD of `t` in its trades on Ethereum, one every other minute of 2026-03-01 from 00:02. */
const PRICES = [300, 100, 400, 200, 700, 500, 600, 1100, 800, 900, 1000]
const clock = (minute: number): string => `2026-03-01T00:${String(minute).padStart(2, '0')}:00Z`
const MINUTES = PRICES.map((_, index) => clock(2 * (index + 1)))

const one = (token: string, priceUsd?: number): Leg => ({
  token,
  decimals: 6,
  raw: '1000000',
  ...(priceUsd !== undefined && { priceUsd }),
})
const ethSwap = (slot: number, time: string, swap: Partial<Swap> & Pick<Swap, 'bought'>): Swap => ({
  place: inBlock(slot, time, `0xa${slot}`),
  wallet: 'w1',
  sold: one('q'),
  pool: '0xpool',
  dex: V3,
  ...swap,
})

const ETH: readonly Swap[] = [
  // The evening before the first of March, and a suspect one: neither is counted in Q06.
  ethSwap(90, '2026-02-28T23:59:59Z', { bought: one('c', 7), usd: 7 }),
  ethSwap(130, '2026-03-01T00:30:00Z', { bought: one('c', 1), usd: 1, suspect: true }),
  ethSwap(131, '2026-03-01T01:00:00Z', { bought: one('c', 5_000), usd: 5_000, dex: CURVE }),
  ...PRICES.map((price, index) =>
    ethSwap(110 + index, MINUTES[index] ?? '', {
      bought: one('t', price),
      usd: price,
      wallet: index % 2 === 0 ? 'w1' : 'w2',
    }),
  ),
  // The coin at 2,000 USD in the first minute of March.
  ethSwap(100, '2026-03-01T00:00:30Z', {
    bought: {
      token: CHAINS.eth.wrappedNative,
      decimals: 18,
      raw: '1000000000000000000',
      priceUsd: 2_000,
    },
    sold: { token: CHAINS.eth.quotes[0].address, decimals: 6, raw: '2000000000', priceUsd: 1 },
    usd: 2_000,
    dex: CURVE,
  }),
]

const bscSwap = (slot: number, time: string, swap: Partial<Swap> = {}): Swap => ({
  place: inBlock(slot, time, `0xb${slot}`),
  wallet: 'w1',
  bought: one('V'),
  sold: one('U'),
  pool: '0xbpool',
  dex: ['0xbfac', 'PancakeSwap V2', 'pancakeswap_v2'],
  ...swap,
})

/** Token `T` has capitals here, as no address of the chain has: Q35 asks for it in the group that does not tell the chain. */
const BSC: readonly Swap[] = [
  bscSwap(201, '2026-01-02T03:04:04Z'),
  bscSwap(202, '2026-01-02T03:04:05Z'),
  bscSwap(203, '2026-01-02T03:30:00Z'),
  bscSwap(204, '2026-01-02T03:30:03Z', { suspect: true }),
  bscSwap(205, '2026-01-02T04:00:00Z'),
  bscSwap(206, '2026-01-02T04:00:01Z'),
  bscSwap(220, '2026-04-01T10:00:10Z', { bought: { ...one('T', 10), raw: '5000000' }, usd: 50 }),
  bscSwap(221, '2026-04-01T10:00:20Z', {
    bought: one('U', 20),
    sold: { ...one('T', 10), raw: '2000000' },
    usd: 20,
    baseIsSold: true,
  }),
  bscSwap(222, '2026-04-01T10:01:00Z', {
    bought: one('T', 10),
    usd: 10,
    wallet: 'w2',
    suspect: true,
  }),
]

/** The coin of Polygon for half a dollar: the newest candle of any asset. */
const POLYGON: Swap = {
  place: inBlock(300, '2026-04-01T11:00:00Z', '0xc300'),
  wallet: 'w1',
  bought: {
    token: CHAINS.polygon.wrappedNative,
    decimals: 18,
    raw: '80000000000000000000',
    priceUsd: 0.5,
  },
  sold: { token: CHAINS.polygon.quotes[0].address, decimals: 6, raw: '40000000', priceUsd: 1 },
  usd: 40,
  pool: '0xcpool',
  dex: V3,
}

const bscTrade = (slot: number) => ({
  Block: { Number: slot, Slot: slot, Height: slot - 1, Date: '2026-01-02', Hash: `b${slot}` },
  Transaction: {
    Hash: `0xb${slot}`,
    Signature: `0xb${slot}`,
    From: 'w1',
    FeePayer: 'w1',
    Signer: 'w1',
  },
  Trade: {
    Buy: { Currency: { SmartContract: 'V', MintAddress: 'V' } },
    Dex: { SmartContract: '0xbfac' },
  },
})
const tokenMinute = (Start: string, volumes: readonly number[], counts: readonly number[]) => ({
  Interval: { Time: { Start } },
  Token: { Address: 'T' },
  Market: { Network: 'bsc' },
  Volume: {
    Usd: volumes[0],
    BuyVolumeUSD: volumes[1],
    SellVolumeUSD: volumes[2],
    Base: volumes[3],
  },
  Stats: {
    TradeCount: counts[0],
    BuyCount: counts[1],
    SellCount: counts[2],
    UniqueBuyers: counts[3],
    UniqueSellers: counts[4],
  },
})
const total = (Address: string, sum: number) => ({ Token: { Address }, sum })
const crossChain = (side: string, price: number | null, trader: string, network: string) => ({
  Side: side,
  PriceInUsd: price,
  Trader: { Address: trader },
  Pair: { Market: { Network: network } },
})
const newestFirst = <T>(rows: readonly T[]): readonly T[] => rows.toReversed()

/** Trades of EVM chains and of all chains together: groups, candles, statistics. */
export const EVM_TRADES: DocumentedContent = {
  rows: [
    ['eth_dex_trades', ETH.map(swapRow)],
    ['bsc_dex_trades', BSC.map(swapRow)],
    ['polygon_dex_trades', [swapRow(POLYGON)]],
    ['eth_tokens', [{ token_address: 't', symbol: 'TT', name: 'Tt', decimals: 6, _ver: 1 }]],
    ['bsc_tokens', [{ token_address: 'T', symbol: 'TB', name: 'Tb', decimals: 6, _ver: 1 }]],
  ],
  answers: {
    Q03: {
      EVM: {
        DEXTrades: [205, 203, 202].map(bscTrade),
      },
    },
    // Curve has two trades of 7,000 USD: too few. Of 100 to 1,100 USD nine tenths are at most 1,000.
    Q06: {
      EVM: {
        DEXTrades: [
          {
            Trade: { Dex: { ProtocolName: 'Uniswap V3' } },
            n: 11,
            vol: 6_600,
            mean: 600,
            lo: 100,
            hi: 1_100,
            wallets: 2,
            p90: 1_000,
            per: 600,
          },
        ],
      },
    },
    Q10: {
      EVM: {
        DEXTradeByTokens: [
          {
            Block: { Bucket: '2026-03-01T00:00:00Z' },
            Trade: { o: 300, c: 600, h: 700, l: 100 },
            v: 2_800,
            count: 7,
          },
          {
            Block: { Bucket: '2026-03-01T00:15:00Z' },
            Trade: { o: 1_100, c: 1_000, h: 1_100, l: 800 },
            v: 3_800,
            count: 4,
          },
        ],
      },
    },
    // Of the minutes of T on Solana two moved more than 100 USD.
    Q33: {
      Trading: {
        Pairs: [
          {
            Token: { Address: 'T' },
            Market: { Network: 'sol' },
            Block: { Time: '2026-03-02T00:25:00Z' },
            Interval: { Time: '2026-03-02T00:25:00Z' },
            Price: { Ohlc: { Open: 200, High: 200, Low: 200, Close: 200 } },
            Volume: { Usd: 800, Native: 8 },
            Stats: { TradeCount: 1, BuyCount: 0, SellCount: 1 },
          },
          {
            Token: { Address: 'T' },
            Market: { Network: 'sol' },
            Block: { Time: '2026-04-01T06:00:00Z' },
            Interval: { Time: '2026-04-01T06:00:00Z' },
            Price: { Ohlc: { Open: 15, High: 15, Low: 12, Close: 12 } },
            Volume: { Usd: 162, Native: 1.62 },
            Stats: { TradeCount: 2, BuyCount: 2, SellCount: 0 },
          },
        ],
      },
    },
    Q34: {
      Trading: {
        Pairs: [
          {
            TimeMinute: '2026-04-01T06:00:00Z',
            Interval: { Time: { Start: '2026-04-01T06:00:00Z' } },
            Price: { Open: 15, High: 15, Low: 12, Close: 12 },
            VolumeUSD: 162,
          },
        ],
      },
    },
    // `top`: T has 162 on Solana and 80 on BSC, where the suspect trade counts; both legs of a swap have its value.
    Q35: {
      Trading: {
        Tokens: [
          tokenMinute('2026-04-01T10:01:00Z', [10, 10, 0, 1], [1, 1, 0, 1, 0]),
          tokenMinute('2026-04-01T10:00:00Z', [70, 50, 20, 7], [2, 1, 1, 1, 1]),
        ],
        top: [
          total('T', 242),
          total('Q', 162),
          total('U', 80),
          total(CHAINS.polygon.quotes[0].address, 40),
          total(CHAINS.polygon.wrappedNative, 40),
        ],
      },
    },
    Q36: {
      EVM: {
        Pairs: newestFirst(
          PRICES.map((Usd, index) => ({ Interval: { Time: MINUTES[index] }, Volume: { Usd } })),
        ),
      },
    },
    Q43: {
      Trading: {
        Currencies: [{ Currency: { Id: 'pol' }, Price: { Ohlc: { Close: 0.5 } } }],
        Trades: [
          crossChain('buy', 10, 'w2', 'bsc'),
          crossChain('sell', 10, 'w1', 'bsc'),
          crossChain('buy', 10, 'w1', 'bsc'),
          crossChain('buy', 12, 'W', 'sol'),
          crossChain('buy', 15, 'W2', 'sol'),
          crossChain('buy', null, 'W', 'sol'),
          ...Array.from({ length: 19 }, () => crossChain('buy', null, 'F', 'sol')),
        ],
      },
    },
    Q46: {
      DEXTrades: [{ Block: { Time: '2026-04-01T06:00:50Z' } }],
      OHLC: newestFirst(
        PRICES.map((price, index) => ({
          TimeMinute: MINUTES[index],
          Price: { OpenState: price, CloseState: price },
          VolumeUSDState: price,
          TradeCountState: 1,
        })),
      ),
      PoolLiquiditySnapshots: [
        ['P', 20_000.5, '2026-03-05T00:00:00Z'],
        ['P1', 15_000, '2026-03-04T00:00:00Z'],
        ['P2', 10_000, '2026-03-03T00:00:00Z'],
        ['PB2', 5, '2026-03-01T00:00:00Z'],
        ['PB', null, '2026-03-02T00:00:00Z'],
      ].map(([Address, LiquidityUSDState, LastSeenState]) => ({
        Pool: { Address },
        LiquidityUSDState,
        EventCountState: null,
        LastSeenState,
      })),
    },
  },
}
