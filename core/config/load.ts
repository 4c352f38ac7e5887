import { Value } from 'typebox/value'
import { CHAIN_ID_BY_NAME } from '../../schemas/chains.ts'
import { parseJson } from '../json.ts'
import { checkAcrossSettings } from './cross-checks.ts'
import { ConfigError, type ConfigProblem } from './errors.ts'
import { Secret, SecretUrl } from './secret.ts'
import { readSecretFiles } from './secret-files.ts'
import { remedy, settingProblem, shownValue } from './setting-problem.ts'
import { type Config, environmentVariableOf, SETTINGS, type Setting, Settings } from './settings.ts'
import { unknownChainText } from './unknown-chain.ts'

const parseList = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** `1e3` and `0x10` are refused: what they are taken for is a guess. */
const DECIMAL = /^-?\d{1,15}(\.\d{1,15})?$/

const parseSettingText = (text: string, setting: Setting): unknown => {
  if (setting.type === 'array') return parseList(text)
  if (setting.type === 'integer' || setting.type === 'number')
    return DECIMAL.test(text.trim()) ? Number(text) : text
  if (setting.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (setting.type === 'object') return parseJson(text)
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
  const { environment, problems: unread } = readSecretFiles(given, isSecretName)
  const problems: ConfigProblem[] = [...unread]
  const draft: Record<string, unknown> = {}
  for (const [key, setting] of Object.entries(SETTINGS)) {
    if (setting.prefix !== undefined) {
      const { values, unknown } = readChainSettings(environment, setting.prefix)
      draft[key] = values
      problems.push(...unknown)
      continue
    }
    const text = environment[environmentVariableOf(key)]
    // Compose hands over an unset variable as an empty one.
    if (text === undefined || (setting.type === 'object' && text.trim() === '')) continue
    try {
      draft[key] = parseSettingText(text, setting)
    } catch {
      problems.push({
        variable: environmentVariableOf(key),
        message: `is not JSON, or nests too deep${setting.secret === undefined ? `: ${shownValue(text)}` : ''}.${remedy(key)}`,
      })
    }
  }
  for (const [key, value] of Object.entries(overrides)) {
    if (!(key in SETTINGS))
      problems.push({ variable: key, message: 'unknown setting; .env.example lists all settings' })
    else if (value !== undefined) draft[key] = value
  }
  const value = Value.Default(Settings, draft) as Record<string, unknown>
  for (const error of Value.Errors(Settings, value)) {
    // A key that may not be there is told by the object that holds it.
    if (error.keyword === 'not') continue
    problems.push(settingProblem(error, value))
  }
  problems.push(...checkAcrossSettings(value))
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze({ ...value, ...wrapSecrets(value) }) as unknown as Config
}

const isSecretName = (variable: string): boolean =>
  Object.entries(SETTINGS).some(
    ([key, setting]) =>
      setting.secret !== undefined &&
      (setting.prefix === undefined
        ? variable === environmentVariableOf(key)
        : variable.startsWith(setting.prefix) && variable.length > setting.prefix.length),
  )

const wrapSecret = (value: unknown, kind: 'text' | 'url'): unknown => {
  if (typeof value === 'string') return kind === 'url' ? new SecretUrl(value) : new Secret(value)
  if (Array.isArray(value)) return value.map((each) => wrapSecret(each, kind))
  return Object.fromEntries(
    Object.entries(value as object).map(([key, each]) => [key, wrapSecret(each, kind)]),
  )
}

const wrapSecrets = (value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(SETTINGS).flatMap(([key, { secret: kind }]) =>
      kind === undefined ? [] : [[key, wrapSecret(value[key], kind)]],
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
const readChainSettings = (
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
    const name = variable.slice(prefix.length).toLowerCase()
    const chain = CHAIN_ID_BY_NAME[name]
    if (chain === undefined) unknown.push({ variable, message: unknownChainText(name) })
    else values[chain] = parseList(text)
  }
  return { values, unknown }
}
