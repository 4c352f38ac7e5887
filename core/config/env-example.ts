import { documentedVariableOf, SETTINGS } from './settings.ts'

/** Text of `.env.example`: every variable with its default and meaning. */
export const envExample = (): string =>
  Object.entries(SETTINGS)
    .map(([key, setting]) => {
      const value = setting.prefix === undefined ? formatDefault(setting.default) : ''
      const name = documentedVariableOf(key, setting)
      const file = setting.secret === undefined ? '' : ` (or ${name}_FILE: a file that holds it)`
      return `# ${setting.description ?? ''}${file}\n#${name}=${value}\n`
    })
    .join('\n')

/** A default as its variable writes it. */
export const formatDefault = (value: unknown): string => {
  if (Array.isArray(value)) return value.join(',')
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')
}
