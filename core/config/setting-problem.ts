import { inspect } from 'node:util'
import type { TLocalizedValidationError } from 'typebox/error'
import { formatDefault } from './env-example.ts'
import type { ConfigProblem } from './errors.ts'
import { documentedVariableOf, SETTINGS } from './settings.ts'

/** Longest part of a wrong value that is shown. */
const MAX_SHOWN_LENGTH = 80

/** A mistake in words: the variable, what it must be, what it is instead, what it is for and what it is when it is left out. */
export const settingProblem = (
  error: TLocalizedValidationError,
  settings: Readonly<Record<string, unknown>>,
): ConfigProblem => {
  const [top = '', ...rest] = error.instancePath.split('/').slice(1)
  const setting = SETTINGS[top]
  const at = rest.length > 0 ? ` (at ${rest.join('.')})` : ''
  const isSecret = setting?.secret !== undefined
  const found = isSecret ? '' : `, not ${shownValue(valueAt(settings, [top, ...rest]))}`
  return {
    variable: documentedVariableOf(top, setting),
    message: `${expectation(error)}${error.keyword === 'additionalProperties' ? '' : found}${at}.${remedy(top)}`,
  }
}

/** What a setting is for, and what holds without it. */
export const remedy = (key: string): string => {
  const setting = SETTINGS[key]
  if (setting === undefined) return ''
  const value = setting.prefix === undefined ? formatDefault(setting.default) : ''
  return ` ${setting.description ?? ''}. Unset: ${value === '' ? 'none' : value}`
}

const expectation = ({ keyword, params, message }: TLocalizedValidationError): string => {
  if (keyword === 'additionalProperties')
    return `has a key that it cannot have: ${JSON.stringify(params.additionalProperties[0])}`
  return keyword === 'enum' ? `must be one of ${params.allowedValues.join(', ')}` : message
}

const valueAt = (settings: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Readonly<Record<string, unknown>>)[name]
        : undefined,
    settings,
  )

/** A wrong value, cut. `inspect` stops at its depth: an override may nest deeper than `JSON.stringify` can follow. */
export const shownValue = (value: unknown): string => {
  const text =
    typeof value === 'object'
      ? inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY, compact: true })
      : (JSON.stringify(value) ?? 'nothing')
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}...` : text
}
