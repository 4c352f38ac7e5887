import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Webhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { payloadSchema } from '../../schemas/api/webhook-payloads.ts'
import {
  channelKind,
  WEBHOOK_KIND_NAMES,
  type WebhookChannel,
  type WebhookKind,
} from '../../schemas/webhooks.ts'
import type { EventMeta } from '../../schemas/wire.ts'
import { activeSecrets } from '../../serving/webhooks/endpoint-credentials.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import {
  buildTokenEvent,
  buildTokenRecord,
  startWebhookStack,
  TEST_OWNER,
  type WebhookStack,
} from '../support/webhook-stack.ts'

const TOKEN = 'So11111111111111111111111111111111111111112'
const QUOTE = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const POOL = '58oQChx4yWmvKdwLLZzi4ChoCc2fqCUWBkwMihLYQo2'
const WALLET = '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P2'
const OTHER = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM'

let receiver: WebhookReceiver
let stack: WebhookStack
before(async () => {
  receiver = await startWebhookReceiver()
  stack = await startWebhookStack({
    config: { webhookEndpoints: 100, webhookSvixHeaders: true },
  })
  await stack.startMatcher()
  await stack.startSender()
})
after(async () => {
  await stack.stop()
  await receiver.stop()
})

let block = 0
const head = (change: Partial<EventMeta> = {}) => {
  block += 1
  return {
    meta: buildTokenRecord([], { seq: block }).meta as EventMeta,
    block: { timestamp: Date.now(), height: block, slot: block, hash: `b${block}` },
    transaction: { signature: `tx${block}`, status: 'STATUS_SUCCESS' as const },
    instruction: { log_index: 3 },
    ...change,
  }
}

const SUSPECT_REASON = 'TOKEN_PRICE_SUSPECT_REASON_BY_LAST_CLOSE_PRICES' as const

interface TradeChange {
  readonly buyer?: string
  readonly pool?: string
  readonly suspect?: boolean
}

const publishTrade = (change: TradeChange = {}) => {
  const { meta, ...event } = head()
  const { buyer = WALLET, pool = POOL, suspect = false } = change
  const trade = {
    token_a_address: TOKEN,
    token_b_address: QUOTE,
    user_a_account_owner_address: buyer,
    user_b_account_owner_address: buyer,
    user_a_amount: '2000000000',
    user_b_amount: '300000000',
    token_a_decimals: 9,
    token_b_decimals: 6,
    pool_address: pool,
    was_original_direction: false,
  }
  const trade_processed = {
    token_a_price_in_usd: '150',
    token_b_price_in_usd: '1',
    is_token_a_price_in_usd_suspect: suspect,
    ...(suspect && { is_token_a_price_in_usd_suspect_reason: SUSPECT_REASON }),
  }
  return stack.publishTo('tradesProcessed', 'dex.trade.TradeEvents', {
    key: TOKEN,
    value: { meta, events: [{ ...event, trade, trade_processed }] },
  })
}

const publishTransfer = (usd: string, from = WALLET, to = OTHER) => {
  const { meta, ...event } = head()
  const transfer = {
    token_address: TOKEN,
    sender_account_owner_address: from,
    receiver_account_owner_address: to,
    token_amount: '100000000000',
    token_decimals: 9,
    success: true,
  }
  const transfer_processed = { token_amount_in_usd: usd }
  return stack.publishTo('transfersProcessed', 'transfer.TransferEvents', {
    key: TOKEN,
    value: { meta, events: [{ ...event, transfer, transfer_processed }] },
  })
}

const publishPrice = (price: string, token = TOKEN) => {
  const { meta, block: at } = head()
  return stack.publishTo('tokenPrices', 'token.price.TokenPriceEvents', {
    key: token,
    value: {
      meta,
      events: [{ block: at, token_price: { token_address: token, price_in_usd: price } }],
    },
  })
}

const publishCandle = (isFinal: boolean, startMs: number) => {
  const { meta } = head()
  const dimension = 'CANDLESTICK_DIMENSION_TOKEN_ADDRESS' as const
  const candle = { token_address: TOKEN, resolution: '1m', timestamp: String(startMs) }
  const prices = { open: '1', high: '2', low: '0.5', close: '1.5', volume: '10', trades: 4 }
  const place = { dimension, dimension_address: TOKEN, is_final: isFinal }
  return stack.publishTo('candlesticks', 'candlestick.CandlestickEvents', {
    key: TOKEN,
    value: { meta, events: [{ ...candle, ...prices, ...place }] },
  })
}

const MINUTE_MS = Math.floor(Date.now() / 60_000) * 60_000 - 60_000

/** Gives each kind cause for one message. */
const CAUSES: Readonly<Record<WebhookKind, () => Promise<void>>> = {
  'token.created': () =>
    stack.publish('sol.token.created', buildTokenRecord([buildTokenEvent('Made')])),
  'token.migrated': () =>
    stack.publish('sol.token.migrated', buildTokenRecord([buildTokenEvent('Moved')])),
  'trade.executed': () => publishTrade(),
  'candle.closed': () => publishCandle(true, MINUTE_MS),
  'transfer.large': () => publishTransfer('15000'),
  'price.crossed': async () => {
    await publishPrice('90')
    await publishPrice('110')
  },
  'wallet.activity': () => publishTransfer('5'),
}

const WISHES: Readonly<Record<WebhookKind, object>> = {
  'token.created': {},
  'token.migrated': {},
  'trade.executed': { subjects: [TOKEN] },
  'candle.closed': { subjects: [TOKEN] },
  'transfer.large': { subjects: [TOKEN] },
  'price.crossed': { priceLevels: [{ token: TOKEN, priceInUsd: 100 }] },
  'wallet.activity': { subjects: [OTHER] },
}

const endpointOf = async (path: string, channels: readonly WebhookChannel[], more: object = {}) =>
  stack.endpoint({ url: receiver.base + path, channels: [...channels], ...more })

const bodiesAt = (path: string) => receiver.at(path).map(({ body }) => JSON.parse(body))

const dropAll = async (): Promise<void> => {
  const { endpoints: endpointApi } = stack.webhookContext
  for (const { id } of endpointApi.list(TEST_OWNER, { limit: 100 }).data)
    await endpointApi.remove(TEST_OWNER, id)
}

for (const kind of WEBHOOK_KIND_NAMES) {
  test(`${kind}: one message, which both stock verifiers take`, async () => {
    const channel = `sol.${kind}` as WebhookChannel
    const endpoint = await endpointOf(`/${kind}`, [channel], WISHES[kind])
    await CAUSES[kind]()
    const [got] = await until(() => {
      const all = receiver.at(`/${kind}`)
      return all.length > 0 && all
    }, `a message of ${kind}`)
    assert.ok(got)
    const [secret = ''] = activeSecrets(endpoint, stack.webhookContext.cipher, Date.now())
    const body = new Webhook(secret).verify(got.body, got.headers) as Record<string, unknown>
    const validate = new Ajv2020({ strict: false, allErrors: true }).compile(payloadSchema(kind))
    assert.ok(validate(body), JSON.stringify([validate.errors, body]))
    assert.deepEqual(new SvixWebhook(secret).verify(got.body, got.headers), body)
    assert.deepEqual(
      [body.channel, body.type, body.id],
      [channel, channel, got.headers['webhook-id']],
    )
    assert.equal(channelKind(channel), kind)
    await dropAll()
  })
}

test('a trade webhook is sent for its tokens, its pool and its wallets, once to an endpoint that names several', async () => {
  const channels = ['sol.trade.executed'] as const
  await endpointOf('/t-several', channels, { subjects: [TOKEN, QUOTE, POOL, WALLET] })
  await endpointOf('/t-pool', channels, { subjects: [POOL] })
  await endpointOf('/t-wallet', channels, { subjects: [WALLET] })
  await endpointOf('/t-none', channels, { subjects: [OTHER] })
  await endpointOf('/t-filter', channels, {
    subjects: [TOKEN],
    filter: 'buyAmountInUsd > 250.0 && kind == "buy" && data.ba == 2.0',
  })
  await endpointOf('/t-other', channels, { subjects: [TOKEN], filter: 'buyAmountInUsd > 1000.0' })
  await publishTrade()
  await publishTrade({ buyer: OTHER, pool: 'Pool2' })
  await until(() => receiver.at('/t-none').length === 1 && receiver.at('/t-filter').length === 2)
  assert.equal(receiver.at('/t-several').length, 2)
  assert.equal(receiver.at('/t-pool').length, 1)
  assert.equal(receiver.at('/t-wallet').length, 1)
  assert.equal(receiver.at('/t-other').length, 0)
  const [{ data, id }] = bodiesAt('/t-pool')
  assert.equal(bodiesAt('/t-wallet')[0].id, id)
  assert.deepEqual(data, {
    a: TOKEN,
    k: 'buy',
    ba: '2',
    sa: '300',
    baiu: '300',
    saiu: '300',
    btma: TOKEN,
    stma: QUOTE,
    bwa: WALLET,
    swa: WALLET,
    h: data.h,
    p: POOL,
  })
  await dropAll()
})

test('a trade webhook says why a price is suspect, and a filter can leave such trades out', async () => {
  const channels = ['sol.trade.executed'] as const
  const subjects = [TOKEN]
  await endpointOf('/s-all', channels, { subjects })
  await endpointOf('/s-good', channels, { subjects, filter: '!has(data.sr)' })
  await endpointOf('/s-named', channels, { subjects, filter: 'suspectReason != ""' })
  await publishTrade({ suspect: true })
  await publishTrade()
  await until(() => receiver.at('/s-all').length === 2 && receiver.at('/s-good').length === 1)
  await until(() => receiver.at('/s-named').length === 1, 'the message that has a reason')
  assert.deepEqual(
    bodiesAt('/s-all')
      .map(({ data }) => data.sr)
      .toSorted(),
    ['last_close_prices', undefined],
  )
  assert.equal(bodiesAt('/s-good')[0].data.sr, undefined)
  assert.equal(bodiesAt('/s-named')[0].data.sr, 'last_close_prices')
  await dropAll()
})

test('a price crosses a level in both directions, each level for those who wait for it', async () => {
  const channels = ['sol.price.crossed'] as const
  await endpointOf('/p-100', channels, { priceLevels: [{ token: QUOTE, priceInUsd: 100 }] })
  await endpointOf('/p-both', channels, {
    priceLevels: [
      { token: QUOTE, priceInUsd: 120 },
      { token: QUOTE, priceInUsd: 100 },
    ],
  })
  for (const price of ['95', '99', '100', '101', '130', '80']) await publishPrice(price, QUOTE)
  await until(() => receiver.at('/p-both').length === 4)
  const crossings = (path: string) =>
    bodiesAt(path)
      .map(({ data }) => `${data.d} ${data.lv} ${data.ppiu} ${data.piu}`)
      .toSorted()
  assert.deepEqual(crossings('/p-100'), ['down 100 130 80', 'up 100 99 100'])
  assert.deepEqual(crossings('/p-both'), [
    ...['down 100 130 80', 'down 120 130 80', 'up 100 99 100', 'up 120 101 130'],
  ])
  await dropAll()
})

test('a wallet is notified of both sides of its trades and both ends of its transfers', async () => {
  await endpointOf('/w', ['sol.wallet.activity'], { subjects: [WALLET] })
  await publishTrade()
  await publishTransfer('5', WALLET, OTHER)
  await publishTransfer('5', OTHER, WALLET)
  await until(() => receiver.at('/w').length === 4)
  const told = bodiesAt('/w').map(({ data }) => `${data.k} ${data.ta} ${data.ota ?? data.cp}`)
  assert.deepEqual(told.toSorted(), [
    `buy ${TOKEN} ${QUOTE}`,
    `in ${TOKEN} ${OTHER}`,
    `out ${TOKEN} ${OTHER}`,
    `sell ${QUOTE} ${TOKEN}`,
  ])
  await dropAll()
})

test('a candle webhook is sent once the candle is final; a transfer is large from 10,000 dollars on', async () => {
  await endpointOf('/c', ['sol.candle.closed'], { subjects: [TOKEN] })
  await endpointOf('/l', ['sol.transfer.large'], { filter: 'amountInUsd < 50000.0' })
  await publishCandle(false, MINUTE_MS - 60_000)
  await publishCandle(true, MINUTE_MS - 60_000)
  await publishCandle(true, MINUTE_MS - 60_000)
  for (const usd of ['9999.99', '10000', '60000']) await publishTransfer(usd)
  await until(() => receiver.at('/c').length === 1 && receiver.at('/l').length === 1)
  const [{ data, timestamp }] = bodiesAt('/c')
  assert.equal(timestamp, MINUTE_MS, 'the end of the candle')
  assert.deepEqual([data.o, data.c, data.r, data.t], ['1', '1.5', '1m', MINUTE_MS - 60_000])
  assert.equal(bodiesAt('/l')[0].data.aiu, '10000')
  const { values } = await stack.metrics.webhookDedupeHits.get()
  assert.ok((values[0]?.value ?? 0) >= 1, 'the second final record was seen before')
  await dropAll()
})

test('records without a subscribed endpoint create no message, their offsets are committed', async () => {
  const before = stack.commits().length
  for (let index = 0; index < 20; index += 1) await publishTrade()
  const topic = 'sol.dex.trades.processed'
  const offset = async () =>
    (await stack.bus.offsets('webhooks.matcher.sol', [topic])).reduce(
      (sum, each) => sum + each.offset,
      0,
    )
  const ends = async () => (await stack.bus.ends(topic)).reduce((sum, { end }) => sum + end, 0)
  await until(async () => (await offset()) === (await ends()), 'the offsets are committed', 20_000)
  const made = stack
    .commits()
    .slice(before)
    .filter(({ offsets }) => offsets?.group === 'webhooks.matcher.sol')
  assert.ok(made.length < 10, `${made.length} commits`)
  assert.ok(made.every(({ records }) => (records ?? []).length === 0))
})
