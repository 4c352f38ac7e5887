/** Writes `schemas/avro/*.avsc` and `schemas/wire.ts` from `schemas/avro-notation.ts`. */
import { writeFileSync } from 'node:fs'
import { avroSchemaOf, MESSAGE_NAMES, wireTypesSource } from '../../schemas/avro-schema.ts'

const root = new URL('../../schemas/', import.meta.url)
for (const name of MESSAGE_NAMES) {
  writeFileSync(
    new URL(`avro/${name}.avsc`, root),
    `${JSON.stringify(avroSchemaOf(name), null, 2)}\n`,
  )
}
writeFileSync(new URL('wire.ts', root), wireTypesSource())
