import { parse as parseYaml } from 'yaml'
import { distinctAddress, storedAddress } from '../../core/addresses.ts'
import type { ListedLabel } from '../../core/clickhouse/label-store.ts'
import { InvalidInput } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { CHAINS, chainRow } from '../../schemas/chains.ts'
import { isRiskCategory, RISK_CATEGORIES } from '../../schemas/risk.ts'

/** What the list itself does not say. */
export interface ListDefaults {
  readonly category?: string
  readonly chain?: string
  readonly entity?: string
  readonly evidenceUrl?: string
}

/** Bounds of one list. */
export const MAX_LIST_BYTES = 64 << 20
export const MAX_LABELS = 500_000
export const MAX_TEXT = 256
const MAX_URL = 2_048

/** Confidence of lists that say none, and of the words of tag packs. */
const FULL_CONFIDENCE = 1
const TAG_CONFIDENCE: Readonly<Record<string, number>> = {
  ownership: 1,
  authority_data: 0.95,
  service_data: 0.8,
  web_crawl: 0.5,
  heuristic: 0.5,
}

const invalid = (line: number, problem: string): InvalidInput =>
  new InvalidInput('label list', `entry ${line}: ${problem}`)

/** Fields of an entry as text, before they are checked. */
export interface RawEntry {
  readonly chain?: string | undefined
  readonly address?: string | undefined
  readonly category?: string | undefined
  readonly entity?: string | undefined
  readonly evidenceUrl?: string | undefined
  readonly validFrom?: string | undefined
  readonly validTo?: string | undefined
  readonly confidence?: number
}

/** Throws `InvalidInput` for text that is too long, or that could move a terminal or forge a line. */
const plainText = (text: string, line: number): string => {
  const trimmed = text.trim()
  if (trimmed.length > MAX_TEXT) throw invalid(line, `a text is longer than ${MAX_TEXT} characters`)
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>]/u.test(trimmed)) {
    throw invalid(line, 'a text has control characters or angle brackets')
  }
  return trimmed
}

const webAddress = (text: string, line: number): string => {
  const trimmed = text.trim()
  if (trimmed === '') return ''
  const url = trimmed.length <= MAX_URL && URL.canParse(trimmed) ? new URL(trimmed) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw invalid(line, 'evidence has no http address')
  return url.href
}

const timeMs = (text: string | undefined, line: number): number | null => {
  if (text === undefined || text.trim() === '') return null
  const ms = /^\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?$/.test(text.trim())
    ? Date.parse(text.trim())
    : Number.NaN
  if (!Number.isFinite(ms))
    throw invalid(line, 'a date is not written as 2024-01-31 or with a time in UTC')
  return ms
}

/** Chains whose addresses look alike; a list names one of them, or none. */
const chainAndAddress = (
  { chain = '', address = '' }: RawEntry,
  line: number,
): Pick<ListedLabel, 'chain' | 'address'> => {
  const text = address.trim()
  if (chain !== '') {
    const id = chainRow(chain)?.id ?? Object.values(CHAINS).find((row) => row.apiName === chain)?.id
    const stored = id === undefined ? undefined : storedAddress(id, text)
    if (id === undefined || stored === undefined)
      throw invalid(line, 'the address is none of the chain')
    return { chain: id, address: stored }
  }
  const distinct = distinctAddress(text)
  if (distinct === undefined) throw invalid(line, 'the address is none of a known chain')
  return { chain: '', address: distinct.address }
}

const toLabel = (entry: RawEntry, defaults: ListDefaults, line: number): ListedLabel => {
  const category = (entry.category || defaults.category || '').trim().toLowerCase()
  if (!isRiskCategory(category)) {
    const expected = Object.keys(RISK_CATEGORIES).join(', ')
    throw invalid(
      line,
      category === ''
        ? `no category: name one of the list with --category, of ${expected}`
        : `unknown category; expected one of ${expected}`,
    )
  }
  const [validFromMs, validToMs] = [timeMs(entry.validFrom, line), timeMs(entry.validTo, line)]
  if (validFromMs !== null && validToMs !== null && validToMs <= validFromMs) {
    throw invalid(line, 'a label ends before it begins')
  }
  return {
    ...chainAndAddress({ ...entry, chain: entry.chain || defaults.chain }, line),
    category,
    entity: plainText(entry.entity || defaults.entity || '', line),
    confidence: entry.confidence ?? FULL_CONFIDENCE,
    evidenceUrl: webAddress(entry.evidenceUrl || defaults.evidenceUrl || '', line),
    validFromMs,
    validToMs,
  }
}

type Reader = (text: string) => readonly RawEntry[]

/** One address a line; empty lines and those behind `#` say nothing. */
const addressList: Reader = (text) =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((address) => ({ address }))

const CSV_COLUMNS = [
  'chain',
  'address',
  'category',
  'entity',
  'evidence_url',
  'valid_from',
  'valid_to',
]

/** Fields of one line of CSV (RFC 4180); quoted fields may not span lines. */
const csvFields = (line: string, place: number): readonly string[] => {
  const fields = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))(?=,|$)/g)]
  const read = fields.map(([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare ?? '')
  const length = fields.reduce((sum, [whole]) => sum + whole.length, 0)
  if (length !== line.length) throw invalid(place, 'the quotes of a line are not closed')
  return read
}

const csv: Reader = (text) => {
  const [head = '', ...lines] = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  const names = csvFields(head, 0)
  const unknown = names.find((name) => !CSV_COLUMNS.includes(name))
  if (unknown !== undefined || !names.includes('address')) {
    throw new InvalidInput(
      'label list',
      `the header line may have the columns ${CSV_COLUMNS.join(', ')}`,
    )
  }
  return lines.map((line, index) => {
    const fields = csvFields(line, index + 1)
    if (fields.length !== names.length)
      throw invalid(index + 1, 'as many fields as columns are needed')
    const { evidence_url, valid_from, valid_to, ...named } = Object.fromEntries(
      names.map((name, at) => [name, fields[at] ?? '']),
    )
    return { ...named, evidenceUrl: evidence_url, validFrom: valid_from, validTo: valid_to }
  })
}

/** A document without aliases, which could unfold to any size. */
const yamlOf = (text: string): unknown => {
  try {
    return parseYaml(text, { maxAliasCount: 0, schema: 'failsafe' })
  } catch (error) {
    throw new InvalidInput('label list', 'a tag pack is YAML without aliases', { cause: error })
  }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Words of tag packs that name a category of ours in another way. */
const TAG_CATEGORIES: Readonly<Record<string, string>> = {
  hosted_wallet: 'exchange',
  dark_market: 'darknet_market',
  mixing_service: 'mixer',
  sanction: 'sanctions',
  ransomware_attack: 'ransomware',
  dex: 'decentralized_exchange',
}

/** Ledgers of tag packs whose addresses tell their chains. */
const TAG_LEDGERS: ReadonlySet<string> = new Set(['ETH', 'SOL'])

/** A TagPack of GraphSense: fields of the head hold for every tag that has none of its own. Tags of other ledgers are left out. */
const tagPack: Reader = (text) => {
  const pack = yamlOf(text)
  if (!isJsonObject(pack) || !Array.isArray(pack.tags)) {
    throw new InvalidInput('label list', 'a tag pack has a list `tags`')
  }
  const { tags, ...head } = pack
  return tags.flatMap((tag: unknown, index): readonly RawEntry[] => {
    if (!isJsonObject(tag)) throw invalid(index + 1, 'a tag has fields')
    const read = (name: string): string | undefined => textOf(tag[name] ?? head[name])
    const ledger = (read('network') ?? read('currency') ?? '').toUpperCase()
    if (ledger !== '' && !TAG_LEDGERS.has(ledger)) return []
    const word = (read('category') ?? read('concepts') ?? '').toLowerCase()
    return [
      {
        address: read('address'),
        category: TAG_CATEGORIES[word] ?? word,
        entity: read('label'),
        evidenceUrl: read('source'),
        confidence: TAG_CONFIDENCE[read('confidence') ?? ''] ?? FULL_CONFIDENCE,
      },
    ]
  })
}

/** Formats of label lists by their name on the command line. */
const READERS = { csv, 'address-list': addressList, tagpack: tagPack } as const satisfies Record<
  string,
  Reader
>
export const LABEL_FORMATS = Object.keys(READERS) as readonly (keyof typeof READERS)[]
export type LabelFormat = keyof typeof READERS

/** Labels of a list, each once. Throws `InvalidInput` that names the first entry which is wrong: a list is read whole or not at all. */
export const parseLabels = (
  format: LabelFormat,
  text: string,
  defaults: ListDefaults = {},
): readonly ListedLabel[] => {
  return labelsOf(READERS[format](text), defaults)
}

/** Labels of the entries of a list, each once. Throws like `parseLabels`. */
export const labelsOf = (
  entries: readonly RawEntry[],
  defaults: ListDefaults,
): readonly ListedLabel[] => {
  if (entries.length > MAX_LABELS) {
    throw new InvalidInput('label list', `more than ${MAX_LABELS} entries`)
  }
  const labels = entries.map((entry, index) => toLabel(entry, defaults, index + 1))
  return [
    ...new Map(
      labels.map((label) => [`${label.chain}/${label.address}/${label.category}`, label]),
    ).values(),
  ]
}
