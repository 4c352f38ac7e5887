import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeepPartial } from '../../core/codec/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { kindRow, WEBHOOK_KIND_NAMES, webhookChannel } from '../../schemas/webhooks.ts'
import type { Messages } from '../../schemas/wire.ts'
import { type WebhookTopic, webhookEvents } from '../../serving/webhooks/event-mappers.ts'
import { matchStoredMessage, storedSubjects } from '../../serving/webhooks/match-stored.ts'
import { buildWebhookEndpoint } from '../support/builders/webhook-endpoint.ts'
import { buildTokenEvent, buildTokenRecord } from '../support/webhook-stack.ts'

const codec = localCodec()
const { meta } = buildTokenRecord([])
const AT = {
  block: { timestamp: 1_763_640_000_000, height: 7, slot: 7, hash: 'b7' },
  transaction: { signature: 'tx', status: 'STATUS_SUCCESS' as const },
  instruction: { log_index: 3 },
}
const decoded = <Name extends keyof Messages>(
  name: Name,
  events: DeepPartial<Messages[Name]> extends { readonly events?: infer Events } ? Events : never,
): Messages[Name] => codec.decode(name, codec.encode(name, { meta, events } as never))

const RECORDS = {
  tokensCreated: decoded('token.TokenEvents', [buildTokenEvent('Mint')]),
  tokensMigrated: decoded('token.TokenEvents', [buildTokenEvent('Mint')]),
  tradesProcessed: decoded('dex.trade.TradeEvents', [
    {
      ...AT,
      trade: {
        token_a_address: 'base',
        token_b_address: 'quote',
        user_a_account_owner_address: 'one',
        user_b_account_owner_address: 'other',
        user_a_amount: '2000',
        user_b_amount: '300',
        token_a_decimals: 2,
        token_b_decimals: 2,
        pool_address: 'pool',
      },
    },
  ]),
  transfersProcessed: decoded('transfer.TransferEvents', [
    {
      ...AT,
      transfer: {
        token_address: 'base',
        sender_account_owner_address: 'one',
        receiver_account_owner_address: 'other',
        token_amount: '100',
        token_decimals: 2,
        success: true,
      },
      transfer_processed: { token_amount_in_usd: '20000' },
    },
  ]),
  candlesticks: decoded('candlestick.CandlestickEvents', [
    {
      token_address: 'base',
      resolution: '1m',
      timestamp: '1763640000000',
      dimension: 'CANDLESTICK_DIMENSION_TOKEN_ADDRESS',
      dimension_address: 'base',
      is_final: true,
    },
  ] as never),
  tokenPrices: decoded('token.price.TokenPriceEvents', [
    { ...AT, token_price: { token_address: 'base', price_in_usd: '2' } },
  ] as never),
}

const eventsOf = (kind: (typeof WEBHOOK_KIND_NAMES)[number]) =>
  kindRow(kind).topics.flatMap((topic) => [
    ...webhookEvents([kind], topic as WebhookTopic, RECORDS[topic as WebhookTopic] as never, {
      chain: 'sol',
      hasSubject: () => true,
      hasPriceLevel: () => true,
      crossedLevels: () => [1.5],
      swapPrice: () => '1',
    }),
  ])

for (const kind of WEBHOOK_KIND_NAMES) {
  test(`subjects of a stored message are those of its event, and only its subjects match: ${kind}`, () => {
    const events = eventsOf(kind)
    assert.ok(events.length > 0)
    for (const { channel, data, subjects, timeMs } of events) {
      assert.deepEqual(new Set(storedSubjects(channel, data)), new Set(subjects))
      if (kindRow(kind).needs === 'nothing') continue
      const body = JSON.stringify({ data, timestamp: timeMs })
      const matches = (subject: string): boolean => {
        const [token = '', usd] = subject.split('@')
        const named =
          usd === undefined
            ? { subjects: [subject] }
            : { price_levels: [{ token, usd: Number(usd) }] }
        const channels = [webhookChannel('sol', kind)]
        const endpoint = buildWebhookEndpoint({ channels, ...named })
        return matchStoredMessage(endpoint, { channel, body }, () => () => 'match')
      }
      assert.ok(subjects.length > 0 && subjects.every(matches))
      assert.ok(!matches(`stranger${kind === 'price.crossed' ? '@1.5' : ''}`))
    }
  })
}
