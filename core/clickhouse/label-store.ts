import type { RiskCategoryName } from '../../schemas/risk.ts'
import { InvalidInput } from '../errors.ts'
import type { Warehouse } from './client.ts'

/** A label as a list says it. An empty chain: every chain that has such addresses. */
export interface ListedLabel {
  readonly chain: string
  readonly address: string
  readonly category: RiskCategoryName
  readonly entity: string
  readonly confidence: number
  readonly evidenceUrl: string
  /** null: from the import on. */
  readonly validFromMs: number | null
  readonly validToMs: number | null
}

/** What an import did. */
export interface ImportResult {
  /** Version of the label store after it. */
  readonly version: number
  readonly added: number
  /** Labels of the source that the list has no more: they end, and stay in the history. */
  readonly closed: number
  readonly unchanged: number
}

/** A list that is imported: what its source said before and the list lacks is over. */
export interface LabelImport {
  readonly source: string
  readonly format: string
  readonly labels: readonly ListedLabel[]
  readonly nowMs: number
}

/** A label as it is stored, between two moments; `to_ms` null: still valid. */
interface StoredLabel {
  readonly chain: string
  readonly address: string
  readonly category: string
  readonly entity: string
  readonly confidence: number
  readonly evidence_url: string
  readonly from_ms: number
  readonly to_ms: number | null
}

const ROWS_PER_INSERT = 50_000
const SOURCE_PATTERN = /^[a-z0-9][a-z0-9._-]{0,63}$/

const keyOf = ({
  chain,
  address,
  category,
}: Pick<StoredLabel, 'chain' | 'address' | 'category'>): string => `${chain}/${address}/${category}`

const timeText = (ms: number): string =>
  new Date(ms).toISOString().replace('T', ' ').replace('Z', '')

const rowOf = (label: StoredLabel, source: string, version: number) => {
  const { from_ms, to_ms, ...fields } = label
  return {
    ...fields,
    source,
    version,
    valid_from: timeText(from_ms),
    valid_to: to_ms === null ? null : timeText(to_ms),
  }
}

const groupByKey = <Label extends Pick<StoredLabel, 'chain' | 'address' | 'category'>>(
  labels: readonly Label[],
): ReadonlyMap<string, readonly Label[]> => {
  const groups = new Map<string, Label[]>()
  for (const label of labels) {
    const same = groups.get(keyOf(label))
    if (same === undefined) groups.set(keyOf(label), [label])
    else same.push(label)
  }
  return groups
}

/** Every label that the source ever had, those that are over included. */
const storedLabels = async (
  warehouse: Pick<Warehouse, 'query'>,
  source: string,
): Promise<readonly StoredLabel[]> => {
  const { rows } = await warehouse.query<StoredLabel>({
    sql: `SELECT chain, address, category, entity, confidence, evidence_url,
  toFloat64(toUnixTimestamp64Milli(valid_from)) AS from_ms, toFloat64(toUnixTimestamp64Milli(valid_to)) AS to_ms
FROM address_labels FINAL WHERE source = {source:String} ORDER BY valid_from`,
    params: { source },
  })
  return rows
}

/** Versions of labels: of finished imports, of all rows; the same of one source. */
interface Versions {
  readonly imported: number
  readonly written: number
  readonly source_imported: number
  readonly source_written: number
}

const readVersions = async (
  warehouse: Pick<Warehouse, 'query'>,
  source: string,
): Promise<Versions> => {
  const max = (table: string, filter = ''): string =>
    `toFloat64((SELECT max(version) FROM ${table} ${filter}))`
  const own = 'WHERE source = {source:String}'
  const { rows } = await warehouse.query<Versions>({
    sql: `SELECT ${max('label_imports')} AS imported, ${max('address_labels')} AS written,
  ${max('label_imports', own)} AS source_imported, ${max('address_labels', own)} AS source_written`,
    params: { source },
  })
  return rows[0] ?? { imported: 0, written: 0, source_imported: 0, source_written: 0 }
}

/**
 * What the list says of one address and category, with the moments that it leaves open: a label without a beginning keeps the one that
 * is stored, or begins now; one that is over ended at its end and before that is not known.
 */
const withMoments = (
  listed: readonly ListedLabel[],
  stored: readonly StoredLabel[],
  nowMs: number,
): ReadonlyMap<number, StoredLabel> => {
  const byStart = new Map<number, StoredLabel>()
  const put = ({ evidenceUrl, validFromMs, validToMs, ...label }: ListedLabel, from: number) =>
    byStart.set(from, { ...label, evidence_url: evidenceUrl, from_ms: from, to_ms: validToMs })
  const free = (fits: (label: StoredLabel) => boolean): number | undefined =>
    stored.find((label) => !dated.has(label.from_ms) && fits(label))?.from_ms
  const dated = new Set(listed.flatMap(({ validFromMs }) => validFromMs ?? []))
  for (const label of listed) if (label.validFromMs !== null) put(label, label.validFromMs)
  const undated = listed.filter(({ validFromMs }) => validFromMs === null)
  const openFrom = free(({ to_ms }) => to_ms === null)
  for (const label of undated) if (label.validToMs === null) put(label, openFrom ?? nowMs)
  for (const label of undated) {
    const end = label.validToMs
    if (end === null) continue
    const endedFrom = free(({ from_ms, to_ms }) => to_ms === end && from_ms < end)
    const isOpenFree = openFrom !== undefined && openFrom < end && !byStart.has(openFrom)
    put(label, endedFrom ?? (isOpenFree ? openFrom : end - 1))
  }
  return byStart
}

const isSame = (one: StoredLabel, other: StoredLabel): boolean =>
  one.from_ms === other.from_ms &&
  one.to_ms === other.to_ms &&
  one.entity === other.entity &&
  one.confidence === other.confidence &&
  one.evidence_url === other.evidence_url

/** Labels that must be written so that the stored ones say what the list says. */
interface Changes {
  readonly added: readonly StoredLabel[]
  /** Open labels that end: now where the list lacks them, at once with their beginning where it gives other moments. */
  readonly closed: readonly StoredLabel[]
  readonly unchanged: number
}

const changesOf = (
  listed: readonly ListedLabel[],
  stored: readonly StoredLabel[],
  nowMs: number,
): Changes => {
  const groups = groupByKey(stored)
  const listedGroups = groupByKey(listed)
  const added: StoredLabel[] = []
  const closed: StoredLabel[] = []
  let unchanged = 0
  for (const [key, labels] of listedGroups) {
    const known = groups.get(key) ?? []
    const listedLabels = withMoments(labels, known, nowMs)
    for (const label of listedLabels.values()) {
      if (known.some((each) => isSame(each, label))) unchanged += 1
      else added.push(label)
    }
    const others = known.filter(
      ({ from_ms, to_ms }) => to_ms === null && !listedLabels.has(from_ms),
    )
    closed.push(...others.map((label) => ({ ...label, to_ms: label.from_ms })))
  }
  const gone = stored.filter((label) => label.to_ms === null && !listedGroups.has(keyOf(label)))
  closed.push(...gone.map((label) => ({ ...label, to_ms: nowMs })))
  return { added, closed, unchanged }
}

/**
 * Brings the labels of one source to what its list says: new ones begin, those that the list lacks end now, those of which it says other
 * moments or words are replaced. The same list again changes nothing; after a crash it completes what was begun, under a version of its
 * own, so that what was screened meanwhile is screened again. Throws `InvalidInput` for an invalid name of a source.
 */
export const importLabels = async (
  warehouse: Pick<Warehouse, 'query' | 'insert'>,
  given: LabelImport,
): Promise<ImportResult> => {
  if (!SOURCE_PATTERN.test(given.source)) {
    throw new InvalidInput(
      'label source',
      'a source name has up to 64 characters of a-z, 0-9, dot, dash and underscore',
    )
  }
  return writeLabels(warehouse, given, ({ labels, nowMs }, stored) =>
    changesOf(labels, stored, nowMs),
  )
}

/** A label that never was one: a reorg took back the event that it began with. */
export interface RetractedLabel {
  readonly address: string
  readonly fromMs: number
}

/** Labels that a contract of a chain gave, each with the moments that its events say. */
export interface ChainLabels extends Omit<LabelImport, 'source' | 'format'> {
  readonly chain: string
  /** Row id of `protocols.ts`. */
  readonly protocol: string
  readonly contract: string
  /** Those that are stored end where they began. */
  readonly retracted: readonly RetractedLabel[]
}

/** Name of the source of such labels; the colons keep it apart from the names of imported lists. */
const chainLabelSource = ({
  chain,
  protocol,
  contract,
}: Pick<ChainLabels, 'chain' | 'protocol' | 'contract'>): string =>
  `chain:${chain}:${protocol}:${contract}`

/**
 * How a stored label that is open ends where the periods of its address and category begin none at its moment: with its beginning where a
 * period covers that, as one does when events came behind later ones; else with the first removal after it. Undefined: nothing ended it,
 * its events are lost.
 */
const chainLabelEnd = (
  { from_ms }: StoredLabel,
  periods: readonly ListedLabel[],
): number | undefined => {
  const later = periods.filter(({ validToMs }) => validToMs === null || validToMs >= from_ms)
  if (later.some(({ validFromMs }) => validFromMs !== null && validFromMs < from_ms)) return from_ms
  const ends = later.flatMap(({ validToMs }) => validToMs ?? [])
  return ends.length === 0 ? undefined : Math.min(...ends)
}

/** What the evidence address of a label names its block by. */
const blockOf = (evidenceUrl: string): string | undefined => /#block=(\d+)$/.exec(evidenceUrl)?.[1]

const chainChangesOf = (
  { labels: listed, retracted, nowMs }: ChainLabels,
  stored: readonly StoredLabel[],
): Changes => {
  const { added, unchanged } = changesOf(listed, stored, nowMs)
  const periods = groupByKey(listed)
  const gone = new Set(retracted.map(({ address, fromMs }) => `${address}/${fromMs}`))
  const closed = stored.flatMap((label) => {
    const own = periods.get(keyOf(label)) ?? []
    const isListed = own.some(({ validFromMs }) => validFromMs === label.from_ms)
    if (isListed || label.to_ms === label.from_ms) return []
    // A block of one height has one time: where it has another, the block of the stored label was replaced.
    const block = blockOf(label.evidence_url)
    const isReplaced =
      block !== undefined && own.some(({ evidenceUrl }) => blockOf(evidenceUrl) === block)
    if (isReplaced || gone.has(`${label.address}/${label.from_ms}`))
      return { ...label, to_ms: label.from_ms }
    if (label.to_ms !== null) return []
    const to_ms = chainLabelEnd(label, own)
    return to_ms === undefined ? [] : { ...label, to_ms }
  })
  return { added, closed, unchanged }
}

/**
 * Writes what a contract of a chain said, under versions like those of imports. A label ends by an event alone, or with its beginning
 * where that event was taken back: those of addresses that are not among the given ones stay as they are. The same labels again change nothing, and complete what was interrupted.
 */
export const writeChainLabels = (
  warehouse: Pick<Warehouse, 'query' | 'insert'>,
  given: ChainLabels,
): Promise<ImportResult> => {
  const { labels, nowMs } = given
  const source = chainLabelSource(given)
  return writeLabels(warehouse, { source, format: 'chain-events', labels, nowMs }, (_, stored) =>
    chainChangesOf(given, stored),
  )
}

const writeLabels = async (
  warehouse: Pick<Warehouse, 'query' | 'insert'>,
  given: LabelImport,
  changes: (given: LabelImport, stored: readonly StoredLabel[]) => Changes,
): Promise<ImportResult> => {
  const { source, format, nowMs } = given
  const before = await readVersions(warehouse, source)
  const isInterrupted = before.source_written > before.source_imported
  const stored = await storedLabels(warehouse, source)
  const { added, closed, unchanged } = changes(given, stored)
  const counts = { added: added.length, closed: closed.length }
  const changed = [...added, ...closed]
  if (changed.length === 0 && !isInterrupted)
    return { version: before.imported, ...counts, unchanged }
  const written = Math.max(before.imported, before.written) + 1
  for (let at = 0; at < changed.length; at += ROWS_PER_INSERT) {
    const rows = changed.slice(at, at + ROWS_PER_INSERT)
    await warehouse.insert(
      'address_labels',
      rows.map((label) => rowOf(label, source, written)),
    )
  }
  // After the rows: an import that ended meanwhile has been seen by screenings, without the rows of this one.
  const version = Math.max(written, (await readVersions(warehouse, source)).imported + 1)
  const imported_at = timeText(nowMs)
  // Writers that end at once have one version, which says of the rows of each that they are there.
  await warehouse.insert('label_imports', [
    { version, source, source_key: source, format, ...counts, imported_at },
  ])
  return { version, ...counts, unchanged }
}
