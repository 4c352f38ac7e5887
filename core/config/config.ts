import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { CHAIN_WORDS } from '../../schemas/chains.ts'
import { FEED_NAMES } from '../../schemas/feeds.ts'
import { isRange, listenKind } from './client-address.ts'
import { withFiles } from './files.ts'
import { Secret, SecretUrl } from './secret.ts'

const port = (fallback: number, about: string) =>
  Type.Integer({ minimum: 0, maximum: 65_535, default: fallback, description: about })
/** EVM: lower case; Solana: base 58, where case counts; Sui: ids with all their digits, coins by their short type. */
const address = Type.String({
  pattern:
    '^(0x[0-9a-f]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}|0x[0-9a-f]{64}|0x[1-9a-f][0-9a-f]{0,63}(::\\w{1,128}){2})$',
})
/** A setting that no log may show. `X_FILE` names a file that holds it. */
const secret = (about: string) =>
  Type.Unsafe<Secret>(Type.String({ default: '', description: about, secret: 'text' }))
/** An address that may carry credentials: printed without them. */
const secretUrl = (pattern: string, about: string) =>
  Type.Unsafe<SecretUrl>(Type.String({ pattern, default: '', description: about, secret: 'url' }))
/** Solana takes `grpc` addresses (Yellowstone) beside those of its calls; Sui speaks gRPC only, by any of `http` and `grpc`. */
const rpcUrl = Type.String({ pattern: '^(https?|wss?|grpcs?)://' })

const FactoryRow = Type.Object({
  protocol: Type.String({ minLength: 1 }),
  factory: address,
  /** Contracts beside the factory that know its pools: Uniswap V4's PositionManager. */
  registries: Type.Optional(Type.Array(address, { maxItems: 16 })),
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
  host: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'Address that the public API and the streams listen on',
  }),
  port: port(8_080, 'HTTP port; streams listen on the next one'),
  publicUrl: Type.String({
    pattern: '^$|^https?://[^?#]+$',
    default: '',
    description:
      'Address that clients use, e.g. of the reverse proxy; needed where HOST is 0.0.0.0 or ::',
  }),
  publicStreamsUrl: Type.String({
    pattern: '^$|^wss?://[^?#]+$',
    default: '',
    description: 'Address of the streams; empty = that of PUBLIC_URL',
  }),
  trustedProxies: Type.Array(Type.String({ pattern: '^[0-9a-fA-F.:]+/\\d{1,3}$' }), {
    default: [],
    description: 'Ranges (CIDR) of reverse proxies whose X-Forwarded-For names the caller',
  }),
  tlsCertFile: Type.String({
    default: '',
    description: 'Certificate chain (PEM): the public API, streams and admin API speak TLS',
  }),
  tlsKeyFile: Type.String({ default: '', description: 'Private key (PEM) of TLS_CERT_FILE' }),
  httpConnections: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 10_000,
    description: 'Open connections of the public API; the next one is closed at once',
  }),
  opsHost: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: "Address of the operators' port, whatever HOST says",
  }),
  opsPort: port(0, 'Port of /health, /ready, /metrics, /status, /checksum; 0 = a free one'),
  opsToken: secret('Bearer token that /metrics, /status and /checksum ask for; empty = none'),
  activityFile: Type.String({
    default: '',
    description: 'File that always says which commits and inserts are in flight; empty = none',
  }),
  logLevel: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    default: 'info',
    description: 'Least severe line that is written',
  }),
  kafkaBrokers: Type.Array(Type.String({ pattern: '^[^:\\s]+:\\d+$' }), {
    default: [],
    description: 'host:port list; empty = embedded log',
  }),
  schemaRegistryUrl: secretUrl(
    '^$|^https?://',
    'Confluent-compatible registry; needed with KAFKA_BROKERS',
  ),
  kafkaSessionTimeoutMs: Type.Integer({
    minimum: 1_000,
    maximum: 300_000,
    default: 45_000,
    description: 'A process that is silent for so long loses its lanes',
  }),
  kafkaTls: Type.Boolean({ default: false, description: 'true: TLS to the brokers' }),
  kafkaTlsCa: Type.String({
    default: '',
    description: 'PEM file of the authority that signed the brokers; empty = those of the system',
  }),
  kafkaSaslMechanism: Type.Enum(['scram-sha-512', 'scram-sha-256', 'plain'], {
    default: 'scram-sha-512',
    description: 'How KAFKA_SASL_USERNAME logs in',
  }),
  kafkaSaslUsername: Type.String({ default: '', description: 'Empty = no login' }),
  kafkaSaslPassword: secret('Password of KAFKA_SASL_USERNAME'),
  kafkaTlsCert: Type.String({
    default: '',
    description: 'PEM file of the client certificate for brokers that want one; with KAFKA_TLS_KEY',
  }),
  kafkaTlsKey: Type.String({ default: '', description: 'PEM file of its private key' }),
  schemaRegistryUsername: Type.String({ default: '', description: 'Empty = no login' }),
  schemaRegistryPassword: secret('Password of SCHEMA_REGISTRY_USERNAME'),
  clickhouseUrl: secretUrl('^$|^https?://', 'ClickHouse over HTTP; empty = embedded engine'),
  clickhouseUser: Type.String({
    default: '',
    description: 'User of CLICKHOUSE_URL; empty = the one in the URL, else default',
  }),
  clickhousePassword: secret('Password of CLICKHOUSE_USER'),
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
  retention: Type.Enum(['bounded', 'contract', 'off'], {
    default: 'bounded',
    description:
      'bounded: topics expire, tables keep everything, the embedded log stays below its limit; contract: the documented hours and days for topics and tables (R36); off keeps everything',
  }),
  logMaxMb: Type.Integer({
    minimum: 0,
    maximum: 67_108_864,
    default: 0,
    description:
      'Largest size of the embedded log; beyond 75 % its oldest records are deleted, unless RETENTION=off; 0 = a quarter of the free disk, 256 to LMDB_MAP_SIZE_MB, above its own file and state',
  }),
  logRetentionHours: Type.Integer({
    minimum: 0,
    maximum: 87_600,
    default: 168,
    description:
      'RETENTION=bounded: the embedded log keeps records for so long, or for the documented hours where those are more',
  }),
  lmdbMapSizeMb: Type.Integer({
    minimum: 16,
    default: 65_536,
    description: 'Largest size of the local state of one lane; of the embedded log see LOG_MAX_MB',
  }),
  processName: Type.String({
    pattern: '^[A-Za-z0-9._-]{0,128}$',
    default: '',
    description:
      'Name by which this process gets the same lanes after a restart; unique among the running ones; empty = kept in DATA_DIR',
  }),
  chains: Type.Array(Type.String(), { default: ['eth'], description: 'Chains to ingest' }),
  feeds: Type.Array(Type.Enum([...FEED_NAMES]), {
    default: [],
    description: `More topics and tables per chain, where it has them: ${FEED_NAMES.join(', ')}`,
  }),
  chainExtra: Type.Record(Type.String(), ChainExtra, {
    default: {},
    description: 'JSON: extra factories, quotes and reference pools per chain (R50)',
  }),
  rpcUrls: Type.Unsafe<readonly SecretUrl[]>(
    Type.Array(rpcUrl, {
      default: [],
      secret: 'url',
      description: 'Node endpoints, best first; empty = the simulator',
    }),
  ),
  chainRpcUrls: Type.Unsafe<Readonly<Record<string, readonly SecretUrl[]>>>(
    Type.Record(Type.String(), Type.Array(rpcUrl, { minItems: 1 }), {
      default: {},
      secret: 'url',
      prefix: 'RPC_URLS_',
      description:
        'Node endpoints of one chain, best first: RPC_URLS_SOL, RPC_URLS_ETHEREUM; RPC_URLS_SOL takes Yellowstone streams too (grpcs://TOKEN@host)',
    }),
  ),
  flashblocksUrlBase: secretUrl(
    '^$|^wss?://',
    'Stream of pre-confirmed blocks (flashblocks) of Base; empty = not followed',
  ),
  rpcConcurrency: Type.Integer({
    minimum: 1,
    maximum: 256,
    default: 8,
    description: 'Calls in flight per endpoint',
  }),
  rpcPerSecond: Type.Integer({
    minimum: 0,
    maximum: 100_000,
    default: 0,
    description: 'Calls per second and endpoint, as its plan allows; 0 = no limit of ours',
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
  keyPepper: secret('Secret mixed into key hashes; made at first start'),
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
    description:
      'Stream connections of one account in one process, then close 3504; each process counts for itself',
  }),
  wsConnections: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 20_000,
    description: 'Stream connections of one process, then status 503',
  }),
  wsPendingPerAddress: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 500,
    description:
      'Stream connections of one address (IPv6: /64) that have not sent connect, then status 429',
  }),
  authUrl: Type.String({
    pattern: '^$|^https?://[^?#]+$',
    default: '',
    description: 'Public address of the token service; empty = where REST listens',
  }),
  apiAudience: Type.String({
    minLength: 1,
    default: 'https://api.sluice.invalid',
    description: 'Audience of access tokens',
  }),
  authRequireAudience: Type.Boolean({
    default: true,
    description: 'false = a token request may leave the audience out',
  }),
  authTokenTtlSeconds: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 86_400,
    description: 'Life of an access token',
  }),
  authSigningKeyFile: Type.String({
    default: '',
    description: 'RSA key (PKCS 8, PEM) that signs tokens; empty = made and kept sealed',
  }),
  adminToken: secret('Bearer token for the admin API; empty = no admin API'),
  adminHost: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'Address of the admin API, whatever HOST says',
  }),
  adminPort: port(0, 'Port of the admin API; 0 = two above PORT'),
  adminAllowPlain: Type.Boolean({
    default: false,
    description: 'true: the admin API may listen beyond this machine without TLS',
  }),
  webhookAllow: Type.Array(Type.String({ pattern: '^(none|[0-9a-fA-F.:]+/\\d{1,3})$' }), {
    default: [],
    description:
      'Ranges (CIDR) of inside addresses that webhooks may reach, also over plain http; none = not even those of the demo',
  }),
  webhookTimeoutMs: Type.Integer({
    minimum: 100,
    maximum: 60_000,
    default: 15_000,
    description: 'Limit of one webhook attempt',
  }),
  webhookRetrySeconds: Type.Array(Type.String({ pattern: '^\\d{1,6}$' }), {
    minItems: 1,
    maxItems: 50,
    default: ['0', '5', '300', '1800', '7200', '18000', '36000', '36000'],
    description: 'Pause before each webhook attempt, counted from the failure before it',
  }),
  webhookInFlight: Type.Integer({
    minimum: 1,
    maximum: 256,
    default: 10,
    description: 'Webhook attempts at the same time per endpoint',
  }),
  webhookEndpoints: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 10,
    description: 'Webhook endpoints of one organization',
  }),
  webhookMaxEventAgeSeconds: Type.Integer({
    minimum: 0,
    default: 3_600,
    description: 'Older events (block time) are not delivered; 0 = every age (R36)',
  }),
  webhookPayload: Type.Enum(['full', 'reference'], {
    default: 'full',
    description: 'reference leaves id, type and meta out of webhook bodies',
  }),
  webhookLegacySignature: Type.Boolean({
    default: true,
    description: 'Adds X-Webhook-Timestamp and X-Webhook-Signature',
  }),
  webhookSvixHeaders: Type.Boolean({ default: false, description: 'Adds svix-* headers' }),
  metadataFetch: Type.Enum(['off', 'on'], {
    default: 'off',
    description: 'on: the metadata documents that new tokens name are fetched by their URL',
  }),
  metadataIpfsGateway: Type.String({
    pattern: '^https?://.+/$',
    default: 'https://ipfs.io/ipfs/',
    description: 'Where ipfs:// documents and images are read; ends in /',
  }),
  metadataArweaveGateway: Type.String({
    pattern: '^https?://.+/$',
    default: 'https://arweave.net/',
    description: 'Where ar:// documents and images are read; ends in /',
  }),
  metadataAllow: Type.Array(Type.String({ pattern: '^[0-9a-fA-F.:]+/\\d{1,3}$' }), {
    default: [],
    description: 'Ranges (CIDR) of inside addresses that documents may be fetched from',
  }),
  metadataTimeoutMs: Type.Integer({
    minimum: 100,
    maximum: 60_000,
    default: 10_000,
    description: 'Limit of one attempt to fetch a document',
  }),
  metadataTries: Type.Integer({
    minimum: 1,
    maximum: 20,
    default: 5,
    description: 'Attempts at a document whose host gives no answer',
  }),
  metadataMaxBytes: Type.Integer({
    minimum: 1_024,
    maximum: 16_777_216,
    default: 1_048_576,
    description: 'Largest document',
  }),
  metadataInFlight: Type.Integer({
    minimum: 1,
    maximum: 1_024,
    default: 32,
    description: 'Documents that one process fetches at the same time',
  }),
  metadataInFlightPerHost: Type.Integer({
    minimum: 1,
    maximum: 256,
    default: 8,
    description: 'Documents that one process fetches at the same time from one host',
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
  /** One variable per chain, named by this and a word for the chain. */
  readonly prefix?: string
  /** Not to be shown: a text, or addresses of which only the host is shown. */
  readonly secret?: 'text' | 'url'
}
const LEAVES = Settings.properties as unknown as Readonly<Record<string, Leaf>>

/** Text of `.env.example`: every variable with its default and meaning. */
export const envExample = (): string =>
  Object.entries(LEAVES)
    .map(([key, leaf]) => {
      const value = leaf.prefix === undefined ? defaultText(leaf.default) : ''
      const name = namesOf(key, leaf)
      const file = leaf.secret === undefined ? '' : ` (or ${name}_FILE: a file that holds it)`
      return `# ${leaf.description ?? ''}${file}\n#${name}=${value}\n`
    })
    .join('\n')

/** Variable of a leaf; one that each chain has an own of ends in the word for it. */
const namesOf = (key: string, leaf: Leaf | undefined): string =>
  leaf?.prefix === undefined ? variableOf(key) : `${leaf.prefix}<CHAIN>`

const defaultText = (value: unknown): string => {
  if (Array.isArray(value)) return value.join(',')
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')
}

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

const parseText = (text: string, leaf: Leaf): unknown => {
  if (leaf.type === 'array') return listOf(text)
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
  given: Readonly<Record<string, string | undefined>>,
  overrides: ConfigOverrides = {},
): Config => {
  const { environment, problems: unread } = withFiles(given, isSecretName)
  const problems: ConfigProblem[] = [...unread]
  const draft: Record<string, unknown> = {}
  for (const [key, leaf] of Object.entries(LEAVES)) {
    if (leaf.prefix !== undefined) {
      const { values, unknown } = perChain(environment, leaf.prefix)
      draft[key] = values
      problems.push(...unknown)
      continue
    }
    const text = environment[variableOf(key)]
    // Compose hands over a variable that nobody set as an empty one.
    if (text === undefined || (leaf.type === 'object' && text.trim() === '')) continue
    try {
      draft[key] = parseText(text, leaf)
    } catch {
      problems.push({ variable: variableOf(key), message: 'is not JSON' })
    }
  }
  for (const [key, value] of Object.entries(overrides)) {
    if (!(key in LEAVES)) problems.push({ variable: key, message: 'unknown setting' })
    else if (value !== undefined) draft[key] = value
  }
  const value = Value.Default(Settings, draft) as Record<string, unknown>
  for (const error of Value.Errors(Settings, value)) {
    const [top = '', ...rest] = error.instancePath.split('/').slice(1)
    const at = rest.length > 0 ? ` (at ${rest.join('.')})` : ''
    problems.push({ variable: namesOf(top, LEAVES[top]), message: `${error.message}${at}` })
  }
  problems.push(...crossProblems(value))
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze({ ...value, ...secretsOf(value) }) as unknown as Config
}

const isSecretName = (variable: string): boolean =>
  Object.entries(LEAVES).some(
    ([key, leaf]) =>
      leaf.secret !== undefined &&
      (leaf.prefix === undefined
        ? variable === variableOf(key)
        : variable.startsWith(leaf.prefix) && variable.length > leaf.prefix.length),
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
    Object.entries(LEAVES).flatMap(([key, { secret: kind }]) =>
      kind === undefined ? [] : [[key, wrapped(value[key], kind)]],
    ),
  )

/** Every text of a configuration that must not appear in a log, an error or a status. */
export const secretTexts = (config: Config): readonly string[] => {
  const textsOf = (value: unknown): readonly string[] => {
    if (value instanceof Secret) return value.sensitiveTexts()
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
  }
  return Object.entries(LEAVES).flatMap(([key, leaf]) =>
    leaf.secret === undefined ? [] : textsOf(config[key as keyof Config]),
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

const crossProblems = (value: Readonly<Record<string, unknown>>): readonly ConfigProblem[] => {
  if ((value.kafkaTlsCert === '') !== (value.kafkaTlsKey === '')) {
    const variable = value.kafkaTlsCert === '' ? 'KAFKA_TLS_CERT' : 'KAFKA_TLS_KEY'
    return [{ variable, message: 'is needed: a client certificate has a certificate and a key' }]
  }
  const brokers = value.kafkaBrokers
  const problems: ConfigProblem[] = []
  if (Array.isArray(brokers) && brokers.length > 0 && value.schemaRegistryUrl === '') {
    problems.push({
      variable: 'SCHEMA_REGISTRY_URL',
      message: 'is needed together with KAFKA_BROKERS',
    })
  }
  return [...problems, ...planeProblems(value), ...rangeProblems(value)]
}

/** TLS is a pair of files; the admin API shows its tokens to nobody on the way; clients cannot dial a wildcard. */
const planeProblems = ({
  publicUrl,
  publicStreamsUrl,
  authUrl,
  tlsCertFile,
  tlsKeyFile,
  adminHost,
  adminAllowPlain,
}: Readonly<Record<string, unknown>>): readonly ConfigProblem[] => {
  const problems: ConfigProblem[] = []
  if ((tlsCertFile === '') !== (tlsKeyFile === '')) {
    const variable = tlsCertFile === '' ? 'TLS_CERT_FILE' : 'TLS_KEY_FILE'
    problems.push({ variable, message: 'TLS_CERT_FILE and TLS_KEY_FILE go together' })
  }
  for (const [variable, url] of Object.entries({
    PUBLIC_URL: publicUrl,
    PUBLIC_STREAMS_URL: publicStreamsUrl,
    AUTH_URL: authUrl,
  })) {
    if (typeof url !== 'string' || url === '') continue
    if (!URL.canParse(url) || listenKind(new URL(url).hostname) === 'wildcard') {
      problems.push({ variable, message: 'names no host that clients can dial' })
    }
  }
  const isInside = typeof adminHost !== 'string' || listenKind(adminHost) === 'loopback'
  if (!isInside && tlsCertFile === '' && adminAllowPlain !== true) {
    problems.push({
      variable: 'ADMIN_HOST',
      message:
        'the admin API leaves this machine only with TLS (TLS_CERT_FILE, TLS_KEY_FILE); ADMIN_ALLOW_PLAIN=true allows it without',
    })
  }
  return problems
}

/** Lists of ranges: each one is one, and `none` stands alone. */
const rangeProblems = (value: Readonly<Record<string, unknown>>): readonly ConfigProblem[] => {
  const problems: ConfigProblem[] = []
  for (const key of ['trustedProxies', 'webhookAllow', 'metadataAllow'] as const) {
    const ranges = value[key]
    if (!Array.isArray(ranges)) continue
    const isNone = key === 'webhookAllow' && ranges.length === 1 && ranges[0] === 'none'
    const wrong = ranges.find((range) => typeof range === 'string' && !isRange(range))
    if (wrong === undefined || isNone) continue
    problems.push({
      variable: variableOf(key),
      message: `${wrong} is not a range such as 10.0.0.0/8`,
    })
  }
  return problems
}
