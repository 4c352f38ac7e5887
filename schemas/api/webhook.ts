import { type Static, Type } from 'typebox'
import { WEBHOOK_CHANNEL_NAMES } from '../webhooks.ts'
import { namedObject, nullable } from './common.ts'

/** With its type: the check for repeated items is then linear in their number. */
const Channel = Type.Enum([...WEBHOOK_CHANNEL_NAMES], { type: 'string' })
const PriceLevel = Type.Object(
  {
    token: Type.String({ minLength: 1, maxLength: 256 }),
    priceInUsd: Type.Number({ exclusiveMinimum: 0, maximum: 1e15 }),
  },
  { title: 'WebhookPriceLevel', additionalProperties: false },
)
const Url = Type.String({ minLength: 1, maxLength: 2_048, description: 'https address' })

/** Longer than any good secret: the error of one that is too long is that of a bad secret. */
const MAX_SENT_SECRET = 4_096

/** What a caller may set at any time; null = the default. */
const MUTABLE_FIELDS = {
  channels: Type.Optional(
    nullable(
      Type.Array(Channel, {
        maxItems: WEBHOOK_CHANNEL_NAMES.length,
        uniqueItems: true,
        description:
          'null = the token channels of every chain, [] = none. Others are sent only where subjects, priceLevels or a filter narrow them',
      }),
    ),
  ),
  description: Type.Optional(nullable(Type.String({ maxLength: 1_000 }))),
  disabled: Type.Optional(nullable(Type.Boolean())),
  filter: Type.Optional(
    nullable(
      Type.String({
        // Longer ones reach the compiler, whose error names what is wrong.
        maxLength: 65_536,
        description: 'CEL expression over the body, at most 2048 characters',
      }),
    ),
  ),
  filterTypes: Type.Optional(
    nullable(
      Type.Array(Type.String({ pattern: '^[A-Za-z0-9_.\\-*]{1,128}$' }), {
        maxItems: 50,
        description: 'Event types; * may stand for the last segment',
      }),
    ),
  ),
  subjects: Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
        maxItems: 100,
        uniqueItems: true,
        description:
          'Addresses of tokens, pools or wallets: channels that need subjects send what is about one of them',
      }),
    ),
  ),
  priceLevels: Type.Optional(
    nullable(
      Type.Array(PriceLevel, {
        maxItems: 100,
        description: 'What price.crossed waits for: tokens and prices in US dollars',
      }),
    ),
  ),
  metadata: Type.Optional(
    nullable(Type.Record(Type.String(), Type.Unknown(), { maxProperties: 50 })),
  ),
  rateLimit: Type.Optional(
    nullable(
      Type.Integer({
        minimum: 0,
        maximum: 2_147_483_647,
        description: 'Messages per second; null or 0 = no limit',
      }),
    ),
  ),
  uid: Type.Optional(
    nullable(
      Type.String({
        pattern: '^[A-Za-z0-9_.-]{1,256}$',
        description: "The caller's own key; may stand for the id in paths",
      }),
    ),
  ),
  headers: Type.Optional(
    nullable(
      Type.Record(
        Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$" }),
        Type.String({ pattern: '^[\\x20-\\x7e]{0,1024}$' }),
        {
          maxProperties: 10,
          additionalProperties: false,
          description: 'Sent with every message',
        },
      ),
    ),
  ),
}

/** Body of the create call. */
export const CreateWebhook = Type.Object(
  {
    url: Url,
    ...MUTABLE_FIELDS,
    secret: Type.Optional(
      nullable(
        Type.String({
          maxLength: MAX_SENT_SECRET,
          description: 'whsec_ and base64 of 24 to 75 bytes; null = one is made',
        }),
      ),
    ),
  },
  { title: 'CreateWebhook', additionalProperties: false },
)
export type CreateWebhook = Static<typeof CreateWebhook>

const UPDATE_FIELDS = {
  url: Type.Optional(Url),
  ...MUTABLE_FIELDS,
  version: Type.Optional(Type.Integer({ description: 'Refused unless it is the current one' })),
}

/** Body of the update call without an id in its path. */
export const UpdateWebhook = Type.Object(
  { endpointId: Type.String({ minLength: 1, maxLength: 256 }), ...UPDATE_FIELDS },
  { title: 'UpdateWebhook', additionalProperties: false },
)

/** Body of the update call with the id in its path. */
export const UpdateWebhookById = Type.Object(UPDATE_FIELDS, {
  title: 'UpdateWebhookAt',
  additionalProperties: false,
})
export type UpdateWebhookById = Static<typeof UpdateWebhookById>

/** An endpoint as it is answered: never with its secret; what is unset is left out. */
export const WebhookEndpointBody = namedObject('WebhookEndpoint', {
  id: Type.String({ examples: ['ep_01JD0000000000000000000000'] }),
  url: Type.String(),
  channels: Type.Optional(Type.Array(Type.String())),
  description: Type.Optional(Type.String()),
  disabled: Type.Boolean(),
  filter: Type.Optional(Type.String()),
  filterTypes: Type.Optional(Type.Array(Type.String())),
  subjects: Type.Optional(Type.Array(Type.String())),
  priceLevels: Type.Optional(Type.Array(PriceLevel)),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  rateLimit: Type.Optional(Type.Integer()),
  createdAt: Type.String(),
  updatedAt: Type.String(),
  uid: Type.Optional(Type.String()),
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  version: Type.Integer(),
  disabledReason: Type.Optional(
    Type.String({ description: 'user, failing, gone or receiver', examples: ['failing'] }),
  ),
  disabledAt: Type.Optional(Type.String()),
  firstFailureAt: Type.Optional(Type.String()),
})
export type WebhookEndpointBody = Static<typeof WebhookEndpointBody>

/** Query of the endpoint list. */
export const WebhookListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  iterator: Type.Optional(Type.String({ maxLength: 1_024 })),
  cursor: Type.Optional(Type.String({ maxLength: 1_024, description: 'The same as iterator' })),
  order: Type.Optional(Type.Enum(['ascending', 'descending'], { default: 'descending' })),
})
export type WebhookListQuery = Static<typeof WebhookListQuery>

/** Answer of the endpoint list. */
export const WebhookList = namedObject('EndpointListResponse', {
  data: Type.Array(WebhookEndpointBody),
  items: Type.Array(WebhookEndpointBody),
  done: Type.Boolean(),
  iterator: nullable(Type.String()),
  prevIterator: nullable(Type.String()),
  nextCursor: Type.String({ description: 'Empty at the end' }),
  hasMore: Type.Boolean(),
})
export type WebhookList = Static<typeof WebhookList>

/** Path of one endpoint: its id or its uid. */
export const WebhookParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) })

/** The signing secret. */
export const WebhookSecret = namedObject('WebhookSecret', {
  secret: Type.String({ examples: ['whsec_...'] }),
})

/** Optional body of a rotation. */
export const RotateWebhook = nullable(
  Type.Object(
    {
      secret: Type.Optional(nullable(Type.String({ maxLength: MAX_SENT_SECRET }))),
      gracePeriodSeconds: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 604_800, description: 'Default: 86400' }),
      ),
    },
    { title: 'RotateWebhook', additionalProperties: false },
  ),
)

/** Query of an attempt list, newest first. */
export const AttemptListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: Type.Optional(Type.String({ maxLength: 1_024 })),
  status: Type.Optional(Type.Enum(['success', 'pending', 'fail', 'canceled', 'dropped'])),
})

/** One attempt to deliver a message. */
export const WebhookAttemptBody = namedObject('WebhookAttempt', {
  id: Type.String(),
  msgId: Type.String(),
  endpointId: Type.String(),
  channel: Type.String(),
  url: Type.String(),
  status: Type.String(),
  responseStatusCode: Type.Integer({ description: '0 = no answer' }),
  response: Type.String({ description: 'At most 4 KiB of the answer, never parsed' }),
  responseDurationMs: Type.Integer(),
  errorKind: nullable(Type.String()),
  error: nullable(Type.String()),
  triggerType: Type.String({ description: 'scheduled, manual or replay' }),
  attemptNumber: Type.Integer(),
  timestamp: Type.String(),
  nextAttempt: nullable(Type.String()),
})
export type WebhookAttemptBody = Static<typeof WebhookAttemptBody>

/** A page of attempts. */
export const WebhookAttemptList = namedObject('WebhookAttemptPage', {
  data: Type.Array(WebhookAttemptBody),
  items: Type.Array(WebhookAttemptBody),
  nextCursor: Type.String({ description: 'Empty at the end' }),
  hasMore: Type.Boolean(),
})

/** A message as it was, or would have been, sent. */
export const WebhookMessageBody = namedObject('WebhookMessage', {
  id: Type.String(),
  channel: Type.String(),
  payload: Type.String({ description: 'The body, byte for byte' }),
  timestamp: Type.String(),
  createdAt: Type.String(),
})

/** Path of one message; samples have ids of their own. */
export const WebhookMessageParams = Type.Object({
  msgId: Type.String({ pattern: '^msg_(test_)?[0-9A-Z]{26}$' }),
})

/** Path of one message and one endpoint. */
export const ResendParams = Type.Object({
  msgId: Type.String({ pattern: '^msg_[0-9A-Z]{26}$' }),
  id: Type.String({ minLength: 1, maxLength: 256 }),
})

/** A moment in a request: ISO 8601 with its zone, or epoch milliseconds. */
const Moment = Type.Union([
  Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 }),
  Type.String({ maxLength: 40 }),
])

/** Body of a recovery: the failed messages of a window of time. */
export const RecoverWebhook = Type.Object(
  {
    since: Moment,
    until: Type.Optional(Moment),
  },
  { title: 'RecoverWebhook', additionalProperties: false },
)
export type RecoverWebhook = Static<typeof RecoverWebhook>

/** Body of a replay: the messages of a window of time that the endpoint has had no attempt of. */
export const ReplayWebhook = Type.Object(
  {
    since: Moment,
    until: Type.Optional(Moment),
    channels: Type.Optional(
      nullable(Type.Array(Channel, { maxItems: WEBHOOK_CHANNEL_NAMES.length, uniqueItems: true })),
    ),
  },
  { title: 'ReplayWebhook', additionalProperties: false },
)
export type ReplayWebhook = Static<typeof ReplayWebhook>

/** A recovery or replay with its progress. */
export const WebhookTaskBody = namedObject('WebhookTask', {
  id: Type.String(),
  endpointId: Type.String(),
  kind: Type.String({ description: 'recover or replay' }),
  status: Type.String({
    description:
      'running, done, limited (100000 messages are queued: start another one from there), canceled (with its endpoint) or failed',
  }),
  since: Type.String(),
  until: Type.String(),
  queued: Type.Integer({ description: 'Messages that were queued for the endpoint so far' }),
  lookedAt: Type.Integer({ description: 'Messages that were looked at so far' }),
  error: nullable(Type.String()),
  createdAt: Type.String(),
  updatedAt: Type.String(),
})
export type WebhookTaskBody = Static<typeof WebhookTaskBody>

/** Newest tasks of an endpoint. */
export const WebhookTaskList = namedObject('WebhookTaskList', {
  data: Type.Array(WebhookTaskBody),
  items: Type.Array(WebhookTaskBody),
  nextCursor: Type.String({ description: 'Always empty: the newest 20 are kept' }),
  hasMore: Type.Boolean(),
})

/** Path of one task. */
export const WebhookTaskParams = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 256 }),
  taskId: Type.String({ minLength: 1, maxLength: 64 }),
})

/** Body of a sample send. */
export const SendWebhookExample = Type.Object(
  { channel: Channel },
  { title: 'SendWebhookExample', additionalProperties: false },
)

/** Answer of a sample send. */
export const WebhookExampleSent = namedObject('WebhookExampleSent', {
  success: Type.Boolean(),
  msgId: Type.String({ description: 'Id of the sample: its attempt is listed under it' }),
})

/** How an endpoint does. */
export const WebhookHealth = namedObject('WebhookHealth', {
  state: Type.String({
    description:
      'idle (no attempt in 24 hours), healthy, failing, filter-invalid (its filter is beyond the limits of this version: nothing is sent until it is changed) or disabled',
  }),
  filterProblem: nullable(
    Type.String({ description: 'Why the stored filter lets nothing through' }),
  ),
  failuresInRow: Type.Integer({ description: 'Failed attempts since the last success' }),
  lastSuccessAt: nullable(Type.String()),
  lastFailureAt: nullable(Type.String()),
  firstFailureAt: nullable(Type.String({ description: 'First message that was given up' })),
})

/** What became of the messages of an endpoint in the last 24 hours. */
export const WebhookStats = namedObject('WebhookStats', {
  success: Type.Integer(),
  pending: Type.Integer({ description: 'Failed and to be tried again' }),
  sending: Type.Integer({ description: 'On their way from the process that answers' }),
  fail: Type.Integer({ description: 'Given up' }),
  canceled: Type.Integer(),
  dropped: Type.Integer(),
  filtered: Type.Integer({ description: 'Since the start of the process that answers' }),
  filterErrors: Type.Integer({ description: 'Since the start of the process that answers' }),
  p50Ms: nullable(Type.Integer()),
  p95Ms: nullable(Type.Integer()),
  health: WebhookHealth,
})
export type WebhookStats = Static<typeof WebhookStats>

/** Query of the messages of an endpoint, newest first. */
export const EndpointMessageQuery = Type.Object({
  ...AttemptListQuery.properties,
  since: Type.Optional(
    Type.String({ maxLength: 40, description: 'ISO 8601 or epoch milliseconds' }),
  ),
  until: Type.Optional(
    Type.String({ maxLength: 40, description: 'ISO 8601 or epoch milliseconds' }),
  ),
})

/** A message at an endpoint: how it stands after its last attempt. */
export const EndpointMessage = namedObject('WebhookEndpointMessage', {
  id: Type.String(),
  channel: Type.String(),
  status: Type.String(),
  attempts: Type.Integer(),
  lastAttempt: WebhookAttemptBody,
  nextAttempt: nullable(Type.String()),
})

/** A page of them. */
export const EndpointMessageList = namedObject('WebhookEndpointMessagePage', {
  data: Type.Array(EndpointMessage),
  items: Type.Array(EndpointMessage),
  nextCursor: Type.String({ description: 'Empty at the end' }),
  hasMore: Type.Boolean(),
})
