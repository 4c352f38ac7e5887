import { InvalidInput } from './errors.ts'

/** Deepest nesting of lists and objects that is read from outside. Everything that we serve or accept has fewer than 16 levels. */
export const MAX_JSON_DEPTH = 64

/** True for a JSON object: neither a list nor null. */
export const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Limits of one JSON text from outside. */
export interface JsonLimits {
  /** Longest text, in UTF-16 code units. */
  readonly maxLength?: number
  /** Deepest nesting; a scalar has depth 0. */
  readonly maxDepth?: number
}

const QUOTE_CODE = 0x22
const BACKSLASH_CODE = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const COLON = 0x3a
const COMMA = 0x2c

/** Index behind the string that starts at `start`, or the end of the text. */
const skipString = (text: string, start: number): number => {
  for (let at = start + 1; ; ) {
    const close = text.indexOf('"', at)
    if (close === -1) return text.length
    let backslashes = 0
    while (text.charCodeAt(close - 1 - backslashes) === BACKSLASH_CODE) backslashes++
    if (backslashes % 2 === 0) return close + 1
    at = close + 1
  }
}

/** Whether lists and objects of a JSON text nest no deeper than `maxDepth`. Does not say whether the text is valid JSON. */
export const isWithinDepth = (text: string, maxDepth = MAX_JSON_DEPTH): boolean => {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE_CODE) at = skipString(text, at) - 1
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      if (++depth > maxDepth) return false
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--
  }
  return true
}

/**
 * Text of the value that an object's JSON text has under a name, as it stands there: numbers keep digits that a parsed number loses. The text
 * must be valid JSON; undefined where the object has no such name, or spells it with escapes.
 */
export const memberText = (text: string, name: string): string | undefined => {
  let [depth, start, key] = [0, -1, '']
  let found: string | undefined
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const isClose = code === CLOSE_BRACKET || code === CLOSE_BRACE
    if (code === QUOTE_CODE) {
      const end = skipString(text, at)
      if (depth === 1 && start === -1) key = text.slice(at + 1, end - 1)
      at = end - 1
    } else if (depth === 1 && (isClose || code === COMMA)) {
      if (start !== -1 && key === name) found = text.slice(start, at).trim()
      start = -1
    } else if (depth === 1 && start === -1 && code === COLON) start = at + 1
    if (code === OPEN_BRACKET || code === OPEN_BRACE) depth++
    if (isClose) depth--
  }
  return found
}

/**
 * Parses JSON from outside within bounds. Code that reads the value may then recurse into it. Throws `InvalidInput` with the reason
 * `json-too-long`, `json-too-deep` or `bad-json`; the message never holds the text.
 */
export const parseJson = (
  text: string,
  { maxLength = Number.POSITIVE_INFINITY, maxDepth = MAX_JSON_DEPTH }: JsonLimits = {},
): unknown => {
  if (text.length > maxLength)
    throw new InvalidInput(
      'json-too-long',
      `JSON text of ${text.length} characters exceeds ${maxLength}`,
    )
  if (!isWithinDepth(text, maxDepth))
    throw new InvalidInput('json-too-deep', `JSON text nests deeper than ${maxDepth} levels`)
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidInput('bad-json', 'the text is not valid JSON')
  }
}

/** The value where it is text, else "". */
export const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '')
