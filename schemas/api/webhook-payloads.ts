import type { ChannelKey } from '../channel-keys.ts'
import {
  kindRow,
  WEBHOOK_KIND_NAMES,
  type WebhookChannel,
  type WebhookKind,
  webhookChannel,
} from '../webhooks.ts'

type JsonObject = Readonly<Record<string, unknown>>

const TOKEN = '66btqktspeHP118gsQM2ssNE9srrb8PvH1UryC1Xpump'
const SOL = 'So11111111111111111111111111111111111111112'
const POOL = '58oQChx4yWmvKdwLLZzi4ChoCc2fqCUWBkwMihLYQo2'
const WALLET = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM'
const TX =
  '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'
const TIME_MS = 1_767_614_400_000
const LAUNCHED_FROM = {
  pa: '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P',
  pf: 'pump_fun',
  pn: 'Pump.fun',
}
const MIGRATED_TO = {
  pa: 'pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA',
  pf: 'pump_swap',
  pn: 'PumpSwap',
}

/** An example of the `data` of each kind, which is also what a sample message says. */
export const WEBHOOK_EXAMPLES: Readonly<
  Record<WebhookKind, Readonly<Record<string, string | number | Readonly<Record<string, string>>>>>
> = {
  'token.created': {
    a: TOKEN,
    n: 'Pixel Moth',
    s: 'MOTH',
    dec: 6,
    cts: TIME_MS,
    lf: LAUNCHED_FROM,
  },
  'token.migrated': {
    a: TOKEN,
    n: 'Pixel Moth',
    s: 'MOTH',
    cts: TIME_MS,
    lf: LAUNCHED_FROM,
    mt: MIGRATED_TO,
  },
  'trade.executed': {
    a: TOKEN,
    k: 'buy',
    ba: '125000',
    sa: '2',
    baiu: '300',
    saiu: '300',
    btma: TOKEN,
    stma: SOL,
    bwa: WALLET,
    swa: WALLET,
    h: TX,
    p: POOL,
  },
  'candle.closed': {
    a: TOKEN,
    o: '0.0023',
    c: '0.0024',
    h: '0.0025',
    l: '0.0022',
    v: '125000',
    r: '1m',
    t: TIME_MS,
    n: 12,
  },
  'transfer.large': { a: SOL, f: WALLET, r: POOL, am: '100', aiu: '15000', h: TX },
  'price.crossed': { a: SOL, lv: '150', d: 'up', piu: '150.2', ppiu: '149.9' },
  'wallet.activity': {
    a: WALLET,
    k: 'buy',
    ta: TOKEN,
    am: '125000',
    aiu: '300',
    ota: SOL,
    h: TX,
  },
}

/** Time of the examples, epoch milliseconds. */
export const EXAMPLE_TIME_MS = TIME_MS

const DECIMAL_SCHEMA: JsonObject = { type: 'string', pattern: '^-?\\d+(\\.\\d+)?$' }

const VALUE_SCHEMAS: Readonly<Record<Exclude<ChannelKey['type'], 'o'>, JsonObject>> = {
  d: DECIMAL_SCHEMA,
  ds: DECIMAL_SCHEMA,
  n: { type: 'integer' },
  ms: { type: 'integer' },
  s: { type: 'string' },
  l: { type: 'array', items: { type: 'string' } },
}

const keySchema = ({ type, long, unit, keys = {} }: ChannelKey): JsonObject => {
  const description = unit === undefined ? long : `${long}, in ${unit}`
  return type === 'o'
    ? { ...keysSchema(keys), description }
    : { ...VALUE_SCHEMAS[type], description }
}

const keysSchema = (keys: Readonly<Record<string, ChannelKey>>): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(keys).map(([key, row]) => [key, keySchema(row)])),
  additionalProperties: false,
})

const META_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    chain: { type: 'string' },
    slot: { type: 'integer', description: 'Slot or height of the block' },
    tx: { type: 'string', description: 'Transaction, empty where the event has none of its own' },
    ix: { type: 'string', description: 'Place of the event in its transaction or series' },
    commitment: { type: 'string' },
    lane: { type: 'integer' },
    seq: {
      type: 'integer',
      description: 'Counts the messages of the channel in a lane: a gap shows',
    },
  },
}

const TEXT_SCHEMAS: JsonObject = {
  'webhook-id': { type: 'string' },
  'webhook-timestamp': { type: 'string' },
  'webhook-signature': { type: 'string' },
}

/** JSON schema of the whole body of a kind. `id`, `type` and `meta` are absent where an installation sends without them. */
export const payloadSchema = (kind: WebhookKind): JsonObject => ({
  type: 'object',
  required: ['channel', 'timestamp', 'data'],
  properties: {
    channel: { type: 'string', description: `The chain and ${kind}` },
    timestamp: { type: 'integer', description: 'When it happened, epoch milliseconds' },
    data: { ...keysSchema(kindRow(kind).keys), required: ['a'] },
    id: { type: 'string' },
    type: { type: 'string' },
    meta: META_SCHEMA,
  },
})

/** A body of a kind as it is sent. */
const payloadExample = (kind: WebhookKind) => {
  const channel: WebhookChannel = webhookChannel('sol', kind)
  return {
    channel,
    timestamp: TIME_MS,
    data: WEBHOOK_EXAMPLES[kind],
    id: 'msg_01JD0000000000000000000000',
    type: channel,
    meta: {
      chain: 'sol',
      slot: 1,
      tx: WEBHOOK_EXAMPLES[kind].h ?? '',
      ix: '0',
      commitment: 'confirmed',
      lane: 0,
      seq: 7,
    },
  }
}

/** The `webhooks` of the API document: what an endpoint is sent, by kind. */
export const WEBHOOK_DOCUMENT: JsonObject = Object.fromEntries(
  WEBHOOK_KIND_NAMES.map((kind) => [
    kind,
    {
      post: {
        summary: kindRow(kind).about,
        tags: ['webhook'],
        parameters: Object.entries(TEXT_SCHEMAS).map(([name, schema]) => ({
          name,
          in: 'header',
          required: true,
          schema,
        })),
        requestBody: {
          content: {
            'application/json': { schema: payloadSchema(kind), example: payloadExample(kind) },
          },
        },
        responses: { '2XX': { description: 'The message is delivered' } },
      },
    },
  ]),
)
