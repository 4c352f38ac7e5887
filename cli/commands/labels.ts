import { createReadStream, readFileSync, statSync } from 'node:fs'
import { importLabels, type ListedLabel } from '../../core/clickhouse/label-store.ts'
import { loadConfig } from '../../core/config/load.ts'
import { InvalidInput } from '../../core/errors.ts'
import {
  LABEL_FORMATS,
  type LabelFormat,
  type ListDefaults,
  MAX_LIST_BYTES,
  parseLabels,
} from '../../serving/risk/label-formats.ts'
import { type OfacList, readOfacList } from '../../serving/risk/ofac-list.ts'
import { withInfra } from '../app/with-infra.ts'
import type { CommandContext } from './status.ts'
import { UsageError } from './usage-error.ts'

/** Options of `sluice labels import`. */
export interface LabelImportOptions extends ListDefaults {
  readonly data?: string
  readonly source: string
}

/** Read in pieces: the larger file of OFAC has about 120 MB. The other formats are read as one text. */
const OFAC_FORMAT = 'ofac-sdn'
const FORMATS = [...LABEL_FORMATS, OFAC_FORMAT] as const

const isFormat = (text: string): text is (typeof FORMATS)[number] =>
  FORMATS.some((name) => name === text)

const readText = (
  format: LabelFormat,
  file: string,
  words: ListDefaults,
): { readonly labels: readonly ListedLabel[] } => {
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) throw new InvalidInput('label list', `there is no file ${file}`)
  if (size > MAX_LIST_BYTES) {
    throw new InvalidInput(
      'label list',
      `${file} has ${size} bytes; expected at most ${MAX_LIST_BYTES}. Split the list by source`,
    )
  }
  return { labels: parseLabels(format, readFileSync(file, 'utf8'), words) }
}

/**
 * Reads a list into the label store, and prints what changed. Returns the exit code. Throws `UsageError` for an unknown format,
 * `InvalidInput` for a list that is not of it, `Outage` while another process holds the data folder.
 */
export const labelsImport = async (
  format: string,
  file: string,
  words: LabelImportOptions,
  { environment, write }: Pick<CommandContext, 'environment' | 'write'>,
): Promise<number> => {
  if (!isFormat(format))
    throw new UsageError([
      `${format.slice(0, 40)} is not a format of label lists; expected one of ${FORMATS.join(', ')}`,
    ])
  const { labels, ...counts }: OfacList | { readonly labels: readonly ListedLabel[] } =
    format === OFAC_FORMAT
      ? await readOfacList(createReadStream(file), words)
      : readText(format, file, words)
  const config = loadConfig(environment, { dataDir: words.data })
  return withInfra(config, async ({ warehouse }) => {
    const { source } = words
    const result = await importLabels(await warehouse(), {
      source,
      format,
      labels,
      nowMs: Date.now(),
    })
    write(JSON.stringify({ source, ...result, ...counts }))
    return 0
  })
}
