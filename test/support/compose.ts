import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

const FILE = fileURLToPath(new URL('../../docker-compose.yml', import.meta.url))

/** A service as far as tests look at it. */
export interface ComposeService {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly networks?: readonly string[]
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly read_only?: boolean
}

/** The compose file as far as tests look at it. */
export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
}

/** The compose file before interpolation. */
export const composeFile = (): ComposeFile => parse(readFileSync(FILE, 'utf8'), { merge: true })

/** `${A:-b}` and `${A:?why}` filled in; throws `why` for what must be given and is not. */
const interpolate = (text: string, variables: Readonly<Record<string, string>>): string =>
  text.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_, name: string, kind: string, rest: string) => {
    const value = variables[name] ?? ''
    if (value !== '') return value
    if (kind === '?') throw new Error(`${name}: ${rest}`)
    return rest
  })

/** Command and environment of a service, with the variables of whoever starts it. */
export const composeService = (
  name: string,
  variables: Readonly<Record<string, string>>,
): { readonly command: readonly string[]; readonly environment: Record<string, string> } => {
  const { command = [], environment = {} } = composeFile().services[name] ?? {}
  return {
    command,
    environment: Object.fromEntries(
      Object.entries(environment).map(([key, value]) => [key, interpolate(value, variables)]),
    ),
  }
}
