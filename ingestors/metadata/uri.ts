import { isAllowedPort } from '../../core/http/guarded-client.ts'

/** Where documents that have no address of their own on the web are read; each ends in `/`. */
export interface Gateways {
  readonly ipfs: string
  readonly arweave: string
}

/** Where a document is: on the web, inside its own URI, or nowhere that is asked. */
export type UriTarget =
  | { readonly url: URL }
  | { readonly text: string }
  | { readonly dropped: 'scheme' | 'uri' }

/** Longest address on the web; longer ones are not links. */
const MOST_CHARACTERS = 2_048
/** A content identifier of IPFS in any of its bases, then a path. */
const IPFS = /^ipfs:\/\/(?:ipfs\/)?([a-zA-Z0-9]{32,128}(?:\/.*)?)$/
/** Names of Arweave transactions: 32 bytes in base64url. Source: arweave.org HTTP API. */
const ARWEAVE = /^ar:\/\/([\w-]{43}(?:\/.*)?)$/
const DATA = /^data:([^,]*),(.*)$/s

/** A web address without a user, on a port that serves the web. */
export const webUrl = (text: string, base?: URL): URL | undefined => {
  if (text.length > MOST_CHARACTERS || !URL.canParse(text, base?.href)) return undefined
  const url = new URL(text, base)
  return url.username === '' && url.password === '' && isAllowedPort(url) ? url : undefined
}

/** An address behind a gateway; a path that climbs out of it is none. */
const behind = (gateway: string, path: string): URL | undefined => {
  const url = webUrl(`${gateway}${path}`)
  return url?.href.startsWith(new URL(gateway).href) ? url : undefined
}

/** The web address of a link: its own, or its gateway's for `ipfs:` and `ar:`. */
export const linkUrl = (text: string, gateways: Gateways): URL | undefined => {
  const [, ipfs] = IPFS.exec(text) ?? []
  if (ipfs !== undefined) return behind(gateways.ipfs, ipfs)
  const [, arweave] = ARWEAVE.exec(text) ?? []
  return arweave === undefined ? webUrl(text) : behind(gateways.arweave, arweave)
}

/** Where the document of a token is. `mostBytes` limits what a `data:` URI may hold. */
export const uriTarget = (uri: string, gateways: Gateways, mostBytes: number): UriTarget => {
  const text = uri.trim()
  if (/^data:/i.test(text)) {
    const held = text.length > 3 * mostBytes ? undefined : dataText(text)
    return held === undefined ? { dropped: 'uri' } : { text: held }
  }
  if (!/^(https?|ipfs|ar):/i.test(text)) return { dropped: 'scheme' }
  const url = linkUrl(text, gateways)
  return url === undefined ? { dropped: 'uri' } : { url }
}

const dataText = (uri: string): string | undefined => {
  const [, type = '', body] = DATA.exec(uri) ?? []
  if (body === undefined) return undefined
  if (/;\s*base64\s*$/i.test(type)) return Buffer.from(body, 'base64').toString('utf8')
  try {
    return decodeURIComponent(body)
  } catch {
    return undefined
  }
}
