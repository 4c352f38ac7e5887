import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CHAINS } from '../../schemas/chains.ts'
import { buildTrades, storeTrades } from '../support/builders/stored-trades.ts'
import { startGraphql, type TestGraphql } from '../support/graphql-stack.ts'

const NOW_MS = Date.UTC(2026, 2, 2)
const TOKEN = 'So1anaTokenMint11111111111111111111111111111'
const OTHER = 'So1anaTokenMint22222222222222222222222222222'
const at = (ms: number): string => new Date(ms).toISOString()
/** Balances of six places before and after, and the change in token units and in base units. */
const EXACT_CHANGES = [
  ['100000', '400000', '0.3', '300000'],
  ['400000', '100000', '-0.3', '-300000'],
  ['123456789012345678901', '123456789012345678900', '-0.000001', '-1'],
  ['0', '123456789012345678901', '123456789012345.678901', '123456789012345678901'],
] as const
type Row = Readonly<Record<string, unknown>>

let api: TestGraphql

const place = (slot: number, index: number): object => ({
  block_time: at(NOW_MS - 60_000 + slot * 1_000),
  block_slot: slot,
  block_height: slot - 5,
  block_hash: `h${slot}`,
  tx_hash: `t${slot}`,
  tx_index: index,
  event_index: index,
  _ver: 1,
})

before(async () => {
  api = await startGraphql(['eth', 'sol'], NOW_MS)
  const { warehouse } = api
  await warehouse.insert('sol_tokens', [
    { token_address: TOKEN, symbol: 'FROG', name: 'Frog', decimals: 6, _ver: 1 },
  ])
  await warehouse.insert('sol_token_prices', [
    { token_address: TOKEN, price_time: at(NOW_MS), price_usd: 0.5, _ver: 1 },
  ])
  const moved = { token_address: TOKEN, decimals: 6, sender: 'A', receiver: 'B', success: 1 }
  await warehouse.insert('sol_transfers', [
    {
      ...place(10, 0),
      ...moved,
      sender_token_account: 'a1',
      amount: '1500000',
      amount_usd: '0.75',
      price_usd: 0.5,
    },
    { ...place(11, 0), ...moved, token_address: OTHER, decimals: null, amount: '7' },
    { ...place(12, 0), ...moved, amount: '1', _del: 1 },
  ])
  const balance = { token_address: TOKEN, decimals: 6, owner: 'A', token_account: 'a1' }
  await warehouse.insert('sol_balance_updates', [
    { ...place(10, 0), ...balance, pre_balance: '5000000', post_balance: '3500000' },
    {
      ...place(11, 0),
      ...balance,
      pre_balance: '3500000',
      post_balance: '4000000',
      pre_balance_usd: '1',
      post_balance_usd: '1.5',
    },
    ...EXACT_CHANGES.map(([pre_balance, post_balance], index) => ({
      ...place(20 + index, 0),
      ...balance,
      owner: 'E',
      pre_balance,
      post_balance,
    })),
  ])
  const seen = {
    first_seen: at(NOW_MS - 9_000),
    last_seen: at(NOW_MS - 5_000),
    decimals: 6,
    _ver: 1,
  }
  await warehouse.insert('sol_token_holders', [
    { token_address: TOKEN, holder: 'A', balance: '4000000', ...seen },
    { token_address: TOKEN, holder: 'B', balance: '9000000', ...seen },
    { token_address: TOKEN, holder: 'C', balance: '0', ...seen },
    { token_address: OTHER, holder: 'A', balance: '3', ...seen },
  ])
  await warehouse.insert('sol_wallet_token_pnl', [
    {
      wallet: 'A',
      token_address: TOKEN,
      buys: 3,
      sells: 1,
      buy_amount_usd: '10',
      sell_amount_usd: '4',
      total_realized_usd: '1.25',
      position_amount: '8',
      position_cost_usd: '3',
      _ver: 1,
      first_time: at(NOW_MS - 8_000),
      last_time: at(NOW_MS - 1_000),
    },
  ])
  const pool = {
    token_a: TOKEN,
    token_b: OTHER,
    decimals_a: 6,
    decimals_b: 9,
    protocol_name: 'Pump.fun',
    _ver: 1,
  }
  await warehouse.insert('sol_dex_pools', [
    {
      pool_address: 'P1',
      ...pool,
      reserve_a: '2000000',
      reserve_b: '3000000000',
      liquidity_usd: '12',
      price_a_to_b: 1.5,
      price_b_to_a: 0.6,
      curve_progress: 0.25,
      last_updated: at(NOW_MS),
    },
    { pool_address: 'P2', ...pool, liquidity_usd: null, last_updated: at(NOW_MS - 1) },
  ])
  await storeTrades(warehouse, 'eth', buildTrades(200, NOW_MS - 3_600_000))
})
after(() => api.stop())

const rows = async (cube: string, root = 'Solana'): Promise<readonly Row[]> => {
  const { data, errors } = await api.ask(`{ g: ${root} { r: ${cube} } }`)
  assert.equal(errors, undefined, JSON.stringify(errors))
  const group = data?.g as { readonly r: readonly Row[] } | undefined
  return group?.r ?? []
}

test('transfers name wallets and token accounts, and what was undone is gone', async () => {
  assert.deepEqual(
    await rows(`Transfers(tokenAddress: {is: "${TOKEN}"}) { Block { Slot Height } Transfer {
      Amount AmountRaw AmountInUSD PriceInUSD Currency { Symbol Decimals } Sender { Address TokenAccount } Receiver { Address TokenAccount } } }`),
    [
      {
        Block: { Slot: 10, Height: 5 },
        Transfer: {
          Amount: 1.5,
          AmountRaw: '1500000',
          AmountInUSD: 0.75,
          PriceInUSD: 0.5,
          Currency: { Symbol: 'FROG', Decimals: 6 },
          Sender: { Address: 'A', TokenAccount: 'a1' },
          Receiver: { Address: 'B', TokenAccount: 'B' },
        },
      },
    ],
  )
  const [unknown] = await rows(
    'Transfers(walletAddress: {is: "B"}, limit: {count: 1}) { Transfer { Amount AmountRaw } }',
  )
  assert.deepEqual(unknown, { Transfer: { Amount: null, AmountRaw: '7' } })
})

test('the native token has the name of its chain, and what the chain itself names keeps its name', async () => {
  const { nativeAddress, nativeName, nativeSymbol } = CHAINS.sol
  await api.warehouse.insert('sol_transfers', [
    { ...place(30, 0), token_address: nativeAddress, decimals: 9, sender: 'N', amount: '5' },
    { ...place(31, 0), token_address: TOKEN, decimals: 6, sender: 'N', amount: '5' },
    { ...place(32, 0), token_address: OTHER, decimals: 6, sender: 'N', amount: '5' },
  ])
  const named = '{ Transfer { Currency { Symbol Name } } }'
  const currencies = (found: readonly Row[]) =>
    found.map(({ Transfer }) => (Transfer as { readonly Currency: unknown }).Currency)
  assert.deepEqual(
    currencies(
      await rows(`Transfers(senderAddress: "N", orderBy: {ascending: Block_Time}) ${named}`),
    ),
    [
      { Symbol: nativeSymbol, Name: nativeName },
      { Symbol: 'FROG', Name: 'Frog' },
      { Symbol: null, Name: null },
    ],
  )
  assert.deepEqual(
    await rows(
      `Transfers(senderAddress: "N", where: {Transfer: {Currency: {Symbol: "${nativeSymbol}"}}}) { count }`,
    ),
    [{ count: 1 }],
  )
})

test('the balance after a change is the balance before the next', async () => {
  const found = await rows(
    'BalanceUpdates(ownerAddress: {is: "A"}, orderBy: {ascending: Block_Time}) { BalanceUpdate { PreBalance PostBalance Amount AmountInUSD Account { Address Owner } } }',
  )
  assert.deepEqual(found, [
    {
      BalanceUpdate: {
        PreBalance: 5,
        PostBalance: 3.5,
        Amount: -1.5,
        AmountInUSD: null,
        Account: { Address: 'a1', Owner: 'A' },
      },
    },
    {
      BalanceUpdate: {
        PreBalance: 3.5,
        PostBalance: 4,
        Amount: 0.5,
        AmountInUSD: 0.5,
        Account: { Address: 'a1', Owner: 'A' },
      },
    },
  ])
  const [latest] = await rows(
    'BalanceUpdates(ownerAddress: {is: "A"}) { BalanceUpdate { Now: PostBalance(maximum: Block_Slot) Currency { MintAddress } } }',
  )
  assert.deepEqual(latest, { BalanceUpdate: { Now: 4, Currency: { MintAddress: TOKEN } } })
})

test('a change of a balance is the difference of base units, in every cube that tells it', async () => {
  const moved = EXACT_CHANGES.map(([, , change, raw], index) => ({
    ...place(20 + index, 0),
    token_address: TOKEN,
    decimals: 6,
    success: 1,
    amount: raw.replace('-', ''),
    ...(change.startsWith('-') ? { sender: 'E' } : { receiver: 'E' }),
  }))
  await api.warehouse.insert('sol_transfers', moved)
  for (const [cube, field] of [
    ['BalanceUpdates(ownerAddress: {is: "E"}', 'BalanceUpdate.Amount'],
    ['TransactionBalances(address: "E"', 'TokenBalance.Change'],
    ['InstructionBalanceUpdates(ownerAddress: {is: "E"}', 'BalanceUpdate.Amount'],
  ] as const) {
    const [group, name] = field.split('.')
    const ask = async (more: string): Promise<readonly (readonly (string | undefined)[])[]> => {
      const query = `{ Solana { ${cube}, orderBy: {ascending: Block_Time}${more}) { ${group} { change: ${name} raw: ${name}Raw } } } }`
      const response = await api.send({ method: 'POST', body: JSON.stringify({ query }) })
      const text = await response.text()
      return [...text.matchAll(/"change":([^,]+),"raw":"([^"]+)"/g)].map(([, ...found]) => found)
    }
    const changes = EXACT_CHANGES.map(([, , change, raw]) => [change, raw])
    assert.deepEqual(await ask(''), changes, cube)
    for (const [change, raw] of changes) {
      const found = await ask(`, where: {${group}: {${name}: {eq: ${change}}}}`)
      assert.deepEqual(found, [[change, raw]], `${cube} ${change}`)
    }
    const [total] = await rows(
      `${cube}, where: {${group}: {${name}: {lt: 1}}}) { sum(of: ${group}_${name}) }`,
    )
    assert.deepEqual(total, { sum: -0.000001 }, cube)
  }
})

test('token holders are listed largest first; an empty wallet is left out, and an unknown price is null', async () => {
  const found = await rows(
    'TokenHolders { Token { Address } Holder { Address } LatestBalance LatestBalanceUSD Balance { Amount } n: Balance }',
  )
  assert.deepEqual(
    found.map(({ Token, Holder, LatestBalance, LatestBalanceUSD, n }) => [
      Token,
      Holder,
      LatestBalance,
      LatestBalanceUSD,
      n,
    ]),
    [
      [{ Address: TOKEN }, { Address: 'B' }, 9, 4.5, 9],
      [{ Address: TOKEN }, { Address: 'A' }, 4, 2, 4],
      [{ Address: OTHER }, { Address: 'A' }, 0.000003, null, 0.000003],
    ],
  )
  assert.deepEqual(await rows(`TokenHolders(tokenAddress: "${TOKEN}") { count }`), [{ count: 2 }])
})

test('profit and loss has state names and plain names, marked at the last price', async () => {
  const [row] = await rows(
    'WalletTokenPnL(walletAddress: {is: "A"}) { BuyVolumeUSDState SellVolumeUSD BuyCount SellCountState RealizedPnLUSD UnrealizedPnLUSD LastTradeState }',
  )
  assert.deepEqual(row, {
    BuyVolumeUSDState: 10,
    SellVolumeUSD: 4,
    BuyCount: 3,
    SellCountState: 1,
    RealizedPnLUSD: 1.25,
    UnrealizedPnLUSD: 1,
    LastTradeState: at(NOW_MS - 1_000).replace('.000Z', 'Z'),
  })
})

test('the open part of a position is capped at the balance of the wallet, its cost in proportion', async () => {
  const position = { buys: 1, buy_amount_usd: '3', position_amount: '8', position_cost_usd: '3' }
  const seen = { first_time: at(NOW_MS - 9_000), last_time: at(NOW_MS - 9_000), _ver: 1 }
  const wallets = ['capped', 'whole', 'closed']
  await api.warehouse.insert(
    'sol_wallet_token_pnl',
    wallets.map((wallet) => ({
      wallet,
      token_address: TOKEN,
      ...position,
      ...seen,
      ...(wallet === 'closed' && { position_amount: '0', position_cost_usd: '0' }),
    })),
  )
  await api.warehouse.insert(
    'sol_wallet_balances',
    [
      ['capped', '2000000'],
      ['whole', '9000000'],
    ].map(([holder, balance]) => ({
      token_address: TOKEN,
      holder,
      decimals: 6,
      balance,
      _ver: 1,
      first_seen: at(NOW_MS),
      last_seen: at(NOW_MS),
    })),
  )
  const found = await Promise.all(
    wallets.map(async (wallet) => {
      const asked = `WalletTokenPnL(walletAddress: {is: "${wallet}"}) { UnrealizedPnLUSD }`
      return (await rows(asked))[0]?.UnrealizedPnLUSD
    }),
  )
  assert.deepEqual(found, [0.25, 1, 0])
})

test('pools are found by either token; a dataset does not bound the current state', async () => {
  for (const root of ['Solana', 'Solana(dataset: archive)']) {
    const found = await rows(
      `DEXPools(tokenAddress: {is: "${OTHER}"}) { Pool { Address LiquidityUSD PriceAtoB CurveProgress Base { PostAmount } Quote { Address PostAmount } } Block { Slot } }`,
      root,
    )
    assert.deepEqual(found[0], {
      Pool: {
        Address: 'P1',
        LiquidityUSD: 12,
        PriceAtoB: 1.5,
        CurveProgress: 0.25,
        Base: { PostAmount: 2 },
        Quote: { Address: OTHER, PostAmount: 3 },
      },
      Block: { Slot: null },
    })
    assert.equal(found.length, 2)
  }
})

test('token statistics count both legs of every trade, and wider buckets merge distinct wallets', async () => {
  const facts = buildTrades(200, NOW_MS - 3_600_000)
  const minutes = await rows(
    'Tokens(limit: {count: 10000}) { Token { Address } TimeMinute Stats { TradeCount BuyCount SellCount UniqueBuyers } Volume { Usd BuyVolumeUSD SellVolumeUSD } }',
    'EVM(network: eth)',
  )
  const trades = minutes.reduce((sum, { Stats }) => sum + Number((Stats as Row).TradeCount), 0)
  assert.equal(trades, 2 * facts.length)
  for (const { Volume } of minutes) {
    const { Usd, BuyVolumeUSD, SellVolumeUSD } = Volume as Readonly<Record<string, number>>
    assert.ok(Math.abs((BuyVolumeUSD ?? 0) + (SellVolumeUSD ?? 0) - (Usd ?? 0)) < 1e-6)
  }
  const days = await rows(
    'Tokens(limit: {count: 10000}) { Token { Address } Interval { Time(interval: {in: days, count: 2}) } Stats { UniqueBuyers } }',
    'EVM(network: eth)',
  )
  const buyers = new Map<string, Set<string>>()
  for (const { buyToken, owner } of facts) {
    buyers.set(buyToken, (buyers.get(buyToken) ?? new Set()).add(owner))
  }
  for (const { Token, Stats } of days) {
    const address = String((Token as Row).Address)
    assert.equal((Stats as Row).UniqueBuyers, buyers.get(address)?.size ?? 0, address)
  }
})
