import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startGraphql, type TestGraphql } from '../support/graphql-stack.ts'

const NOW_MS = Date.UTC(2026, 2, 2)
const MINT = 'So1anaTokenMint11111111111111111111111111111'
type Row = Readonly<Record<string, unknown>>

let api: TestGraphql

const place = (slot: number, index: number): Row => ({
  block_time: new Date(NOW_MS - 60_000 + slot * 1_000).toISOString(),
  block_slot: slot,
  block_height: slot,
  block_hash: `h${slot}`,
  tx_hash: `t${slot}`,
  tx_index: 0,
  event_index: index,
  _ver: 1,
})

before(async () => {
  api = await startGraphql(['eth', 'sol'], NOW_MS)
  const { warehouse } = api
  const trade = { buy_token: MINT, buy_decimals: 6, buy_amount: '1', pool_address: 'P' }
  await warehouse.insert('sol_dex_trades', [
    { ...place(10, 0), ...trade },
    { ...place(11, 0), ...trade },
    { ...place(12, 5), ...trade, is_suspect: 1 },
  ])
  const moved = { token_address: MINT, decimals: 6, success: 1 }
  await warehouse.insert('sol_transfers', [
    { ...place(10, 2), ...moved, amount: '2000000', sender: 'A', receiver: 'B' },
    { ...place(10, 1), ...moved, amount: '1000000', sender: 'B', receiver: '' },
    { ...place(12, 1), ...moved, amount: '7', decimals: null, sender: 'A', receiver: 'B' },
  ])
  await warehouse.insert('sol_balance_updates', [
    { ...place(10, 0), token_address: MINT, decimals: 6, owner: 'A', post_balance: '5000000' },
  ])
  await warehouse.insert('sol_transactions', [place(10, 0), place(11, 0)])
  await warehouse.insert('sol_instructions_enriched', [
    {
      ...place(10, 0),
      program_address: 'prog',
      accounts: ['x', '"]"', 'y\\'],
      call_path: [0, 3],
      depth: 1,
    },
    { ...place(10, 1), program_address: 'prog', accounts: [], call_path: [0], depth: 2 },
  ])
  const reward = { address: 'V', amount: '-1500000000', post_balance: '9' }
  const { tx_hash: _, tx_index: __, ...block } = place(11, 0)
  await warehouse.insert('sol_rewards', [{ ...block, ...reward }])
  await warehouse.insert('eth_dex_pool_events_enriched', [
    {
      ...place(20, 0),
      event_type: 'SWAP',
      pool_address: '0xp',
      protocol_family: 'uniswap_v2',
      base_token: '0xb',
      base_decimals: 6,
      base_post: '1000000000',
      quote_token: '0xq',
      quote_decimals: 6,
      quote_post: '2000000000',
    },
  ])
})
after(() => api.stop())

const rows = async (cube: string, root = 'Solana'): Promise<readonly Row[]> => {
  const { data, errors } = await api.ask(`{ g: ${root} { r: ${cube} } }`)
  assert.equal(errors, undefined, JSON.stringify(errors))
  return (data?.g as { readonly r: readonly Row[] } | undefined)?.r ?? []
}

test('GraphQL joins repeat a row per match in chain order, with nulls where nothing matches', async () => {
  const asked =
    'Block { Slot } joinTransfers { Transfer { Amount Sender { Address } } } b: joinBalanceUpdates { BalanceUpdate { PostBalance } }'
  const expected = [
    {
      Block: { Slot: 11 },
      joinTransfers: { Transfer: { Amount: null, Sender: { Address: null } } },
      b: { BalanceUpdate: { PostBalance: null } },
    },
    {
      Block: { Slot: 10 },
      joinTransfers: { Transfer: { Amount: 1, Sender: { Address: 'B' } } },
      b: { BalanceUpdate: { PostBalance: 5 } },
    },
    {
      Block: { Slot: 10 },
      joinTransfers: { Transfer: { Amount: 2, Sender: { Address: 'A' } } },
      b: { BalanceUpdate: { PostBalance: null } },
    },
  ]
  assert.deepEqual(await rows(`DEXTrades { ${asked} }`), expected)
  for (const [count, offset] of [
    [1, 1],
    [2, 1],
    [2, 0],
  ] as const)
    assert.deepEqual(
      await rows(`DEXTrades(limit: {count: ${count}, offset: ${offset}}) { ${asked} }`),
      expected.slice(offset, offset + count),
    )
  const up = await rows(
    `DEXTrades(orderBy: {ascending: Block_Slot}) { Block { Slot } joinTransfers { Transfer { Amount } } }`,
  )
  assert.deepEqual(
    up.map(({ Block, joinTransfers }) => [Block, joinTransfers]),
    [
      [{ Slot: 10 }, { Transfer: { Amount: 1 } }],
      [{ Slot: 10 }, { Transfer: { Amount: 2 } }],
      [{ Slot: 11 }, { Transfer: { Amount: null } }],
    ],
  )
})

test('joined trades include suspect ones, because a join takes no filter', async () => {
  const found = await rows(
    'Transfers(where: {Block: {Slot: {eq: 12}}}) { Transfer { Amount } joinDEXTrades { IsSuspect Trade { Buy { Amount Currency { MintAddress } } } } }',
  )
  assert.deepEqual(found, [
    {
      Transfer: { Amount: null },
      joinDEXTrades: {
        IsSuspect: true,
        Trade: { Buy: { Amount: 0.000001, Currency: { MintAddress: MINT } } },
      },
    },
  ])
})

test('lists are printed as they are, in a join too; rewards join by block', async () => {
  const asked = 'Instruction { Accounts CallPath Program { Id } }'
  const full = { Accounts: ['x', '"]"', 'y\\'], CallPath: [0, 3], Program: { Id: 'prog' } }
  const bare = { Accounts: [], CallPath: [0], Program: { Id: 'prog' } }
  assert.deepEqual(await rows(`Instructions(programId: "prog") { ${asked} }`), [
    { Instruction: bare },
    { Instruction: full },
  ])
  assert.deepEqual(
    await rows(`Transactions { joinInstructions { ${asked} } joinRewards { Reward { Amount } } }`),
    [
      {
        joinInstructions: {
          Instruction: { Accounts: null, CallPath: null, Program: { Id: null } },
        },
        joinRewards: { Reward: { Amount: -1.5 } },
      },
      { joinInstructions: { Instruction: full }, joinRewards: { Reward: { Amount: null } } },
      { joinInstructions: { Instruction: bare }, joinRewards: { Reward: { Amount: null } } },
    ],
  )
})

test('each joined cube is an entry of the credits with its own base', async () => {
  const { extensions } = await api.ask(
    '{ Solana { DEXTrades { Block { Time } joinTransfers { Transfer { Amount } } } } }',
  )
  assert.deepEqual(extensions?.credits, {
    total: 26.19,
    unit: 'CU',
    cubes: [
      { cube: 'DEXTrades', credits: 20.16, row_count: 3 },
      { cube: 'Transfers', credits: 6.03, row_count: 3 },
    ],
  })
})

test('a movement changes two balances of its instruction, a mint or burn one', async () => {
  const found = await rows(
    'InstructionBalanceUpdates(where: {Block: {Slot: {eq: 10}}}, orderBy: {ascending: Block_Time}) { Instruction { Program { Id } } BalanceUpdate { Amount AmountRaw Account { Owner } } }',
  )
  assert.deepEqual(
    found.map(({ BalanceUpdate }) => BalanceUpdate),
    [
      { Amount: -1, AmountRaw: '-1000000', Account: { Owner: 'B' } },
      { Amount: -2, AmountRaw: '-2000000', Account: { Owner: 'A' } },
      { Amount: 2, AmountRaw: '2000000', Account: { Owner: 'B' } },
    ],
  )
  assert.deepEqual(found[0]?.Instruction, { Program: { Id: 'prog' } })
})

test('slippage: the swap at a level moves the price by it, and gets what the product leaves', async () => {
  const found = await rows(
    'DEXPoolSlippages(where: {Price: {SlippageBasisPoints: {eq: 100}}}) { Price { AtoB SlippageBasisPoints o: AtoB { Price MinAmountOut MaxAmountIn } } }',
    'EVM(network: eth)',
  )
  assert.equal(found.length, 1)
  const { AtoB, o } = (found[0]?.Price ?? {}) as {
    readonly AtoB: number
    readonly o: Readonly<Record<string, number>>
  }
  assert.equal(AtoB, 2)
  const [given = 0, got = 0] = [o.MaxAmountIn, o.MinAmountOut]
  const paid = given * (1 - 0.003)
  assert.ok(Math.abs((1_000 + paid) * (2_000 - got) - 2_000_000) < 1e-6, 'the product is kept')
  assert.ok(Math.abs((o.Price ?? 0) - got / given) < 1e-12)
  assert.ok(Math.abs(got / paid / 2 - 0.99) < 1e-12, 'one percent below the price')
})

test('fields of a shared cube that only other chains have are null', async () => {
  await api.warehouse.insert('sol_blocks', [
    { block_time: place(30, 0).block_time, block_slot: 30, parent_slot: 28, _ver: 1 },
  ])
  const asked = 'Blocks { Block { ParentSlot GasUsed Coinbase BaseFee BaseFeeRaw Number } }'
  assert.deepEqual(await rows(asked), [
    {
      Block: {
        ParentSlot: 28,
        GasUsed: null,
        Coinbase: null,
        BaseFee: null,
        BaseFeeRaw: null,
        Number: 30,
      },
    },
  ])
})
