import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { secretTexts } from '../../core/config/load.ts'
import { Secret } from '../../core/config/secret.ts'
import type { ChainExtra, Config } from '../../core/config/settings.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { makeRedactor } from '../../core/ops/redact.ts'
import { printLine } from '../../core/ops/terminal.ts'
import { pause } from '../../core/retry.ts'
import { type App, createApp } from '../app/app.ts'
import type { DataFolder } from '../app/data-folder.ts'
import { type ExitReason, type ProcessContext, runProcess, untilExit } from '../app/process.ts'
import type { AppChain } from '../app/services.ts'
import { capacityText } from '../app/status-report.ts'
import { createDocumentSubjects } from './document-subjects.ts'
import { showProgressBar } from './progress-bar.ts'
import {
  type DemoExamples,
  type ExamplesByChain,
  findExamples,
  lateCommandsText,
  printWelcome,
} from './welcome.ts'

/** One chain of an origin, with a token to show where one is known before. */
export interface DataSourceChain {
  readonly chain: AppChain
  readonly examples?: Pick<DemoExamples, 'token'>
}

/** Where the blocks of a process come from, and the label that people see. */
export interface DataSource {
  readonly chains: readonly DataSourceChain[]
  readonly chainExtra: Readonly<Record<string, ChainExtra>>
  /** Shown wherever a person looks: names a simulated or recorded chain as what it is. */
  readonly label: string
  /** True: the chains are simulated, so this is a demo on one machine. */
  readonly isSimulated: boolean
  /** Ports of this machine where simulated nodes answer. */
  readonly nodePorts: readonly number[]
  /** True: a bar shows how far the chain is behind its head. */
  readonly progress: boolean
  stop(): Promise<void>
}

/** One process: what it runs on, and when it ends by itself. */
export interface StandaloneOptions {
  readonly config: Config
  readonly folder: DataFolder
  readonly metrics: Metrics
  readonly log: Logger
  /** Opens the origin; the signal aborts when the process is to end. */
  readonly origin: (signal: AbortSignal) => Promise<DataSource>
  /** True: ends with status 0 once everything asked for is ingested and processed. */
  readonly endWhenProcessed: boolean
}

/** How long the welcome waits for a first trade to show, and how often a later one is looked for. */
const WELCOME_WAIT_MS = 60_000
const EXAMPLE_POLL_MS = 500
const LATE_EXAMPLE_POLL_MS = 2_000

/** Runs the product until a signal, a fatal error or its own end; resolves with the exit status after an orderly stop. */
export const runStandalone = (options: StandaloneOptions): Promise<number> =>
  runProcess({ log: options.log, scrub: makeRedactor(secretTexts(options.config)) }, (context) =>
    withDataSource(options, context),
  )

const withDataSource = async (
  options: StandaloneOptions,
  context: ProcessContext,
): Promise<number> => {
  const origin = await options.origin(context.signal)
  try {
    return await runApp(options, origin, context)
  } finally {
    await origin.stop()
  }
}

const runApp = async (
  options: StandaloneOptions,
  origin: DataSource,
  { signal, end, onFatal }: ProcessContext,
): Promise<number> => {
  const { config, folder, metrics, log } = options
  const pepper = config.keyPepper.isEmpty ? new Secret(folder.pepper) : config.keyPepper
  const admin = config.adminToken.isEmpty ? new Secret(folder.adminToken) : config.adminToken
  const subjects = createDocumentSubjects(
    origin.chains.map(({ chain }) => chain.row),
    Date.now,
  )
  const app = await createApp({
    signal,
    config: {
      ...config,
      chainExtra: origin.chainExtra,
      keyPepper: pepper,
      adminToken: admin,
    },
    firstUser: folder.demo ?? {},
    metrics,
    log,
    onFatal,
    chains: origin.chains.map(({ chain }) => chain),
    origin: origin.label,
    documentSubjects: subjects.current,
    isDemo: origin.isSimulated,
    nodePorts: origin.nodePorts,
    logPath: folder.logPath,
    warehousePath: folder.warehousePath,
    opsPath: folder.opsPath,
  })
  const capacity = app.bus.capacity()
  if (capacity) printLine(`embedded log: ${capacityText(capacity)}`)
  const [first] = origin.chains
  const progress = origin.progress && first ? showProgressBar(app, first.chain.source) : undefined
  if (options.endWhenProcessed) {
    whenProcessed(app, signal).then(() => end(0, 'everything is processed'), onFatal)
  }
  try {
    const { webhookAllow } = config
    const welcome = { folder, adminToken: admin.reveal(), webhookAllow, onExamples: subjects.set }
    await showWelcome(app, welcome, origin, signal)
    const { status } = await untilExit(signal)
    return status
  } finally {
    progress?.stop()
    await app.stop(signal.aborted ? (signal.reason as ExitReason).reason : 'start failed')
  }
}

interface WelcomeDeps {
  readonly folder: DataFolder
  readonly adminToken: string
  readonly webhookAllow: readonly string[]
  /** Called with the examples as they become known. */
  readonly onExamples: (examples: ExamplesByChain) => void
}

/** Prints where it serves, and writes `demo.json` once there is something to show. */
const showWelcome = async (
  app: App,
  { folder, adminToken, webhookAllow, onExamples }: WelcomeDeps,
  origin: DataSource,
  signal: AbortSignal,
): Promise<void> => {
  const {
    baseUrl,
    graphqlUrl,
    wsUrl,
    subscriptionsUrl,
    tokenUrl,
    audience,
    adminUrl,
    credentials,
  } = app
  assert(credentials, 'the app was not asked for a first user')
  const surfaces = { baseUrl, graphqlUrl, wsUrl, subscriptionsUrl, tokenUrl, audience, adminUrl }
  const base = { ...surfaces, ...credentials, adminToken, origin: origin.label }
  const shown = (examples: ExamplesByChain): void => {
    folder.writeDemo({ ...base, examples: defaultExamples(examples), examplesByChain: examples })
    onExamples(examples)
  }
  const look = async (known: ExamplesByChain): Promise<ExamplesByChain> => {
    const open = origin.chains.filter(({ chain }) => known[chain.row.apiName] === undefined)
    return { ...known, ...(await findExamplesByChain(app, open)) }
  }
  const isWhole = (examples: ExamplesByChain): boolean =>
    Object.keys(examples).length === origin.chains.length
  let examples = await look({})
  const limitMs = Date.now() + WELCOME_WAIT_MS
  while (!isWhole(examples) && Date.now() < limitMs && !signal.aborted) {
    await sleep(EXAMPLE_POLL_MS)
    examples = await look(examples)
  }
  if (signal.aborted) return
  shown(examples)
  const chains = origin.chains.map(({ chain }) => chain.row)
  const welcome = {
    ...base,
    dataDir: folder.path,
    chains,
    webhooksToHere: origin.isSimulated && webhookAllow.length === 0,
  }
  printWelcome({ ...welcome, examples })
  // A chain without a trade yet: its commands follow with the first one.
  while (!isWhole(examples) && !signal.aborted) {
    await pause(LATE_EXAMPLE_POLL_MS, signal).catch(() => undefined)
    if (signal.aborted) return
    const known = examples
    examples = await look(known)
    shown(examples)
    for (const chain of chains) {
      const isNew = known[chain.apiName] === undefined && examples[chain.apiName] !== undefined
      if (isNew) printLine(lateCommandsText({ ...welcome, examples }, chain))
    }
  }
}

const findExamplesByChain = async (
  { warehouse }: App,
  chains: readonly DataSourceChain[],
): Promise<ExamplesByChain> => {
  const found = await Promise.all(
    chains.map(({ chain, examples }) => findExamples(warehouse, chain.row, examples)),
  )
  return Object.fromEntries(found.flatMap((one) => (one === null ? [] : [[one.chain, one]])))
}

/** The examples that `demo.json` names without a chain: those of Solana first, as everywhere. */
const defaultExamples = (examples: ExamplesByChain): DemoExamples | null =>
  examples.sol ?? Object.values(examples)[0] ?? null

/** Resolves when every chain is ingested as far as asked and all of it is processed. */
const whenProcessed = async (app: App, signal: AbortSignal): Promise<void> => {
  await Promise.all(app.ingestors.map(({ done }) => done))
  while (!signal.aborted && !(await app.isCaughtUp())) await sleep(50)
}
