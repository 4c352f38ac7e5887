import { readFileSync } from 'node:fs'
import { loadConfig, secretTexts } from '../../core/config/load.ts'
import type { Config } from '../../core/config/settings.ts'
import { InvalidInput } from '../../core/errors.ts'
import { makeRootLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { parseMetadataTable } from '../../ingestors/decode/metadata-table.ts'
import { recordedSource } from '../../ingestors/recorded/replay.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { openDataFolder } from '../app/data-folder.ts'
import { runStandalone } from '../standalone/run-standalone.ts'
import { parseChainOption } from './chain-option.ts'

/** Options of `sluice replay` as commander gives them; all text. */
export interface ReplayOptions {
  readonly chain: string
  readonly metadata?: string
  readonly data?: string
  readonly port?: string
  readonly exit?: boolean
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The configuration of a replay. Recorded events are old by nature, so webhooks take every age and the log keeps all
 * unless the operator says otherwise. Throws `ConfigError`.
 */
export const replayConfig = (
  { port, data }: Pick<ReplayOptions, 'port' | 'data'>,
  environment: Environment,
): Config =>
  loadConfig(environment, {
    port: port === undefined ? undefined : Number(port),
    dataDir: data,
    retention: environment.RETENTION === undefined ? 'off' : undefined,
    webhookMaxEventAgeSeconds:
      environment.WEBHOOK_MAX_EVENT_AGE_SECONDS === undefined ? 0 : undefined,
  })

/** Pushes recordings through the whole product and serves them; resolves with the exit status when it has stopped. */
export const replay = async (
  files: readonly string[],
  words: ReplayOptions,
  environment: Environment,
): Promise<number> => {
  const chain = CHAINS[parseChainOption(words.chain)]
  const config = replayConfig(words, environment)
  const log = makeRootLogger(
    environment.LOG_LEVEL === undefined ? 'warn' : config.logLevel,
    secretTexts(config),
  )
  const folder = openDataFolder(config.dataDir)
  const extra = config.chainExtra[chain.id]
  const metadata = words.metadata === undefined ? undefined : readMetadataFile(words.metadata)
  return runStandalone({
    config,
    folder,
    log,
    metrics: makeMetrics(),
    endWhenProcessed: words.exit === true,
    origin: async () => {
      const source = await recordedSource({
        chain,
        files,
        log,
        ...(metadata && { metadata }),
        ...(extra && { extra }),
      })
      folder.claim({ kind: 'recorded', chain: chain.id })
      return {
        chains: [
          { chain: { row: chain, source, metadata: source.metadata, ...(extra && { extra }) } },
        ],
        chainExtra: config.chainExtra,
        label: `RECORDED blocks of ${chain.name}`,
        progress: false,
        isSimulated: false,
        nodePorts: [],
        stop: async () => undefined,
      }
    },
  })
}

const readMetadataFile = (file: string) => {
  try {
    return parseMetadataTable(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    if (error instanceof InvalidInput) throw error
    throw new InvalidInput(
      'facts-file',
      `${file} cannot be read as JSON; --facts expects a JSON file with tokens and pools`,
      { cause: error },
    )
  }
}
