import { join } from 'node:path'
import { liveOwner } from '../../core/bus/embedded/process-lock.ts'
import { loadConfig } from '../../core/config/config.ts'
import { letterPrices } from '../app/dead-letter-prices.ts'
import { type Letter, listLetters, replayLetters } from '../app/dead-letters.ts'
import { lettersOfOwner } from '../app/live-reads.ts'
import { withHeldParts } from '../app/offline.ts'
import type { CommandPlace } from './status.ts'

/** Options of `sluice dlq list` and `sluice dlq replay`. */
export interface DlqWords {
  readonly data?: string
  readonly group?: string
  readonly limit: number
  readonly json?: boolean
}

type Place = Pick<CommandPlace, 'environment' | 'write'>

/** Prints dead letters, of the process that runs or else of what lies in the folder. Returns the exit code. */
export const dlqList = async (words: DlqWords, { environment, write }: Place): Promise<number> => {
  const config = loadConfig(environment, { dataDir: words.data })
  const print = (letter: Letter): void =>
    write(words.json ? JSON.stringify(letter) : letterLine(letter))
  const isHeld =
    config.kafkaBrokers.length === 0 && liveOwner(join(config.dataDir, 'log')) !== undefined
  const told = isHeld ? await lettersOfOwner(config, words) : undefined
  if (told !== undefined) {
    for (const letter of told) print(letter)
    return 0
  }
  return withHeldParts(config, async ({ bus }) => {
    for await (const letter of listLetters({ bus, ...words })) print(letter)
    return 0
  })
}

/** Publishes dead letters again. Returns the exit code. */
export const dlqReplay = (words: DlqWords, { environment, write }: Place): Promise<number> => {
  const config = loadConfig(environment, { dataDir: words.data })
  return withHeldParts(config, async ({ bus }) => {
    const pricesOf = (chain: string) => letterPrices(chain, config)
    const { published, stayed, rerun } = await replayLetters({ bus, ...words, pricesOf })
    if (words.json) write(JSON.stringify({ published, stayed, rerun }))
    else {
      for (const { letter, result } of rerun) {
        write(`${result.outcome} (${result.detail}): ${letterLine(letter)}`)
      }
      for (const letter of stayed) write(`stays: ${letterLine(letter)}`)
      write(`${published} published again, ${stayed.length} stay, ${rerun.length} decoded again`)
    }
    return 0
  })
}

const letterLine = (letter: Letter): string => {
  const { group, partition, offset, time, source, error, message, replayed, stays } = letter
  const state = replayed ? ' (replayed)' : stays === null ? '' : ` (cannot be replayed: ${stays})`
  const from =
    source.offset < 0 ? source.topic : `${source.topic}/${source.partition}@${source.offset}`
  return `${time} ${group} ${partition}@${offset} of ${from}: ${error}: ${message}${state}`
}
