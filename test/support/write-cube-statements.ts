/** Writes `test/fixtures/statements/cubes.sql`. */
import { writeFileSync } from 'node:fs'
import { cubeStatements } from './cube-statements.ts'

writeFileSync(new URL('../fixtures/statements/cubes.sql', import.meta.url), cubeStatements())
