import type { Config } from '../../core/config/settings.ts'
import { type ResolveHost, resolveWithDns } from '../../core/http/guarded-client.ts'
import { makeSecretCipher, type SecretCipher } from '../../core/security/encryption.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import { type Cursors, createCursors } from '../queries/cursors-and-pages.ts'
import { type AddressRulesFor, createAddressRules } from './address-rules.ts'
import { createEndpointApi, type EndpointApi } from './endpoint-api.ts'
import { type EndpointStore, type EndpointStoreDeps, openEndpointStore } from './endpoint-store.ts'
import { createListCursors } from './list-cursor.ts'

/** What the API and the delivery of a process share. */
export interface WebhookContext {
  readonly store: EndpointStore
  readonly cipher: SecretCipher
  readonly rulesOf: AddressRulesFor
  readonly resolve: ResolveHost
  readonly endpoints: EndpointApi
  readonly cursors: Cursors
  stop(): Promise<void>
}

/** What the context is made of. */
export interface WebhookContextDeps extends Omit<EndpointStoreDeps, 'signer'> {
  readonly config: Pick<Config, 'keyPepper' | 'webhookAllow' | 'webhookEndpoints'>
  /** The organization of the demo, whose webhooks may go to this machine; absent = there is none. */
  readonly demoOrgId?: string
  /** Ports that this product listens on, read at every check. */
  readonly ownPorts?: ReadonlySet<number>
  /** Default: the system's name servers. */
  readonly resolve?: ResolveHost
}

/** Opens the endpoint store with its address rules and encryption. The topics must exist. */
export const createWebhookContext = async (deps: WebhookContextDeps): Promise<WebhookContext> => {
  const { config, nowMs, resolve = resolveWithDns } = deps
  const secret = config.keyPepper.reveal()
  const cipher = makeSecretCipher(secret, 'webhooks')
  const rulesOf = createAddressRules(deps)
  const store = await openEndpointStore({ ...deps, signer: makeRecordSigner(secret) })
  const listCursors = createListCursors(secret, nowMs)
  const endpoints = createEndpointApi({
    store,
    cipher,
    rulesOf,
    resolve,
    listCursors,
    config,
    nowMs,
  })
  const cursors = createCursors(secret)
  return { store, cipher, rulesOf, resolve, endpoints, cursors, stop: () => store.stop() }
}
