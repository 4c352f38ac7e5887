import type { Config } from '../../core/config/settings.ts'
import { type Resolve, systemResolve } from '../../core/http/guarded-client.ts'
import { makeSealer, type Sealer } from '../../core/security/encryption.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import { type Cursors, makeCursors } from '../queries/cursor.ts'
import { makeIterators } from './cursor.ts'
import { type EndpointResource, endpointResource } from './endpoint-service.ts'
import { type EndpointStore, type EndpointStoreDeps, openEndpoints } from './endpoints.ts'
import { type RulesOf, webhookRules } from './reach.ts'

/** What API and delivery share in a process. */
export interface WebhookGround {
  readonly store: EndpointStore
  readonly sealer: Sealer
  readonly rulesOf: RulesOf
  readonly resolve: Resolve
  readonly resource: EndpointResource
  readonly cursors: Cursors
  stop(): Promise<void>
}

/** What the ground is made of. */
export interface GroundDeps extends Omit<EndpointStoreDeps, 'signer'> {
  readonly config: Pick<Config, 'keyPepper' | 'webhookAllow' | 'webhookEndpoints'>
  /** The organization of the demo, whose webhooks may go to this machine; absent = there is none. */
  readonly demoOrgId?: string
  /** Ports that this product listens on, read at every look. */
  readonly ownPorts?: ReadonlySet<number>
  /** Default: the system's name servers. */
  readonly resolve?: Resolve
}

/** Opens the endpoints with all that guards them. The topics must exist. */
export const openWebhookGround = async (deps: GroundDeps): Promise<WebhookGround> => {
  const { config, nowMs, resolve = systemResolve } = deps
  const secret = config.keyPepper.reveal()
  const sealer = makeSealer(secret, 'webhooks')
  const rulesOf = webhookRules(deps)
  const store = await openEndpoints({ ...deps, signer: makeRecordSigner(secret) })
  const iterators = makeIterators(secret, nowMs)
  const resource = endpointResource({ store, sealer, rulesOf, resolve, iterators, config, nowMs })
  const cursors = makeCursors(secret)
  return { store, sealer, rulesOf, resolve, resource, cursors, stop: () => store.stop() }
}
