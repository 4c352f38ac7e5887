import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StatusReport } from '../../../cli/app/status-report.ts'
import type { ChainChecksum } from '../../../cli/checksum/checksum.ts'
import {
  createInstallation,
  type Installation,
  type InstallationChain,
  type RoleProcess,
  type startServers,
} from '../installation.ts'
import { runSluice } from '../sluice-process.ts'
import { until } from '../until.ts'
import { type DrillResult, formatKill, type Kill, readActivity } from './crash.ts'

type Servers = Awaited<ReturnType<typeof startServers>>

/** A crash drill over the roles on real Kafka; ClickHouse and the brokers stay alive. */
export interface RolesDrill {
  readonly chain: Omit<InstallationChain, 'nowMs'>
  /** Fresh servers for each of the two runs. */
  readonly servers: () => Promise<Servers>
  readonly kills: number
  /** How much of the chain is there when the first role starts. */
  readonly historyMs: number
  /** Longest life of a role that is going to be killed, from its first work on. */
  readonly lifeMs: number
  readonly random: () => number
  readonly report: (line: string) => void
}

/** The roles that write; what serving does is not part of the content. */
const WRITERS = ['ingest', 'process'] as const
/** For a whole chain of many trades on a machine that others use too. */
const LIMIT_MS = 2_400_000
/** A role without work for so long is killed all the same, and the kill counts as one that hit nothing. */
const FIRST_ACTIVITY_TIMEOUT_MS = 20_000
const ACTIVITY_POLL_MS = 3_000
/** Ends of transactions count as records of a Kafka partition; so many may lie behind its last one. */
const MAX_TRANSACTION_MARKERS = 8
/** Longer than a group waits for a member that was killed. */
const IDLE_MS = 12_000

/**
 * Follows the chain once under kills, and once undisturbed to where it stood after the last of them; takes both checksums
 * at the same height. The chain continues at its own pace as long as all roles live.
 */
export const runRolesCrashDrill = async (drill: RolesDrill): Promise<DrillResult> => {
  const startedMs = Date.now()
  const clock = createPausableClock(drill.chain.genesisMs + drill.historyMs)
  const runs: CompletedRun[] = []
  try {
    const killed = await runToEnd(drill, clock, runs)
    drill.report(`under kills, to the end of the chain: ${seconds(Date.now() - startedMs)} s`)
    const clean = await runToEnd({ ...drill, kills: 0 }, clock, runs)
    // Runs hear of finality at other moments: some blocks more are final in one of them.
    const height = Math.min(killed.finalHeight, clean.finalHeight)
    return {
      kills: killed.kills,
      clean: await clean.sumAt(height),
      killed: await killed.sumAt(height),
    }
  } finally {
    for (const run of runs) await run.stop()
  }
}

/** A clock that can be held. */
interface PausableClock {
  readonly nowMs: () => number
  readonly go: () => void
  readonly hold: () => void
}

const createPausableClock = (startMs: number): PausableClock => {
  let shownMs = startMs
  let goesSinceMs: number | undefined
  const nowMs = (): number =>
    shownMs + (goesSinceMs === undefined ? 0 : performance.now() - goesSinceMs)
  return {
    nowMs,
    go: () => {
      goesSinceMs ??= performance.now()
    },
    hold: () => {
      shownMs = nowMs()
      goesSinceMs = undefined
    },
  }
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** A run at its end: its roles are gone, its servers live until `stop`. */
interface CompletedRun {
  readonly kills: readonly Kill[]
  readonly finalHeight: number
  /** Checksum at the height of a final block. */
  readonly sumAt: (height: number) => Promise<ChainChecksum>
  readonly stop: () => Promise<void>
}

/** Follows the chain to its end; the run is in `runs` as soon as its servers live. */
const runToEnd = async (
  drill: RolesDrill,
  clock: PausableClock,
  runs: CompletedRun[],
): Promise<CompletedRun> => {
  const servers = await drill.servers()
  const installation = await createInstallation(servers, { ...drill.chain, nowMs: clock.nowMs })
  const running: RoleProcess[] = []
  const environment = await installation.environment('init')
  const sum = async (...words: readonly string[]): Promise<ChainChecksum> =>
    JSON.parse(await runSluice(['checksum', '--json', ...words], environment))[0]
  const endRoles = async (): Promise<void> => {
    for (const each of running) await each.kill('SIGKILL')
  }
  const begun: CompletedRun = {
    kills: [],
    finalHeight: -1,
    sumAt: (height) => sum('--height', String(height)),
    stop: async () => {
      await endRoles()
      await installation.stop()
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
  runs.push(begun)
  await runSluice(['init', '--acl'], environment)
  for (const name of WRITERS) running.push(await installation.start(name))
  const kills = await runKills(drill, installation, { running, clock })
  const isAtEnd = createEndCheck(() => running[0]?.opsUrl ?? '', installation)
  await until(isAtEnd, 'everything is processed', LIMIT_MS)
  const { final } = await sum()
  await endRoles()
  return { ...begun, kills, finalHeight: final.height }
}

const runKills = async (
  drill: RolesDrill,
  installation: Installation,
  { running, clock }: { readonly running: RoleProcess[]; readonly clock: PausableClock },
): Promise<readonly Kill[]> => {
  const kills: Kill[] = []
  while (kills.length < drill.kills) {
    const index = Math.floor(drill.random() * running.length)
    const victim = running[index]
    assert.ok(victim, 'a role to kill')
    // A member that was killed is missed for a session's length; a life begins with the first thing begun.
    if (victim.name === 'ingest') clock.go()
    const isBusy = (): boolean => readActivity(victim.activityFile).length > 0
    await until(isBusy, `${victim.name} has work`, FIRST_ACTIVITY_TIMEOUT_MS).catch(() => undefined)
    clock.go()
    const afterMs = drill.random() * drill.lifeMs
    await sleep(afterMs)
    // Between two commits nothing can break: the kill waits for one, or for an insert.
    await until(isBusy, `${victim.name} has work again`, ACTIVITY_POLL_MS).catch(() => undefined)
    await victim.kill('SIGKILL')
    clock.hold()
    const inFlight = readActivity(victim.activityFile)
    const kill: Kill = { role: victim.name, afterMs, height: null, inFlight }
    drill.report(formatKill(kill, kills.length))
    kills.push(kill)
    running[index] = await installation.start(victim.name)
  }
  return kills
}

/** Whether the log holds the last block and no group has moved for so long that none has anything left to read. */
const createEndCheck = (
  opsUrl: () => string,
  { headHeight }: Installation,
): (() => Promise<boolean>) => {
  let [seen, sinceMs] = ['', performance.now()]
  return async () => {
    const report = (await (await fetch(`${opsUrl()}/status`)).json()) as StatusReport
    const [chain] = report.chains
    const behind = chain?.lanes.flatMap((lane) => lane.behind) ?? []
    const now = JSON.stringify([chain?.head?.height, chain?.lanes])
    if (now !== seen) [seen, sinceMs] = [now, performance.now()]
    return (
      chain?.head?.height === headHeight() &&
      Math.max(...behind) <= MAX_TRANSACTION_MARKERS &&
      performance.now() - sinceMs > IDLE_MS
    )
  }
}
