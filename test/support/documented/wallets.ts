import type { DocumentedContent } from './content.ts'

const NOT_OLD = '2026-03-01T00:00:00Z'
const HOLDERS = 22
const seen = { first_seen: '2026-01-05T00:00:00Z', last_seen: NOT_OLD, decimals: 6, _ver: 1 }
const holderOf = (index: number) => ({
  Token: { Address: 'T' },
  Holder: { Address: `H${index}` },
  LatestBalance: index,
  LatestBalanceUSD: index * 2,
  FirstSeen: '2026-01-05T00:00:00Z',
  LastSeen: NOT_OLD,
})
const position = (wallet: string, token: string, other: object): object => ({
  wallet,
  token_address: token,
  first_time: '2026-01-05T00:00:00Z',
  last_time: NOT_OLD,
  _ver: 1,
  ...other,
})
const profitOf = (Address: string, bought: number, sold: number, buys: number, sells: number) => ({
  Wallet: { Address: 'W' },
  Token: { Address },
  BuyVolumeUSDState: bought,
  SellVolumeUSDState: sold,
  BuyCountState: buys,
  SellCountState: sells,
  FirstTradeState: '2026-01-05T00:00:00Z',
  LastTradeState: NOT_OLD,
})

/** Holders, and what wallets made. */
export const WALLETS: DocumentedContent = {
  rows: [
    [
      'sol_token_holders',
      [
        // H1 holds one token, H2 two and so on; one was last seen long ago, one holds nothing any more.
        ...Array.from({ length: HOLDERS }, (_, index) => ({
          ...seen,
          token_address: 'T',
          holder: `H${index + 1}`,
          balance: `${index + 1}000000`,
        })),
        {
          ...seen,
          token_address: 'T',
          holder: 'old',
          balance: '100000000',
          last_seen: '2026-01-01T00:00:00Z',
        },
        { ...seen, token_address: 'T', holder: 'none', balance: '0' },
        { ...seen, token_address: 'Q', holder: 'H1', balance: '7' },
      ],
    ],
    ['sol_token_prices', [{ token_address: 'T', price_time: NOT_OLD, price_usd: 2, _ver: 1 }]],
    [
      'eth_token_holders',
      [
        { ...seen, token_address: 't', holder: 'w', balance: '5000000' },
        { ...seen, token_address: 't', holder: 'x', balance: '7000000' },
      ],
    ],
    [
      'sol_wallet_token_pnl',
      [
        position('W', 'T', { buys: 3, sells: 1, buy_amount_usd: '10', sell_amount_usd: '4' }),
        position('W', 'Q', { buys: 1, sells: 2, buy_amount_usd: '30.5', sell_amount_usd: '0' }),
        position('W2', 'T', { buys: 9, buy_amount_usd: '99' }),
      ],
    ],
    ['bsc_wallet_token_pnl', [position('w', 't', {}), position('w', 'u', {})]],
  ],
  answers: {
    // The largest twenty are the page before.
    Q38: {
      Solana: { TokenHolders: [holderOf(2), holderOf(1)], n: [{ count: HOLDERS + 1 }] },
      EVM: {
        TokenHolders: [
          ['x', 7],
          ['w', 5],
        ].map(([Address, Amount]) => ({
          Holder: { Address },
          Balance: { Amount, AmountInUSD: null },
          BalanceUpdate: {
            FirstDate: '2026-01-05T00:00:00Z',
            LastDate: NOT_OLD,
            InCount: null,
            OutCount: null,
          },
        })),
      },
    },
    Q39: {
      Solana: { WalletTokenPnL: [profitOf('Q', 30.5, 0, 1, 2), profitOf('T', 10, 4, 3, 1)] },
    },
  },
}
