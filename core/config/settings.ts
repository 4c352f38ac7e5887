import { type Static, Type } from 'typebox'
import { DEFAULT_CHAINS } from '../../schemas/chains.ts'
import { FEED_NAMES } from '../../schemas/feeds.ts'
import { AGGREGATOR_SETTINGS } from './aggregator-settings.ts'
import { FLASHBLOCKS_SETTINGS } from './flashblocks-settings.ts'
import { PAYMENT_SETTINGS } from './payment-settings.ts'
import type { SecretUrl } from './secret.ts'
import { portSetting, secretSetting, secretUrlSetting } from './setting-kinds.ts'
import { WEBHOOK_SETTINGS } from './webhook-settings.ts'

/** EVM: lower case; Solana: base 58, where case counts; Sui: ids with all their digits, coins by their short type. */
const addressSchema = Type.String({
  pattern:
    '^(0x[0-9a-f]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}|0x[0-9a-f]{64}|0x[1-9a-f][0-9a-f]{0,63}(::\\w{1,128}){2})$',
})
/** Solana takes `grpc` addresses (Yellowstone) beside those of its calls; Sui speaks gRPC only, by any of `http` and `grpc`. */
const rpcUrlSchema = Type.String({ pattern: '^(https?|wss?|grpcs?)://' })

const FactoryRow = Type.Object({
  protocol: Type.String({ minLength: 1 }),
  factory: addressSchema,
  /** Contracts beside the factory that know its pools: Uniswap V4's PositionManager. */
  registries: Type.Optional(Type.Array(addressSchema, { maxItems: 16 })),
})
const QuoteRow = Type.Object({
  address: addressSchema,
  symbol: Type.String({ minLength: 1, maxLength: 32 }),
  decimals: Type.Integer({ minimum: 0, maximum: 255 }),
  kind: Type.Enum(['stable', 'native', 'btc']),
})
const ReferenceRow = Type.Object({
  pool: addressSchema,
  token: addressSchema,
  quote: addressSchema,
  protocol: Type.String({ minLength: 1 }),
})

const RouterRow = Type.Object({ protocol: Type.String({ minLength: 1 }), router: addressSchema })

/** Extra rows for one chain: local chains, demos, factories that the tables do not list. */
export const ChainExtra = Type.Object({
  factories: Type.Array(FactoryRow, { default: [] }),
  quotes: Type.Array(QuoteRow, { default: [] }),
  referencePools: Type.Array(ReferenceRow, { default: [] }),
  /** Contracts that swap over the pools of a protocol: where transactions of swaps go. */
  routers: Type.Optional(Type.Array(RouterRow, { maxItems: 64 })),
  /** Uniswap's Universal Router and its Permit2, instead of the tables' own. */
  universalRouter: Type.Optional(Type.Object({ router: addressSchema, permit2: addressSchema })),
  /** Solana: look-up tables that transactions may use which are too large without. */
  lookupTables: Type.Optional(
    Type.Array(Type.String({ pattern: '^[1-9A-HJ-NP-Za-km-z]{32,44}$' }), { maxItems: 8 }),
  ),
  /** True: only the rows given here count, the chain's own tables are left out. */
  replace: Type.Boolean({ default: false }),
})
export type ChainExtra = Static<typeof ChainExtra>

/** One variable per leaf; the JSON name, its environment variable, its default and what it means. */
export const Settings = Type.Object({
  dataDir: Type.String({
    minLength: 1,
    default: '.data',
    description: 'Data folder of the embedded log, ClickHouse engine and secrets',
  }),
  host: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'Listen address of the public API and the streams',
  }),
  port: portSetting(8_080, 'HTTP port of the public API; streams listen on the next port'),
  publicUrl: Type.String({
    pattern: '^$|^https?://[^?#@]+$',
    default: '',
    description:
      'Public base URL that clients use, e.g. of the reverse proxy; required when HOST is 0.0.0.0 or ::',
  }),
  publicStreamsUrl: Type.String({
    pattern: '^$|^wss?://[^?#@]+$',
    default: '',
    description:
      'Public URL of the streams; empty = PUBLIC_URL, which a proxy answers, or the port behind it where PUBLIC_URL names PORT itself',
  }),
  trustedProxies: Type.Array(Type.String({ pattern: '^[0-9a-fA-F.:]+/\\d{1,3}$' }), {
    default: [],
    description: 'CIDR ranges of reverse proxies whose X-Forwarded-For header is trusted',
  }),
  tlsCertFile: Type.String({
    default: '',
    description: 'Certificate chain (PEM); enables TLS for the public API, streams and admin API',
  }),
  tlsKeyFile: Type.String({ default: '', description: 'Private key (PEM) of TLS_CERT_FILE' }),
  httpConnections: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 10_000,
    description: 'Maximum open connections of the public API; excess connections are closed',
  }),
  opsHost: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'Listen address of the ops server, independent of HOST',
  }),
  opsPort: portSetting(
    0,
    'Port of the ops server (/health, /ready, /metrics, /status, /checksum); 0 = any free port',
  ),
  opsToken: secretSetting(
    'Bearer token for /metrics, /status and /checksum; empty = no authentication',
  ),
  activityFile: Type.String({
    default: '',
    description: 'File that lists the commits and inserts in flight, for debugging; empty = none',
  }),
  logLevel: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    default: 'info',
    description: 'Log level',
  }),
  kafkaBrokers: Type.Array(Type.String({ pattern: '^[^:\\s]+:\\d+$' }), {
    default: [],
    description: 'Kafka bootstrap servers, host:port list; empty = embedded log',
  }),
  schemaRegistryUrl: secretUrlSetting(
    '^$|^https?://',
    'URL of a Confluent-compatible schema registry; required with KAFKA_BROKERS',
  ),
  kafkaSessionTimeoutMs: Type.Integer({
    minimum: 1_000,
    maximum: 300_000,
    default: 45_000,
    description: 'Kafka consumer session timeout',
  }),
  kafkaTls: Type.Boolean({ default: false, description: 'true: connect to the brokers with TLS' }),
  kafkaTlsCa: Type.String({
    default: '',
    description: 'CA certificate file (PEM) for the brokers; empty = system CAs',
  }),
  kafkaSaslMechanism: Type.Enum(['scram-sha-512', 'scram-sha-256', 'plain'], {
    default: 'scram-sha-512',
    description: 'SASL mechanism',
  }),
  kafkaSaslUsername: Type.String({ default: '', description: 'SASL username; empty = no SASL' }),
  kafkaSaslPassword: secretSetting('SASL password'),
  kafkaTlsCert: Type.String({
    default: '',
    description: 'Client certificate file (PEM) for mutual TLS; requires KAFKA_TLS_KEY',
  }),
  kafkaTlsKey: Type.String({
    default: '',
    description: 'Private key file (PEM) of KAFKA_TLS_CERT',
  }),
  schemaRegistryUsername: Type.String({
    default: '',
    description: 'Schema registry username; empty = no authentication',
  }),
  schemaRegistryPassword: secretSetting('Schema registry password'),
  clickhouseUrl: secretUrlSetting('^$|^https?://', 'ClickHouse HTTP URL; empty = embedded engine'),
  clickhouseUser: Type.String({
    default: '',
    description: 'ClickHouse user; empty = the user in CLICKHOUSE_URL, else default',
  }),
  clickhousePassword: secretSetting('ClickHouse password'),
  clickhouseDatabase: Type.String({
    minLength: 1,
    default: 'default',
    description: 'ClickHouse database',
  }),
  partitions: Type.Integer({
    minimum: 1,
    maximum: 64,
    default: 3,
    description: 'Number of partitions of token-keyed topics at creation',
  }),
  laneThreads: Type.Integer({
    minimum: 0,
    maximum: 32,
    default: 0,
    description:
      'Threads that decode, fold and encode for the partitions of this process; 0 = the thread that also reads, commits and serves',
  }),
  retention: Type.Enum(['bounded', 'contract', 'off'], {
    default: 'bounded',
    description:
      'bounded: topics expire, tables keep everything, the embedded log stays below its limit; contract: the documented hours and days for topics and tables; off keeps everything',
  }),
  logMaxMb: Type.Integer({
    minimum: 0,
    maximum: 67_108_864,
    default: 0,
    description:
      'Maximum size of the embedded log; above 75 % the oldest records are deleted, unless RETENTION=off; 0 = a quarter of the free disk, 256 to LMDB_MAP_SIZE_MB, above its own file and state',
  }),
  logRetentionHours: Type.Integer({
    minimum: 0,
    maximum: 87_600,
    default: 168,
    description:
      'RETENTION=bounded: retention of the embedded log, or the documented hours of a topic if longer',
  }),
  lmdbMapSizeMb: Type.Integer({
    minimum: 16,
    maximum: 16_777_216,
    default: 65_536,
    description:
      'Maximum size of the local state store of one lane; for the embedded log see LOG_MAX_MB',
  }),
  processName: Type.String({
    pattern: '^[A-Za-z0-9._-]{0,128}$',
    default: '',
    description:
      'Stable name of this process, so that it is assigned the same partitions after a restart; unique among running processes; empty = kept in DATA_DIR',
  }),
  chains: Type.Array(Type.String(), {
    default: [...DEFAULT_CHAINS],
    description: 'Chains to ingest',
  }),
  feeds: Type.Array(Type.Enum([...FEED_NAMES]), {
    default: [],
    description: `Optional feeds, disabled by default; enable by listing them: ${FEED_NAMES.join(', ')}`,
  }),
  chainExtra: Type.Record(Type.String(), ChainExtra, {
    default: {},
    description: 'JSON: additional factories, quote assets and reference pools per chain',
  }),
  rpcUrls: Type.Unsafe<readonly SecretUrl[]>(
    Type.Array(rpcUrlSchema, {
      default: [],
      secret: 'url',
      description: 'Node endpoints, best first; empty = the simulator',
    }),
  ),
  chainRpcUrls: Type.Unsafe<Readonly<Record<string, readonly SecretUrl[]>>>(
    Type.Record(Type.String(), Type.Array(rpcUrlSchema, { minItems: 1 }), {
      default: {},
      secret: 'url',
      prefix: 'RPC_URLS_',
      description:
        'Node endpoints of one chain, best first: RPC_URLS_SOL, RPC_URLS_ETHEREUM; RPC_URLS_SOL takes Yellowstone streams too (grpcs://TOKEN@host)',
    }),
  ),
  protectedRpcUrls: Type.Unsafe<Readonly<Record<string, readonly SecretUrl[]>>>(
    Type.Record(
      Type.String(),
      Type.Array(Type.String({ pattern: '^https?://' }), { minItems: 1 }),
      {
        default: {},
        secret: 'url',
        prefix: 'PROTECTED_RPC_URLS_',
        description:
          'Endpoints of one chain that hand signed transactions to block builders only, best first: PROTECTED_RPC_URLS_SOL, PROTECTED_RPC_URLS_ETHEREUM',
      },
    ),
  ),
  ...FLASHBLOCKS_SETTINGS,
  ...AGGREGATOR_SETTINGS,
  rpcConcurrency: Type.Integer({
    minimum: 1,
    maximum: 256,
    default: 8,
    description: 'Maximum concurrent RPC requests per endpoint',
  }),
  rpcPerSecond: Type.Integer({
    minimum: 0,
    maximum: 100_000,
    default: 0,
    description: 'RPC requests per second and endpoint; 0 = no limit',
  }),
  rpcTimeoutMs: Type.Integer({
    minimum: 100,
    maximum: 600_000,
    default: 10_000,
    description: 'RPC request timeout',
  }),
  fromHeight: Type.Integer({
    minimum: -1,
    maximum: 1_000_000_000_000,
    default: -1,
    description: 'First block height; -1 = the head of the chain',
  }),
  pricesStatic: Type.Record(addressSchema, Type.Number({ exclusiveMinimum: 0 }), {
    default: {},
    additionalProperties: Type.Never(),
    description: 'JSON: USD price by token, used as initial price of quote assets',
  }),
  apiKeyBrand: Type.String({
    pattern: '^[a-z][a-z0-9]{0,15}$',
    default: 'sluice',
    description: 'API key prefix',
  }),
  keyPepper: secretSetting('Secret mixed into hashes of API keys; generated at first start'),
  docsUrl: Type.String({
    pattern: '^https?://[^?#@]+$',
    default: 'https://sluice.invalid',
    description: 'Base URL of error types',
  }),
  errorsStatusMode: Type.Enum(['semantic', 'reference'], {
    default: 'semantic',
    description: 'HTTP status codes of errors: semantic, or those of the reference API',
  }),
  bodyLimitBytes: Type.Integer({
    minimum: 1_024,
    maximum: 67_108_864,
    default: 262_144,
    description: 'Maximum request body size',
  }),
  wsNumbers: Type.Enum(['string', 'number'], {
    default: 'string',
    description: 'Encoding of decimal numbers on streams',
  }),
  wsLongNames: Type.Enum(['auto', 'off'], {
    default: 'auto',
    description:
      'auto = connections without a client name get long names beside short keys, on the seven channel families that old clients read by long names',
  }),
  wsDelta: Type.Enum(['auto', 'off'], {
    default: 'off',
    description:
      'auto = subscriptions that ask for Fossil deltas get them: fewer bytes on the wire, more processor time; charges do not change',
  }),
  wsAllowedOrigins: Type.Array(Type.String({ pattern: '^[^@]*$' }), {
    default: [],
    description: 'Allowed origins of WebSocket connections; empty = all',
  }),
  wsConnectionsPerAccount: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 20,
    description:
      'Maximum WebSocket connections per organization and process, streams and GraphQL subscriptions together; excess connections are closed with 3504 or 4429',
  }),
  wsConnections: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 20_000,
    description:
      'Maximum WebSocket connections per process, streams and GraphQL subscriptions together; excess connections get status 503',
  }),
  wsPendingPerAddress: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 500,
    description:
      'Maximum unauthenticated WebSocket connections per address (IPv6: /64); excess connections get status 429',
  }),
  authUrl: Type.String({
    pattern: '^$|^https?://[^?#@]+$',
    default: '',
    description: 'Public URL of the token endpoint; empty = the REST address',
  }),
  apiAudience: Type.String({
    minLength: 1,
    default: 'https://api.sluice.invalid',
    description: 'Audience of access tokens',
  }),
  authRequireAudience: Type.Boolean({
    default: true,
    description: 'false: token requests may omit the audience',
  }),
  authTokenTtlSeconds: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 86_400,
    description: 'Access token lifetime',
  }),
  authSigningKeyFile: Type.String({
    default: '',
    description:
      'RSA private key (PKCS 8, PEM) that signs access tokens; empty = generated and stored encrypted',
  }),
  siwxDomains: Type.Array(Type.String({ pattern: '^[a-z0-9.-]+(:\\d{1,5})?$' }), {
    default: [],
    description:
      'Hosts, lower case and with their port, that wallets sign in to; empty = the host of AUTH_URL or of the REST address',
  }),
  siwxUris: Type.Array(Type.String({ pattern: '^https?://[a-z0-9.-]+(:\\d{1,5})?$' }), {
    default: [],
    description:
      'Origins that sign-in messages of wallets may name, e.g. https://api.example.com; empty = that of AUTH_URL or of the REST address',
  }),
  siwxMaxLifetimeSeconds: Type.Integer({
    minimum: 1,
    maximum: 2_592_000,
    default: 604_800,
    description: 'Maximum lifetime of sign-in messages of wallets',
  }),
  ...PAYMENT_SETTINGS,
  adminToken: secretSetting('Bearer token for the admin API; empty = no admin API'),
  adminHost: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'Listen address of the admin API, independent of HOST',
  }),
  adminPort: portSetting(0, 'Port of the admin API; 0 = two above PORT'),
  adminAllowPlain: Type.Boolean({
    default: false,
    description: 'true: allows the admin API without TLS on other addresses than loopback',
  }),
  ...WEBHOOK_SETTINGS,
  metadataFetch: Type.Enum(['off', 'on'], {
    default: 'off',
    description: 'on: metadata documents of new tokens are fetched from their URL',
  }),
  metadataIpfsGateway: Type.String({
    pattern: '^https?://[^?#@]+/$',
    default: 'https://ipfs.io/ipfs/',
    description: 'IPFS gateway for ipfs:// documents and images; ends in /',
  }),
  metadataArweaveGateway: Type.String({
    pattern: '^https?://[^?#@]+/$',
    default: 'https://arweave.net/',
    description: 'Arweave gateway for ar:// documents and images; ends in /',
  }),
  ipfsUploadUrl: Type.String({
    pattern: '^$|^https?://[^?#@\\s]+/$',
    default: '',
    description:
      'Bucket of an S3-compatible storage that publishes to IPFS, for /ipfs/presign; ends in /; empty = no uploads',
  }),
  ipfsUploadRegion: Type.String({
    pattern: '^[a-z0-9-]{1,64}$',
    default: 'us-east-1',
    description: 'Region of IPFS_UPLOAD_URL as signatures name it',
  }),
  ipfsUploadKeyId: Type.String({
    maxLength: 256,
    default: '',
    description: 'Access key id of IPFS_UPLOAD_URL',
  }),
  ipfsUploadSecret: secretSetting('Secret access key of IPFS_UPLOAD_KEY_ID'),
  metadataAllow: Type.Array(Type.String({ pattern: '^[0-9a-fA-F.:]+/\\d{1,3}$' }), {
    default: [],
    description: 'CIDR ranges of internal addresses that metadata documents may be fetched from',
  }),
  metadataTimeoutMs: Type.Integer({
    minimum: 100,
    maximum: 60_000,
    default: 10_000,
    description: 'Timeout of one metadata document fetch',
  }),
  metadataTries: Type.Integer({
    minimum: 1,
    maximum: 20,
    default: 5,
    description: 'Maximum attempts to fetch a metadata document from a host that does not respond',
  }),
  metadataMaxBytes: Type.Integer({
    minimum: 1_024,
    maximum: 16_777_216,
    default: 1_048_576,
    description: 'Maximum size of a metadata document',
  }),
  metadataInFlight: Type.Integer({
    minimum: 1,
    maximum: 1_024,
    default: 32,
    description: 'Maximum concurrent metadata document fetches per process',
  }),
  metadataInFlightPerHost: Type.Integer({
    minimum: 1,
    maximum: 256,
    default: 8,
    description: 'Maximum concurrent metadata document fetches per host',
  }),
})

/** The frozen configuration of a process. */
export type Config = Readonly<Static<typeof Settings>>

/** Environment variable of a setting. */
export const environmentVariableOf = (key: string): string =>
  key.replace(/[A-Z]/g, (c) => `_${c}`).toUpperCase()

/** What the loader and the documents read of a setting. */
export interface Setting {
  readonly type?: string
  readonly default?: unknown
  readonly description?: string
  /** One variable per chain, named by this and a word for the chain. */
  readonly prefix?: string
  /** Not to be shown: a text, or addresses of which only the host is shown. */
  readonly secret?: 'text' | 'url'
}
/** Every setting by its JSON name. */
export const SETTINGS = Settings.properties as unknown as Readonly<Record<string, Setting>>

/** Environment variable as documents and errors name it; a setting with one variable per chain ends in `<CHAIN>`. */
export const documentedVariableOf = (key: string, leaf: Setting | undefined): string =>
  leaf?.prefix === undefined ? environmentVariableOf(key) : `${leaf.prefix}<CHAIN>`
