import { loadConfig } from '../../core/config/load.ts'
import { type AdminClient, openAdminClient } from './admin-client.ts'
import type { CommandContext } from './status.ts'
import { UsageError } from './usage-error.ts'

/** Options that every `sluice accounts` command has. */
export interface AccountsOptions {
  readonly data?: string
  /** Address of the admin API, with its path. */
  readonly admin?: string
  readonly json?: boolean
}

interface Org {
  readonly orgId: string
  readonly name: string
  readonly plan: string
  readonly boughtPlan: { readonly plan: string; readonly expiresAt: string } | null
  readonly suspended: boolean
  readonly createdAt: string
}

interface App {
  readonly appId: string
  readonly name: string
  readonly clientId: string
  readonly disabled: boolean
}

interface Key {
  readonly keyId: string
  readonly name: string
  readonly appId: string
  readonly prefix: string
  readonly scopes: readonly string[]
  readonly expiresAt: string | null
}

interface UsageLine {
  readonly calls: number
  readonly used: number
}

interface Usage {
  readonly used: number
  readonly period: { readonly from: string; readonly to: string }
  readonly total: number
  readonly remaining: number
  readonly byRoute: readonly (UsageLine & { readonly route: string })[]
  readonly byDay: readonly (UsageLine & { readonly day: string })[]
}

/** What a command says: a value for `--json`, and lines for people. */
interface CommandOutput {
  readonly value: unknown
  readonly lines: readonly string[]
}

/** One command: what it asks of the admin API with its words. */
export type AccountsAction = (
  client: AdminClient,
  ...words: readonly string[]
) => Promise<CommandOutput>

/** Runs one command against the admin API of a running process. Returns the exit code. */
export const runAccounts = async (
  action: AccountsAction,
  words: readonly string[],
  options: AccountsOptions,
  { environment, write }: Pick<CommandContext, 'environment' | 'write'>,
): Promise<number> => {
  const client = openAdminClient(options.admin, loadConfig(environment, { dataDir: options.data }))
  const { value, lines } = await action(client, ...words)
  if (options.json) write(JSON.stringify(value))
  else for (const line of lines) write(line)
  return 0
}

const at = (id: string): string => encodeURIComponent(id)

const orgLine = ({ orgId, name, plan, boughtPlan, suspended }: Org): string => {
  const bought = boughtPlan ? `  bought ${boughtPlan.plan} until ${boughtPlan.expiresAt}` : ''
  return `${orgId}  ${plan}${bought}${suspended ? '  suspended' : ''}  ${name}`
}

const keyLine = ({ keyId, name, prefix, scopes, expiresAt }: Key): string => {
  const end = expiresAt === null ? 'does not expire' : `expires ${expiresAt}`
  return `${keyId}  ${prefix}...  ${scopes.join(' ') || 'no scopes'}  ${end}${name === '' ? '' : `  ${name}`}`
}

const usageTotals = ({ used, total, remaining, period }: Usage): string =>
  total < 0
    ? `used ${used} CU since ${period.from}, no quota`
    : `used ${used} of ${total} CU, ${remaining} left until ${period.to}`

const keysOf = async (client: AdminClient, orgId: string): Promise<readonly Key[]> => {
  await client.get(`/orgs/${at(orgId)}`)
  const apps = await client.list<App>(`/apps?orgId=${at(orgId)}`)
  const keys: Key[] = []
  for (const { appId } of apps) keys.push(...(await client.list<Key>(`/apps/${at(appId)}/keys`)))
  return keys
}

/** Changes an organization and shows it. */
const change =
  (body: (...words: readonly string[]) => object): AccountsAction =>
  async (client, orgId = '', ...words) => {
    const org = await client.send<Org>('PATCH', `/orgs/${at(orgId)}`, body(...words))
    return { value: org, lines: [orgLine(org)] }
  }

/** The commands by their names. */
export const ACCOUNTS_ACTIONS = {
  list: async (client) => {
    const orgs = await client.list<Org>('/orgs')
    return { value: orgs, lines: orgs.length === 0 ? ['no accounts'] : orgs.map(orgLine) }
  },
  create: async (client, name = '', plan = 'free') => {
    const made = await client.send<Readonly<Record<string, string>>>('POST', '/apps', {
      name,
      plan,
    })
    const lines = Object.entries(made).map(([field, text]) => `${field.padEnd(13)} ${text}`)
    return { value: made, lines: [...lines, 'The secrets are not shown again.'] }
  },
  show: async (client, orgId = '') => {
    const org = await client.get<Org>(`/orgs/${at(orgId)}`)
    const apps = await client.list<App>(`/apps?orgId=${at(orgId)}`)
    const usage = await client.get<Usage>(`/orgs/${at(orgId)}/usage`)
    const { used, total, remaining } = usage
    const appLines = apps.map(
      ({ appId, name, clientId, disabled }) =>
        `  ${appId}  ${clientId}${disabled ? '  disabled' : ''}  ${name}`,
    )
    return {
      value: { ...org, applications: apps, usage: { used, total, remaining } },
      lines: [orgLine(org), `created ${org.createdAt}`, usageTotals(usage), ...appLines],
    }
  },
  setPlan: change((plan) => ({ plan })),
  suspend: change(() => ({ suspended: true })),
  restore: change(() => ({ suspended: false })),
  usage: async (client, orgId = '') => {
    const usage = await client.get<Usage>(`/orgs/${at(orgId)}/usage`)
    const line = (name: string, { calls, used }: UsageLine): string =>
      `  ${used} CU  ${calls} calls  ${name}`
    return {
      value: usage,
      lines: [
        usageTotals(usage),
        'by route',
        ...usage.byRoute.map((each) => line(each.route, each)),
        'by day',
        ...usage.byDay.map((each) => line(each.day, each)),
      ],
    }
  },
  listKeys: async (client, orgId = '') => {
    const keys = await keysOf(client, orgId)
    return { value: keys, lines: keys.length === 0 ? ['no keys'] : keys.map(keyLine) }
  },
  revokeKey: async (client, orgId = '', keyId = '') => {
    const key = (await keysOf(client, orgId)).find((each) => each.keyId === keyId)
    if (key === undefined) {
      throw new UsageError([
        `${keyId} is not a key of ${orgId}; \`sluice accounts keys list ${orgId}\` lists them`,
      ])
    }
    await client.send('DELETE', `/apps/${at(key.appId)}/keys/${at(keyId)}`)
    return { value: { keyId, revoked: true }, lines: [`${keyId} is revoked`] }
  },
} as const satisfies Readonly<Record<string, AccountsAction>>

/** Name of a command in the code. */
export type AccountsActionName = keyof typeof ACCOUNTS_ACTIONS
