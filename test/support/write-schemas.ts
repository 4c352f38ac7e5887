/** Writes `schemas/avro/*.avsc` and `schemas/wire.ts` from `schemas/notation.ts`. */
import { writeFileSync } from 'node:fs'
import { expand, MESSAGE_NAMES, wireTypes } from '../../schemas/expand.ts'

const root = new URL('../../schemas/', import.meta.url)
for (const name of MESSAGE_NAMES) {
  writeFileSync(new URL(`avro/${name}.avsc`, root), `${JSON.stringify(expand(name), null, 2)}\n`)
}
writeFileSync(new URL('wire.ts', root), wireTypes())
