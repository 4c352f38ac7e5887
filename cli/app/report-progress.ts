/** Time between two lines about a command that runs. */
const PROGRESS_EVERY_MS = 5_000

/** What a command says of itself while it runs. */
export interface Progress {
  /** Names what is worked on, for the next line. */
  at(location: string): void
  stop(): void
}

/** Writes every five seconds for how long the command has been running, until it is stopped; a short one writes nothing. */
export const reportProgress = (name: string, write: (line: string) => void): Progress => {
  let location = ''
  let seconds = 0
  const timer = setInterval(() => {
    seconds += PROGRESS_EVERY_MS / 1_000
    write(`${name}: running for ${seconds} s${location && `, ${location}`}`)
  }, PROGRESS_EVERY_MS)
  return {
    at: (given) => {
      location = given
    },
    stop: () => clearInterval(timer),
  }
}
