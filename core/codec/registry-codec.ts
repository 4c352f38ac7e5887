import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import type avsc from 'avsc'
import { NAMESPACE } from '../../schemas/avro-schema.ts'
import { topicRow } from '../../schemas/topics.ts'
import type { Config } from '../config/settings.ts'
import { InvalidInput, Outage } from '../errors.ts'
import { retry } from '../retry.ts'
import type { WarningLog } from '../runtime/thread-warning.ts'
import { makeCodec, parseAvroSchema } from './avro.ts'
import type { Codec, MessageName } from './contract.ts'
import { ALL_MESSAGE_NAMES, builtInTypes, makeResolver, schemaText } from './local-codec.ts'

/** Foreign schema ids that are remembered, known or unknown; more than that is hostile input. */
const MAX_FOREIGN_IDS = 1_000
const RESPONSE_TIMEOUT_MS = 10_000
/** Old data is read by new readers and new data by old ones. */
const COMPATIBILITY_LEVEL = COMPATIBILITY.FULL_TRANSITIVE

/** Where the registry is and who asks it. Plain data: it travels to worker threads. */
export interface RegistryConnection {
  /** Base of its Confluent-compatible API, path prefix included, without credentials. */
  readonly url: string
  /** HTTP basic authentication. */
  readonly auth?: { readonly username: string; readonly password: string }
}

/** The registry of a configuration: its login is given by settings of its own or in the URL. */
export const registryConnection = (
  config: Pick<Config, 'schemaRegistryUrl' | 'schemaRegistryUsername' | 'schemaRegistryPassword'>,
): RegistryConnection => {
  const url = new URL(config.schemaRegistryUrl.reveal())
  const username = config.schemaRegistryUsername || decodeURIComponent(url.username)
  const password = config.schemaRegistryPassword.isEmpty
    ? decodeURIComponent(url.password)
    : config.schemaRegistryPassword.reveal()
  url.username = ''
  url.password = ''
  return {
    url: url.href.replace(/\/$/, ''),
    ...(username !== '' && { auth: { username, password } }),
  }
}

/** A registry and what its client works with. */
export interface RegistryOptions extends RegistryConnection {
  readonly log: WarningLog
  /** How long one answer may take; ten seconds by default. */
  readonly answerLimitMs?: number
}

/**
 * Codec whose ids are the registry's. Throws `Outage` when the registry does not answer or one of our schemas is not
 * registered. `decode` is synchronous: a schema id that it meets first throws an `Outage` that passes as soon as the
 * schema was fetched, and `InvalidInput` from then on if the registry does not know it either.
 */
export const registryCodec = async (access: RegistryOptions): Promise<Codec> => {
  const registry = makeRegistryClient(access)
  const ids = new Map(
    await Promise.all(
      ALL_MESSAGE_NAMES.map(
        async (name) => [name, await fetchRegisteredId(registry, name)] as const,
      ),
    ),
  )
  const types = builtInTypes()
  const foreign = makeForeignSchemaCache(registry, access.log)
  const resolvers = new Map<string, avsc.Resolver>()
  return makeCodec(types, {
    writerId: (message) => ids.get(message) ?? 0,
    resolver: (message, id) => {
      if (id === ids.get(message)) return null
      const name = `${message}/${id}`
      const known = resolvers.get(name)
      if (known) return known
      const made = makeResolver(message, types.get(message), foreign(id))
      resolvers.set(name, made)
      return made
    },
  })
}

/**
 * Registers every schema under its record name and, for each full topic name, under `<topic>-value`, all of them
 * FULL_TRANSITIVE. Throws `Outage`; a schema that breaks compatibility is final.
 */
export const registerSchemas = async (
  access: RegistryOptions,
  topics: readonly string[],
): Promise<void> => {
  await retry(() => setCompatibility(access), {
    ...REGISTRATION_RETRY,
    again: (error, attempt) => isRegistrationRace(error) || isTimeout(error, attempt),
  })
  const registry = makeRegistryClient(access)
  const aliases = topics.flatMap((topic) => {
    const message = topicRow(topic)?.message
    return message ? [{ message, subject: `${topic}-value` }] : []
  })
  const primary = ALL_MESSAGE_NAMES.map((message) => ({ message, subject: subjectOf(message) }))
  for (const { message, subject } of [...primary, ...aliases]) {
    const schema = { type: SchemaType.AVRO, schema: schemaText(message) } as const
    const register = () =>
      registry.register(schema, { subject, compatibility: COMPATIBILITY_LEVEL })
    try {
      await retry(
        (attempt) =>
          attempt === 1 ? register() : setCompatibility(access, subject).then(() => register()),
        {
          ...REGISTRATION_RETRY,
          again: (error, attempt) => isRegistrationRace(error) || isTimeout(error, attempt),
        },
      )
    } catch (error) {
      throw registryOutage(`${subject} was not registered`, error)
    }
  }
}

const subjectOf = (message: MessageName): string => `${NAMESPACE}.${message}`

/** The stock client waits for ever for an answer unless told otherwise. */
const makeRegistryClient = ({
  url,
  auth,
  answerLimitMs = RESPONSE_TIMEOUT_MS,
}: RegistryOptions): SchemaRegistry =>
  new SchemaRegistry({
    host: url,
    ...(auth && { auth }),
    retry: { initialRetryTimeInSecs: 0.05, maxRetryTimeInSecs: 2, retries: 5 },
    middlewares: [
      () => ({
        prepareRequest: async (next) => (await next()).enhance({ timeout: answerLimitMs }),
      }),
    ],
  })

const fetchRegisteredId = async (registry: SchemaRegistry, name: MessageName): Promise<number> => {
  const schema = { type: SchemaType.AVRO, schema: schemaText(name) } as const
  try {
    return await retry(() => registry.getRegistryIdBySchema(subjectOf(name), schema), {
      ...REGISTRATION_RETRY,
      again: isTimeout,
    })
  } catch (error) {
    throw registryOutage(`${subjectOf(name)} is not registered`, error)
  }
}

/** Processes that register at once: tries until the other one is through. */
const REGISTRATION_RETRY = { firstMs: 50, maxMs: 1_000, tries: 8 }

/** The registry answered the setting of a compatibility level with an error. */
class CompatibilityRejected extends Outage {
  readonly status: number
  constructor(status: number) {
    super('registry', `the registry rejected the compatibility setting: HTTP ${status}`)
    this.status = status
  }
}

/** Another process registered the subject's first schema and did not set its level, or sets it at this moment. */
const isRegistrationRace = (error: unknown): boolean =>
  (error instanceof CompatibilityRejected && (error.status === 409 || error.status >= 500)) ||
  (error instanceof Error &&
    (error.message.includes(`(${COMPATIBILITY_LEVEL} != ${COMPATIBILITY.NONE})`) ||
      error.message.includes('already exists')))

const NO_ANSWER = 'the registry does not answer'
/** Tries of a request that the registry takes and does not answer: Apicurio 3.3.3 leaves one now and then. */
const MAX_TIMEOUT_ATTEMPTS = 3

/** Registering again what may have been registered changes nothing. */
const isTimeout = (error: unknown, attempt: number): boolean =>
  attempt < MAX_TIMEOUT_ATTEMPTS &&
  error instanceof Error &&
  (error.message.includes(NO_ANSWER) || /\bTimeout \(\d+ms\)/.test(error.message))

/** A registry starts at NONE, and CSR sets the level of a subject only after its first schema. */
const setCompatibility = async (
  { url, auth, answerLimitMs = RESPONSE_TIMEOUT_MS }: RegistryOptions,
  subject?: string,
): Promise<void> => {
  const body = JSON.stringify({ compatibility: COMPATIBILITY_LEVEL })
  const headers = {
    'content-type': 'application/vnd.schemaregistry.v1+json',
    ...(auth && { authorization: basicAuthorization(auth) }),
  }
  const path = subject === undefined ? '' : `/${encodeURIComponent(subject)}`
  const answer = await fetch(`${url}/config${path}`, {
    method: 'PUT',
    headers,
    body,
    signal: AbortSignal.timeout(answerLimitMs),
  }).catch((error: unknown) => {
    throw registryOutage(NO_ANSWER, error)
  })
  if (!answer.ok) throw new CompatibilityRejected(answer.status)
}

const basicAuthorization = ({
  username,
  password,
}: NonNullable<RegistryConnection['auth']>): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

const statusOf = (error: unknown): number =>
  typeof error === 'object' && error !== null && 'status' in error ? Number(error.status) : 0

const PERMANENT_STATUSES = new Set([404, 409, 422])

const registryOutage = (what: string, cause: unknown): Outage => {
  const text = cause instanceof Error ? cause.message : String(cause)
  const final = PERMANENT_STATUSES.has(statusOf(cause)) || /not found|no schema/i.test(text)
  return new Outage('registry', `${what}: ${text}`, { cause, final })
}

/** Schemas of other writers by id: fetched once each, in the background. */
const makeForeignSchemaCache = (
  registry: SchemaRegistry,
  log: WarningLog,
): ((id: number) => avsc.Type) => {
  const known = new Map<number, avsc.Type | 'unknown' | 'asked'>()
  const ask = async (id: number): Promise<void> => {
    try {
      const schema = await registry.getSchema(id)
      known.set(id, parseAvroSchema(JSON.stringify(schema)))
    } catch (error) {
      if (PERMANENT_STATUSES.has(statusOf(error))) known.set(id, 'unknown')
      else known.delete(id)
      log.warn({ err: error, id }, 'failed to fetch schema')
    }
  }
  return (id) => {
    const held = known.get(id)
    if (held === 'unknown' || (held === undefined && known.size >= MAX_FOREIGN_IDS)) {
      throw new InvalidInput('unknown-schema', `schema id ${id} is not known to the registry`)
    }
    if (held !== undefined && held !== 'asked') return held
    if (held === undefined) {
      known.set(id, 'asked')
      void ask(id)
    }
    throw new Outage('registry', `schema ${id} is being fetched`)
  }
}
