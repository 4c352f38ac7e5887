import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeepPartial } from '../../core/codec/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { marketCapOf, NO_MARKET } from '../../processors/tokens/market.ts'
import type { ChannelKey } from '../../schemas/channel-keys.ts'
import { CHANNEL_TOPICS, CHANNELS, RECOVERABLE_TOPICS } from '../../schemas/channels.ts'
import { TOPICS } from '../../schemas/topics.ts'
import type { Messages } from '../../schemas/wire.ts'
import { serializePayload } from '../../serving/realtime/payload.ts'
import type { PublishContext } from '../../serving/realtime/publication.ts'
import { STREAM_BY_SUFFIX } from '../../serving/realtime/topic-streams.ts'

const codec = localCodec()
const META = { chain: 'sol', op: 'OP_APPLY', seq: 4, block_time: 1_700_000_000_000 } as const
const MINT = 'So11111111111111111111111111111111111111112'
const DESK: PublishContext = {
  chain: 'sol',
  nameOf: () => ({ name: 'Frog', symbol: 'FROG', decimals: 6 }),
  priceOf: () => '0.25',
  hasCandleSubscribers: () => true,
  isNeeded: () => true,
}

interface Read {
  readonly prefix: string
  readonly subject: string
  readonly keys: Readonly<Record<string, ChannelKey>>
  readonly retraction: boolean
  readonly facet: string
  readonly data: Readonly<Record<string, unknown>>
}

const read = <Name extends keyof Messages>(
  suffix: string,
  message: Name,
  value: DeepPartial<Messages[Name]>,
): readonly Read[] => {
  const stream = STREAM_BY_SUFFIX.get(suffix)
  assert.ok(stream, suffix)
  const { publications } = stream.read(codec, codec.encode(message, value), DESK)
  return publications.map(({ row, subject, payload, retraction, facet }) => ({
    prefix: row.prefix,
    subject,
    keys: row.keys,
    retraction,
    facet,
    data: JSON.parse(serializePayload(payload, row.keys, { numbers: 'string', longNames: false })),
  }))
}

const checkTypes = (data: Readonly<Record<string, unknown>>, keys: Read['keys']): void => {
  for (const [key, value] of Object.entries(data)) {
    const found = keys[key]
    assert.ok(found, `no key ${key}`)
    if (found.type === 'o') checkTypes(value as Readonly<Record<string, unknown>>, found.keys ?? {})
    else if (found.type === 'l') assert.ok(Array.isArray(value), key)
    else
      assert.equal(
        typeof value,
        found.type === 'n' || found.type === 'ms' ? 'number' : 'string',
        key,
      )
  }
}

test('token statistics are one object with every field of every window [41]', () => {
  const windows = ['1m', '5m', '15m', '30m', '1h', '4h', '6h', '24h']
  const [one, more] = read('trade-stats', 'trade.stat.TradeStatEvents', {
    meta: META,
    events: windows.map((resolution, index) => ({
      token_address: MINT,
      resolution,
      timestamp: '1700000000000',
      open_in_usd: '1',
      close_in_usd: index === 0 ? '' : '1.5',
      buys: index,
      sells: 2,
      buyers: 1,
      sellers: 1,
      pools: 1,
      programs: 1,
      volume_change_ratio: '0.1',
      buy_volume_in_usd: '10',
      sell_volume_in_usd: '20',
      liquidity_in_usd: '5',
      liquidity_change_ratio: '0',
    })),
  })
  assert.ok(one && more === undefined)
  checkTypes(one.data, one.keys)
  const missing = Object.keys(one.keys).filter((key) => one.data[key] === undefined)
  assert.deepEqual(missing, ['p1m', 'ciu1m'])
  assert.deepEqual(
    [one.data.b24h, one.data.tr24h, one.data.p, one.data.t],
    [7, 9, '1.5', 1_700_000_000_000],
  )
})

test('a new token has its launchpad, and its retraction goes only to subscriptions that request it', () => {
  const events = [
    {
      type: 'EVENT_TYPE_CREATED' as const,
      token: { address: MINT, name: 'Frog 🐸', symbol: 'FROG', decimals: 6 },
      launch_from: { program_address: 'P', protocol_family: 'pump_fun', protocol_name: 'Pump.fun' },
      created_at: 5,
    },
  ]
  const [one, batched] = read('tokens.created', 'token.TokenEvents', { meta: META, events })
  const [gone] = read('tokens.created', 'token.TokenEvents', {
    meta: { ...META, op: 'OP_REVERT' },
    events,
  })
  assert.ok(one && gone)
  checkTypes(one.data, one.keys)
  assert.deepEqual(one.data, {
    a: MINT,
    n: 'Frog 🐸',
    s: 'FROG',
    dec: 6,
    cts: 5,
    lf: { pa: 'P', pf: 'pump_fun', pn: 'Pump.fun' },
  })
  assert.deepEqual(
    [one.subject, one.retraction, gone.retraction, gone.data.op],
    ['dex-new-token|sol||', false, true, 'revert'],
  )
  assert.deepEqual([batched?.subject, batched?.data], ['dex-new-tokens|sol||', one.data])
})

test('a token document adds image, text and links; missing ones are left out', () => {
  const events = (description: string, social_medias: Record<string, string>) => [
    {
      token: { address: MINT, name: 'Frog', symbol: 'FROG', decimals: 6 },
      token_processed: { description, image_url: 'https://a.example/i.png', social_medias },
      created_at: 5,
    },
  ]
  const [one] = read('token-documents', 'token.TokenEvents', {
    meta: null,
    events: events('A frog', { twitter: 'https://x.com/frog', farcaster: 'https://f.example' }),
  })
  assert.ok(one)
  checkTypes(one.data, one.keys)
  assert.equal(one.subject, 'dex-new-tokens-metadata|sol||')
  assert.deepEqual(one.data, {
    a: MINT,
    n: 'Frog',
    s: 'FROG',
    dec: 6,
    cts: 5,
    iu: 'https://a.example/i.png',
    de: 'A frog',
    sm: { tw: 'https://x.com/frog' },
  })
  const [bare] = read('token-documents', 'token.TokenEvents', {
    meta: null,
    events: events('', {}),
  })
  assert.deepEqual(Object.keys(bare?.data ?? {}), ['a', 'n', 's', 'dec', 'cts', 'iu'])
})

test('a balance is that of the owner, and after a retraction the one before [42]', () => {
  const value = {
    meta: META,
    events: [
      {
        instruction: { event_index: 0 },
        block: { timestamp: 9 },
        balance: {
          account_owner_address: 'W',
          token_address: MINT,
          decimals: 6,
          pre_amount: '1',
          post_amount: '2',
        },
        balance_processed: { owner_pre_amount: '1500000', owner_post_amount: '2500000' },
      },
    ],
  }
  const [one] = read('balances.processed', 'balance.BalanceEvents', value)
  const [undone] = read('balances.processed', 'balance.BalanceEvents', {
    ...value,
    meta: { ...META, op: 'OP_REVERT' },
  })
  assert.ok(one && undone)
  checkTypes(one.data, one.keys)
  assert.deepEqual(one.data, { a: 'W', ta: MINT, b: '2.5', tpiu: '0.25', t: 9 })
  assert.equal(undone.data.b, '1.5')
})

test('a supply that is not known is left out of its stream, and the market cap with it', () => {
  const [one] = read('token-market-caps.processed', 'token.market_cap.TokenMarketCapEvents', {
    meta: META,
    events: [{ market_cap: marketCapOf(MINT, { ...NO_MARKET, usd: 150, native: 1 }) }],
  })
  assert.ok(one)
  assert.deepEqual(Object.keys(one.data).toSorted(), ['a', 'ts'])
})

test('payloads of holders, supplies, pools and profits have their keys [39] [40]', () => {
  const all = [
    ...read('token-holdings', 'token.holding.TokenHoldingEvents', {
      meta: META,
      events: [
        {
          token_address: MINT,
          holders: 3,
          top10_amount: '1000000',
          top10_ratio: '0.5',
          timestamp: 7,
        },
      ],
    }),
    ...read('token-market-caps.processed', 'token.market_cap.TokenMarketCapEvents', {
      meta: META,
      events: [
        {
          market_cap: { token_address: MINT, total_supply_amount: '10', market_cap_in_usd: '2.5' },
        },
      ],
    }),
    ...read('dex.pools.processed', 'dex.pool.DexPoolEvents', {
      meta: META,
      events: [
        {
          block: { timestamp: 8 },
          pool: { address: 'P', token_a_address: MINT, token_b_address: 'Q' },
          pool_processed: {
            token_a_vault_post_amount_in_usd: '4',
            curve_progress: '0.75',
            token_a_liquidity: { token_address: MINT, liquidity_in_usd: '4', pool_count: 2 },
            token_a_max_liquidity: {
              token_address: MINT,
              liquidity_in_usd: '3',
              pool_address: 'P',
            },
          },
        },
      ],
    }),
    ...read('wallet-token-pnls', 'wallet.pnl.WalletTokenPnlEvents', {
      meta: META,
      events: [{ wallet_address: 'W', token_address: MINT, buys: 1, realized_profit_in_usd: '-3' }],
    }),
  ]
  for (const { data, keys } of all) checkTypes(data, keys)
  assert.deepEqual(
    all.map(({ prefix }) => prefix),
    [
      'dex-token-holding',
      'dex-token-supply',
      'dex-pool-balance',
      'dex-token-general-stat-num',
      'dex-token-general-stat-num',
      'dex-token-liquidity',
      'dex-token-total-liquidity',
      'dex-wallet-token-pnl',
    ],
  )
  assert.equal(all[0]?.data.t10a, '1')
  const numbers = all.filter(({ prefix }) => prefix === 'dex-token-general-stat-num')
  assert.deepEqual(
    numbers.map(({ data }) => data),
    [
      { a: MINT, t: 'liquidity_in_usd', v: '4', ts: 8 },
      { a: MINT, t: 'migrated_ratio', v: '0.75', ts: 8 },
    ],
  )
  assert.equal(new Set(numbers.map(({ facet }) => facet)).size, 2, 'none replaces the other')
})

test('a retraction of a pool event publishes the liquidity from before the event', () => {
  const liquidity = (usd: string, pool: string, count: number) => ({
    token_address: MINT,
    liquidity_in_usd: usd,
    liquidity_in_native: '1',
    pool_address: pool,
    pool_count: count,
  })
  const sent = (op: 'OP_APPLY' | 'OP_REVERT') =>
    read('dex.pools.processed', 'dex.pool.DexPoolEvents', {
      meta: { ...META, op },
      events: [
        {
          block: { timestamp: 8 },
          pool: { address: 'P', token_a_address: MINT, token_b_address: 'Q' },
          pool_processed: {
            token_a_vault_pre_amount_in_usd: '2',
            token_a_vault_post_amount_in_usd: '4',
            token_a_liquidity: liquidity('9', '', 2),
            token_a_max_liquidity: liquidity('8', 'P', 1),
            token_a_liquidity_before: liquidity('5', '', 1),
            token_a_max_liquidity_before: liquidity('5', 'O', 1),
            curve_progress: '0.75',
            before: { curve_progress: '0.5' },
          },
        },
      ],
    }).map(({ prefix, data: { taliu, liu, v, p, pc, t } }) => [
      prefix,
      taliu ?? liu ?? v,
      p ?? pc ?? t,
    ])
  assert.deepEqual(sent('OP_APPLY'), [
    ['dex-pool-balance', '4', undefined],
    ['dex-token-general-stat-num', '9', 'liquidity_in_usd'],
    ['dex-token-general-stat-num', '0.75', 'migrated_ratio'],
    ['dex-token-liquidity', '8', 'P'],
    ['dex-token-total-liquidity', '9', 2],
  ])
  assert.deepEqual(sent('OP_REVERT'), [
    ['dex-pool-balance', '2', undefined],
    ['dex-token-general-stat-num', '5', 'liquidity_in_usd'],
    ['dex-token-general-stat-num', '0.5', 'migrated_ratio'],
    ['dex-token-liquidity', '5', 'O'],
    ['dex-token-total-liquidity', '5', 1],
  ])
})

test('a prediction trade has the side of its taker, decimals as text and an ascending id', () => {
  const send = (op: 'OP_APPLY' | 'OP_REVERT', makerBuys: boolean) =>
    read('prediction.trades', 'prediction.PredictionTradeEvents', {
      meta: { ...META, op },
      events: [
        {
          block_height: 9,
          event_index: 3,
          tx_hash: '0xt',
          log_index: 5,
          condition_id: '0xc',
          outcomes: ['Yes', 'No'],
          outcome: 'Yes',
          outcome_token: '7'.repeat(78),
          collateral_token: MINT,
          buyer: 'taker',
          seller: 'maker',
          is_outcome_buy: makerBuys,
          amount: '3000000',
          collateral_amount: '1500000',
          price: '0.5',
          fee: '10000',
          fee_in: 'collateral',
        },
      ],
    })
  const [one] = send('OP_APPLY', false)
  assert.ok(one)
  checkTypes(one.data, one.keys)
  assert.equal(one.subject, `pred:tok||${'7'.repeat(78)}|`)
  const { a, seq, op } = one.data as { a: Record<string, unknown>; seq: number; op?: string }
  assert.deepEqual(
    [a.ty, a.w, a.cp, a.q, a.amt, a.aiu, a.p, a.fa, a.tid, a.ocs, a.ts],
    [
      ...['buy', 'taker', 'maker', '3', '1.5', '0.375', '0.5', '0.01', '7'.repeat(78)],
      ...[['Yes', 'No'], META.block_time],
    ],
  )
  assert.equal(seq, META.seq * 16_384 + 5)
  assert.equal(op, undefined)
  const [undone] = send('OP_REVERT', true)
  assert.deepEqual(
    [undone?.retraction, undone?.data.op, Reflect.get(Object(undone?.data.a), 'ty')],
    [true, 'revert', 'sell'],
  )
})

test('prediction trades and settlements are published by group, by condition and by outcome token', () => {
  const place = { block_height: 9, event_index: 0, tx_hash: '0xt', collateral_token: '' }
  const named = { condition_id: '0xc', market_id: '0xg' }
  const settled = read('prediction.settlements', 'prediction.PredictionSettlementEvents', {
    meta: { ...META, op: 'OP_APPLY' },
    events: [
      {
        ...place,
        ...named,
        log_index: 7,
        event_type: 'Redemption',
        holder: 'holder',
        collateral_amount: '2000000',
        outcome_token_ids: ['11', '12'],
        amounts: ['9', '8'],
      },
      { ...place, ...named, condition_id: '', log_index: 8, event_type: 'Conversion' },
    ],
  })
  for (const { data, keys } of settled) checkTypes(data, keys)
  const seq = META.seq * 16_384
  const activityOf = (data: object) => Reflect.get(data, 'a') as Record<string, unknown>
  assert.deepEqual(
    settled.map(({ subject, data }) => [
      subject,
      data.seq,
      activityOf(data).ty,
      activityOf(data).rt,
      activityOf(data).es,
    ]),
    [
      ['pred:tok||11|', seq + 7, 'redeem', 'Redemption', undefined],
      ['pred:tok||12|', seq + 7, 'redeem', 'Redemption', undefined],
      ['pred:evt||0xg|', seq + 7, 'redeem', 'Redemption', '0xg'],
      ['pred:evt||0xc|', seq + 7, 'redeem', 'Redemption', '0xc'],
      ['pred:evt||0xg|', seq + 8, 'inventory_adjust', 'Conversion', '0xg'],
    ],
  )
  const [{ data } = { data: {} }] = settled
  const { w, amt, q, as: assets, mid, cid } = activityOf(data)
  assert.deepEqual(
    [w, amt, q, assets, mid, cid],
    ['holder', '2', undefined, ['11', '12'], '0xg', '0xc'],
  )
  const traded = read('prediction.trades', 'prediction.PredictionTradeEvents', {
    meta: { ...META, op: 'OP_APPLY' },
    events: [{ ...place, condition_id: '0xc', outcome_token: '11', log_index: 9 }],
  })
  assert.deepEqual(
    traded.map(({ subject }) => subject),
    ['pred:tok||11|', 'pred:evt||0xc|'],
  )
})

test('every channel family has a topic that the hub reads, or a query', () => {
  const read = new Set([...STREAM_BY_SUFFIX.keys()])
  assert.deepEqual(read, new Set(CHANNEL_TOPICS.map((topic) => TOPICS[topic].suffix)))
  for (const { prefix, topic, query } of CHANNELS) {
    assert.ok(topic === null ? query : read.has(TOPICS[topic].suffix), prefix)
  }
})

test('a recoverable family has what recovery needs of its topic', () => {
  assert.deepEqual([...RECOVERABLE_TOPICS], ['tradesProcessed'])
  for (const row of CHANNELS.filter(({ recoverable }) => recoverable)) {
    const { prefix, topic, parameters, delivery, shape } = row
    assert.ok(topic, prefix)
    // The hub finds the partition of a channel by the address in its name.
    assert.ok(TOPICS[topic].key.split(' ').at(-1) === parameters[0], prefix)
    assert.deepEqual([delivery, shape], ['event', 'object'], `${prefix}: only events are kept`)
  }
})

test('the topics that are read without subscribers are those that recovery needs', () => {
  for (const topic of CHANNEL_TOPICS) {
    const { suffix } = TOPICS[topic]
    assert.equal(STREAM_BY_SUFFIX.get(suffix)?.isKept, topic === 'tradesProcessed', suffix)
  }
})
