import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'

/** A secret: prints as `[redacted]`, its text only through `reveal`. */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  reveal(): string {
    return this.#text
  }

  toString(): string {
    return '[redacted]'
  }

  toJSON(): string {
    return '[redacted]'
  }
}

const port = (fallback: number, about: string) =>
  Type.Integer({ minimum: 0, maximum: 65_535, default: fallback, description: about })
const address = Type.String({ pattern: '^0x[0-9a-f]{40}$' })

const FactoryRow = Type.Object({
  protocol: Type.String({ minLength: 1 }),
  factory: address,
})
const QuoteRow = Type.Object({
  address,
  symbol: Type.String({ minLength: 1, maxLength: 32 }),
  decimals: Type.Integer({ minimum: 0, maximum: 255 }),
  kind: Type.Enum(['stable', 'native', 'btc']),
})
const ReferenceRow = Type.Object({
  pool: address,
  token: address,
  quote: address,
  protocol: Type.String({ minLength: 1 }),
})

/** Extra rows for one chain: local chains, demos, factories that the tables do not list (R50). */
export const ChainExtra = Type.Object({
  factories: Type.Array(FactoryRow, { default: [] }),
  quotes: Type.Array(QuoteRow, { default: [] }),
  referencePools: Type.Array(ReferenceRow, { default: [] }),
  /** True: only the rows given here count, the chain's own tables are left out. */
  replace: Type.Boolean({ default: false }),
})
export type ChainExtra = Static<typeof ChainExtra>

/** One variable per leaf; the JSON name, its environment variable, its default and what it means. */
const Settings = Type.Object({
  dataDir: Type.String({
    minLength: 1,
    default: '.data',
    description: 'Folder of the embedded parts',
  }),
  host: Type.String({ minLength: 1, default: '127.0.0.1', description: 'Address to listen on' }),
  port: port(8_080, 'HTTP port; streams listen on the next one'),
  logLevel: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    default: 'info',
    description: 'Least severe line that is written',
  }),
  kafkaBrokers: Type.Array(Type.String({ pattern: '^[^:\\s]+:\\d+$' }), {
    default: [],
    description: 'host:port list; empty = embedded log',
  }),
  schemaRegistryUrl: Type.String({
    pattern: '^$|^https?://',
    default: '',
    description: 'Confluent-compatible registry; needed with KAFKA_BROKERS',
  }),
  clickhouseUrl: Type.String({
    pattern: '^$|^https?://',
    default: '',
    description: 'ClickHouse over HTTP; empty = embedded engine',
  }),
  clickhouseDatabase: Type.String({
    minLength: 1,
    default: 'default',
    description: 'Database name',
  }),
  partitions: Type.Integer({
    minimum: 1,
    maximum: 64,
    default: 3,
    description: 'Partitions of token-keyed topics when they are created',
  }),
  retention: Type.Enum(['off', 'contract'], {
    default: 'off',
    description: 'off keeps everything; contract applies the documented hours and days (R36)',
  }),
  lmdbMapSizeMb: Type.Integer({
    minimum: 16,
    default: 65_536,
    description: 'Largest size of the embedded log',
  }),
  chains: Type.Array(Type.String(), { default: ['eth'], description: 'Chains to ingest' }),
  chainExtra: Type.Record(Type.String(), ChainExtra, {
    default: {},
    description: 'JSON: extra factories, quotes and reference pools per chain (R50)',
  }),
  rpcUrls: Type.Array(Type.String({ pattern: '^(https?|wss?)://' }), {
    default: [],
    description: 'Node endpoints, best first; empty = the simulator',
  }),
  rpcConcurrency: Type.Integer({
    minimum: 1,
    maximum: 256,
    default: 8,
    description: 'Calls in flight per endpoint',
  }),
  rpcTimeoutMs: Type.Integer({ minimum: 100, default: 10_000, description: 'Limit of one call' }),
  fromHeight: Type.Integer({
    minimum: -1,
    default: -1,
    description: 'First height; -1 = the head',
  }),
  pricesStatic: Type.Record(address, Type.Number({ exclusiveMinimum: 0 }), {
    default: {},
    description: 'JSON: USD price by token that primes the price table (R45)',
  }),
  apiKeyBrand: Type.String({
    pattern: '^[a-z][a-z0-9]{0,15}$',
    default: 'sluice',
    description: 'First part of API keys',
  }),
  keyPepper: Type.Unsafe<Secret>(
    Type.String({ default: '', description: 'Secret mixed into key hashes; made at first start' }),
  ),
  docsUrl: Type.String({ default: 'https://sluice.invalid', description: 'Base of error types' }),
  errorsStatusMode: Type.Enum(['semantic', 'reference'], {
    default: 'semantic',
    description: 'HTTP statuses: ours, or those of the documented service',
  }),
  bodyLimitBytes: Type.Integer({ minimum: 1_024, default: 262_144, description: 'Largest body' }),
  wsNumbers: Type.Enum(['string', 'number'], {
    default: 'string',
    description: 'Decimals on streams (R9)',
  }),
  wsAllowedOrigins: Type.Array(Type.String(), { default: [], description: 'Empty = every origin' }),
  wsConnectionsPerAccount: Type.Integer({
    minimum: 1,
    default: 20,
    description: 'Then close 3504',
  }),
})

/** The frozen configuration of a process. */
export type Config = Readonly<Static<typeof Settings>>

/** One mistake in the configuration. */
export interface ConfigProblem {
  readonly variable: string
  readonly message: string
}

/** Every mistake of a configuration at once. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    super(
      `${problems.length} mistake(s) in the configuration:\n${problems
        .map(({ variable, message }) => `  ${variable}: ${message}`)
        .join('\n')}`,
    )
    this.name = 'ConfigError'
    this.problems = problems
  }
}

const variableOf = (key: string): string => key.replace(/[A-Z]/g, (c) => `_${c}`).toUpperCase()

interface Leaf {
  readonly type?: string
  readonly default?: unknown
  readonly description?: string
}
const LEAVES = Settings.properties as unknown as Readonly<Record<string, Leaf>>

/** Text of `.env.example`: every variable with its default and meaning. */
export const envExample = (): string =>
  Object.entries(LEAVES)
    .map(
      ([key, leaf]) =>
        `# ${leaf.description ?? ''}\n#${variableOf(key)}=${defaultText(leaf.default)}\n`,
    )
    .join('\n')

const defaultText = (value: unknown): string => {
  if (Array.isArray(value)) return value.join(',')
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')
}

const parseText = (text: string, leaf: Leaf): unknown => {
  if (leaf.type === 'array')
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
  if (leaf.type === 'integer' || leaf.type === 'number')
    return text.trim() === '' ? text : Number(text)
  if (leaf.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (leaf.type === 'object') return JSON.parse(text)
  return text
}

/** Values from the environment, and over them what the command line gave. */
export type ConfigOverrides = Readonly<Record<string, unknown>>

/**
 * Reads the configuration once. Throws `ConfigError` with every mistake, an unknown override included.
 * `environment` is `process.env` in the product and a literal in tests.
 */
export const loadConfig = (
  environment: Readonly<Record<string, string | undefined>>,
  overrides: ConfigOverrides = {},
): Config => {
  const problems: ConfigProblem[] = []
  const draft: Record<string, unknown> = {}
  for (const [key, leaf] of Object.entries(LEAVES)) {
    const text = environment[variableOf(key)]
    if (text === undefined) continue
    try {
      draft[key] = parseText(text, leaf)
    } catch {
      problems.push({ variable: variableOf(key), message: 'is not JSON' })
    }
  }
  for (const [key, value] of Object.entries(overrides)) {
    if (!(key in LEAVES)) problems.push({ variable: key, message: 'is no setting' })
    else if (value !== undefined) draft[key] = value
  }
  const value = Value.Default(Settings, draft) as Record<string, unknown>
  for (const error of Value.Errors(Settings, value)) {
    const [top = '', ...rest] = error.instancePath.split('/').slice(1)
    const at = rest.length > 0 ? ` (at ${rest.join('.')})` : ''
    problems.push({ variable: variableOf(top), message: `${error.message}${at}` })
  }
  problems.push(...crossProblems(value))
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze({ ...value, keyPepper: new Secret(String(value.keyPepper)) }) as Config
}

const crossProblems = (value: Readonly<Record<string, unknown>>): readonly ConfigProblem[] => {
  const brokers = value.kafkaBrokers
  if (Array.isArray(brokers) && brokers.length > 0 && value.schemaRegistryUrl === '') {
    return [{ variable: 'SCHEMA_REGISTRY_URL', message: 'is needed together with KAFKA_BROKERS' }]
  }
  return []
}
