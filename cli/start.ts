import { type Config, type ConfigOverrides, loadConfig } from '../core/config.ts'
import { type Logger, rootLogger } from '../core/log.ts'
import { type Metrics, makeMetrics } from '../core/metrics.ts'
import { durationMs } from '../core/time.ts'
import { evmSource } from '../ingestors/evm/source.ts'
import { CHAIN_WORDS, type ChainRow, chainRow } from '../schemas/chains.ts'
import { startSimulator } from '../simulator/start.ts'
import { chainClock, ingestedHeight } from './chain-clock.ts'
import { type DataFolder, type FolderOrigin, openDataFolder } from './data-folder.ts'
import { nodeSource } from './node-source.ts'
import { type Origin, serveOrigin } from './serve-origin.ts'
import { UsageError } from './usage.ts'

/** Options of `sluice start` as commander gives them; all text. */
export interface StartWords {
  readonly data?: string
  readonly port?: string
  readonly seed?: string
  readonly rate?: string
  readonly genesis?: string
  readonly until?: string
  readonly chain?: string
  readonly rpc?: readonly string[]
  readonly from?: string
  readonly profile?: string
}

/** The options, read and checked. */
interface Plan {
  readonly config: Config
  readonly chain: ChainRow
  /** null: the simulator. */
  readonly rpc: readonly string[] | null
  readonly from: number | null
  readonly profile: 'pump' | undefined
  readonly seed: number | undefined
  readonly ratePerSecond: number | undefined
  readonly genesisMs: number | undefined
  readonly untilMs: number | undefined
}

/** How far in the past a new simulated chain starts: enough to look at, little enough to be live within seconds. */
const DEFAULT_HISTORY_MS = 20 * 60_000
const DEFAULTS = { seed: 1, ratePerSecond: 5 } as const
/** A chain with an end has a block or two beyond it, so that the end is passed. */
const END_MARGIN_MS = 24_000
/** Trades per second that one process is made for, and then some. */
const MAX_RATE = 5_000
/** Steps of the genesis time, so that a simulated chain reads well. */
const GENESIS_STEP_MS = 60_000

/** Reads the options. Throws `UsageError` with all mistakes, `ConfigError` for the environment's. */
export const readPlan = (
  words: StartWords,
  environment: Readonly<Record<string, string | undefined>>,
): Plan => {
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
    problems.push(`--${name}: ${text} is not a whole number`)
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
    const value = durationMs(text)
    if (value === undefined) problems.push(`--${name}: ${text} is not a duration such as 10m`)
    return value
  }
  const chain = chainRow(CHAIN_WORDS[words.chain ?? 'eth'] ?? '')
  if (chain === undefined) problems.push(`--chain: ${words.chain} is not a chain of this build`)
  const plan = {
    seed: whole('seed', words.seed, 0xffff_ffff),
    ratePerSecond: number('rate', words.rate, 0.01, MAX_RATE),
    genesisMs: time('genesis', words.genesis),
    untilMs: duration('until', words.until),
    from: whole('from', words.from, Number.MAX_SAFE_INTEGER) ?? null,
    profile: words.profile === 'pump' ? words.profile : undefined,
  } as const
  const port = whole('port', words.port, 65_534)
  if (words.from !== undefined && words.chain === undefined) {
    problems.push('--from: needs --chain; a simulated chain starts at its genesis')
  }
  if (words.profile !== undefined && (words.profile !== 'pump' || chain?.vm !== 'svm')) {
    problems.push(`--profile: ${words.profile} is no profile of this chain; Solana has pump`)
  }
  if (problems.length > 0 || chain === undefined) throw new UsageError(problems)
  const overrides: ConfigOverrides = { port, dataDir: words.data, rpcUrls: words.rpc }
  const loaded = loadConfig(environment, overrides)
  const urls = loaded.rpcUrls.length > 0 ? loaded.rpcUrls : [...chain.publicRpc]
  return { ...plan, config: loaded, chain, rpc: words.chain === undefined ? null : urls }
}

/** Runs the whole product in one process; resolves with the exit status when it has stopped. */
export const start = async (
  words: StartWords,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> => {
  const plan = readPlan(words, environment)
  const { config, rpc } = plan
  const log = rootLogger(environment.LOG_LEVEL === undefined ? 'warn' : config.logLevel)
  const metrics = makeMetrics()
  const folder = openDataFolder(config.dataDir)
  const parts = { folder, metrics, log }
  return serveOrigin({
    ...{ config, ...parts, endWhenProcessed: plan.untilMs !== undefined },
    origin: (signal) =>
      rpc === null ? simulated(plan, parts) : real(plan, { ...parts, signal, urls: rpc }),
  })
}

interface Parts {
  readonly folder: DataFolder
  readonly metrics: Metrics
  readonly log: Logger
}

const simulated = async (plan: Plan, { folder, metrics, log }: Parts): Promise<Origin> => {
  const closing = new AbortController()
  const held = folder.origin
  const fresh = Math.floor((Date.now() - DEFAULT_HISTORY_MS) / GENESIS_STEP_MS) * GENESIS_STEP_MS
  const origin = {
    kind: 'simulated',
    chain: plan.chain.id,
    seed: plan.seed ?? held?.seed ?? DEFAULTS.seed,
    ratePerSecond: plan.ratePerSecond ?? held?.ratePerSecond ?? DEFAULTS.ratePerSecond,
    genesisMs: plan.genesisMs ?? held?.genesisMs ?? fresh,
  } as const satisfies FolderOrigin
  folder.claim(origin)
  const { seed, ratePerSecond, genesisMs } = origin
  const endMs =
    plan.untilMs === undefined ? {} : { endMs: genesisMs + plan.untilMs + END_MARGIN_MS }
  const ingested = await ingestedHeight(folder.logPath, plan.chain.id)
  const simulator = await startSimulator({
    ...{ chain: 'eth', seed, ratePerSecond, genesisMs },
    nowMs: chainClock({ genesisMs, ratePerSecond, ingested, ...endMs, nowMs: Date.now }),
    checkpointDir: folder.simulatorPath,
    log: log.child({ role: 'simulator' }),
  })
  const { extra } = simulator
  const source = await evmSource({
    chain: { ...plan.chain, chainId: plan.chain.chainId ?? 1 },
    urls: [simulator.wsUrl],
    concurrency: plan.config.rpcConcurrency,
    timeoutMs: plan.config.rpcTimeoutMs,
    from: 0,
    metrics,
    log: log.child({ role: 'ingest' }),
    signal: closing.signal,
  })
  const until = plan.untilMs === undefined ? {} : { until: genesisMs + plan.untilMs }
  return {
    chain: { row: plan.chain, source, extra, ...until },
    chainExtra: { ...plan.config.chainExtra, [plan.chain.id]: extra },
    label: `SIMULATED ${plan.chain.name}: a made-up chain (seed ${seed}, ${ratePerSecond} trades/s)`,
    examples: simulator.examples,
    progress: false,
    stop: async () => {
      closing.abort(new Error('the node stops'))
      await simulator.stop()
    },
  }
}

const real = async (
  plan: Plan,
  { folder, metrics, log, signal, urls }: Parts & { signal: AbortSignal; urls: readonly string[] },
): Promise<Origin> => {
  const { config, chain, from, profile } = plan
  const source = await nodeSource({
    ...{ chain, urls, config, metrics, ...(profile && { profile }) },
    from: from ?? (config.fromHeight === -1 ? null : config.fromHeight),
    log: log.child({ role: 'ingest', chain: chain.id }),
    signal,
  })
  const sinceMs = folder.origin?.sinceMs ?? source.startMs ?? Date.now()
  folder.claim({ kind: 'node', chain: chain.id, genesis: source.origin, sinceMs })
  const extra = config.chainExtra[chain.id]
  const until = plan.untilMs === undefined ? {} : { until: sinceMs + plan.untilMs }
  return {
    chain: { row: chain, source, ...(extra && { extra }), ...until },
    chainExtra: config.chainExtra,
    label: `${chain.name}, from a node`,
    progress: true,
    stop: async () => undefined,
  }
}
