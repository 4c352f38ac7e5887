import { ConfigError, type ConfigProblem } from '../../core/config/errors.ts'
import type { Config } from '../../core/config/settings.ts'
import { bindScope, toUrlHost } from '../../core/http/network-address.ts'

/** Settings that say where the public plane is. */
type PublicUrlConfig = Pick<
  Config,
  'host' | 'publicUrl' | 'publicStreamsUrl' | 'authUrl' | 'tlsCertFile'
>

/** Where clients reach the public plane; no address ends in a slash. */
export interface PublicUrls {
  readonly baseUrl: string
  readonly graphqlUrl: string
  readonly wsUrl: string
  /** Subscriptions of GraphQL. */
  readonly subscriptionsUrl: string
  /** Issuer of access tokens, without its slash. */
  readonly authUrl: string
}

/** What is wrong where a host is a wildcard and nothing says what clients call it. */
export const publicUrlProblems = ({
  host,
  publicUrl,
}: Pick<PublicUrlConfig, 'host' | 'publicUrl'>): readonly ConfigProblem[] => {
  if (publicUrl !== '' || bindScope(host) !== 'wildcard') return []
  const message = `is needed where HOST is ${host}: access tokens and links name it, e.g. PUBLIC_URL=https://api.example.com`
  return [{ variable: 'PUBLIC_URL', message }]
}

/** Throws `ConfigError` with `publicUrlProblems`. */
export const requirePublicUrl = (config: Pick<PublicUrlConfig, 'host' | 'publicUrl'>): void => {
  const problems = publicUrlProblems(config)
  if (problems.length > 0) throw new ConfigError(problems)
}

/** The addresses that clients use, from the settings or else from where the listeners are. */
export const publicUrls = (
  config: PublicUrlConfig,
  port: number,
  streamsPort: number,
): PublicUrls => {
  const { host, publicUrl, publicStreamsUrl, authUrl, tlsCertFile } = config
  const s = tlsCertFile === '' ? '' : 's'
  const own = (scheme: string, at: number): string => `${scheme}${s}://${toUrlHost(host)}:${at}`
  const baseUrl = withoutTrailingSlash(publicUrl || own('http', port))
  const streams =
    publicStreamsUrl || streamsBeside(config, port, streamsPort) || own('ws', streamsPort)
  return {
    baseUrl,
    graphqlUrl: `${baseUrl}/graphql`,
    wsUrl: `${withoutTrailingSlash(streams)}/connection/websocket`,
    subscriptionsUrl: `${withoutTrailingSlash(streams)}/graphql`,
    authUrl: withoutTrailingSlash(authUrl || baseUrl),
  }
}

/**
 * Where the streams are by the public URL: under it when a proxy answers there, on the port of their own when it names the listener of
 * REST itself, which has no streams. Empty without a public URL.
 */
const streamsBeside = (
  { publicUrl, tlsCertFile }: PublicUrlConfig,
  port: number,
  streamsPort: number,
): string => {
  if (publicUrl === '') return ''
  const { protocol, hostname, port: named } = new URL(publicUrl)
  const isTls = protocol === 'https:'
  const isListener = isTls === (tlsCertFile !== '') && Number(named || (isTls ? 443 : 80)) === port
  return isListener
    ? `${isTls ? 'wss' : 'ws'}://${hostname}:${streamsPort}`
    : withoutTrailingSlash(publicUrl).replace(/^http/, 'ws')
}

const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, '')
