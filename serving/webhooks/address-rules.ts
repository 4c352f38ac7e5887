import type { Config } from '../../core/config/settings.ts'
import { type AddressRules, addressRules } from '../../core/http/guarded-client.ts'

/** What the webhooks of an organization may reach. */
export type AddressRulesFor = (orgId: string) => AddressRules

/** What the rules are made of. */
export interface AddressRulesDeps {
  readonly config: Pick<Config, 'webhookAllow'>
  /** The organization of the demo, whose webhooks may go to this machine; absent = there is none. */
  readonly demoOrgId?: string
  /** Ports that this product listens on: closed to everybody, read at every check. */
  readonly ownPorts?: ReadonlySet<number>
}

/** Setting that lists no range and leaves the demo's out. */
const NO_RANGES = 'none'
const LOOPBACK_RANGES = ['127.0.0.0/8', '::1/128']

/** Everybody reaches public addresses and what the operator lists; the organization of a demo this machine too. */
export const createAddressRules = ({
  config,
  demoOrgId,
  ownPorts = new Set(),
}: AddressRulesDeps): AddressRulesFor => {
  const listed = config.webhookAllow.filter((range) => range !== NO_RANGES)
  const rules = addressRules(listed, () => ownPorts)
  const forDemo = addressRules([...listed, ...LOOPBACK_RANGES], () => ownPorts)
  return (orgId) => (orgId === demoOrgId ? forDemo : rules)
}
