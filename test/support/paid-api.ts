import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { PaidApiOptions } from './paid-api-child.ts'

/** Starts the API in a process of its own; `kill` does not let it finish anything. */
export const startPaidApi = async (options: PaidApiOptions) => {
  const file = fileURLToPath(new URL('paid-api-child.ts', import.meta.url))
  const child = fork(file, [JSON.stringify(options)], { execArgv: ['--import', 'tsx'] })
  const ended = once(child, 'exit')
  const [base] = (await once(child, 'message')) as [string]
  return {
    base,
    ended,
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}
