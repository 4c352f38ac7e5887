import type { Bus, Commit } from '../../core/bus/contract.ts'
import { Outage } from '../../core/errors.ts'

/** What becomes of a commit that is answered by an `Outage`. `meanwhile`: what happens before the answer. */
export interface FailedCommit {
  readonly isWritten: boolean
  readonly meanwhile?: () => Promise<unknown>
}

/** A bus whose writers answer commits as the test says. */
export interface FailingBus {
  readonly bus: Bus
  /** The next commits fail one after the other as listed; those behind them are answered. */
  failNext(...commits: readonly FailedCommit[]): void
  /** How many of the listed commits have not failed yet. */
  left(): number
}

/** Commits that only find out where the log ends are answered. */
const isProbe = ({ records = [] }: Commit): boolean => records.every(({ key }) => key === 'noop')

/** Puts failures between the writers and their log. */
export const failCommits = (bus: Bus): FailingBus => {
  const failures: FailedCommit[] = []
  return {
    bus: {
      ...bus,
      writer: async (id) => {
        const writer = await bus.writer(id)
        return {
          id: writer.id,
          close: () => writer.close(),
          commit: async (commit) => {
            const failure = isProbe(commit) ? undefined : failures.shift()
            if (failure === undefined) return writer.commit(commit)
            if (failure.isWritten) await writer.commit(commit)
            await failure.meanwhile?.()
            throw new Outage('bus', 'the outcome is not known')
          },
        }
      },
    },
    failNext: (...commits) => void failures.push(...commits),
    left: () => failures.length,
  }
}
