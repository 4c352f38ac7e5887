import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChainChecksum } from '../../cli/checksum.ts'
import type { StatusReport } from '../../cli/status-report.ts'
import { activityIn, type DrillResult, type Kill, killLine } from './crash-drill.ts'
import {
  type Installation,
  type InstallationChain,
  openInstallation,
  type RoleProcess,
  type startServers,
} from './installation.ts'
import { sluiceText } from './sluice.ts'
import { until } from './until.ts'

type Servers = Awaited<ReturnType<typeof startServers>>

/** A crash drill over the roles on real Kafka; ClickHouse and the brokers stay alive. */
export interface RolesDrill {
  readonly chain: InstallationChain
  /** Height of the last block of the chain. */
  readonly endHeight: number
  /** Fresh servers for each of the two runs. */
  readonly servers: () => Promise<Servers>
  readonly kills: number
  /** Longest pause between a start and the next kill. */
  readonly lifeMs: number
  readonly random: () => number
  readonly report: (line: string) => void
}

/** The roles that write; what serving does is not part of the content. */
const WRITERS = ['ingest', 'process'] as const
const LIMIT_MS = 600_000

/** Follows the chain once undisturbed and once under kills, and takes both checksums at the same height. */
export const rolesDrill = async (drill: RolesDrill): Promise<DrillResult> => {
  const clean = await follow({ ...drill, kills: 0 })
  const killed = await follow(drill)
  assert.equal(clean.sum.settled.height, killed.sum.settled.height)
  return { kills: killed.kills, clean: clean.sum, killed: killed.sum }
}

const follow = async (
  drill: RolesDrill,
): Promise<{ readonly kills: readonly Kill[]; readonly sum: ChainChecksum }> => {
  const servers = await drill.servers()
  const installation = await openInstallation(servers, drill.chain)
  const running: RoleProcess[] = []
  try {
    const environment = await installation.environment('init')
    await sluiceText(['init'], environment)
    for (const name of WRITERS) running.push(await installation.start(name))
    const kills = await killAll(drill, installation, running)
    const isThere = (): Promise<boolean> => isAtEnd(running[0]?.opsUrl ?? '', drill.endHeight)
    await until(isThere, 'everything is processed', LIMIT_MS)
    const [sum] = JSON.parse(await sluiceText(['checksum', '--json'], environment))
    return { kills, sum }
  } finally {
    for (const each of running) await each.kill('SIGKILL')
    await installation.stop()
    await Promise.all(servers.map((server) => server.stop()))
  }
}

const killAll = async (
  drill: RolesDrill,
  installation: Installation,
  running: RoleProcess[],
): Promise<readonly Kill[]> => {
  const kills: Kill[] = []
  while (kills.length < drill.kills) {
    const index = Math.floor(drill.random() * running.length)
    const victim = running[index]
    assert.ok(victim, 'a role to kill')
    const afterMs = drill.random() * drill.lifeMs
    await sleep(afterMs)
    await victim.kill('SIGKILL')
    const inFlight = activityIn(victim.activityFile)
    const kill: Kill = { role: victim.name, afterMs, height: null, inFlight }
    drill.report(killLine(kill, kills.length))
    kills.push(kill)
    running[index] = await installation.start(victim.name)
  }
  return kills
}

/** The log holds the last block, every group has read all, and the tables show it. */
const isAtEnd = async (opsUrl: string, endHeight: number): Promise<boolean> => {
  const report = (await (await fetch(`${opsUrl}/status`)).json()) as StatusReport
  const [eth] = report.chains
  return (
    eth?.head?.height === endHeight && eth.lanes.every(({ behind }) => Math.max(...behind) <= 1)
  )
}
