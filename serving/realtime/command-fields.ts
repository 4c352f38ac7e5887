import { type Body, isObject, type Method } from './protocol.ts'

/** Type of a field of a command of the Centrifuge protocol. */
type FieldType = 'text' | 'boolean' | 'count' | 'integer' | 'texts' | 'since'

/** Fields that are read, by method. Others are ignored, whatever they hold. */
const FIELDS: Partial<Record<Method, Readonly<Record<string, FieldType>>>> = {
  connect: { token: 'text', name: 'text', version: 'text', headers: 'texts' },
  refresh: { token: 'text' },
  subscribe: {
    channel: 'text',
    token: 'text',
    filter: 'text',
    recover: 'boolean',
    epoch: 'text',
    offset: 'count',
    positioned: 'boolean',
    recoverable: 'boolean',
    join_leave: 'boolean',
    flag: 'count',
  },
  unsubscribe: { channel: 'text' },
  history: { channel: 'text', limit: 'integer', since: 'since', reverse: 'boolean' },
}

const isCount = (value: unknown): boolean =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

const TYPE_CHECKS: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  count: isCount,
  integer: (value) => Number.isSafeInteger(value),
  texts: (value) => isObject(value) && Object.values(value).every((one) => typeof one === 'string'),
  since: (value) =>
    isObject(value) &&
    (isAbsent(value.offset) || isCount(value.offset)) &&
    (isAbsent(value.epoch) || typeof value.epoch === 'string'),
}

/** JSON of Protobuf writes an absent field as null, or not at all. */
const isAbsent = (value: unknown): boolean => value === undefined || value === null

/**
 * The body, without fields that are null; undefined where a field has another type than the protocol gives it. Values are
 * never converted: text that holds digits is not a number.
 */
export const validateBody = (method: Method, body: Body): Body | undefined => {
  let checked = body
  for (const [name, type] of Object.entries(FIELDS[method] ?? {})) {
    if (!Object.hasOwn(body, name)) continue
    if (isAbsent(body[name])) checked = omitField(checked, name)
    else if (!TYPE_CHECKS[type](body[name])) return undefined
  }
  return checked
}

const omitField = (body: Body, name: string): Body => {
  const { [name]: _, ...rest } = body
  return rest
}
