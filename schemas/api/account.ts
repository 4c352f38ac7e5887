import { type Static, type TSchema, Type } from 'typebox'
import { SCOPES } from '../scopes.ts'
import { LastUse, namedObject, nullable } from './common.ts'

const units = (about: string) => Type.Number({ description: about })

/** Share of one route in a month. */
const RouteUsage = namedObject('RouteUsage', {
  route: Type.String({ description: 'Method and path without version, graphql or streams' }),
  calls: Type.Integer(),
  used: units('Compute units'),
})
/** Share of one day in a month. */
const DayUsage = namedObject('DayUsage', {
  day: Type.String({ description: 'UTC, YYYY-MM-DD' }),
  calls: Type.Integer(),
  used: units('Compute units'),
})

/** What the organization used of the current month. */
export const AccountUsage = namedObject('AccountUsage', {
  period: namedObject('UsagePeriod', { from: Type.String(), to: Type.String() }),
  used: units('Compute units'),
  total: units('-1 = without end'),
  remaining: units('-1 = without end'),
  byRoute: Type.Array(RouteUsage),
  byDay: Type.Array(DayUsage),
})
export type AccountUsage = Static<typeof AccountUsage>

/** The plan of the organization. */
export const AccountPlan = namedObject('AccountPlan', {
  plan: Type.String(),
  requestsPerSecond: Type.Integer(),
  used: units('Compute units of this month'),
  total: units('-1 = without end'),
  remaining: units('-1 = without end'),
  resetAt: Type.String({ description: 'When the next month starts' }),
  rate: namedObject('AccountRate', {
    limit: Type.Integer({ description: 'Requests per second of all credentials together' }),
    burst: Type.Integer({ description: 'Requests at once after a pause' }),
    remaining: Type.Integer({ description: 'Requests at once now' }),
    resetAt: Type.Integer({ description: 'Unix seconds when remaining is burst again' }),
  }),
  limits: namedObject('AccountLimits', {
    queriesAtOnce: Type.Integer({ description: 'GraphQL requests at the same time' }),
    apiKeys: Type.Integer({ description: 'Keys of an application that have not ended' }),
    wallets: Type.Integer({ description: 'Wallets of an application' }),
    webhookEndpoints: Type.Integer({ description: 'Webhook endpoints of the organization' }),
  }),
})
export type AccountPlan = Static<typeof AccountPlan>

const id = (prefix: string) =>
  Type.String({ minLength: 1, maxLength: 64, description: `Starts with ${prefix}_` })
/** With its type: the check for repeated items is then linear in their number. */
const Scope = Type.Enum([...SCOPES], { type: 'string' })
const Time = Type.String({ description: 'ISO 8601 with milliseconds' })
/** The last time that a date can hold. Source: ECMA-262, time values. */
const LAST_TIME_MS = 8_640_000_000_000_000

/** A new API key of the caller's application. */
export const OwnKeyCreate = Type.Object(
  {
    name: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'To tell keys apart' }),
    ),
    scopes: Type.Optional(
      Type.Array(Scope, {
        maxItems: SCOPES.length,
        uniqueItems: true,
        description: 'Default: all',
      }),
    ),
    expiresAt: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LAST_TIME_MS,
        description: 'Epoch milliseconds, at most a hundred years ahead; default: never',
      }),
    ),
  },
  { title: 'CreateApiKey', additionalProperties: false },
)

const KEY_FIELDS = {
  keyId: id('key'),
  name: Type.String({ description: 'Empty without one' }),
  prefix: Type.String({ description: 'Its first characters' }),
  scopes: Type.Array(Type.String()),
  expiresAt: nullable(Time),
  createdAt: Time,
  lastUsedAt: LastUse,
}

/** An API key without its text. */
export const OwnKey = namedObject('ApiKey', KEY_FIELDS)
export type OwnKey = Static<typeof OwnKey>

/** The only answer that shows the key. */
export const NewOwnKey = namedObject('NewApiKey', {
  ...KEY_FIELDS,
  apiKey: Type.String({ description: 'Shown this once' }),
})

/** Path of one key. */
export const OwnKeyPath = Type.Object({ keyId: id('key') })

const WalletWord = Type.Enum(['evm', 'solana'], { type: 'string' })

/** A wallet that signs in for the caller's application. */
export const LinkedWallet = namedObject('LinkedWallet', {
  chain: WalletWord,
  address: Type.String(),
  linkedAt: Time,
})
export type LinkedWallet = Static<typeof LinkedWallet>

/** Path of one wallet. */
export const WalletPath = Type.Object({
  wallet: WalletWord,
  address: Type.String({ minLength: 1, maxLength: 64 }),
})

/** Proof that the caller owns a wallet. */
export const LinkAddress = Type.Object(
  {
    chain: WalletWord,
    address: Type.String({ minLength: 1, maxLength: 64 }),
    message: Type.String({
      minLength: 1,
      maxLength: 4_096,
      description: 'The sign-in message, EIP-4361 text, at most ten minutes old',
    }),
    signature: Type.String({
      minLength: 1,
      maxLength: 16_386,
      description:
        'EVM: hex, of 65 bytes, or of a contract wallet (EIP-1271, before it is deployed ERC-6492) up to 8 KiB; Solana: 64 bytes in base 58, hex or base 64',
    }),
  },
  { title: 'LinkAddress', additionalProperties: false },
)

/** One page of what an application owns: `data` and `items` are the same array. */
export const makeAccountPage = <Item extends TSchema & { title?: string }>(item: Item) =>
  namedObject(`${item.title ?? ''}Page`, {
    data: Type.Array(item),
    items: Type.Array(item),
    nextCursor: Type.String({ description: 'Empty at the end' }),
    hasMore: Type.Boolean(),
  })

/** Query of such a list. */
export const AccountPage = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: Type.Optional(Type.String({ maxLength: 1_024, description: 'nextCursor of an answer' })),
})
