import { Value } from 'typebox/value'
import { CHAIN_WORDS } from '../../schemas/chains.ts'
import { crossProblems } from './cross-checks.ts'
import { ConfigError, type ConfigProblem } from './errors.ts'
import { withFiles } from './files.ts'
import { Secret, SecretUrl } from './secret.ts'
import { type Config, namesOf, SETTINGS, type Setting, Settings, variableOf } from './settings.ts'

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

const parseText = (text: string, setting: Setting): unknown => {
  if (setting.type === 'array') return listOf(text)
  if (setting.type === 'integer' || setting.type === 'number')
    return text.trim() === '' ? text : Number(text)
  if (setting.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (setting.type === 'object') return JSON.parse(text)
  return text
}

/** Values from the environment, and over them what the command line gave. */
export type ConfigOverrides = Readonly<Record<string, unknown>>

/**
 * Reads the configuration once. Throws `ConfigError` with every mistake, an unknown override included.
 * `environment` is `process.env` in the product and a literal in tests.
 */
export const loadConfig = (
  given: Readonly<Record<string, string | undefined>>,
  overrides: ConfigOverrides = {},
): Config => {
  const { environment, problems: unread } = withFiles(given, isSecretName)
  const problems: ConfigProblem[] = [...unread]
  const draft: Record<string, unknown> = {}
  for (const [key, setting] of Object.entries(SETTINGS)) {
    if (setting.prefix !== undefined) {
      const { values, unknown } = perChain(environment, setting.prefix)
      draft[key] = values
      problems.push(...unknown)
      continue
    }
    const text = environment[variableOf(key)]
    // Compose hands over a variable that nobody set as an empty one.
    if (text === undefined || (setting.type === 'object' && text.trim() === '')) continue
    try {
      draft[key] = parseText(text, setting)
    } catch {
      problems.push({ variable: variableOf(key), message: 'is not JSON' })
    }
  }
  for (const [key, value] of Object.entries(overrides)) {
    if (!(key in SETTINGS)) problems.push({ variable: key, message: 'unknown setting' })
    else if (value !== undefined) draft[key] = value
  }
  const value = Value.Default(Settings, draft) as Record<string, unknown>
  for (const error of Value.Errors(Settings, value)) {
    const [top = '', ...rest] = error.instancePath.split('/').slice(1)
    const at = rest.length > 0 ? ` (at ${rest.join('.')})` : ''
    problems.push({ variable: namesOf(top, SETTINGS[top]), message: `${error.message}${at}` })
  }
  problems.push(...crossProblems(value))
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze({ ...value, ...secretsOf(value) }) as unknown as Config
}

const isSecretName = (variable: string): boolean =>
  Object.entries(SETTINGS).some(
    ([key, setting]) =>
      setting.secret !== undefined &&
      (setting.prefix === undefined
        ? variable === variableOf(key)
        : variable.startsWith(setting.prefix) && variable.length > setting.prefix.length),
  )

const wrapped = (value: unknown, kind: 'text' | 'url'): unknown => {
  if (typeof value === 'string') return kind === 'url' ? new SecretUrl(value) : new Secret(value)
  if (Array.isArray(value)) return value.map((each) => wrapped(each, kind))
  return Object.fromEntries(
    Object.entries(value as object).map(([key, each]) => [key, wrapped(each, kind)]),
  )
}

const secretsOf = (value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(SETTINGS).flatMap(([key, { secret: kind }]) =>
      kind === undefined ? [] : [[key, wrapped(value[key], kind)]],
    ),
  )

/** Every text of a configuration that must not appear in a log, an error or a status. */
export const secretTexts = (config: Config): readonly string[] => {
  const textsOf = (value: unknown): readonly string[] => {
    if (value instanceof Secret) return value.sensitiveTexts()
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
  }
  return Object.entries(SETTINGS).flatMap(([key, setting]) =>
    setting.secret === undefined ? [] : textsOf(config[key as keyof Config]),
  )
}

/** Lists by internal chain id, from variables that end in any word for a chain. */
const perChain = (
  environment: Readonly<Record<string, string | undefined>>,
  prefix: string,
): {
  readonly values: Readonly<Record<string, readonly string[]>>
  readonly unknown: readonly ConfigProblem[]
} => {
  const values: Record<string, readonly string[]> = {}
  const unknown: ConfigProblem[] = []
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith(prefix) || text === undefined || text.trim() === '') continue
    const chain = CHAIN_WORDS[variable.slice(prefix.length).toLowerCase()]
    if (chain === undefined) unknown.push({ variable, message: 'unknown chain' })
    else values[chain] = listOf(text)
  }
  return { values, unknown }
}
