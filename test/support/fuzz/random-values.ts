import type { Random } from '../../../simulator/node/random.ts'

/** Texts that parsers, engines and terminals trip over. */
const TEXTS = [
  ...['', ' ', '0', '-0', '1', '-1', '00', '01', '+1', '1.0', '1e2', '1e300', '1e400', '-1e-400'],
  ...['0x10', 'NaN', 'Infinity', '-Infinity', 'null', 'undefined', 'true', 'false', '[]', '{}'],
  ...['9007199254740993', '18446744073709551616', '-9223372036854775809', '99999999999999999999'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '$where', '..', '.'],
  ...["'", '"', '`', '\\', "' OR 1=1 --", '{k:String}', '%', '%00', '%ff', '%zz', '\u0000', '\r\n'],
  ...[
    '\u202e',
    '\u001b[2J',
    '😀',
    '\ud800',
    'ﬃ',
    'İ',
    'ß',
    '\ufeff',
    '\u2028',
    '#{7*7}',
    '../../etc',
  ],
  ...['sol', 'eth', 'ethereum', '1m', 'usd', 'next', 'prev', 'asc', 'DESC', 'amountPercentage'],
  ...['2026-01-01', '2026-01-01T00:00:00Z', '+275760-01-01', '1969-12-31', '-1', '1e9', '٢٠'],
] as const

const LENGTHS = [0, 1, 63, 64, 65, 255, 1_024, 1_025, 5_000] as const

/** One text. */
export const randomText = (random: Random): string => {
  const how = random.below(10)
  if (how < 6) return random.pick(TEXTS)
  if (how === 6) return random.pick(['a', '%', '"', '0', '(', 'é']).repeat(random.pick(LENGTHS))
  if (how === 7) return random.hex(random.below(70))
  if (how === 8) return `0x${random.hex(40)}`
  return Array.from({ length: random.below(12) }, () =>
    String.fromCharCode(random.below(random.chance(0.7) ? 128 : 65_536)),
  ).join('')
}

const DEPTHS = [2, 16, 63, 64, 65, 1_000, 20_000, 49_000] as const

/** JSON text of lists or objects inside each other, as deep as a parser that recurses cannot take. */
export const randomDeepJson = (random: Random): string => {
  const levels = random.pick(DEPTHS)
  return random.chance(0.5)
    ? `${'['.repeat(levels)}${']'.repeat(levels)}`
    : `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
}

const LITERALS = [
  ...['0', '-0', '1', '-1', '1.5', '1e2', '1e300', '1e400', '-1e400', '9007199254740993'],
  ...['123456789012345678901234567890', 'true', 'false', 'null', '[]', '{}', '""', '[null]'],
  ...['{"toString":1}', '{"valueOf":null}', '{"__proto__":{"a":1}}', '{"length":4294967295}'],
  ...['{"constructor":{"prototype":{"a":1}}}', '[[[[[[[]]]]]]]', '{"then":1}', '4294967296'],
] as const

/** The text as a part of a URL; halves of surrogate pairs, which no URL holds, become question marks. */
export const encodeForUrl = (text: string): string =>
  encodeURIComponent(text.replace(/\p{Surrogate}/gu, '?'))

/** JSON text of any value: mostly small, now and then deep, wide or long. */
export const randomJson = (random: Random): string => {
  const how = random.below(20)
  if (how < 8) return random.pick(LITERALS)
  if (how < 14) return JSON.stringify(randomText(random))
  if (how === 14) return randomDeepJson(random)
  if (how === 15) return `[${Array(random.pick(LENGTHS)).fill(random.pick(LITERALS)).join()}]`
  if (how < 18) return `[${randomJson(random)},${randomJson(random)}]`
  return randomObjectJson(random, [[randomText(random), randomJson(random)]])
}

/** JSON text of an object; now and then a field comes twice. */
export const randomObjectJson = (
  random: Random,
  fields: readonly (readonly [name: string, json: string])[],
): string => {
  const texts = fields.map(([name, json]) => `${JSON.stringify(name)}:${json}`)
  if (texts.length > 0 && random.chance(0.03)) texts.push(random.pick(texts))
  return `{${texts.join()}}`
}

/** The text with some of its characters changed, cut out, repeated or cut off. */
export const mutateText = (text: string, random: Random): string => {
  const at = random.below(text.length + 1)
  switch (random.below(6)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.slice(0, at) + randomText(random) + text.slice(at)
    case 2:
      return text.slice(0, at) + text.slice(at + 1 + random.below(8))
    case 3:
      return text.slice(0, at) + text.slice(at).repeat(2)
    case 4:
      return text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1)
    default:
      return text
  }
}

/** The bytes with some of them changed, cut out or cut off. */
export const mutateBytes = (bytes: Uint8Array, random: Random): Buffer => {
  const text = Buffer.from(bytes).toString('latin1')
  return Buffer.from(mutateText(text, random), 'latin1')
}

/** A JSON value with one of its parts replaced by a value of another kind. */
export const mutateJson = (value: unknown, random: Random): unknown => {
  if (random.chance(0.15)) return randomReplacement(random)
  if (Array.isArray(value)) {
    if (value.length === 0) return randomReplacement(random)
    const at = random.below(value.length)
    if (random.chance(0.1)) return value.toSpliced(at, 1)
    return value.with(at, mutateJson(value[at], random))
  }
  if (typeof value === 'object' && value !== null) {
    const names = Object.keys(value)
    if (names.length === 0) return randomReplacement(random)
    const name = random.pick(names)
    const { [name]: own, ...others } = value as Readonly<Record<string, unknown>>
    return random.chance(0.1) ? others : { ...others, [name]: mutateJson(own, random) }
  }
  if (typeof value === 'string' && random.chance(0.6)) return mutateText(value, random)
  return randomReplacement(random)
}

const randomReplacement = (random: Random): unknown => {
  try {
    return JSON.parse(randomJson(random))
  } catch {
    return null
  }
}
