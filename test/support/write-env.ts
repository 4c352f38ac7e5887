/** Writes `.env.example` and `docs/configuration.md` from the settings. */
import { writeFileSync } from 'node:fs'
import { envExample } from '../../core/config/env-example.ts'
import { configurationPage } from './configuration-page.ts'

writeFileSync(new URL('../../.env.example', import.meta.url), envExample())
writeFileSync(new URL('../../docs/configuration.md', import.meta.url), configurationPage())
