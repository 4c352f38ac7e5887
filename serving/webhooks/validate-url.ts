import { isIP } from 'node:net'
import { Fault } from '../../core/errors.ts'
import {
  type AddressRules,
  isAllowedPort,
  isCanonicalAddress,
  portOf,
  type ResolveHost,
} from '../../core/http/guarded-client.ts'

/** Longest URL. */
const MAX_URL_LENGTH = 2_048

/** Names that clouds answer their metadata under. */
const CLOUD_METADATA_HOST =
  /^(metadata|instance-data|metadata\.google\.internal|metadata\.azure\.(com|internal))$/
const INTERNAL_HOST = /(^|\.)(local|internal|localhost)$/

/** A checked URL. */
export interface WebhookUrl {
  /** Without user and password. */
  readonly url: string
  /** `user:password`, sent as Basic authorization; "" = none. */
  readonly user: string
}

const urlNotAllowed = (why: string): Fault =>
  new Fault('WEBHOOK_URL_NOT_ALLOWED', `url ${why}`, { parameter: 'url', reason: why })

/** The host as it was typed, before the URL parser turns odd notations into plain ones. */
const rawHost = (text: string): string => {
  const authority = /^[a-z]+:\/\/([^/?#]*)/i.exec(text)?.[1] ?? ''
  return authority
    .slice(authority.lastIndexOf('@') + 1)
    .replace(/:\d*$/, '')
    .toLowerCase()
}

const urlHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

const parseUrl = (text: string): URL => {
  const isClean = text.length <= MAX_URL_LENGTH && /^[\x21-\x7e]+$/.test(text)
  if (!isClean || text.includes('\\') || !URL.canParse(text))
    throw urlNotAllowed('is not an absolute URL')
  return new URL(text)
}

/**
 * Checks a URL before it is stored. The check that counts is made again at every connection;
 * a name that cannot be resolved now passes. Throws `Fault` WEBHOOK_URL_NOT_ALLOWED.
 */
export const validateWebhookUrl = async (
  text: string,
  rules: AddressRules,
  resolve: ResolveHost,
): Promise<WebhookUrl> => {
  const url = parseUrl(text)
  const host = urlHost(url)
  const reason = urlProblem(url, text, rules)
  if (reason !== undefined) throw urlNotAllowed(reason)
  const addresses = isIP(host) === 0 ? await resolve(host).catch(() => []) : [host]
  if (!addresses.every(rules.isOpen)) throw urlNotAllowed('leads to an inside address')
  if (rules.isOwnPort(portOf(url)) && addresses.some(rules.isHere)) {
    throw urlNotAllowed('leads to a port of this service')
  }
  const isInside = addresses.length > 0 && addresses.every(rules.isListed)
  if (url.protocol === 'http:' && !isInside) throw urlNotAllowed('must be https')
  const user = basicAuthOf(url)
  url.username = ''
  url.password = ''
  return { url: url.href, user: user === ':' ? '' : user }
}

const basicAuthOf = ({ username, password }: URL): string => {
  try {
    return decodeURIComponent(`${username}:${password}`)
  } catch {
    throw urlNotAllowed('has a percent sign in its user or password that stands for nothing')
  }
}

const urlProblem = (url: URL, text: string, rules: AddressRules): string | undefined => {
  const host = urlHost(url)
  const { protocol } = url
  if (protocol !== 'https:' && (protocol !== 'http:' || !rules.hasList)) return 'must be https'
  if (url.hash !== '' || text.includes('#')) return 'must have no fragment'
  if (!isAllowedPort(url)) return 'names a port that is not allowed'
  if (isIP(host) !== 0) {
    const typed = rawHost(text).replace(/^\[|\]$/g, '')
    return isCanonicalAddress(typed) ? undefined : 'names its address in an odd notation'
  }
  const name = host.replace(/\.$/, '')
  if (CLOUD_METADATA_HOST.test(name)) return 'leads to an inside address'
  const isInside = INTERNAL_HOST.test(name) || !name.includes('.')
  return isInside && !rules.hasList ? 'leads to an inside address' : undefined
}
