/** Every documented query over a small content written by hand: the answers are worked out from it, not recorded. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CHAIN_STATE } from '../support/documented/chain-state.ts'
import { ASKED_AT_MS } from '../support/documented/content.ts'
import { EVM_BLOCKS } from '../support/documented/evm-blocks.ts'
import { EVM_TRADES } from '../support/documented/evm-trades.ts'
import { MOVEMENTS } from '../support/documented/movements.ts'
import { POOLS } from '../support/documented/pools.ts'
import { PREDICTIONS } from '../support/documented/predictions.ts'
import { DOCUMENTED_QUERIES, DOCUMENTED_VARIABLES } from '../support/documented/queries.ts'
import { SOLANA_BLOCKS } from '../support/documented/solana-blocks.ts'
import { SOLANA_TRADES } from '../support/documented/solana-trades.ts'
import { WALLETS } from '../support/documented/wallets.ts'
import { WHOLE } from '../support/documented/whole.ts'
import { startGraphql, type TestGraphql } from '../support/graphql-stack.ts'

const CONTENT = [
  ...[SOLANA_TRADES, EVM_TRADES, MOVEMENTS, POOLS],
  ...[CHAIN_STATE, SOLANA_BLOCKS, EVM_BLOCKS, WALLETS, PREDICTIONS, WHOLE],
]
const ANSWERS: Readonly<Record<string, object>> = Object.assign(
  {},
  ...CONTENT.map(({ answers }) => answers),
)

let api: TestGraphql
before(async () => {
  api = await startGraphql(['eth', 'bsc', 'polygon', 'sol'], ASKED_AT_MS)
  for (const { rows } of CONTENT)
    for (const [table, stored] of rows) await api.warehouse.insert(table, stored)
})
after(() => api.stop())

/** Fails where values differ by more than the last digits of a double. */
const assertEqualValues = (given: unknown, expected: unknown, what: string): void => {
  if (typeof given === 'number' && typeof expected === 'number') {
    const slack = Math.abs(expected) * 1e-12
    assert.ok(Math.abs(given - expected) <= slack, `${what}: ${given} is not ${expected}`)
    return
  }
  if (given === null || expected === null || typeof expected !== 'object') {
    assert.equal(given, expected, what)
    return
  }
  assert.equal(Array.isArray(given), Array.isArray(expected), what)
  assert.deepEqual(Object.keys(Object(given)).toSorted(), Object.keys(expected).toSorted(), what)
  for (const [key, value] of Object.entries(expected))
    assertEqualValues((given as Readonly<Record<string, unknown>>)[key], value, `${what}.${key}`)
}

test('every documented GraphQL query has an example answer', () => {
  assert.deepEqual(Object.keys(ANSWERS).toSorted(), Object.keys(DOCUMENTED_QUERIES).toSorted())
})

for (const [name, query] of Object.entries(DOCUMENTED_QUERIES)) {
  test(`documented query ${name}`, async () => {
    const { data, errors } = await api.ask(query, DOCUMENTED_VARIABLES[name], name)
    assert.equal(errors, undefined, JSON.stringify(errors))
    assertEqualValues(data, ANSWERS[name], name)
  })
}

test('GraphQL: base units are served beside amounts with every digit and are summed in wider buckets', async () => {
  const cases: readonly (readonly [group: string, cube: string, rows: readonly object[]])[] = [
    [
      'EVM(network: eth)',
      'Transactions(txHash: "0xe1") { Transaction { ValueRaw GasPriceRaw } Fee { BurntRaw PriorityFeePerGasRaw } Gas { PriceRaw } }',
      [
        {
          Transaction: { ValueRaw: '2000000000000000000', GasPriceRaw: '1000000000' },
          Fee: { BurntRaw: '10000000000000', PriorityFeePerGasRaw: null },
          Gas: { PriceRaw: '1000000000' },
        },
      ],
    ],
    [
      'EVM(network: eth)',
      'TransactionBalances { TokenBalance { ChangeRaw } }',
      [{ TokenBalance: { ChangeRaw: '-1500000' } }, { TokenBalance: { ChangeRaw: '1000000' } }],
    ],
    [
      'Solana',
      'BalanceUpdates(tokenAddress: "Q") { BalanceUpdate { Amount AmountRaw } }',
      [{ BalanceUpdate: { Amount: -0.5, AmountRaw: '-500000000' } }],
    ],
    [
      'EVM(network: eth)',
      'TokenHolders { Balance { Amount AmountRaw } }',
      [
        { Balance: { Amount: 7, AmountRaw: '7000000' } },
        { Balance: { Amount: 5, AmountRaw: '5000000' } },
      ],
    ],
    [
      'EVM(network: eth)',
      'MinerRewards(miner: "w") { Reward { TotalRewardRaw UncleRewardRaw } }',
      [{ Reward: { TotalRewardRaw: '3000000000000000000', UncleRewardRaw: '250000000000000000' } }],
    ],
    [
      'Solana',
      'Pairs(tokenAddress: "T", date: {since: "2026-03-02"}) { TimeMinute Volume { Base BaseRaw } }',
      [
        ['2026-04-01T06:00:00Z', 11],
        ['2026-03-02T00:25:00Z', 4],
        ['2026-03-02T00:20:00Z', 1],
      ].map(([TimeMinute, Base]) => ({ TimeMinute, Volume: { Base, BaseRaw: `${Base}000000` } })),
    ],
    [
      'Solana',
      'Pairs(tokenAddress: "T", date: {since: "2026-03-02"}) { Block { Time(interval: {in: months}) } Volume { Base BaseRaw } }',
      [
        ['2026-04-01T00:00:00Z', 11],
        ['2026-03-01T00:00:00Z', 5],
      ].map(([Time, Base]) => ({ Block: { Time }, Volume: { Base, BaseRaw: `${Base}000000` } })),
    ],
  ]
  for (const [group, cube, rows] of cases) {
    const { data, errors } = await api.ask(`{ g: ${group} { r: ${cube} } }`)
    assert.equal(errors, undefined, JSON.stringify(errors))
    assert.deepEqual(data, { g: { r: rows } }, cube)
  }
})
