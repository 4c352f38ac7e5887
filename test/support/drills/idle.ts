/**
 * The idle drill, `npm run drill -- idle`: the demo as `npm start` runs it, looked at from outside. One JSON line with what ten trades
 * a second cost while nobody asks: cores, own memory, files, and bytes of the log and of the warehouse per trade.
 *
 * SLUICE_IDLE_SETTLE_SECONDS (180) is how long the process runs before it is measured, SLUICE_IDLE_MINUTES (3) how long it is measured.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findOpsUrl } from '../../../cli/app/ops-client.ts'
import { usedBytes } from '../../../core/bus/embedded/lmdb.ts'
import { openLogReadOnly } from '../../../core/bus/embedded/log.ts'
import { freePort } from '../ports.ts'
import { startSluice } from '../sluice-process.ts'
import { until } from '../until.ts'

const START_MS = 120_000
/** How `npm start` and the image run the product. */
const PRODUCTION_ENVIRONMENT = { NODE_OPTIONS: '--max-semi-space-size=32' }
/** Of the memory and the files the highest of these looks counts. */
const SAMPLE_INTERVAL_MS = 5_000
const MEGABYTE = 1_048_576
/** What `/proc` counts processor time in, per second: fixed on Linux. */
const TICKS_PER_SECOND = 100

const settleSeconds = Number(process.env.SLUICE_IDLE_SETTLE_SECONDS ?? 180)
const minutes = Number(process.env.SLUICE_IDLE_MINUTES ?? 3)
if (!(settleSeconds >= 0) || !(minutes > 0)) {
  console.error('SLUICE_IDLE_SETTLE_SECONDS from 0, SLUICE_IDLE_MINUTES above 0')
  process.exit(2)
}

interface Files {
  readonly count: number
  readonly bytes: number
}

const isGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** Files below a folder; what goes away meanwhile is left out. */
const filesBelow = (folder: string): Files => {
  let [count, bytes] = [0, 0]
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      const inner = entry.isDirectory()
        ? filesBelow(path)
        : { count: 1, bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0 }
      count += inner.count
      bytes += inner.bytes
    }
  } catch (error) {
    if (!isGone(error)) throw error
  }
  return { count, bytes }
}

/** Processor time of a process with all its threads, seconds: fields 14 and 15 of `/proc/PID/stat`. */
const processCpuSeconds = (pid: number): number => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Memory that is not pages of files, which the machine takes back when it needs them. */
const anonymousMemoryBytes = (pid: number): number =>
  Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024

/** Swaps that ingestors have decoded, those taken back too. */
const decodedTrades = async (opsUrl: string): Promise<number> => {
  const text = await (await fetch(new URL('/metrics', opsUrl))).text()
  let trades = 0
  for (const [, value] of text.matchAll(
    /^sluice_ingest_decoded_total\{[^}]*kind="swap"[^}]*\} (\S+)$/gm,
  ))
    trades += Number(value)
  return trades
}

/** Pages of a log that no process has open: what grows with every trade, and lane state, which grows with holders and pools. */
const logBytes = async (path: string): Promise<{ records: number; state: number }> => {
  const log = openLogReadOnly(path)
  try {
    const { records, batches, offsets, meta, state } = log
    const perTrade = [records, ...batches.tables, offsets, meta]
    return { records: usedBytes(perTrade), state: usedBytes([state]) }
  } finally {
    await log.close()
  }
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-idle-'))
const warehouse = join(folder, 'warehouse')
const port = await freePort()
const startedMs = performance.now()
const product = startSluice(
  ['start', '--data', folder, '--port', String(port)],
  PRODUCTION_ENVIRONMENT,
)
try {
  await until(
    () => {
      if (!product.isRunning()) throw new Error(`the process ended: ${product.out.errors}`)
      return product.out.text.includes('Ctrl-C')
    },
    'the welcome is printed',
    START_MS,
  )
  const welcomeMs = performance.now() - startedMs
  const opsUrl = findOpsUrl(undefined, folder)
  if (opsUrl === undefined) throw new Error('the process does not say where it answers operators')
  await sleep(settleSeconds * 1_000)
  const look = async () => ({
    trades: await decodedTrades(opsUrl),
    cpuSeconds: processCpuSeconds(product.pid),
    warehouse: filesBelow(warehouse),
    atMs: performance.now(),
  })
  const before = await look()
  const ownBytes: number[] = []
  const files: number[] = []
  while (performance.now() < before.atMs + minutes * 60_000) {
    await sleep(SAMPLE_INTERVAL_MS)
    ownBytes.push(anonymousMemoryBytes(product.pid))
    files.push(filesBelow(warehouse).count)
  }
  const after = await look()
  const seconds = (after.atMs - before.atMs) / 1_000
  const trades = after.trades - before.trades
  const cpuSeconds = after.cpuSeconds - before.cpuSeconds
  await product.kill('SIGTERM')
  const log = await logBytes(join(folder, 'log'))
  const line = {
    drill: 'idle',
    settleSeconds,
    minutes,
    welcomeMs: Math.round(welcomeMs),
    tradesPerSecond: Math.round((trades / seconds) * 10) / 10,
    cores: Math.round((cpuSeconds / seconds) * 1_000) / 1_000,
    cpuMsPerTrade: Math.round((cpuSeconds / trades) * 10_000) / 10,
    highestMemoryMb: Math.round(Math.max(...ownBytes) / MEGABYTE),
    mostWarehouseFiles: Math.max(...files),
    logBytesPerTrade: Math.round(log.records / after.trades),
    stateMb: Math.round(log.state / MEGABYTE),
    warehouseBytesPerTrade: Math.round(after.warehouse.bytes / after.trades),
  }
  console.log(JSON.stringify(line))
} finally {
  await product.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
}
