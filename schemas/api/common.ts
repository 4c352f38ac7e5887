import { type Static, type TProperties, type TSchema, Type } from 'typebox'

/** An object that the API's document shows under a name of its own, and refers to wherever it occurs. */
export const namedObject = <Fields extends TProperties>(name: string, fields: Fields) =>
  Type.Object(fields, { title: name })

/** An object that refuses further fields, so that a misspelt one is not taken for one that is left out. */
export const closedObject = <Fields extends TProperties>(name: string, fields: Fields) =>
  Type.Object(fields, { title: name, additionalProperties: false })

/** Fields that are all text, with what each means. */
export const textFields = <const Name extends string>(about: Readonly<Record<Name, string>>) =>
  Object.fromEntries(
    Object.entries<string>(about).map(([name, description]) => [
      name,
      Type.String({ description }),
    ]),
  ) as Record<Name, ReturnType<typeof Type.String>>

/** A value that may be unknown. Written as a type list: JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export const nullable = <Schema extends TSchema & { type: string }>(schema: Schema) =>
  Type.Unsafe<Static<Schema> | null>({ ...schema, type: [schema.type, 'null'] })

/** When a credential was last used. */
export const LastUse = nullable(
  Type.String({
    description:
      'ISO 8601 with milliseconds: the last request that the rate limit allowed, known within a second in every process; null: none in the last 62 days',
  }),
)

/** A decimal number as text, plain notation, or null when it is unknown. */
export const decimalOrNull = (about: string) => nullable(Type.String({ description: about }))

/** Direction of a sorted list. */
export const DIRECTION = Type.String({
  pattern: '^([aA][sS][cC]|[dD][eE][sS][cC])$',
  default: 'desc',
  description: 'asc or desc, in upper or lower case',
})

/** The one error body: RFC 9457 with our fields. */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'Address of the description of this kind of error' }),
    title: Type.String(),
    status: Type.Integer({ description: 'The HTTP status' }),
    detail: Type.String(),
    instance: Type.String({ description: 'Path of the request' }),
    code: Type.Integer({ description: 'Stable error code' }),
    name: Type.String({ description: 'Name of the code' }),
    message: Type.String(),
    requestId: Type.String({ description: 'Also in the header X-Request-Id' }),
    timestamp: Type.String({ description: 'ISO 8601 with milliseconds' }),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { $id: 'Problem' },
)
export type Problem = Static<typeof Problem>

/** Query of every list. */
export const PAGE_QUERY = {
  cursor: Type.Optional(
    Type.String({ maxLength: 1_024, description: 'startCursor or endCursor of an answer' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  direction: Type.Optional(Type.Enum(['next', 'prev'], { default: 'next' })),
}

/** A query time: seconds or milliseconds since the epoch, distinguished by their size. */
export const queryTime = (about: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 4_102_444_800_000,
      description: `${about}; seconds or ms`,
    }),
  )

/** The list envelope: `data` and `items` are the same array. */
export const makePage = <Item extends TSchema & { title?: string }>(
  item: Item,
  name = `${item.title ?? ''}Page`,
) =>
  namedObject(name, {
    data: Type.Array(item),
    items: Type.Array(item),
    nextCursor: Type.String({ description: 'Empty at the end' }),
    hasMore: Type.Boolean(),
    hasNext: Type.Boolean(),
    hasPrev: Type.Boolean(),
    startCursor: nullable(Type.String()),
    endCursor: nullable(Type.String()),
  })

/** Answer of calls that give nothing back. */
export const Success = namedObject('Success', { success: Type.Boolean() })

/** Path parameter `chain`; the accepted words are `CHAIN_ID_BY_NAME`, checked by the handler for its own error code. */
export const ChainParam = Type.String({
  maxLength: 64,
  description: 'Chain id or name, lower case',
  examples: ['sol', 'eth', 'ethereum', 'bsc'],
})
