import type { Config } from '../../core/config.ts'
import {
  type AddressRules,
  addressRules,
  type Resolve,
  systemResolve,
} from '../../core/outbound.ts'
import { makeRecordSigner } from '../../core/record-signature.ts'
import { makeSealer, type Sealer } from '../../core/seal.ts'
import { type Cursors, makeCursors } from '../http/cursor.ts'
import { type EndpointStore, type EndpointStoreDeps, openEndpoints } from './endpoints.ts'
import { makeIterators } from './iterator.ts'
import { type EndpointResource, endpointResource } from './resource.ts'

/** What API and delivery share in a process. */
export interface WebhookGround {
  readonly store: EndpointStore
  readonly sealer: Sealer
  readonly rules: AddressRules
  readonly resolve: Resolve
  readonly resource: EndpointResource
  readonly cursors: Cursors
  stop(): Promise<void>
}

/** What the ground is made of. */
export interface GroundDeps extends Omit<EndpointStoreDeps, 'signer'> {
  readonly config: Pick<Config, 'keyPepper' | 'webhookAllow' | 'webhookEndpoints'>
  /** Default: the system's name servers. */
  readonly resolve?: Resolve
}

/** Opens the endpoints with all that guards them. The topics must exist. */
export const openWebhookGround = async (deps: GroundDeps): Promise<WebhookGround> => {
  const { config, nowMs, resolve = systemResolve } = deps
  const secret = config.keyPepper.reveal()
  const sealer = makeSealer(secret, 'webhooks')
  const rules = addressRules(config.webhookAllow)
  const store = await openEndpoints({ ...deps, signer: makeRecordSigner(secret) })
  const iterators = makeIterators(secret, nowMs)
  const resource = endpointResource({ store, sealer, rules, resolve, iterators, config, nowMs })
  const cursors = makeCursors(secret)
  return { store, sealer, rules, resolve, resource, cursors, stop: () => store.stop() }
}
