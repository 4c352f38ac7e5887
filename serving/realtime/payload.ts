import type { ChannelKey } from '../../schemas/channel-keys.ts'

/** Values of one payload by short key; undefined and "" are unknown and left out, unless the key is required. */
export interface Payload {
  readonly [key: string]: string | number | undefined | readonly string[] | Payload
}

/** Keys of a payload, as `schemas/channel-keys.ts` lists them. */
export type PayloadKeys = Readonly<Record<string, ChannelKey>>

/** How a payload is written. */
export interface PayloadFormat {
  /** Decimals as text or as numbers. */
  readonly numbers: 'string' | 'number'
  /** True: every value under its long name too, for clients that know no short keys. */
  readonly longNames: boolean
}

type JsonPayload = { [key: string]: string | number | readonly string[] | JsonPayload }

/** JSON text of a payload. */
export const serializePayload = (
  payload: Payload,
  keys: PayloadKeys,
  format: PayloadFormat,
): string =>
  JSON.stringify(
    isWrittenAsIs(payload, keys, format) ? payload : toJsonPayload(payload, keys, format),
  )

/** True where every value of a payload is written as it is: most of them, and a copy takes longer than the look. */
const isWrittenAsIs = (
  payload: Payload,
  keys: PayloadKeys,
  { numbers, longNames }: PayloadFormat,
): boolean => {
  if (numbers === 'number' || longNames) return false
  for (const name in payload) {
    const value = payload[name]
    if (value === undefined || typeof value === 'object') return false
    if (value === '' && keys[name]?.required !== true) return false
  }
  return true
}

const toJsonPayload = (payload: Payload, keys: PayloadKeys, format: PayloadFormat): JsonPayload => {
  const out: JsonPayload = {}
  for (const name in payload) {
    const value = toJsonValue(payload[name], keys[name], format)
    if (value === undefined) continue
    out[name] = value
    const long = format.longNames ? keys[name]?.long : undefined
    if (long !== undefined) out[long] ??= value
  }
  return out
}

/** One value of a payload; undefined where it is left out. */
const toJsonValue = (
  value: Payload[string],
  key: ChannelKey | undefined,
  format: PayloadFormat,
): JsonPayload[string] | undefined => {
  if (value === undefined) return undefined
  if (typeof value === 'object')
    return isPayload(value) ? toJsonPayload(value, key?.keys ?? {}, format) : value
  const isNumber = format.numbers === 'number' && key?.type === 'd'
  if (value === '') return key?.required === true && !isNumber ? '' : undefined
  return isNumber ? Number(value) : value
}

const isPayload = (value: Payload[string]): value is Payload =>
  typeof value === 'object' && !Array.isArray(value)

/** What a filter sees of a payload: what a client sees, decimals as numbers. */
export type FilterView = {
  readonly [key: string]: string | number | readonly string[] | FilterView
}

/** The payload as filters read it. */
export const filterViewOf = (payload: Payload, keys: PayloadKeys): FilterView => {
  const view: Record<string, FilterView[string]> = {}
  for (const [name, value] of Object.entries(payload)) {
    const key = keys[name]
    if (value === undefined || (value === '' && key?.required !== true)) continue
    if (isPayload(value)) view[name] = filterViewOf(value, key?.keys ?? {})
    else if (value !== '' && (key?.type === 'd' || key?.type === 'ds')) view[name] = Number(value)
    else view[name] = value
  }
  return view
}
