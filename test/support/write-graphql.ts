/** Writes the table of cubes in `docs/graphql.md`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { withCubeTable } from './graphql-page.ts'

const path = new URL('../../docs/graphql.md', import.meta.url)
writeFileSync(path, withCubeTable(readFileSync(path, 'utf8')))
