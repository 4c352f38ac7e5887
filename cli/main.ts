import { Command, CommanderError } from 'commander'
import { ConfigError } from '../core/config.ts'
import { Malformed, Outage } from '../core/fault.ts'

/** One command: its words for commander, and its code, loaded when it runs. */
interface CommandRow {
  readonly name: string
  readonly register: (command: Command, done: (code: number) => void) => Command
}

const COMMANDS: readonly CommandRow[] = [
  {
    name: 'decode',
    register: (command, done) =>
      command
        .description('explain recorded transactions or blocks: one JSON line per file, no node')
        .requiredOption('--chain <chain>', 'chain of the recordings, e.g. ethereum')
        .argument('<file...>', 'recorded JSON-RPC answers')
        .action(async (files: readonly string[], { chain }: { readonly chain: string }) => {
          const { decodeFiles } = await import('./decode.ts')
          done(
            await decodeFiles({ chain, files, write: (line) => process.stdout.write(`${line}\n`) }),
          )
        }),
  },
]

/** Runs the command line `words` (without node and script); returns the exit code. Bugs are thrown. */
export const main = async (words: readonly string[]): Promise<number> => {
  let code = 0
  const program = new Command('sluice').description('on-chain data and DEX service').exitOverride()
  for (const { name, register } of COMMANDS) {
    register(program.command(name).exitOverride(), (result) => {
      code = result
    })
  }
  try {
    await program.parseAsync([...words], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof ConfigError || error instanceof Malformed || error instanceof Outage) {
      process.stderr.write(`sluice: ${error.message}\n`)
      return 1
    }
    throw error
  }
}
