import type { Random } from '../../../simulator/node/random.ts'
import type { FuzzTarget } from './surface.ts'

/** The part of a schema that sound values are made from. */
interface DocumentedSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly DocumentedSchema[]
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, DocumentedSchema>>
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
}

/** A parameter as the document shows it. */
export interface DocumentedParameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly example?: unknown
  readonly schema: DocumentedSchema
}

/** One operation of a running server. */
export interface DocumentedRoute {
  readonly plane: 'public' | 'admin'
  readonly method: string
  readonly path: string
  readonly parameters: readonly DocumentedParameter[]
  /** A body that a sound caller sends; undefined where the document shows none. */
  readonly body: Readonly<Record<string, unknown>> | undefined
}

interface DocumentedOperation {
  readonly parameters?: readonly DocumentedParameter[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: DocumentedSchema }>>
  }
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, DocumentedSchema>> }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const bodyOf = (
  { requestBody }: DocumentedOperation,
  { components: { schemas } }: ApiDocument,
): DocumentedRoute['body'] => {
  const given = requestBody?.content['application/json']?.schema
  const { $ref = '' } = given?.anyOf?.[0] ?? given ?? {}
  const schema = schemas[$ref.slice($ref.lastIndexOf('/') + 1)]
  if (schema === undefined) return undefined
  const [example] = schema.examples ?? []
  const own = Object.entries(schema.properties ?? {}).map(
    ([name, { enum: words, examples }]) => [name, words?.[0] ?? examples?.[0] ?? null] as const,
  )
  return { ...Object.fromEntries(own), ...(isObject(example) && example) }
}

/**
 * Every operation that the public and the admin server document: one that is added is attacked without a word here.
 */
export const documentedRoutes = async ({
  ports,
}: FuzzTarget): Promise<readonly DocumentedRoute[]> => {
  const routes: DocumentedRoute[] = []
  for (const plane of ['public', 'admin'] as const) {
    const response = await fetch(`http://127.0.0.1:${ports[plane]}/openapi.json`)
    const document = (await response.json()) as ApiDocument
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        const { parameters = [] } = operation
        const body = bodyOf(operation, document)
        routes.push({ plane, method: method.toUpperCase(), path, parameters, body })
      }
    }
  }
  return routes
}

/** What an instance has, by the names of parameters and fields. */
export const knownValue = (
  name: string,
  { chain, words, clientId, clientSecret }: FuzzTarget,
): string | undefined => {
  const { token, pool, wallet } = words
  const values: Readonly<Record<string, string>> = {
    tokenAddress: token,
    inputMint: token,
    poolAddress: pool,
    pair: `${token}-${wallet}`,
    walletAddress: wallet,
    devAddress: wallet,
    maker: wallet,
    userAddress: wallet,
    address: wallet,
    from: wallet,
    to: wallet,
    recipientAddress: wallet,
    network: chain,
    asset: token,
    client_id: clientId,
    client_secret: clientSecret,
    transferReference: `0x${'ab'.repeat(32)}:${wallet}`,
  }
  return Object.hasOwn(values, name) ? values[name] : undefined
}

const VALUES = ['1', '20', '100', 'asc', 'prev', '1m', '1h', 'usd', 'true', 'totalPnl'] as const

/** A value that a sound caller could give, at the edges of what is allowed. */
export const soundValue = (
  { name, schema, example }: DocumentedParameter,
  random: Random,
  target: FuzzTarget,
): string => {
  const { minimum = 0, maximum = 10_000 } = schema
  if (schema.enum !== undefined) return String(random.pick(schema.enum))
  if (schema.type === 'integer') return String(random.pick([minimum, maximum, minimum + 1]))
  if (schema.type === 'boolean') return random.pick(['true', 'false'])
  if (schema.pattern?.includes('\\d') === true) {
    const long = '9'.repeat(26)
    return random.pick(['0', '1.5', long, `${long}.${'9'.repeat(12)}`, '9'.repeat(40)])
  }
  if (name.endsWith('Addresses')) return `${target.words.token},${target.words.wallet}`
  const known = knownValue(name, target)
  return known ?? (example === undefined ? random.pick(VALUES) : String(example))
}
