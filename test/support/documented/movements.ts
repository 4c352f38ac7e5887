import { type DocumentedContent, inBlock } from './content.ts'

const at = (second: number): string => `2026-04-01T05:00:${second}Z`
const ofW = {
  token_address: 'T',
  decimals: 6,
  sender: 'W',
  receiver: 'W3',
  success: 1,
  tx_signer: 'W',
  price_usd: 2,
}
const sent = (slot: number, raw: string, usd: string | null, other: object = {}): object => ({
  ...inBlock(slot, at(slot), `x${slot}`),
  ...ofW,
  amount: raw,
  amount_usd: usd,
  ...other,
})
const polygonDay = (day: string): string => `2026-${day}T00:00:00Z`
const moved = (
  slot: number,
  day: string,
  sender: string,
  receiver: string,
  other: object = {},
) => ({
  ...inBlock(slot, polygonDay(day), `0xd${slot}`),
  token_address: 'g',
  decimals: 6,
  sender,
  receiver,
  success: 1,
  ...other,
})

const balance = (
  place: object,
  [token, decimals]: readonly [string, number],
  before: string,
  after: string,
  other: object = {},
): object => ({
  ...place,
  token_address: token,
  decimals,
  owner: 'W',
  pre_balance: before,
  post_balance: after,
  ...other,
})

const S6 = '2026-04-01T06:00:50Z'
const IN_E1 = inBlock(100, '2026-03-01T00:00:10Z', '0xe1')
const IN_E2 = inBlock(101, '2026-03-01T00:30:00Z', '0xe2')
const ofToken = { tx_signer: 'w', owner: 'w', lifecycle: 'EXISTING' }

const sentRow = (slot: number, account: string, amount: number, usd: number) => ({
  Block: { Time: at(slot), Slot: slot },
  Transaction: { Hash: `x${slot}`, Signature: `x${slot}`, Signer: 'W' },
  Transfer: {
    Currency: { MintAddress: 'T' },
    Sender: { Address: 'W', TokenAccount: account },
    Receiver: { Address: 'W3', TokenAccount: 'W3' },
    Amount: amount,
    AmountInUSD: usd,
    PriceInUSD: 2,
  },
})
const swapBeside = (protocol: string | null, postBalance: number) => ({
  Transfer: { Amount: 1 },
  joinDEXTrades: { Trade: { Dex: { ProtocolName: protocol } } },
  joinBalanceUpdates: { BalanceUpdate: { PostBalance: postBalance } },
})
const named = (symbol: string, name: string, token: string) => ({
  Symbol: symbol,
  Name: name,
  MintAddress: token,
})
const currency = { SmartContract: 't', Symbol: 'TT', Name: 'Tt', Decimals: 6 }

/** Transfers and balances, and what is joined to them. */
export const MOVEMENTS: DocumentedContent = {
  rows: [
    [
      'sol_transfers',
      [
        sent(20, '2000000', '4', { sender_token_account: 'wa' }),
        sent(21, '5000500000', '10001'),
        // Each of these misses one condition of Q14: seven tokens, the receiver, one token, another token, no value, the slot.
        sent(22, '7000000', '14'),
        sent(23, '3000000', '6', { receiver: 'W2' }),
        sent(24, '1000000', '2'),
        sent(25, '3000000', '6', { token_address: 'Q' }),
        sent(26, '2000000', null),
        {
          ...inBlock(10, '2026-02-10T10:00:00Z', 's'),
          ...ofW,
          sender_token_account: 'wa',
          amount: '3000000',
          amount_usd: '6',
        },
        {
          ...inBlock(30, S6, 's6', [0, 1]),
          ...ofW,
          tx_signer: 'W',
          ix_index: 2,
          sender: 'W2',
          receiver: 'W',
          amount: '1000000',
          amount_usd: '12',
          price_usd: 12,
        },
        { ...inBlock(31, S6, 's7'), ...ofW, amount: '9000000', amount_usd: '9', _del: 1 },
      ],
    ],
    [
      'polygon_transfers',
      [
        moved(1, '01-01', 'w', 'x', { amount: '8000000' }),
        moved(2, '01-10', 'w', 'x', { amount: '1500000' }),
        moved(3, '01-11', 'x', 'w', { amount: '4000000' }),
        moved(4, '01-12', 'x', 'y', { amount: '2000000' }),
        moved(5, '01-13', 'w', 'y', { amount: '1', token_address: 'h', decimals: 0 }),
        moved(6, '02-01', 'w', 'x', { amount: '8000000' }),
      ],
    ],
    ['polygon_tokens', [{ token_address: 'g', symbol: 'GG', name: 'Gold', decimals: 6, _ver: 1 }]],
    [
      'eth_transfers',
      [
        {
          ...IN_E1,
          token_address: 't',
          decimals: 6,
          amount: '1000000',
          sender: 'x',
          receiver: 'w',
          success: 1,
        },
      ],
    ],
    [
      'sol_balance_updates',
      [
        balance(inBlock(20, at(20), 'x20'), ['T', 6], '12000000', '10000000'),
        balance(inBlock(30, S6, 's6', [0, 1]), ['T', 6], '3000000', '4000000'),
        balance(inBlock(30, S6, 's6', [0, 2]), ['Q', 9], '1000000000', '500000000'),
      ],
    ],
    [
      'eth_balance_updates',
      [
        balance(IN_E1, ['t', 6], '1000000', '2000000', {
          ...ofToken,
          pre_balance_usd: '100',
          post_balance_usd: '250.5',
        }),
        balance(IN_E2, ['t', 6], '2000000', '500000', { ...ofToken, lifecycle: 'CLOSED' }),
      ],
    ],
  ],
  answers: {
    Q13: {
      EVM: {
        Transfers: [
          {
            Transfer: { Currency: { Symbol: null, Name: null, MintAddress: 'h' } },
            i: 0,
            o: 1,
            net: -1,
          },
          { Transfer: { Currency: named('GG', 'Gold', 'g') }, i: 4, o: 1.5, net: 2.5 },
        ],
      },
    },
    Q14: {
      Solana: { Transfers: [sentRow(21, 'W', 5_000.5, 10_001), sentRow(20, 'wa', 2, 4)] },
    },
    // One swap and two balances of the transaction stand beside its transfer: two rows, which is the limit.
    Q15: { Solana: { Transfers: [swapBeside('Raydium CPMM', 4), swapBeside(null, 0.5)] } },
    Q16: {
      Solana: {
        BalanceUpdates: [
          { BalanceUpdate: { Now: 4, Currency: named('Usd1', 'My usd Coin', 'T') } },
          { BalanceUpdate: { Now: 0.5, Currency: named('QQ', 'Quote', 'Q') } },
        ],
      },
    },
    Q17: {
      EVM: {
        BalanceUpdates: [
          {
            Block: { Time: '2026-03-01T00:30:00Z', Slot: 101 },
            Transaction: { Hash: '0xe2' },
            BalanceUpdate: {
              PreBalance: 2,
              PostBalance: 0.5,
              PreBalanceInUSD: null,
              PostBalanceInUSD: null,
              Account: { Address: 'w', Owner: 'w' },
              Currency: { Decimals: 6, SmartContract: 't' },
            },
            joinTransfers: { Transfer: { Amount: null } },
          },
          {
            Block: { Time: '2026-03-01T00:00:10Z', Slot: 100 },
            Transaction: { Hash: '0xe1' },
            BalanceUpdate: {
              PreBalance: 1,
              PostBalance: 2,
              PreBalanceInUSD: 100,
              PostBalanceInUSD: 250.5,
              Account: { Address: 'w', Owner: 'w' },
              Currency: { Decimals: 6, SmartContract: 't' },
            },
            joinTransfers: { Transfer: { Amount: 1 } },
          },
        ],
      },
    },
    Q24: {
      EVM: {
        TransactionBalances: [
          {
            Block: { Time: '2026-03-01T00:30:00Z', Number: 101 },
            Transaction: { Hash: '0xe2', Index: 0 },
            TokenBalance: {
              Address: 'w',
              TokenAccount: null,
              Currency: currency,
              PreBalance: 2,
              PostBalance: 0.5,
              Change: -1.5,
              PreBalanceInUSD: null,
              PostBalanceInUSD: null,
              ChangeInUSD: null,
              UpdateType: 'closed',
            },
          },
          {
            Block: { Time: '2026-03-01T00:00:10Z', Number: 100 },
            Transaction: { Hash: '0xe1', Index: 0 },
            TokenBalance: {
              Address: 'w',
              TokenAccount: null,
              Currency: currency,
              PreBalance: 1,
              PostBalance: 2,
              Change: 1,
              PreBalanceInUSD: 100,
              PostBalanceInUSD: 250.5,
              ChangeInUSD: 150.5,
              UpdateType: 'existing',
            },
          },
        ],
      },
    },
    // The one that W got by an instruction of P, and the one that it sent.
    Q26: {
      Solana: {
        InstructionBalanceUpdates: [
          {
            Block: { Time: S6, Slot: 30 },
            Transaction: { Signature: 's6' },
            Instruction: { Index: 2, Program: { Address: 'P' } },
            BalanceUpdate: {
              Currency: { MintAddress: 'T', Decimals: 6 },
              Account: { Address: 'W', Owner: 'W' },
              Amount: 1,
              AmountInUSD: 12,
              PreBalance: null,
              PostBalance: null,
            },
          },
          {
            Block: { Time: '2026-02-10T10:00:00Z', Slot: 10 },
            Transaction: { Signature: 's' },
            Instruction: { Index: 0, Program: { Address: 'P' } },
            BalanceUpdate: {
              Currency: { MintAddress: 'T', Decimals: 6 },
              Account: { Address: 'wa', Owner: 'W' },
              Amount: -3,
              AmountInUSD: -6,
              PreBalance: null,
              PostBalance: null,
            },
          },
        ],
      },
    },
    Q44: {
      Solana: {
        DEXTrades: [
          [S6, 1, 4, null],
          [S6, 1, 0.5, null],
          ['2026-04-01T06:00:30Z', 10, null, 77],
        ].map(([Time, Amount, PostBalance, LiquidityInUSD]) => ({
          __typename: 'DEXTradesRecord',
          Block: { Time },
          Trade: { Buy: { Amount } },
          joinBalanceUpdates: { BalanceUpdate: { PostBalance } },
          joinDEXPoolEvents: { Pool: { LiquidityInUSD } },
        })),
      },
    },
  },
}
