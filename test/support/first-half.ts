/** One half of the pure tests, in one process. */
import { importTests } from './import-tests.ts'

await importTests(0)
