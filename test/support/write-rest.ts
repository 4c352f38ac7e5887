/** Writes `docs/rest.md` from the tables of routes. */
import { writeFileSync } from 'node:fs'
import { restPage } from './rest-page.ts'

writeFileSync(new URL('../../docs/rest.md', import.meta.url), restPage())
