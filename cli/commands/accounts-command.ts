import type { Command } from 'commander'
import { printLine } from '../../core/ops/terminal.ts'
import { PLANS } from '../../schemas/plans.ts'
import type { AccountsActionName, AccountsOptions } from './accounts.ts'
import type { CommandDefinition } from './command.ts'

interface AccountsRow {
  /** Name with its arguments, as commander writes them. */
  readonly usage: string
  readonly about: string
  readonly action: AccountsActionName
}

const PLAN_NAMES = Object.keys(PLANS).join(', ')

const ACCOUNT_ROWS: readonly AccountsRow[] = [
  { usage: 'list', about: 'list the accounts with their plans', action: 'list' },
  {
    usage: 'create <name> [plan]',
    about: `create an account with an application and its first key (default plan free; plans: ${PLAN_NAMES})`,
    action: 'create',
  },
  {
    usage: 'show <account>',
    about: 'show plan, applications and usage of an account, by its org_... id',
    action: 'show',
  },
  {
    usage: 'set-plan <account> <plan>',
    about: `change the plan: ${PLAN_NAMES}`,
    action: 'setPlan',
  },
  {
    usage: 'suspend <account>',
    about: 'refuse every credential of an account until it is restored',
    action: 'suspend',
  },
  { usage: 'restore <account>', about: 'end the suspension of an account', action: 'restore' },
  {
    usage: 'usage <account>',
    about: 'show the usage of this month, by route and by day',
    action: 'usage',
  },
]

const KEY_ROWS: readonly AccountsRow[] = [
  { usage: 'list <account>', about: 'list the API keys, without their text', action: 'listKeys' },
  {
    usage: 'revoke <account> <key>',
    about: 'revoke an API key, by its key_... id; it is refused within a second',
    action: 'revokeKey',
  },
]

/** `sluice accounts ...`: accounts of a running installation, over its admin API. */
export const ACCOUNTS_COMMAND: CommandDefinition = {
  name: 'accounts',
  register: (command, done) => {
    command.description(
      'administer accounts, plans and keys over the admin API of a running process; the token is ADMIN_TOKEN',
    )
    for (const row of ACCOUNT_ROWS) addRow(command, row, done)
    const keys = command.command('keys').exitOverride().description('API keys of an account')
    for (const row of KEY_ROWS) addRow(keys, row, done)
    return command
  },
}

const addRow = (
  group: Command,
  { usage, about, action }: AccountsRow,
  done: (code: number) => void,
): void => {
  group
    .command(usage)
    .exitOverride()
    .description(about)
    .option('--data <dir>', 'data folder of the running process (default .data)')
    .option('--admin <url>', 'URL of the admin API, e.g. http://127.0.0.1:8082/admin/v1')
    .option('--json', 'print JSON')
    .action(async (...given: readonly unknown[]) => {
      const { ACCOUNTS_ACTIONS, runAccounts } = await import('./accounts.ts')
      const words = given.filter((word): word is string => typeof word === 'string')
      // Behind the arguments, commander hands over the options and the command.
      const options = given.at(-2) as AccountsOptions
      const context = { environment: process.env, write: printLine }
      done(await runAccounts(ACCOUNTS_ACTIONS[action], words, options, context))
    })
}
