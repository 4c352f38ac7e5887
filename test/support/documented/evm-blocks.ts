import { type DocumentedContent, inBlock, inBlockOnly } from './content.ts'

const E1 = '2026-03-01T00:00:10Z'
const log = (place: ReturnType<typeof inBlockOnly>, tx: string, other: object): object => ({
  ...place,
  tx_hash: tx,
  tx_from: 'w',
  contract: 'p',
  ...other,
})
const uncle = (place: object, other: object): object => ({
  ...place,
  uncle_index: 1,
  uncle_hash: '0xc1',
  uncle_parent_hash: '0xc0',
  miner: 'w',
  difficulty: '5000',
  uncle_number: 99,
  gas_limit: 30_000_000,
  gas_used: 7,
  uncle_time: '2026-02-28T23:59:50Z',
  ...other,
})
const NEW_YEAR = '2026-01-01T00:00:00Z'
const AFTER = '2026-01-01T00:00:01Z'
const ethTransaction = {
  Block: { Time: E1, Number: 100, Hash: 'b100' },
  Transaction: {
    Hash: '0xe1',
    From: 'w',
    To: 'w2',
    Value: 2,
    ValueInUSD: 4_000,
    Gas: 50_000,
    GasPrice: 1e-9,
    Nonce: 7,
    Type: 2,
  },
  Fee: { SenderFee: 0.000021, Burnt: 0.00001 },
  Receipt: { Status: 1, GasUsed: 21_000 },
}

/** What blocks of EVM chains hold: transactions, logs, calls, rewards, uncles. */
export const EVM_BLOCKS: DocumentedContent = {
  rows: [
    [
      'eth_transactions',
      [
        {
          ...inBlock(100, E1, '0xe1'),
          tx_signer: 'w',
          to_address: 'w2',
          tx_fee_native: '0.000021',
          value: '2000000000000000000',
          gas_limit: 50_000,
          gas_used: 21_000,
          gas_price: '1000000000',
          burnt: '10000000000000',
          nonce: 7,
          tx_type: 2,
        },
        { ...inBlock(101, E1, '0xe2'), tx_signer: 'w', to_address: 'x' },
      ],
    ],
    ['bsc_transactions', [inBlock(1, NEW_YEAR, '0x1'), inBlock(2, '2025-12-31T23:59:59Z', '0x0')]],
    [
      'eth_logs_enriched',
      [
        log(inBlockOnly(100, E1, 0), '0xe1', {
          log_index: 4,
          topic0: '0xdd',
          topics: ['0xdd', '0xee'],
          data: '0x01',
          sig_name: 'Transfer',
        }),
        log(inBlockOnly(100, E1, 1), '0xe1', { log_index: 5, contract: 'p2', data: '0x' }),
      ],
    ],
    [
      'bsc_logs_enriched',
      [
        log(inBlockOnly(2, AFTER), '0x1', {
          tx_to: 'p',
          log_index: 3,
          topic0: '0xab',
          topics: ['0xab', '0xcd'],
          data: '0x02',
          sig_name: 'Sync',
          signature: 'Sync(uint112,uint112)',
        }),
        log(inBlockOnly(2, AFTER, 1), '0x', { log_index: 4, topic0: '0xab', sig_name: 'Sync' }),
        log(inBlockOnly(1, NEW_YEAR), '0x2', { topic0: '0xab' }),
      ],
    ],
    [
      'eth_traces_enriched',
      [
        {
          ...inBlock(100, E1, '0xe1'),
          call_index: 1,
          depth: 1,
          from_address: 'w2',
          to_address: 'p',
          opcode: 'CALL',
          gas: 9_000,
          gas_used: 800,
          input: '0xa9059cbb00',
          output: '0x',
          value: '500000000000000000',
          sig_name: 'transfer',
          signature: 'transfer(address,uint256)',
        },
        // Of the transaction itself, and without coins.
        { ...inBlock(101, E1, '0xe2'), to_address: 'p', opcode: 'CALL', value: '1' },
        { ...inBlock(101, E1, '0xe2'), call_index: 1, depth: 1, to_address: 'p', opcode: 'CALL' },
      ],
    ],
    ['bsc_traces_enriched', [inBlock(2, AFTER, '0x1'), inBlock(1, NEW_YEAR, '0x1')]],
    [
      'eth_miner_rewards',
      [
        {
          ...inBlockOnly(100, E1),
          miner: 'w',
          total_reward: '3000000000000000000',
          static_reward: '2000000000000000000',
          dynamic_reward: '750000000000000000',
          tx_fees: '900000000000000000',
          burnt_fees: '150000000000000000',
          uncle_reward: '250000000000000000',
        },
        { ...inBlockOnly(100, E1, 1), miner: 'm', total_reward: '1' },
      ],
    ],
    [
      'bsc_miner_rewards',
      [
        { ...inBlockOnly(1, '2025-12-31T23:59:59Z'), miner: 'w' },
        { ...inBlockOnly(2, NEW_YEAR), miner: 'w' },
      ],
    ],
    [
      'eth_uncles',
      [
        uncle(inBlockOnly(100, E1), {}),
        uncle(inBlockOnly(100, E1, 1), { uncle_index: 0, miner: 'm' }),
      ],
    ],
    ['bsc_uncles', [uncle(inBlockOnly(1, NEW_YEAR), {}), uncle(inBlockOnly(2, AFTER), {})]],
    ['bsc_transfers', [inBlock(1, NEW_YEAR, '0x1'), inBlock(3, '2025-12-31T23:59:59Z', '0x0')]],
    ['bsc_balance_updates', [inBlock(1, NEW_YEAR, '0x1')]],
  ],
  answers: {
    Q23: {
      EVM: {
        Transactions: [
          {
            ...ethTransaction,
            joinEvents: {
              Log: {
                Address: 'p',
                EventName: 'Transfer',
                Topics: { Topic0: '0xdd', Topic1: '0xee' },
                Data: '0x01',
              },
            },
            joinCalls: {
              Call: {
                CallType: 'CALL',
                FromAddress: 'w2',
                ToAddress: 'p',
                ValueInNative: 0.5,
                GasUsed: 800,
              },
            },
          },
          {
            ...ethTransaction,
            joinEvents: {
              Log: {
                Address: 'p2',
                EventName: null,
                Topics: { Topic0: null, Topic1: null },
                Data: '0x',
              },
            },
            joinCalls: {
              Call: {
                CallType: null,
                FromAddress: null,
                ToAddress: null,
                ValueInNative: null,
                GasUsed: null,
              },
            },
          },
        ],
      },
    },
    Q29: {
      EVM: {
        Events: [
          {
            Block: { Time: AFTER, Number: 2 },
            Transaction: { Hash: '0x1', From: 'w', To: 'p' },
            Log: {
              SmartContract: 'p',
              Index: 3,
              Signature: { Name: 'Sync', Signature: 'Sync(uint112,uint112)' },
              Topics: ['0xab', '0xcd'],
              Data: '0x02',
            },
          },
          {
            Block: { Time: NEW_YEAR, Number: 1 },
            Transaction: { Hash: '0x2', From: 'w', To: null },
            Log: {
              SmartContract: 'p',
              Index: 0,
              Signature: { Name: null, Signature: null },
              Topics: [],
              Data: '',
            },
          },
        ],
        names: [
          { Log: { Signature: { Name: 'Sync' } }, count: 2 },
          { Log: { Signature: { Name: null } }, count: 1 },
        ],
      },
    },
    Q30: {
      EVM: {
        Calls: [
          {
            Block: { Time: E1, Number: 100 },
            Transaction: { Hash: '0xe1' },
            Call: {
              Index: 1,
              Depth: 1,
              From: 'w2',
              To: 'p',
              Opcode: 'CALL',
              Gas: 9_000,
              GasUsed: 800,
              Input: '0xa9059cbb00',
              Output: '0x',
              Value: 0.5,
              Signature: { Name: 'transfer', Signature: 'transfer(address,uint256)' },
            },
          },
        ],
      },
    },
    Q31: {
      EVM: {
        MinerRewards: [
          {
            Block: { Time: E1, Number: 100, Hash: 'b100' },
            Reward: {
              Miner: 'w',
              TotalReward: 3,
              TotalRewardInUSD: 6_000,
              StaticReward: 2,
              DynamicReward: 0.75,
              TxFees: 0.9,
              BurntFees: 0.15,
              UncleReward: 0.25,
            },
          },
        ],
        Uncles: [
          {
            Block: { Time: E1, Number: 100 },
            Uncle: {
              Index: 1,
              Hash: '0xc1',
              ParentHash: '0xc0',
              Miner: 'w',
              Difficulty: 5_000,
              Number: 99,
              GasLimit: 30_000_000,
              GasUsed: 7,
              Timestamp: '2026-02-28T23:59:50Z',
            },
          },
        ],
      },
    },
  },
}
