/** Writes `docs/protocols.md` from the tables and the recordings. */
import { writeFileSync } from 'node:fs'
import { protocolsPage } from './protocol-table.ts'

writeFileSync(new URL('../../docs/protocols.md', import.meta.url), await protocolsPage())
