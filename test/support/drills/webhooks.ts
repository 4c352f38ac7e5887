import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../ports.ts'
import { type SluiceProcess, startSluice } from '../sluice-process.ts'
import { until } from '../until.ts'

/** Webhooks of a demo that is killed, some of whose receivers hang. */
export interface WebhookDrill {
  /** Folder for everything; the caller removes it. */
  readonly folder: string
  readonly endpoints: number
  readonly kills: number
  /** How long delivery is timed, first with every receiver well, then with some that hang. */
  readonly timedMs: number
  /** Longest life of a process between two kills, from its first delivery on. */
  readonly lifeMs: number
  /** Trades per second of chain time. */
  readonly rate: number
  readonly random: () => number
  readonly report: (line: string) => void
}

/** What a drill found. */
export interface WebhookDrillResult {
  /** Trades of the watched token between the first delivery and the end. */
  readonly trades: number
  /** Trades that a receiver that is well did not get, over all of those. */
  readonly lost: number
  readonly deliveries: number
  /** Deliveries of a message that the receiver had already. */
  readonly duplicates: number
  /** Trades that came under more than one id. */
  readonly renamed: number
  /** From the moment a message was made to its receipt, receivers that are well. */
  readonly wellP99Ms: number
  readonly hangingP99Ms: number
  readonly timed: { readonly well: number; readonly hanging: number }
}

/** A share of the receivers that hang, and for how long. */
const HANGING_SHARE = 0.1
const HANG_MS = 30_000
const START_TIMEOUT_MS = 180_000
const SETTLE_TIMEOUT_MS = 300_000
const PAGE = 100
/** A demo begins in the past: once messages are so young when they come, deliveries are those of a chain that is followed. */
const MAX_AGE_MS = 2_000

interface Receipt {
  readonly id: string
  readonly tx: string
  /** What the message says: the same trade always says the same. */
  readonly about: string
  /** Block time, epoch milliseconds. */
  readonly timestamp: number
  readonly atMs: number
}

interface Receivers {
  readonly base: string
  readonly receipts: ReadonlyMap<number, Receipt[]>
  hang(): void
  stop(): Promise<void>
}

const isHanging = (index: number): boolean => index % Math.round(1 / HANGING_SHARE) === 0

/** One server for all receivers, a path each. */
const startReceivers = async (count: number): Promise<Receivers> => {
  const receipts = new Map<number, Receipt[]>(
    Array.from({ length: count }, (_, index) => [index, []]),
  )
  let hangs = false
  const server = createServer(async (request, response) => {
    const atMs = Date.now()
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { data, timestamp } = JSON.parse(Buffer.concat(chunks).toString())
    const index = Number(request.url?.slice(1))
    const id = String(request.headers['webhook-id'])
    receipts.get(index)?.push({ id, tx: data.h, about: JSON.stringify(data), timestamp, atMs })
    const answer = (): unknown => response.writeHead(200).end('ok')
    if (hangs && isHanging(index)) setTimeout(answer, HANG_MS).unref()
    else answer()
  })
  server.keepAliveTimeout = 60_000
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    base: `http://127.0.0.1:${port}`,
    receipts,
    hang: () => {
      hangs = true
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Demo {
  readonly baseUrl: string
  readonly apiKey: string
  readonly examplesByChain: Readonly<Record<string, { readonly token: string }>>
}

const startDemo = async ({ folder, rate, endpoints }: WebhookDrill): Promise<SluiceProcess> => {
  const words = ['start', '--data', join(folder, 'data'), '--port', String(await freePort())]
  const run = startSluice([...words, '--simulate', 'sol', '--rate', String(rate), '--seed', '7'], {
    WEBHOOK_ENDPOINTS: String(endpoints + 1),
    // The chain's clock is not the machine's, and stands still while the process is down.
    WEBHOOK_MAX_EVENT_AGE_SECONDS: '0',
  })
  await until(
    () => {
      if (!run.isRunning()) throw new Error(`ended by itself: ${run.out.errors}`)
      return run.out.text.includes('Ctrl-C')
    },
    'the demo serves',
    START_TIMEOUT_MS,
  )
  return run
}

const readDemo = (folder: string): Demo =>
  JSON.parse(readFileSync(join(folder, 'data', 'demo.json'), 'utf8'))

const request = async <Body>(demo: Demo, path: string, body?: object): Promise<Body> => {
  const answer = await fetch(demo.baseUrl + path, {
    method: body ? 'POST' : 'GET',
    headers: { 'x-api-key': demo.apiKey, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  assert.equal(answer.status, 200, `${path}: ${text}`)
  return JSON.parse(text)
}

interface TradePage {
  readonly data: readonly {
    readonly transactionSignature: string
    readonly blockTimestamp: number
  }[]
  readonly nextCursor: string
}

/** True once the newest message of every receiver came soon after its block: the demo has caught up, and so have deliveries. */
const areCurrent = (lists: readonly (readonly Receipt[])[]): boolean =>
  lists.every((list) => {
    const last = list.at(-1)
    return last !== undefined && last.atMs - last.timestamp < MAX_AGE_MS
  })

/** Transactions that traded a token after a time, from REST. */
const tradesAfter = async (demo: Demo, token: string, afterMs: number): Promise<Set<string>> => {
  const found = new Set<string>()
  for (let cursor = ''; ; ) {
    const place = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const path = `/v2/trade/sol?tokenAddress=${token}&limit=${PAGE}${place}`
    const { data, nextCursor } = await request<TradePage>(demo, path)
    for (const { transactionSignature: tx, blockTimestamp } of data) {
      if (blockTimestamp > afterMs) found.add(tx)
    }
    cursor = nextCursor
    if (cursor === '' || (data.at(-1)?.blockTimestamp ?? 0) <= afterMs) return found
  }
}

/** 99th percentile of the time from a message's making to its receipts in a span, and how many there were. */
const latencyOf = async (
  demo: Demo,
  receipts: readonly Receipt[],
): Promise<{ readonly p99Ms: number; readonly count: number }> => {
  const madeAt = new Map<string, number>()
  for (const id of new Set(receipts.map((each) => each.id))) {
    const { createdAt } = await until(
      () =>
        request<{ readonly createdAt: string }>(demo, `/v2/webhook/message/${id}`).catch(
          () => undefined,
        ),
      'the message is stored',
      SETTLE_TIMEOUT_MS,
    )
    madeAt.set(id, Date.parse(createdAt))
  }
  const delays = receipts
    .map(({ id, atMs }) => atMs - (madeAt.get(id) ?? atMs))
    .toSorted((one, other) => one - other)
  return { p99Ms: delays[Math.floor(delays.length * 0.99)] ?? 0, count: delays.length }
}

/** Delivers to many receivers, makes some of them hang, kills the process again and again, and counts what came. */
export const runWebhookDrill = async (drill: WebhookDrill): Promise<WebhookDrillResult> => {
  const { endpoints, folder, report, random } = drill
  const receivers = await startReceivers(endpoints)
  const well = [...receivers.receipts].flatMap(([index, list]) => (isHanging(index) ? [] : [list]))
  let run = await startDemo(drill)
  try {
    let demo = readDemo(folder)
    const token = demo.examplesByChain.sol?.token ?? ''
    for (let index = 0; index < endpoints; index += 1) {
      const url = `${receivers.base}/${index}`
      const body = { url, channels: ['sol.trade.executed'], subjects: [token] }
      await request(demo, '/v2/webhook/endpoint', body)
    }
    const isAnyEmpty = (): boolean => well.some((list) => list.length === 0)
    await until(() => !isAnyEmpty(), 'every receiver has a message', START_TIMEOUT_MS)
    await until(() => areCurrent(well), 'deliveries have caught up', SETTLE_TIMEOUT_MS)
    const fromMs = Math.max(...well.map((list) => list[0]?.timestamp ?? 0))
    const time = async () => {
      const startedMs = Date.now()
      await sleep(drill.timedMs)
      const endedMs = Date.now()
      const inSpan = ({ atMs }: Receipt): boolean => atMs >= startedMs && atMs < endedMs
      return latencyOf(
        demo,
        well.flatMap((list) => list.filter(inSpan)),
      )
    }
    const before = await time()
    report(`every receiver well: p99 ${before.p99Ms} ms of ${before.count} deliveries`)
    receivers.hang()
    const hanging = await time()
    report(`some hang: p99 ${hanging.p99Ms} ms of ${hanging.count} deliveries`)
    const received = (): number => well.reduce((sum, list) => sum + list.length, 0)
    for (let kill = 1; kill <= drill.kills; kill += 1) {
      const lifeMs = random() * drill.lifeMs
      await sleep(lifeMs)
      await run.kill('SIGKILL')
      const got = received()
      report(`kill ${kill} after ${Math.round(lifeMs)} ms of deliveries, ${got} deliveries`)
      run = await startDemo(drill)
      demo = readDemo(folder)
      await until(() => received() > got, 'deliveries continue', START_TIMEOUT_MS)
    }
    const trades = await tradesAfter(demo, token, fromMs)
    const missing = (): number =>
      well.reduce((sum, list) => {
        const got = new Set(list.map(({ tx }) => tx))
        return sum + [...trades].filter((tx) => !got.has(tx)).length
      }, 0)
    await until(() => missing() === 0, 'nothing is missing', SETTLE_TIMEOUT_MS).catch(
      () => undefined,
    )
    return {
      ...counts(well),
      trades: trades.size,
      lost: missing(),
      wellP99Ms: before.p99Ms,
      hangingP99Ms: hanging.p99Ms,
      timed: { well: before.count, hanging: hanging.count },
    }
  } finally {
    await run.kill('SIGKILL')
    await receivers.stop()
  }
}

const counts = (well: readonly (readonly Receipt[])[]) => {
  const idsByTrade = new Map<string, Set<string>>()
  let duplicates = 0
  for (const list of well) {
    duplicates += list.length - new Set(list.map(({ id }) => id)).size
    for (const { about, id } of list) {
      const known = idsByTrade.get(about) ?? new Set()
      idsByTrade.set(about, known.add(id))
    }
  }
  const renamed = [...idsByTrade.values()].filter((ids) => ids.size > 1).length
  return { deliveries: well.reduce((sum, list) => sum + list.length, 0), duplicates, renamed }
}
