import { join } from 'node:path'
import { liveOwner } from '../../core/bus/embedded/process-lock.ts'
import { loadConfig } from '../../core/config/load.ts'
import { deadLetterPrices } from '../app/dead-letter-prices.ts'
import { type DeadLetterEntry, listDeadLetters, replayDeadLetters } from '../app/dead-letters.ts'
import { fetchDeadLetters } from '../app/log-over-ops.ts'
import { withInfra } from '../app/with-infra.ts'
import type { CommandContext } from './status.ts'

/** Options of `sluice dlq list` and `sluice dlq replay`. */
export interface DlqOptions {
  readonly data?: string
  readonly group?: string
  readonly limit: number
  readonly json?: boolean
}

type DlqContext = Pick<CommandContext, 'environment' | 'write'>

/** Prints dead letters, of the process that runs or else of what lies in the folder. Returns the exit code. */
export const dlqList = async (
  words: DlqOptions,
  { environment, write }: DlqContext,
): Promise<number> => {
  const config = loadConfig(environment, { dataDir: words.data })
  const print = (deadLetter: DeadLetterEntry): void =>
    write(words.json ? JSON.stringify(deadLetter) : deadLetterLine(deadLetter))
  const isHeld =
    config.kafkaBrokers.length === 0 && liveOwner(join(config.dataDir, 'log')) !== undefined
  const entries = isHeld ? await fetchDeadLetters(config, words) : undefined
  if (entries !== undefined) {
    for (const deadLetter of entries) print(deadLetter)
    return 0
  }
  return withInfra(config, async ({ bus }) => {
    for await (const deadLetter of listDeadLetters({ bus, ...words })) print(deadLetter)
    return 0
  })
}

/** Publishes dead letters again. Returns the exit code. */
export const dlqReplay = (
  words: DlqOptions,
  { environment, write }: DlqContext,
): Promise<number> => {
  const config = loadConfig(environment, { dataDir: words.data })
  return withInfra(config, async ({ bus }) => {
    const pricesOf = (chain: string) => deadLetterPrices(chain, config)
    const { published, notReplayed, rerun } = await replayDeadLetters({ bus, ...words, pricesOf })
    if (words.json) write(JSON.stringify({ published, stayed: notReplayed, rerun }))
    else {
      for (const { deadLetter, result } of rerun) {
        write(`${result.outcome} (${result.detail}): ${deadLetterLine(deadLetter)}`)
      }
      for (const deadLetter of notReplayed) write(`stays: ${deadLetterLine(deadLetter)}`)
      write(
        `${published} published again, ${notReplayed.length} stay, ${rerun.length} decoded again`,
      )
    }
    return 0
  })
}

const deadLetterLine = (deadLetter: DeadLetterEntry): string => {
  const { group, partition, offset, time, source, error, message, replayed, stays } = deadLetter
  const state = replayed ? ' (replayed)' : stays === null ? '' : ` (cannot be replayed: ${stays})`
  const from =
    source.offset < 0 ? source.topic : `${source.topic}/${source.partition}@${source.offset}`
  return `${time} ${group} ${partition}@${offset} of ${from}: ${error}: ${message}${state}`
}
