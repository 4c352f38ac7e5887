/** Writes the tables of channels into `docs/streams.md`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { withChannelTables } from './streams-page.ts'

const PAGE = new URL('../../docs/streams.md', import.meta.url)
writeFileSync(PAGE, withChannelTables(readFileSync(PAGE, 'utf8')))
