import type { Command } from 'commander'
import { printErrorLine, printLine, printScreen } from '../../core/ops/terminal.ts'
import { ACCOUNTS_COMMAND } from './accounts-command.ts'
import type { ChecksumOptions } from './checksum.ts'
import { type CommandDefinition, interruptSignal, parseCount } from './command.ts'
import type { DlqOptions } from './dlq.ts'
import type { InitOptions } from './init.ts'
import type { LabelImportOptions } from './labels.ts'
import type { ResumeOptions } from './resume.ts'
import type { StatusOptions } from './status.ts'

/** Most dead letters of one call unless told otherwise. */
const DEFAULT_DEAD_LETTER_LIMIT = 1_000

const ROLE_COMMANDS: readonly (readonly [
  name: 'ingest' | 'process' | 'serve' | 'all',
  about: string,
])[] = [
  ['ingest', 'role: follow the chains and publish blocks and events'],
  ['process', 'role: run the processors: aggregate events and write to ClickHouse'],
  ['serve', 'role: serve REST, GraphQL, streams and webhooks'],
  ['all', 'run the three roles in one process'],
]

const commandContext = () => ({ environment: process.env, write: printLine, show: printScreen })

const withDlqOptions = (command: Command): Command =>
  command
    .option('--data <dir>', 'data folder of the embedded log')
    .option(
      '--group <name>',
      'only dead letters of this consumer group, e.g. sink.eth.dex.trades.processed',
    )
    .option('--limit <n>', 'maximum number of dead letters', parseCount, DEFAULT_DEAD_LETTER_LIMIT)
    .option('--json', 'print JSON')

/** Commands for operators. Servers and all other settings come from the environment. */
export const OPERATOR_COMMANDS: readonly CommandDefinition[] = [
  ACCOUNTS_COMMAND,
  {
    name: 'init',
    register: (command, done) =>
      command
        .description('create topics, schemas, tables and the first account; safe to repeat')
        .option('--acl [print]', 'also write Kafka access rules per role; print: only show them')
        .option('--acl-prefix <text>', 'principals are User:<text><role>', 'sluice-')
        .action(async (words: InitOptions) => {
          const { init } = await import('./init.ts')
          done(await init(process.env, printLine, words))
        }),
  },
  {
    name: 'secrets',
    register: (command, done) =>
      command
        .description('print random secrets for docker-compose.yml, as lines of an .env file')
        .action(async () => {
          const { secretLines } = await import('./secrets.ts')
          for (const line of secretLines()) printLine(line)
          done(0)
        }),
  },
  ...ROLE_COMMANDS.map(
    ([name, about]): CommandDefinition => ({
      name,
      register: (command, done) =>
        command.description(about).action(async () => {
          const { runRole } = await import('./role.ts')
          done(await runRole(name, process.env))
        }),
    }),
  ),
  {
    name: 'status',
    register: (command, done) =>
      command
        .description('show head, lag and consumer offsets per chain and partition')
        .option('--data <dir>', 'data folder (default .data)')
        .option('--ops <url>', 'URL of the ops server of a process')
        .option('--watch', 'refresh every two seconds')
        .option('--json', 'print JSON')
        .action(async (words: StatusOptions) => {
          const { status } = await import('./status.ts')
          done(await status(words, { ...commandContext(), signal: interruptSignal() }))
        }),
  },
  {
    name: 'resume',
    register: (command, done) =>
      command
        .description('show partitions whose offsets expired from the log; --from resumes them')
        .option('--data <dir>', 'data folder of an embedded log that no process has open')
        .option('--chain <chain...>', 'default: every chain of the log')
        .option('--from <position>', 'earliest: the oldest retained record, now: the next block')
        .option('--json', 'print JSON')
        .action(async (words: ResumeOptions) => {
          const { resume } = await import('./resume.ts')
          done(await resume(words, commandContext()))
        }),
  },
  {
    name: 'checksum',
    register: (command, done) =>
      command
        .description('checksums of final data for comparing installations')
        .option('--data <dir>', 'data folder (default .data)')
        .option('--ops <url>', 'URL of the ops server of a process')
        .option('--chain <chain...>', 'default: every chain of the log')
        .option('--height <n>', 'default: the newest final height', parseCount)
        .option('--json', 'print JSON')
        .action(async (words: ChecksumOptions) => {
          const { checksumCommand } = await import('./checksum.ts')
          done(await checksumCommand(words, { ...commandContext(), writeError: printErrorLine }))
        }),
  },
  {
    name: 'labels',
    register: (command, done) => {
      const group = command.description('labels of addresses for risk screening')
      group
        .command('import')
        .description(
          'replace the labels of a source by those of a list; repeating it changes nothing',
        )
        .argument('<format>', 'csv, address-list, tagpack or ofac-sdn')
        .argument('<file>', 'path of the list')
        .requiredOption('--source <name>', 'name of the source of the list, e.g. ofac')
        .option('--category <name>', 'category of entries without one, e.g. sanctions')
        .option('--chain <chain>', 'chain of entries without one (default: every chain)')
        .option('--entity <name>', 'entity of entries without one')
        .option('--evidence-url <url>', 'evidence URL of entries without one')
        .option('--data <dir>', 'data folder that no process has open (default .data)')
        .action(async (format: string, file: string, words: LabelImportOptions) => {
          const { labelsImport } = await import('./labels.ts')
          done(await labelsImport(format, file, words, commandContext()))
        })
      return group
    },
  },
  {
    name: 'dlq',
    register: (command, done) => {
      const group = command.description('inspect and replay dead-letter topics')
      withDlqOptions(group.command('list').description('print dead letters')).action(
        async (words: DlqOptions) => {
          const { dlqList } = await import('./dlq.ts')
          done(await dlqList(words, commandContext()))
        },
      )
      withDlqOptions(
        group.command('replay').description('republish dead letters to their original topics'),
      ).action(async (words: DlqOptions) => {
        const { dlqReplay } = await import('./dlq.ts')
        done(await dlqReplay(words, commandContext()))
      })
      return group
    },
  },
]
