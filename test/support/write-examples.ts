/** Writes `schemas/api/recorded-examples.json`: what the product answers about a simulated chain. Takes a minute. */
import { writeFileSync } from 'node:fs'
import { recordExamples } from './example-answers.ts'
import { withExampleProduct } from './example-run.ts'

const recorded = await withExampleProduct(recordExamples)
writeFileSync(
  new URL('../../schemas/api/recorded-examples.json', import.meta.url),
  `${JSON.stringify(recorded, null, 2)}\n`,
)
