import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import type avsc from 'avsc'
import { MESSAGE_NAMES } from '../../schemas/avro-schema.ts'
import { InvalidInput } from '../errors.ts'
import { writeFileAtomically } from '../runtime/atomic-file.ts'
import { makeCodec, parseAvroSchema } from './avro.ts'
import type { Codec, MessageName } from './contract.ts'

/** Names of all messages. */
export const ALL_MESSAGE_NAMES = MESSAGE_NAMES as readonly MessageName[]

/** Text of a message's `.avsc` file, as it is registered. */
export const schemaText = (message: MessageName): string =>
  readFileSync(new URL(`../../schemas/avro/${message}.avsc`, import.meta.url), 'utf8')

/** Id of a schema where no registry gives one: 31 bits of its hash, so a changed schema has another id. */
const localSchemaId = (text: string): number =>
  createHash('sha256').update(text).digest().readUInt32BE(0) >>> 1

/** Codec without a registry. `stored` are the schemas that others may have written with; without them all but our own are refused. */
export const localCodec = (stored?: StoredSchemas): Codec => {
  const types = builtInTypes()
  const ids = new Map(ALL_MESSAGE_NAMES.map((name) => [name, localSchemaId(schemaText(name))]))
  const resolvers = new Map<string, avsc.Resolver>()
  return makeCodec(types, {
    writerId: (message) => ids.get(message) ?? 0,
    resolver: (message, id) => {
      if (id === ids.get(message)) return null
      const name = `${message}/${id}`
      const known = resolvers.get(name)
      if (known !== undefined) return known
      const text = stored?.textOf(id)
      if (text === undefined) {
        throw new InvalidInput(
          'unknown-schema',
          `${message}: schema id ${id} was not written by this installation`,
        )
      }
      const made = makeResolver(message, types.get(message), parseAvroSchema(text))
      resolvers.set(name, made)
      return made
    },
  })
}

/** Schemas that records of an embedded log were written with. */
export interface StoredSchemas {
  textOf(id: number): string | undefined
}

/** Name of the file beside an embedded log. */
export const SCHEMAS_FILE = 'schemas.json'

const readSchemaFile = (path: string): ReadonlyMap<string, string> =>
  new Map(existsSync(path) ? Object.entries(JSON.parse(readFileSync(path, 'utf8'))) : [])

/** The schemas beside a log, read when one is asked for. A process that writes to the log calls `saveSchemas` first. */
export const openStoredSchemas = (path: string): StoredSchemas => {
  let known: ReadonlyMap<string, string> | undefined
  return {
    textOf: (id) => {
      known ??= readSchemaFile(path)
      return known.get(String(id))
    },
  }
}

/** Adds our own schemas to those beside a log, on disk before the first record is written with them. */
export const saveSchemas = (path: string): void => {
  const own = ALL_MESSAGE_NAMES.map(
    (name) => [String(localSchemaId(schemaText(name))), schemaText(name)] as const,
  )
  const known = readSchemaFile(path)
  if (own.every(([id]) => known.has(id))) return
  writeFileAtomically(path, JSON.stringify(Object.fromEntries([...known, ...own])))
}

/** Our own type of every message. */
export const builtInTypes = (): ReadonlyMap<MessageName, avsc.Type> =>
  new Map(ALL_MESSAGE_NAMES.map((name) => [name, parseAvroSchema(schemaText(name))]))

/** Reads what `writer` wrote as `reader`. Throws `InvalidInput` where they do not fit. */
export const makeResolver = (
  message: MessageName,
  reader: avsc.Type | undefined,
  writer: avsc.Type,
): avsc.Resolver => {
  try {
    if (reader) return reader.createResolver(writer)
  } catch (error) {
    throw new InvalidInput(
      'schema-mismatch',
      `${message}: the writer's schema is not compatible with this build's`,
      {
        cause: error,
      },
    )
  }
  throw new InvalidInput('unknown-message', `there is no schema named ${message}`)
}
