import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import type { Bus, HaltedLane } from '../../core/bus/contract.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import { secretTexts } from '../../core/config/load.ts'
import { listenAt } from '../../core/http/listening.ts'
import type { InFlightTracker } from '../../core/ops/in-flight.ts'
import type { Metrics, Observation } from '../../core/ops/metrics.ts'
import { makeRedactor } from '../../core/ops/redact.ts'
import { InvalidOpsRequest, type OpsHandler, openOpsServer } from '../../core/ops/server.ts'
import type { Ingestor } from '../../ingestors/start.ts'
import type { RunningProcessors } from '../../processors/start.ts'
import { checksum } from '../checksum/checksum.ts'
import type { LogInfra } from './infra.ts'
import { deadLettersHandler, recordsHandler } from './log-over-ops.ts'
import { parseQueryNumber } from './query-number.ts'
import type { AppChain, ServiceDeps } from './services.ts'
import { type IngestStatus, statusReport } from './status-report.ts'

/** What the operators' port of a process tells of beside its parts. */
export interface OpsSources {
  readonly parts: LogInfra & { readonly warehouse?: Warehouse }
  readonly activity: InFlightTracker
  readonly processors?: Pick<RunningProcessors, 'status'>
  readonly ingestors?: readonly Ingestor[]
  readonly appChains?: readonly AppChain[]
  /** File that names the port while the process runs. */
  readonly opsPath?: string
}

const FOLDER_KEY_BYTES = 24

/**
 * Opens the operators' port of a process: health, readiness, metrics, `/status`, `/checksum` where tables are at hand, `/records` and
 * `/dead-letters` for who can read the data folder.
 */
export const startOpsServer = async (deps: ServiceDeps, sources: OpsSources): Promise<string> => {
  const { config, metrics, checks, lifecycle, ownPorts } = deps
  const { opsPath, parts } = sources
  checks.push({ name: 'lanes', run: () => haltedLanesCheck(parts.bus.halted()) })
  observeBus(metrics, parts.bus)
  const handlers: Record<string, OpsHandler> = { '/status': statusHandler(deps, sources) }
  const { warehouse } = parts
  if (warehouse !== undefined) {
    handlers['/checksum'] = checksumHandler(deps, { ...parts, warehouse })
  }
  const folderKey = randomBytes(FOLDER_KEY_BYTES).toString('base64url')
  if (opsPath !== undefined) {
    handlers['/records'] = recordsHandler(parts.bus, folderKey)
    handlers['/dead-letters'] = deadLettersHandler(parts.bus, folderKey)
  }
  const { opsHost: host, opsPort: port, opsToken: token } = config
  const log = deps.log.child({ part: 'ops' })
  const scrub = makeRedactor(secretTexts(config))
  const ops = await listenAt({ setting: 'OPS_PORT', host, port }, () =>
    openOpsServer({ host, port, token, metrics, checks, handlers, log, scrub }),
  )
  ownPorts.add(Number(new URL(ops.url).port))
  lifecycle.add({ name: 'ops', stop: () => ops.stop() })
  if (opsPath !== undefined) {
    const descriptor = { url: ops.url, pid: process.pid, key: folderKey }
    writeFileSync(opsPath, JSON.stringify(descriptor), { mode: 0o600 })
    lifecycle.add({ name: 'ops file', stop: async () => rmSync(opsPath, { force: true }) })
  }
  log.info({ url: ops.url }, 'ops server listening')
  return ops.url
}

/** Halted partitions of the process, and the size of an embedded log, as metrics. */
export const observeBus = (
  { observe }: Pick<Metrics, 'observe'>,
  bus: Pick<Bus, 'capacity' | 'halted'>,
): void => {
  const logBytes = (part: 'usedBytes' | 'limitBytes'): readonly Observation<never>[] => {
    const value = bus.capacity()?.[part]
    return value === undefined ? [] : [{ labels: {}, value }]
  }
  observe('logUsedBytes', () => logBytes('usedBytes'))
  observe('logLimitBytes', () => logBytes('limitBytes'))
  observe('haltedPartitions', () =>
    bus.halted().map(({ group }) => ({
      labels: { group, reason: 'offset-out-of-range' },
      value: 1,
    })),
  )
}

/** Not ready while a lane is halted: records that it has not read have left the log. */
const haltedLanesCheck = (halted: readonly HaltedLane[]) => {
  const [first] = halted
  if (first === undefined) return { ok: true }
  const { group, lane, topic, partition, position: place, low } = first
  const more = halted.length > 1 ? `, and ${halted.length - 1} more` : ''
  const detail = `${group}/${lane}: ${topic}/${partition}@${place} left the log, which begins at ${low}${more}; see sluice resume`
  return { ok: false, detail }
}

const statusHandler =
  ({ chains }: ServiceDeps, sources: OpsSources): OpsHandler =>
  () =>
    statusReport({
      ...sources.parts,
      chains,
      ingest: () => ingestStatus(sources),
      inFlight: () => sources.activity.now(),
      ...(sources.processors && { processors: sources.processors.status }),
      nowMs: Date.now,
    })

const ingestStatus = ({ ingestors = [], appChains = [] }: OpsSources): readonly IngestStatus[] =>
  ingestors.flatMap((ingestor, index) => {
    const app = appChains[index]
    if (app === undefined) return []
    const { state, reason, height } = ingestor.status()
    return [
      {
        chain: app.row.id,
        state,
        height,
        ...(reason !== undefined && { reason }),
        nodeHeight: app.source.head()?.height ?? null,
      },
    ]
  })

/** One at a time: a checksum reads every topic and table of a chain. */
const checksumHandler = (
  { chains }: ServiceDeps,
  parts: LogInfra & { readonly warehouse: Warehouse },
): OpsHandler => {
  let busy = false
  return async (query, signal) => {
    if (busy)
      throw new InvalidOpsRequest(
        'a checksum is already running in this process; repeat the request when it has ended',
      )
    busy = true
    try {
      return await Promise.all(
        requestedChains(chains, query).map((chain) =>
          checksum({ ...parts, chain, signal, ...requestedHeight(query) }),
        ),
      )
    } finally {
      busy = false
    }
  }
}

const requestedChains = (chains: readonly string[], query: URLSearchParams): readonly string[] => {
  const asked = query.getAll('chain')
  const unknown = asked.find((chain) => !chains.includes(chain))
  if (unknown !== undefined)
    throw new InvalidOpsRequest(
      `${unknown.slice(0, 40)} is not a chain of this process; expected one of ${chains.join(', ')}`,
    )
  return asked.length > 0 ? asked : chains
}

const requestedHeight = (query: URLSearchParams): { readonly height?: number } => {
  const text = query.get('height')
  if (text === null) return {}
  return { height: parseQueryNumber('height', text, 15) }
}
