/** The product's stream server in a process of its own: a log on the disk, accounts, charges; publications come out of the log. */
import { createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { loadConfig } from '../../../core/config/load.ts'
import {
  buildTradeEvent,
  type RealtimeStack,
  startRealtimeStack,
} from '../../../test/support/realtime-stack.ts'
import { type PublishOrder, type ServerWord, stampedHash, tokenAddress } from './messages.ts'

/** All sockets come from one address and belong to one organization. */
const LIMITS = {
  WS_CONNECTIONS_PER_ACCOUNT: '100000',
  WS_CONNECTIONS: '100000',
  WS_PENDING_PER_ADDRESS: '100000',
}

const say = (word: ServerWord): void => {
  process.send?.(word)
}

const issueToken = async ({ organizations, key }: RealtimeStack): Promise<string> => {
  const { clientId, clientSecret } = key
  const { accessToken } = await organizations.tokens.issue({
    grantType: 'client_credentials',
    clientId,
    clientSecret,
    scope: undefined,
    audience: loadConfig({}).apiAudience,
    ip: '127.0.0.1',
  })
  return accessToken
}

const publicKeyPem = async ({ organizations }: RealtimeStack): Promise<string> => {
  const [key] = await organizations.keySet()
  return createPublicKey({ key: { ...key }, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString()
}

const stack = await startRealtimeStack()
const server = await stack.serve({ transport: 'uws', env: LIMITS })
let publishing: Promise<unknown> = Promise.resolve()
const publish = async ({ id, stampNs, tokens }: PublishOrder): Promise<void> => {
  const transaction = { signature: stampedHash(stampNs) }
  await stack.commit(
    tokens.map((index) => ({
      trade: { ...buildTradeEvent(1, { token_a_address: tokenAddress(index) }), transaction },
    })),
  )
  say({ kind: 'published', id })
}
process.on('message', (order: PublishOrder) => {
  publishing = publishing.then(() => publish(order))
})
say({
  kind: 'ready',
  port: server.port,
  token: await issueToken(stack),
  publicKeyPem: await publicKeyPem(stack),
})
await Promise.race([once(process, 'SIGTERM'), once(process, 'disconnect')])
await stack.close()
process.exit()
