import { type DocumentedContent, inBlock, inBlockOnly } from './content.ts'

const S6 = '2026-04-01T06:00:50Z'
const instruction = (place: object, other: object): object => ({
  ...place,
  depth: 1,
  program_address: 'P',
  program_name: 'Raydium',
  method: 'swap',
  tx_signer: 'W',
  ...other,
})
const order = (slot: number, type: string, other: object = {}): object => ({
  ...inBlock(slot, `2026-04-01T05:00:${slot}Z`, `o${slot}`),
  event_type: type,
  market_address: 'P',
  owner: 'W',
  program_address: 'book',
  protocol_name: 'Phoenix',
  ...other,
})
const orderRow = (slot: number, Type: string, order: object) => ({
  Block: { Time: `2026-04-01T05:00:${slot}Z`, Slot: slot },
  Transaction: { Signature: `o${slot}` },
  OrderEvent: {
    Type,
    Market: { Address: 'P' },
    Order: order,
    Dex: { ProgramAddress: 'book', ProtocolName: 'Phoenix' },
  },
})

/** What blocks of Solana hold: transactions, instructions, rewards, orders. */
export const SOLANA_BLOCKS: DocumentedContent = {
  rows: [
    [
      'sol_transactions',
      [
        { ...inBlock(30, S6, 's6'), tx_signer: 'W', fee_payer: 'W', tx_fee_native: '0.000005' },
        { ...inBlock(30, S6, 's9', [1, 0]), tx_signer: 'W2' },
        { ...inBlock(10, '2026-02-10T10:00:00Z', 's'), tx_signer: 'W' },
      ],
    ],
    [
      'sol_instructions_enriched',
      [
        instruction(inBlock(10, '2026-02-10T10:00:00Z', 's'), {
          internal_seq: 3,
          accounts: ['W', 'P'],
          data: '3Bxs',
          call_path: [0],
          logs: ['Program log: swap'],
        }),
        instruction(inBlock(28, '2026-04-01T06:00:30Z', 's5'), {
          program_name: null,
          method: null,
          tx_signer: 'W2',
        }),
        instruction(inBlock(30, S6, 's6'), { ix_index: 2 }),
        instruction(inBlock(30, S6, 's6', [0, 1]), {
          ix_index: 2,
          depth: 2,
          program_address: 'P9',
        }),
      ],
    ],
    [
      'sol_rewards',
      [
        {
          ...inBlockOnly(30, S6),
          address: 'W',
          amount: '5000',
          post_balance: '1500000000',
          reward_type: 'Fee',
        },
        {
          ...inBlockOnly(27, '2026-03-31T23:59:59Z'),
          address: 'V',
          amount: '-2000000000',
          reward_type: 'Voting',
          commission: 7,
        },
      ],
    ],
    [
      'sol_dex_orders',
      [
        order(20, 'OPEN', { order_id: '9', buy_side: 1, limit_price: 1.25, mint: 'T' }),
        order(21, 'CANCEL'),
        order(22, 'FILL'),
        order(23, 'OPEN', { owner: 'W2' }),
        order(24, 'OPEN', { market_address: 'P1' }),
      ],
    ],
  ],
  answers: {
    Q22: {
      Solana: {
        Transactions: [
          {
            Block: { Time: S6, Slot: 30, Height: 29, Hash: 'b30' },
            Transaction: {
              Signature: 's6',
              Fee: 0.000005,
              FeePayer: 'W',
              Signer: 'W',
              Result: { Success: true },
            },
            joinInstructions: {
              Instruction: { Program: { Id: 'P', Name: 'Raydium', Method: 'swap' } },
            },
            joinDEXTrades: { Trade: { Buy: { Amount: 1 } } },
            joinTransfers: { Transfer: { Amount: 1 } },
            joinRewards: { Reward: { Amount: 0.000005 } },
          },
        ],
      },
    },
    Q25: {
      Solana: {
        Instructions: [
          {
            Block: { Time: '2026-02-10T10:00:00Z', Slot: 10 },
            Transaction: { Signature: 's' },
            Instruction: {
              Index: 0,
              Depth: 1,
              InternalSeqNumber: 3,
              Program: { Address: 'P', Name: 'Raydium', Method: 'swap' },
              Accounts: ['W', 'P'],
              Data: '3Bxs',
              CallPath: [0],
              Logs: ['Program log: swap'],
            },
          },
        ],
        methods: [
          { Instruction: { Program: { Method: 'swap' } }, count: 2, uniq: 1 },
          { Instruction: { Program: { Method: null } }, count: 1, uniq: 1 },
        ],
      },
    },
    Q27: {
      Solana: {
        Rewards: [
          {
            Block: { Time: S6, Slot: 30 },
            Reward: {
              Address: 'W',
              Amount: 0.000005,
              AmountInUSD: null,
              PostBalance: 1.5,
              RewardType: 'Fee',
              Commission: null,
            },
          },
        ],
        byType: [
          { Reward: { RewardType: 'Fee' }, sum: 0.000005 },
          { Reward: { RewardType: 'Voting' }, sum: -2 },
        ],
      },
    },
    Q28: {
      Solana: {
        DEXOrders: [
          orderRow(21, 'cancel', {
            Id: null,
            BuySide: false,
            LimitPrice: null,
            Mint: null,
            Owner: 'W',
          }),
          orderRow(20, 'place', {
            Id: '9',
            BuySide: true,
            LimitPrice: 1.25,
            Mint: 'T',
            Owner: 'W',
          }),
        ],
      },
    },
  },
}
