import type { Config } from '../../core/config/settings.ts'
import { type AddressRules, addressRules } from '../../core/http/guarded-client.ts'

/** What the webhooks of an organization may reach. */
export type RulesOf = (orgId: string) => AddressRules

/** What the rules are made of. */
export interface ReachDeps {
  readonly config: Pick<Config, 'webhookAllow'>
  /** The organization of the demo, whose webhooks may go to this machine; absent = there is none. */
  readonly demoOrgId?: string
  /** Ports that this product listens on: closed to everybody, read at every look. */
  readonly ownPorts?: ReadonlySet<number>
}

/** Setting that lists no range and leaves the demo's out. */
const NONE = 'none'
const LOOPBACK = ['127.0.0.0/8', '::1/128']

/** Everybody reaches public addresses and what the operator lists; the organization of a demo this machine too. */
export const webhookRules = ({ config, demoOrgId, ownPorts = new Set() }: ReachDeps): RulesOf => {
  const listed = config.webhookAllow.filter((range) => range !== NONE)
  const rules = addressRules(listed, () => ownPorts)
  const forDemo = addressRules([...listed, ...LOOPBACK], () => ownPorts)
  return (orgId) => (orgId === demoOrgId ? forDemo : rules)
}
