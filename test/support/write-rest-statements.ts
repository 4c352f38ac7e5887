/** Writes `test/fixtures/statements/rest.sql`. */
import { writeFileSync } from 'node:fs'
import { restStatements } from './rest-statements.ts'

writeFileSync(new URL('../fixtures/statements/rest.sql', import.meta.url), restStatements())
