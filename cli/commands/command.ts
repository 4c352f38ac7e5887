import { type Command, InvalidArgumentError } from 'commander'
import { SIMULATED_CHAINS } from '../../schemas/chains.ts'

/** Chains that are simulated where none is named, as the command line writes them. */
export const DEFAULT_SIMULATION = SIMULATED_CHAINS.map(({ apiName }) => apiName).join(',')

/** One command: its words for commander, and its code, loaded when it runs. */
export interface CommandDefinition {
  readonly name: string
  readonly register: (command: Command, done: (code: number) => void) => Command
}

/** Stops a command that runs until its signal aborts. */
export const interruptSignal = (): AbortSignal => {
  const controller = new AbortController()
  process.once('SIGINT', () => controller.abort())
  process.once('SIGTERM', () => controller.abort())
  return controller.signal
}

/** Reads a whole number from 0. Throws commander's error for other words. */
export const parseCount = (text: string): number => {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new InvalidArgumentError('Expected a whole number from 0, e.g. 10.')
}
