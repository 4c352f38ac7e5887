import { InvalidInput } from '../../core/errors.ts'
import { isJsonObject, parseJson } from '../../core/json.ts'
import { SOCIAL_NETWORKS } from '../../schemas/api/token.ts'
import { type Gateways, linkUrl } from './uri.ts'

/** What a metadata document says, as it stands; "" = nothing. */
export interface TokenDocument {
  readonly description: string
  /** `ipfs:` and `ar:` as their gateway serves them. */
  readonly imageUrl: string
  /** Links by network of `SOCIAL_NETWORKS`; those it names only. */
  readonly social: Readonly<Record<string, string>>
}

type Network = (typeof SOCIAL_NETWORKS)[number]

/** Objects of a document that links stand in; "" = the document itself. */
const PLACES = ['', 'extensions', 'socials', 'links'] as const
/** Names of the image. Sources: Metaplex token standard, ERC-721 and ERC-1155 metadata, token lists. */
const IMAGE = ['image', 'image_url', 'imageUrl', 'logoURI', 'logo'] as const
/** Further names of a network's link; the network's own name comes first. */
const OTHER_NAMES: Readonly<Partial<Record<Network, readonly string[]>>> = {
  website: ['external_url', 'externalUrl', 'homepage', 'web', 'url'],
  twitter: ['x', 'twitterUrl', 'twitter_url'],
  telegram: ['tg', 'telegramUrl', 'telegram_url'],
  discord: ['discordUrl', 'discord_url'],
}
const MOST_DESCRIPTION = 4_096
/** No document of a token nests deeper. */
const MOST_DEPTH = 32

type Fields = Readonly<Record<string, unknown>>

/** Reads a document; text that is not a JSON object, or one that nests too deep, is dropped. */
export const documentOf = (
  text: string,
  gateways: Gateways,
): TokenDocument | { readonly dropped: 'json' } => {
  const fields = fieldsOf(text)
  if (fields === undefined) return { dropped: 'json' }
  const objects = PLACES.flatMap((name) => {
    const value = name === '' ? fields : own(fields, name)
    return isJsonObject(value) ? [value] : []
  })
  const links = SOCIAL_NETWORKS.flatMap((network): readonly (readonly [string, string])[] => {
    const names = [network, ...(OTHER_NAMES[network] ?? [])]
    const link = firstOf(objects, names, (value) => linkText(value, gateways))
    return link === undefined ? [] : [[network, link]]
  })
  const image = firstOf(objects, IMAGE, (value) => linkText(value, gateways))
  const { description } = fields
  return {
    description: typeof description === 'string' ? cut(description.trim()) : '',
    imageUrl: image ?? '',
    social: Object.fromEntries(links),
  }
}

const fieldsOf = (text: string): Fields | undefined => {
  try {
    const value = parseJson(text.replace(/^\ufeff/, ''), { maxDepth: MOST_DEPTH })
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof InvalidInput) return undefined
    throw error
  }
}

const own = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined

/** The first usable value under any of the names, the document before the objects in it. */
const firstOf = (
  objects: readonly Fields[],
  names: readonly string[],
  read: (value: unknown) => string | undefined,
): string | undefined => {
  for (const fields of objects) {
    for (const name of names) {
      const found = read(own(fields, name))
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** A link as it stands; `ipfs:` and `ar:` by their gateway. Everything that is not a web address is nothing. */
const linkText = (value: unknown, gateways: Gateways): string | undefined => {
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  const url = linkUrl(text, gateways)
  if (url === undefined) return undefined
  return /^https?:\/\/[^\s\p{C}]*$/iu.test(text) ? text : url.href
}

/** At most so many characters, and no half of a pair at the end. */
const cut = (text: string): string =>
  text.slice(0, MOST_DESCRIPTION).replace(/[\ud800-\udbff]$/, '')
