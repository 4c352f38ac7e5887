/** Writes `.env.example` from the settings. */
import { writeFileSync } from 'node:fs'
import { envExample } from '../../core/config/config.ts'

writeFileSync(new URL('../../.env.example', import.meta.url), envExample())
