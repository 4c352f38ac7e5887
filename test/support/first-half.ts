/** One half of the pure tests, in one process. */
import { importTests } from './together.ts'

await importTests(0)
