import type { Warehouse } from '../../core/clickhouse/client.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { ListedLabel } from './label-formats.ts'

/** What an import did. */
export interface ImportResult {
  /** Version of the label store after it. */
  readonly version: number
  readonly added: number
  /** Labels of the source that the list has no more: they end, and stay in the history. */
  readonly closed: number
  readonly unchanged: number
}

/** A list that is imported. `isWhole`: what the source said before and the list lacks is over. */
export interface LabelImport {
  readonly source: string
  readonly format: string
  readonly labels: readonly ListedLabel[]
  readonly nowMs: number
}

interface OpenLabel {
  readonly chain: string
  readonly address: string
  readonly category: string
  readonly entity: string
  readonly confidence: number
  readonly evidence_url: string
  readonly from_ms: number
}

const ROWS_PER_INSERT = 50_000
const SOURCE_PATTERN = /^[a-z0-9][a-z0-9._-]{0,63}$/

const keyOf = ({
  chain,
  address,
  category,
}: Pick<OpenLabel, 'chain' | 'address' | 'category'>): string => `${chain}/${address}/${category}`

const timeText = (ms: number): string =>
  new Date(ms).toISOString().replace('T', ' ').replace('Z', '')

const rowOf = (label: OpenLabel, source: string, toMs: number | null, version: number) => {
  const { from_ms, ...fields } = label
  return {
    ...fields,
    source,
    version,
    valid_from: timeText(from_ms),
    valid_to: toMs === null ? null : timeText(toMs),
  }
}

const openLabels = async (
  warehouse: Pick<Warehouse, 'query'>,
  source: string,
): Promise<ReadonlyMap<string, OpenLabel>> => {
  const { rows } = await warehouse.query<OpenLabel>({
    sql: `SELECT chain, address, category, entity, confidence, evidence_url,
  toFloat64(toUnixTimestamp64Milli(valid_from)) AS from_ms
FROM address_labels FINAL WHERE source = {source:String} AND valid_to IS NULL`,
    params: { source },
  })
  return new Map(rows.map((row) => [keyOf(row), row]))
}

const nextVersion = async (warehouse: Pick<Warehouse, 'query'>): Promise<number> => {
  const { rows } = await warehouse.query<{ readonly version: number }>({
    sql: `SELECT toFloat64(greatest((SELECT max(version) FROM label_imports), (SELECT max(version) FROM address_labels))) AS version`,
  })
  return (rows[0]?.version ?? 0) + 1
}

/**
 * Brings the labels of one source to what its list says: new ones begin, those that the list lacks end now. The same list again
 * changes nothing, and neither does a repeat after a crash. Throws `InvalidInput` for an invalid name of a source.
 */
export const importLabels = async (
  warehouse: Pick<Warehouse, 'query' | 'insert'>,
  { source, format, labels, nowMs }: LabelImport,
): Promise<ImportResult> => {
  if (!SOURCE_PATTERN.test(source)) {
    throw new InvalidInput(
      'label source',
      'a source name has up to 64 characters of a-z, 0-9, dot, dash and underscore',
    )
  }
  const known = await openLabels(warehouse, source)
  const listed = new Set(labels.map(keyOf))
  const fresh = labels.filter((label) => label.validToMs !== null || !known.has(keyOf(label)))
  const gone = [...known.values()].filter((label) => !listed.has(keyOf(label)))
  const version = await nextVersion(warehouse)
  const rows = [
    ...fresh.map(({ evidenceUrl, validFromMs, validToMs, ...label }) =>
      rowOf(
        {
          ...label,
          evidence_url: evidenceUrl,
          from_ms: validFromMs ?? known.get(keyOf(label))?.from_ms ?? nowMs,
        },
        source,
        validToMs,
        version,
      ),
    ),
    ...gone.map((label) => rowOf(label, source, nowMs, version)),
  ]
  const unchanged = labels.length - fresh.length
  if (rows.length === 0) return { version: version - 1, added: 0, closed: 0, unchanged }
  for (let at = 0; at < rows.length; at += ROWS_PER_INSERT) {
    await warehouse.insert('address_labels', rows.slice(at, at + ROWS_PER_INSERT))
  }
  const counts = { added: fresh.length, closed: gone.length }
  const imported_at = timeText(nowMs)
  await warehouse.insert('label_imports', [{ version, source, format, ...counts, imported_at }])
  return { version, ...counts, unchanged }
}
