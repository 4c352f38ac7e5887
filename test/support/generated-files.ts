import { readFileSync } from 'node:fs'
import { envExample } from '../../core/config/env-example.ts'
import { avroSchemaOf, MESSAGE_NAMES, wireTypesSource } from '../../schemas/avro-schema.ts'
import { withChainIds } from './chain-words.ts'
import { configurationPage } from './configuration-page.ts'
import { cubeStatements } from './cube-statements.ts'
import { errorsPage } from './errors-page.ts'
import { withGraphqlTables } from './graphql-page.ts'
import { metricsPage } from './metrics-page.ts'
import { MODULE_TABLES } from './module-tables.ts'
import { protocolsPage } from './protocol-table.ts'
import { restPage } from './rest-page.ts'
import { restStatements } from './rest-statements.ts'
import { withChannelTables } from './streams-page.ts'
import { nextWireVersion } from './wire-versions.ts'

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** Files that are written from tables and recordings alone: path from the root of the repository to the content. */
export const GENERATED_FILES: Readonly<Record<string, () => string | Promise<string>>> = {
  ...MODULE_TABLES,
  ...Object.fromEntries(
    MESSAGE_NAMES.map((name) => [
      `schemas/avro/${name}.avsc`,
      () => `${JSON.stringify(avroSchemaOf(name), null, 2)}\n`,
    ]),
  ),
  'schemas/wire.ts': wireTypesSource,
  '.env.example': envExample,
  'docs/configuration.md': configurationPage,
  'docs/errors.md': errorsPage,
  'docs/metrics.md': metricsPage,
  'docs/protocols.md': protocolsPage,
  'docs/rest.md': restPage,
  // Only their tables are generated; the text around them is written by hand.
  'docs/graphql.md': () => withGraphqlTables(read('docs/graphql.md')),
  'docs/streams.md': () => withChannelTables(read('docs/streams.md')),
  'docs/webhooks.md': () => withChainIds(read('docs/webhooks.md')),
  ...nextWireVersion(),
  'test/fixtures/statements/rest.sql': restStatements,
  'test/fixtures/statements/cubes.sql': cubeStatements,
}
