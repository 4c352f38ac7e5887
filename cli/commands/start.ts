import { type ConfigOverrides, loadConfig, secretTexts } from '../../core/config/load.ts'
import { unknownChainText, unsupportedSimulationText } from '../../core/config/unknown-chain.ts'
import { makeRootLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { parseDuration } from '../../core/time.ts'
import { CHAIN_ID_BY_NAME, type ChainRow, canSimulate, chainRow } from '../../schemas/chains.ts'
import { openDataFolder } from '../app/data-folder.ts'
import { nodeSource } from '../app/node-source.ts'
import { type DataSource, runStandalone } from '../standalone/run-standalone.ts'
import {
  type DataSourceDeps,
  openSimulatedChains,
  type SimulationPlan,
} from '../standalone/simulated-chains.ts'
import { DEFAULT_SIMULATION } from './command.ts'
import { UsageError } from './usage-error.ts'

/** Options of `sluice start` as commander gives them; all text. */
export interface StartOptions {
  readonly data?: string
  readonly port?: string
  readonly seed?: string
  readonly rate?: string
  readonly genesis?: string
  readonly until?: string
  readonly simulate?: string
  readonly chain?: string
  readonly rpc?: readonly string[]
  readonly from?: string
  readonly profile?: string
}

/** The options, read and checked. */
interface StartPlan extends SimulationPlan {
  /** null: simulated chains; else there is one chain. */
  readonly rpc: readonly string[] | null
  readonly from: number | null
  readonly profile: 'pump' | undefined
}

/** Trades per second that one process is made for, and then some. */
const MAX_TRADES_PER_SECOND = 5_000

/** Reads the options. Throws `UsageError` with all mistakes, `ConfigError` for the environment's. */
export const parsePlan = (
  words: StartOptions,
  environment: Readonly<Record<string, string | undefined>>,
): StartPlan => {
  const problems: string[] = []
  const number = (name: string, text: string | undefined, min: number, max: number) => {
    if (text === undefined) return undefined
    const value = Number(text)
    if (text.trim() !== '' && Number.isFinite(value) && value >= min && value <= max) return value
    problems.push(`--${name}: ${text} is not a number from ${min} to ${max}`)
    return undefined
  }
  const whole = (name: string, text: string | undefined, max: number) => {
    const value = number(name, text, 0, max)
    if (value === undefined || Number.isSafeInteger(value)) return value
    problems.push(`--${name}: ${text} is not a whole number from 0 to ${max}`)
    return undefined
  }
  const time = (name: string, text: string | undefined) => {
    if (text === undefined) return undefined
    const value = Date.parse(text)
    if (!Number.isNaN(value)) return value
    problems.push(`--${name}: ${text} is not a time such as 2026-01-01T00:00:00Z`)
    return undefined
  }
  const duration = (name: string, text: string | undefined) => {
    if (text === undefined) return undefined
    const value = parseDuration(text)
    if (value === undefined) problems.push(`--${name}: ${text} is not a duration such as 10m`)
    return value
  }
  const chains = selectChains(words, problems)
  const plan = {
    seed: whole('seed', words.seed, 0xffff_ffff),
    ratePerSecond: number('rate', words.rate, 0.01, MAX_TRADES_PER_SECOND),
    genesisMs: time('genesis', words.genesis),
    untilMs: duration('until', words.until),
    from: whole('from', words.from, Number.MAX_SAFE_INTEGER) ?? null,
    profile: words.profile === 'pump' ? words.profile : undefined,
  } as const
  const port = whole('port', words.port, 65_534)
  if (words.from !== undefined && words.chain === undefined) {
    problems.push(
      `--from: ${words.from} needs --chain; a simulated chain starts at its genesis. Add --chain, or leave --from out`,
    )
  }
  const isProfile = words.profile === 'pump' && words.chain !== undefined
  if (words.profile !== undefined && !(isProfile && chains[0]?.vm === 'svm')) {
    problems.push(
      `--profile: ${words.profile} is not a profile of this chain; expected pump together with --chain sol, or no --profile`,
    )
  }
  if (problems.length > 0) throw new UsageError(problems)
  const overrides: ConfigOverrides = { port, dataDir: words.data, rpcUrls: words.rpc }
  const loaded = loadConfig(environment, overrides)
  const given = loaded.rpcUrls.map((url) => url.reveal())
  const urls = given.length > 0 ? given : [...(chains[0]?.publicRpc ?? [])]
  return { ...plan, config: loaded, chains, rpc: words.chain === undefined ? null : urls }
}

/** The one real chain, or the simulated ones. */
const selectChains = (
  { chain, simulate = DEFAULT_SIMULATION }: StartOptions,
  problems: string[],
): readonly ChainRow[] => {
  const [option, text] = chain === undefined ? ['simulate', simulate] : ['chain', chain]
  const words = chain === undefined ? text.split(',').map((word) => word.trim()) : [text]
  const rows = words.flatMap((word) => {
    const row = chainRow(CHAIN_ID_BY_NAME[word] ?? '')
    if (row !== undefined && (chain !== undefined || canSimulate(row.id))) return [row]
    problems.push(
      option === 'chain'
        ? `--chain: ${unknownChainText(word)}`
        : `--simulate: ${unsupportedSimulationText(word)}`,
    )
    return []
  })
  return [...new Set(rows)]
}

/** Runs the whole product in one process; resolves with the exit status when it has stopped. */
export const start = async (
  words: StartOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> => {
  const plan = parsePlan(words, environment)
  const { config, rpc } = plan
  const log = makeRootLogger(
    environment.LOG_LEVEL === undefined ? 'warn' : config.logLevel,
    secretTexts(config),
  )
  const metrics = makeMetrics()
  const folder = openDataFolder(config.dataDir)
  const parts = { folder, metrics, log }
  return runStandalone({
    config,
    ...parts,
    endWhenProcessed: plan.untilMs !== undefined,
    origin: (signal) =>
      rpc === null
        ? openSimulatedChains(plan, parts)
        : openNodeChain(plan, { ...parts, signal, urls: rpc }),
  })
}

const openNodeChain = async (
  plan: StartPlan,
  parts: DataSourceDeps & { readonly signal: AbortSignal; readonly urls: readonly string[] },
): Promise<DataSource> => {
  const { folder, metrics, log, signal, urls } = parts
  const { config, from, profile } = plan
  const [chain] = plan.chains
  if (chain === undefined)
    throw new UsageError(['--chain: names no chain; expected one, e.g. --chain ethereum'])
  // Once it is open the node is let go after what reads from it.
  const closing = new AbortController()
  const giveUp = (): void => closing.abort(signal.reason)
  signal.addEventListener('abort', giveUp, { once: true })
  const source = await nodeSource({
    chain,
    urls,
    config,
    metrics,
    ...(profile && { profile }),
    from: from ?? (config.fromHeight === -1 ? null : config.fromHeight),
    log: log.child({ role: 'ingest', chain: chain.id }),
    signal: closing.signal,
  }).finally(() => signal.removeEventListener('abort', giveUp))
  const sinceMs = folder.origin?.sinceMs ?? source.startMs ?? Date.now()
  folder.claim({ kind: 'node', chain: chain.id, genesis: source.origin, sinceMs })
  const extra = config.chainExtra[chain.id]
  const until = plan.untilMs === undefined ? {} : { until: sinceMs + plan.untilMs }
  return {
    chains: [{ chain: { row: chain, source, ...(extra && { extra }), ...until } }],
    chainExtra: config.chainExtra,
    label: `${chain.name}, from a node`,
    progress: true,
    isSimulated: false,
    nodePorts: [],
    stop: async () => closing.abort(new Error('nothing reads from the node any more')),
  }
}
