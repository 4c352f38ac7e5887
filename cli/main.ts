import { Command, CommanderError } from 'commander'
import { ConfigError } from '../core/config/errors.ts'
import { loadConfig, secretTexts } from '../core/config/load.ts'
import { InvalidInput, Outage } from '../core/errors.ts'
import { ListenError } from '../core/http/listening.ts'
import { makeRedactor } from '../core/ops/redact.ts'
import { InvalidOpsRequest } from '../core/ops/server.ts'
import { printErrorLine, printLine } from '../core/ops/terminal.ts'
import {
  type CommandDefinition,
  DEFAULT_SIMULATION,
  interruptSignal,
  parseCount,
} from './commands/command.ts'
import { OPERATOR_COMMANDS } from './commands/operator-commands.ts'
import type { ReplayOptions } from './commands/replay.ts'
import type { StartOptions } from './commands/start.ts'
import { UsageError } from './commands/usage-error.ts'

interface TailOptions {
  readonly data: string
  readonly back: number
  readonly limit?: number
}

const COMMANDS: readonly CommandDefinition[] = [
  {
    name: 'start',
    register: (command, done) =>
      command
        .description('run the whole product in one process; without --chain on simulated chains')
        .option('--data <dir>', 'data folder (default .data)')
        .option('--port <port>', 'HTTP port, streams on the next one (default 8080)')
        .option('--simulate <chains>', `chains to simulate (default ${DEFAULT_SIMULATION})`)
        .option('--seed <n>', 'simulator: seed of the chains (default 1)')
        .option('--rate <tps>', 'simulator: trades per second of each chain (default 5)')
        .option('--genesis <time>', 'simulator: time of the first block (default 20 minutes ago)')
        .option('--until <duration>', 'exit with status 0 after that much chain time, e.g. 10m')
        .option('--chain <chain>', 'follow a real chain, e.g. ethereum')
        .option('--rpc <url...>', 'node endpoints, best first (default: public, rate-limited)')
        .option('--from <height>', 'first block, or slot (default: the head)')
        .option('--profile <name>', 'Solana: pump = launchpad tokens only (default: everything)')
        .action(async (words: StartOptions) => {
          const { start } = await import('./commands/start.ts')
          done(await start(words, process.env))
        }),
  },
  {
    name: 'replay',
    register: (command, done) =>
      command
        .description('ingest recorded blocks end to end, then serve them')
        .requiredOption('--chain <chain>', 'chain of the recordings, e.g. ethereum')
        .option('--facts <file>', 'JSON file with decimals and names of tokens, and pools')
        .option('--data <dir>', 'data folder (default .data)')
        .option('--port <port>', 'HTTP port, streams on the next one (default 8080)')
        .option('--exit', 'exit with status 0 once everything is processed')
        .argument('<file...>', 'recorded JSON-RPC responses')
        .action(async (files: readonly string[], words: ReplayOptions) => {
          const { replay } = await import('./commands/replay.ts')
          done(await replay(files, words, process.env))
        }),
  },
  {
    name: 'tail',
    register: (command, done) =>
      command
        .description('print the records of a topic as JSON lines, next to a running process')
        .argument('<topic>', 'e.g. eth.dex.trades.processed')
        .option('--data <dir>', 'data folder', '.data')
        .option('--back <n>', 'newest records of each partition to print first', parseCount, 5)
        .option('--limit <n>', 'exit after that many records', parseCount)
        .action(async (topic: string, words: TailOptions) => {
          const { tail } = await import('./commands/tail.ts')
          const { data: dataDir, back, limit = Number.POSITIVE_INFINITY } = words
          const environment = process.env
          const signal = interruptSignal()
          done(await tail({ topic, dataDir, environment, back, limit, write: printLine, signal }))
        }),
  },
  {
    name: 'listen',
    register: (command, done) =>
      command
        .description('subscribe to channels with the demo key and print publications')
        .argument('<channel...>', 'e.g. dex-trade:eth_0x...')
        .option('--data <dir>', 'data folder with demo.json', '.data')
        .option('--limit <n>', 'exit after that many publications', parseCount)
        .action(async (channels: readonly string[], words: Omit<TailOptions, 'back'>) => {
          const { listen } = await import('./commands/listen.ts')
          const { readDemoFile } = await import('./app/data-folder.ts')
          const { wsUrl: url, apiKey } = readDemoFile(words.data)
          const { limit = Number.POSITIVE_INFINITY } = words
          done(
            await listen({
              url,
              apiKey,
              channels,
              limit,
              write: printLine,
              signal: interruptSignal(),
            }),
          )
        }),
  },
  {
    name: 'decode',
    register: (command, done) =>
      command
        .description(
          'decode recorded transactions or blocks, one JSON line per file; needs no node',
        )
        .requiredOption('--chain <chain>', 'chain of the recordings, e.g. ethereum')
        .argument('<file...>', 'recorded JSON-RPC responses')
        .action(async (files: readonly string[], { chain }: { readonly chain: string }) => {
          const { decodeFiles } = await import('./commands/decode.ts')
          done(await decodeFiles({ chain, files, write: printLine }))
        }),
  },
]

/** A reader that has seen enough, such as `head`, ends the command. */
const exitOnClosedPipe = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
}

/** Secrets of the environment, to be left out of what is printed; none where it is not a valid configuration. */
const configuredSecrets = (): readonly string[] => {
  try {
    return secretTexts(loadConfig(process.env))
  } catch {
    return []
  }
}

/** The command line with all its commands; `done` gets the exit code of the one that ran. */
export const makeProgram = (done: (code: number) => void): Command => {
  const program = new Command('sluice').description('on-chain data and DEX service').exitOverride()
  program.configureOutput({
    writeOut: (text) => printLine(text.trimEnd()),
    writeErr: (text) => printErrorLine(text.trimEnd()),
  })
  for (const { name, register } of [...COMMANDS, ...OPERATOR_COMMANDS]) {
    register(program.command(name).exitOverride(), done)
  }
  return program
}

/** Runs the command line `words` (without node and script); returns the exit code. Bugs are thrown. */
export const main = async (words: readonly string[]): Promise<number> => {
  let code = 0
  process.stdout.on('error', exitOnClosedPipe)
  const program = makeProgram((result) => {
    code = result
  })
  try {
    await program.parseAsync([...words], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (
      error instanceof ConfigError ||
      error instanceof InvalidInput ||
      error instanceof InvalidOpsRequest ||
      error instanceof ListenError ||
      error instanceof Outage ||
      error instanceof UsageError
    ) {
      printErrorLine(makeRedactor(configuredSecrets())(`sluice: ${error.message}`))
      return 1
    }
    throw error
  }
}
