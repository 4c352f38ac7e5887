import { type Endpoint, httpEndpoint } from './endpoint.ts'
import { wsEndpoint } from './ws-endpoint.ts'

/**
 * A Solana node: calls over HTTP, subscriptions over WebSocket. Its socket is at the same address or, as a validator opens
 * it, one port above; both are tried. A `ws` address is taken for that of the calls too.
 */
export const httpWsEndpoint = (url: string, timeoutMs: number): Endpoint => {
  const http = httpEndpoint(url.replace(/^ws/, 'http'), timeoutMs)
  const sockets = candidateSocketUrls(url).map((socketUrl) => wsEndpoint(socketUrl, timeoutMs))
  return {
    ...http,
    subscribe: (call, onNotice, signal) => {
      for (const socket of sockets) socket.subscribe?.(call, onNotice, signal)
    },
    close: () => {
      for (const each of [http, ...sockets]) each.close()
    },
  }
}

const candidateSocketUrls = (url: string): readonly string[] => {
  const same = url.replace(/^http/, 'ws')
  const above = new URL(same)
  const port = Number(above.port)
  if (above.port === '' || port >= 65_535) return [same]
  above.port = String(port + 1)
  return [same, above.href]
}
