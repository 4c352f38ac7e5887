import { distinctAddress, storedAddress } from '../../core/addresses.ts'
import { base58Decode } from '../../core/base58.ts'
import type { ListedLabel } from '../../core/clickhouse/label-store.ts'
import { InvalidInput } from '../../core/errors.ts'
import { CHAINS, type ChainId, type Vm } from '../../schemas/chains.ts'
import {
  type ListDefaults,
  labelsOf,
  MAX_LABELS,
  MAX_TEXT,
  type RawEntry,
} from './label-formats.ts'
import { readXml, type XmlElement } from './xml-reader.ts'

/** Labels of an SDN list, and how many of its addresses belong to no chain here, by the symbol that the list gives them. */
export interface OfacList {
  readonly labels: readonly ListedLabel[]
  readonly skipped: Readonly<Record<string, number>>
}

/** Roots and namespaces, old and new. Source: sdnList.xsd and the schema of the Advanced Sanctions Data Model, both published by OFAC. */
const EXPORTS = 'https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports'
const NAMESPACES: Readonly<Record<string, readonly string[]>> = {
  sdnList: [`${EXPORTS}/XML`, 'http://tempuri.org/sdnList.xsd'],
  Sanctions: [`${EXPORTS}/ADVANCED_XML`, 'http://www.un.org/sanctions/1.0'],
}

/** Kind of identity document, followed by the symbol of the currency. Source: OFAC, frequently asked question 563. */
const ADDRESS_TYPE = /^Digital Currency Address\b[\s-]*(.*)$/
/** Where people look up a party by its number. */
const DETAILS_URL = 'https://sanctionssearch.ofac.treas.gov/Details.aspx?id='
const MAX_SYMBOLS = 200

/**
 * Chains that a currency's addresses may belong to, apart from EVM chains: an address written as theirs is taken under every symbol, as its key
 * controls the same address on all of them.
 */
const SYMBOL_CHAINS: Readonly<Record<string, readonly ChainId[]>> = {
  SOL: ['sol'],
  SUI: ['sui'],
  USDC: ['sol', 'sui'],
  USDT: ['sol'],
}

/** Addresses have their full length: those of Bitcoin and Tron are base 58 too, and shorter than the 32 bytes of Solana. */
const IS_WHOLE: Readonly<Record<Vm, (address: string) => boolean>> = {
  evm: (address) => address.length === 42,
  svm: (address) => base58Decode(address)?.length === 32,
  move: (address) => address.length === 66,
}

interface ListedAddress {
  readonly symbol: string
  readonly address: string
}

interface Party {
  readonly id: string
  readonly name: string
  readonly addresses: readonly ListedAddress[]
}

interface Layout {
  readonly open: (element: XmlElement, path: readonly string[]) => void
  readonly close: (path: readonly string[], text: string) => void
}

const addressOf = (type: string, address: string): ListedAddress | undefined => {
  const symbol = ADDRESS_TYPE.exec(type)?.[1]
  if (symbol === undefined) return undefined
  return { symbol: /^\w{1,16}$/.test(symbol) ? symbol.toUpperCase() : 'unknown', address }
}

/** The classic file: `sdnEntry` with its name, and `idList/id` with `idType` and `idNumber`. */
const classicLayout = (add: (party: Party) => void): Layout => {
  let party = { id: '', first: '', last: '', addresses: [] as ListedAddress[] }
  let document = { type: '', number: '' }
  const fields: Readonly<Record<string, (text: string) => void>> = {
    uid: (text) => (party.id = text),
    firstName: (text) => (party.first = text),
    lastName: (text) => (party.last = text),
    'idList/id/idType': (text) => (document.type = text),
    'idList/id/idNumber': (text) => (document.number = text),
    'idList/id': () => {
      const address = addressOf(document.type, document.number)
      if (address !== undefined) party.addresses.push(address)
    },
  }
  return {
    open: (_element, path) => {
      if (path.join('/') === 'sdnList/sdnEntry')
        party = { id: '', first: '', last: '', addresses: [] }
      if (path.at(-1) === 'id') document = { type: '', number: '' }
    },
    close: (path, text) => {
      if (path[1] !== 'sdnEntry') return
      if (path.length > 2) return void fields[path.slice(2).join('/')]?.(text)
      const { id, first, last, addresses } = party
      add({ id, name: `${first} ${last}`.trim(), addresses })
    },
  }
}

const PROFILE = 'Sanctions/DistinctParties/DistinctParty/Profile'
const NAME_PART = `${PROFILE}/Identity/Alias/DocumentedName/DocumentedNamePart/NamePartValue`

/** The advanced file: kinds of features first, then `DistinctParty` with its names, and `Feature` with the kind and `VersionDetail`. */
const advancedLayout = (add: (party: Party) => void): Layout => {
  const types = new Map<string, string>()
  let typeId = ''
  let isMainName = false
  let party = { id: '', names: [] as string[], addresses: [] as ListedAddress[] }
  const openers: Readonly<Record<string, (attributes: XmlElement['attributes']) => void>> = {
    FeatureType: ({ ID = '' }) => (typeId = ID),
    DistinctParty: ({ FixedRef = '' }) => (party = { id: FixedRef, names: [], addresses: [] }),
    Alias: ({ Primary }) => (isMainName = Primary === 'true' && party.names.length === 0),
    Feature: ({ FeatureTypeID = '' }) => (typeId = FeatureTypeID),
  }
  const closers: Readonly<Record<string, (text: string) => void>> = {
    'Sanctions/ReferenceValueSets/FeatureTypeValues/FeatureType': (text) => {
      if (ADDRESS_TYPE.test(text)) types.set(typeId, text)
      if (types.size > MAX_SYMBOLS) throw invalid(`more than ${MAX_SYMBOLS} kinds of currencies`)
    },
    [NAME_PART]: (text) => {
      if (isMainName && party.names.length < MAX_TEXT) party.names.push(text)
    },
    [`${PROFILE}/Feature/FeatureVersion/VersionDetail`]: (text) => {
      const address = addressOf(types.get(typeId) ?? '', text)
      if (address !== undefined) party.addresses.push(address)
    },
    'Sanctions/DistinctParties/DistinctParty': () =>
      add({ id: party.id, name: party.names.join(' '), addresses: party.addresses }),
  }
  return {
    open: ({ name, attributes }) => openers[name]?.(attributes),
    close: (path, text) => closers[path.join('/')]?.(text),
  }
}

const invalid = (problem: string): InvalidInput => new InvalidInput('label list', problem)

/** Names become labels: without what could move a terminal, and cut. */
const entityOf = (name: string): string =>
  name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>]/gu, ' ').slice(0, MAX_TEXT)

const chainOf = ({ symbol, address }: ListedAddress): ChainId | '' | undefined => {
  if (distinctAddress(address)?.vm === 'evm') return ''
  const fits = (id: ChainId): boolean =>
    storedAddress(id, address) !== undefined && IS_WHOLE[CHAINS[id].vm](address)
  return SYMBOL_CHAINS[symbol]?.find(fits)
}

/**
 * Reads OFAC's SDN list, classic or advanced. Addresses of ledgers that no chain here has are counted and left out. Throws `InvalidInput` for a
 * document that is malformed or of another layout, and for one without an address of a chain here, whose import would end all labels of its source.
 */
export const readOfacList = async (
  chunks: AsyncIterable<Uint8Array>,
  defaults: ListDefaults = {},
): Promise<OfacList> => {
  const entries: RawEntry[] = []
  const skipped = new Map<string, number>()
  const add = ({ id, name, addresses }: Party): void => {
    for (const listed of addresses) {
      const chain = chainOf(listed)
      if (chain === undefined) {
        const symbol = skipped.size < MAX_SYMBOLS ? listed.symbol : 'unknown'
        skipped.set(symbol, (skipped.get(symbol) ?? 0) + 1)
        continue
      }
      if (entries.length >= MAX_LABELS) throw invalid(`more than ${MAX_LABELS} entries`)
      const evidenceUrl = /^\d{1,12}$/.test(id) ? `${DETAILS_URL}${id}` : undefined
      entries.push({ chain, address: listed.address, entity: entityOf(name), evidenceUrl })
    }
  }
  const layouts = { sdnList: classicLayout(add), Sanctions: advancedLayout(add) }
  let layout: Layout | undefined
  let namespace = ''
  await readXml(chunks, {
    open: (element, path) => {
      if (path.length === 1) {
        const { name } = element
        layout = name === 'sdnList' || name === 'Sanctions' ? layouts[name] : undefined
        namespace = element.namespace
        if (layout === undefined || NAMESPACES[name]?.includes(namespace) !== true)
          throw invalid('the root element and its namespace are not those of an SDN list')
      }
      if (element.namespace !== namespace)
        throw invalid('the SDN list has an element of another namespace')
      layout?.open(element, path)
    },
    close: (path, text) => layout?.close(path, text),
  })
  if (entries.length === 0) throw invalid('the SDN list has no address of a known chain')
  const { chain: _everyChain, category = 'sanctions', ...rest } = defaults
  return { labels: labelsOf(entries, { ...rest, category }), skipped: Object.fromEntries(skipped) }
}
