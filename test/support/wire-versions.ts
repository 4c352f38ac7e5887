import { readdirSync, readFileSync } from 'node:fs'
import { avroSchemaOf, MESSAGE_NAMES } from '../../schemas/avro-schema.ts'

const PATH = 'test/fixtures/wire/'
const FOLDER = new URL(`../../${PATH}`, import.meta.url)

/** A version of the wire: what it changed of the schemas, by message. */
type WireVersion = Readonly<Record<string, unknown>>

/** Schemas of every wire version that was agreed on, oldest first. A file is never edited: a change of the wire adds one. */
export const wireVersions = (): readonly WireVersion[] =>
  readdirSync(FOLDER)
    .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))
    .map((file): WireVersion => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')))

/** The next file, with the schemas that differ from those of the versions before it; none while the wire is the newest of them. */
export const nextWireVersion = (): Readonly<Record<string, () => string>> => {
  const versions = wireVersions()
  const newest: WireVersion = Object.assign({}, ...versions)
  const changed = MESSAGE_NAMES.filter(
    (name) => JSON.stringify(newest[name]) !== JSON.stringify(avroSchemaOf(name)),
  )
  if (changed.length === 0) return {}
  const content = Object.fromEntries(changed.map((name) => [name, avroSchemaOf(name)]))
  return { [`${PATH}${versions.length + 1}.json`]: () => `${JSON.stringify(content, null, 1)}\n` }
}
