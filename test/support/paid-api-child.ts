/** The API with payments as a process of its own, so that it can be killed: tells where it answers and serves until then. */
import type { Bus } from '../../core/bus/contract.ts'
import { startApi } from './api-stack.ts'

/** What the child is started with, as JSON in its first argument. */
export interface PaidApiOptions {
  /** Kept over kills. */
  readonly folder: string
  readonly settings: Readonly<Record<string, unknown>>
  /** Kills the process in place of its n-th commit with a record of a topic. */
  readonly killAt?: { readonly topic: string; readonly commit: number }
}

const { folder, settings, killAt }: PaidApiOptions = JSON.parse(process.argv[2] ?? '{}')

const killing =
  ({ topic, commit: last }: NonNullable<PaidApiOptions['killAt']>) =>
  (bus: Bus): Bus => {
    let commits = 0
    return {
      ...bus,
      writer: async (id) => {
        const writer = await bus.writer(id)
        return {
          ...writer,
          commit: async (commit) => {
            // A record under `noop` only shows that the log lives.
            const { records = [] } = commit
            if (records.some((each) => each.topic === topic && each.key !== 'noop')) commits += 1
            if (commits === last) process.kill(process.pid, 'SIGKILL')
            return writer.commit(commit)
          },
        }
      },
    }
  }

const api = await startApi({
  folder,
  overrides: settings,
  ...(killAt && { wrapBus: killing(killAt) }),
})
process.send?.(api.base)
