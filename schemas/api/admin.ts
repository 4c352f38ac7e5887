import { type Static, type TSchema, Type } from 'typebox'
import { PLANS, type PlanName } from '../plans.ts'
import { SCOPES } from '../scopes.ts'
import { LastUse, nullable } from './common.ts'

const id = (prefix: string) =>
  Type.String({ minLength: 1, maxLength: 64, description: `Starts with ${prefix}_` })
const Name = Type.String({ minLength: 1, maxLength: 128 })
const Plan = Type.Enum(Object.keys(PLANS) as PlanName[])
/** With its type: the check for repeated items is then linear in their number. */
const Scope = Type.Enum([...SCOPES], { type: 'string' })
const scopes = (description: string) =>
  Type.Array(Scope, { maxItems: SCOPES.length, uniqueItems: true, description })
const TOKEN_SCOPES =
  'Scopes that its access tokens may have. Its API keys have their own, and its wallets every scope'
const Time = Type.String({ description: 'ISO 8601 with milliseconds' })
/** The last time that a date can hold. Source: ECMA-262, time values. */
const LAST_TIME_MS = 8_640_000_000_000_000
const NO_OTHER_PROPERTIES = { additionalProperties: false }

/** Path of one organization. */
export const OrgPath = Type.Object({ orgId: id('org') })
/** Path of one application. */
export const AppPath = Type.Object({ appId: id('app') })
/** Path of one key. */
export const KeyPath = Type.Object({ appId: id('app'), keyId: id('key') })

/** Query of a list. */
export const AdminPage = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 100 })),
  cursor: Type.Optional(Type.String({ maxLength: 1_024, description: 'nextCursor of an answer' })),
})
export type AdminPage = Static<typeof AdminPage>

/** Query of the list of applications. */
export const AppPage = Type.Object({
  ...AdminPage.properties,
  orgId: Type.Optional(id('org')),
})

/** One page: `data` and `items` are the same array. */
export const makeAdminPage = <Item extends TSchema>(item: Item) =>
  Type.Object({
    data: Type.Array(item),
    items: Type.Array(item),
    nextCursor: Type.String({ description: 'Empty at the end' }),
    hasMore: Type.Boolean(),
  })

/** Done, with nothing to tell. */
export const AdminSuccess = Type.Object({ success: Type.Literal(true) })

/** A new organization. */
export const OrgCreate = Type.Object({ name: Name, plan: Type.Optional(Plan) }, NO_OTHER_PROPERTIES)

/** Changes of an organization. */
export const OrgUpdate = Type.Object(
  {
    name: Type.Optional(Name),
    plan: Type.Optional(Plan),
    suspended: Type.Optional(Type.Boolean()),
  },
  { ...NO_OTHER_PROPERTIES, minProperties: 1 },
)

/** An organization. */
export const OrgView = Type.Object({
  orgId: id('org'),
  name: Name,
  plan: Type.String({ description: 'As the operator gave it; none = only what it buys' }),
  boughtPlan: nullable(
    Type.Object({
      plan: Type.String(),
      startsAt: Time,
      expiresAt: Time,
      wallet: Type.String({ description: 'Kind and address' }),
      network: Type.String(),
      transaction: Type.String(),
      amount: Type.String({ description: 'Base units of the token' }),
    }),
  ),
  suspended: Type.Boolean(),
  createdAt: Time,
})
export type OrgView = Static<typeof OrgView>

/** A new application: in an organization that exists, or with a new one. */
export const AppCreate = Type.Object(
  {
    name: Name,
    orgId: Type.Optional(id('org')),
    newOrg: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'Name of an organization to make' }),
    ),
    plan: Type.Optional(Plan),
    scopes: Type.Optional(scopes(`${TOKEN_SCOPES}. Default: all; the first API key has all`)),
  },
  NO_OTHER_PROPERTIES,
)

/** The only answer that shows the secrets of an application. */
export const AppSecrets = Type.Object({
  appId: id('app'),
  orgId: id('org'),
  clientId: Type.String(),
  clientSecret: Type.String(),
  apiKey: Type.String(),
  keyId: id('key'),
})

/** Changes of an application. */
export const AppUpdate = Type.Object(
  {
    name: Type.Optional(Name),
    disabled: Type.Optional(Type.Boolean()),
    scopes: Type.Optional(scopes(TOKEN_SCOPES)),
  },
  { ...NO_OTHER_PROPERTIES, minProperties: 1 },
)

/** An application. */
export const AppView = Type.Object({
  appId: id('app'),
  orgId: id('org'),
  name: Name,
  clientId: Type.String(),
  scopes: Type.Array(Type.String(), { description: TOKEN_SCOPES }),
  disabled: Type.Boolean(),
  createdAt: Time,
  updatedAt: Time,
})
export type AppView = Static<typeof AppView>

/** How long the secret before the new one stays good. */
export const RotateSecret = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 2_592_000, description: 'Default: 86400' }),
    ),
  },
  NO_OTHER_PROPERTIES,
)

/** The only answer that shows the new secret. */
export const NewSecret = Type.Object({ clientSecret: Type.String() })

/** A new API key. */
export const KeyCreate = Type.Object(
  {
    name: Type.Optional(Name),
    scopes: Type.Optional(scopes('Of this key, whatever the application has; default: all')),
    expiresAt: Type.Optional(
      Type.Union([
        Type.Integer({
          minimum: 0,
          maximum: LAST_TIME_MS,
          description: 'Epoch milliseconds, at most a hundred years ahead',
        }),
        Type.String({ maxLength: 64, description: 'ISO 8601' }),
      ]),
    ),
  },
  NO_OTHER_PROPERTIES,
)

/** The only answer that shows the key. */
export const NewKeyView = Type.Object({ keyId: id('key'), apiKey: Type.String() })

/** An API key without its text. */
export const KeyView = Type.Object({
  keyId: id('key'),
  appId: id('app'),
  name: Type.String({ description: 'Empty without one' }),
  prefix: Type.String({ description: 'Its first characters' }),
  scopes: Type.Array(Type.String()),
  expiresAt: nullable(Time),
  createdAt: Time,
  lastUsedAt: LastUse,
})
export type KeyView = Static<typeof KeyView>

/** Path of one admin token. */
export const AdminTokenPath = Type.Object({ tokenId: id('admin') })

/** A new admin token; `read` looks, `write` changes everything but admin tokens. */
export const AdminTokenCreate = Type.Object(
  {
    name: Name,
    role: Type.Enum(['read', 'write']),
    expiresInSeconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 31_536_000, description: 'Default: 2592000' }),
    ),
  },
  NO_OTHER_PROPERTIES,
)

/** An admin token without its text. */
export const AdminTokenView = Type.Object({
  tokenId: id('admin'),
  name: Name,
  role: Type.String({ description: 'read or write' }),
  expiresAt: Time,
  createdAt: Time,
})
export type AdminTokenView = Static<typeof AdminTokenView>

/** The only answer that shows the token. */
export const NewAdminTokenView = Type.Object({
  ...AdminTokenView.properties,
  token: Type.String(),
})

/** How long a new signing key is shown before it signs. */
export const RotateSigningKey = Type.Object(
  {
    leadSeconds: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 2_592_000, description: 'Default: 86400' }),
    ),
  },
  NO_OTHER_PROPERTIES,
)

/** A signing key of access tokens. */
export const SigningKeyView = Type.Object({
  kid: Type.String(),
  slot: Type.String({ description: 'next, current, previous or retired' }),
  activeFrom: Time,
})
export type SigningKeyView = Static<typeof SigningKeyView>
