/**
 * The screening drill, `npm run drill -- screening [EDGES [SCREENINGS [SEED]]]`: EDGES transfers (10,000,000) among addresses drawn by a power
 * law, an edge at both ends of each, and labels of 500 addresses, in the embedded engine. SCREENINGS (60) transfers, addresses and withdrawals, and
 * questions about a way that the drill has planted, are registered over HTTP one after the other and asked for until they are complete.
 * Progress on standard error, one JSON line on standard output; status 1 where an answer is not the right one, whatever it took.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Warehouse } from '../../../core/clickhouse/client.ts'
import { importLabels } from '../../../core/clickhouse/label-store.ts'
import { DAY_MS, MINUTE_MS } from '../../../core/time.ts'
import { callApi, startApi, type TestApi } from '../api-stack.ts'
import {
  addressSql,
  DAYS,
  type ExpectedWay,
  edgesSql,
  endSql,
  type GraphTerms,
  labelledSql,
  PLANTED_LABEL,
  type PlantedQuestion,
  plantedMoves,
  plantedQuestions,
  TOKEN,
  transfersSql,
  txSql,
} from './screening-graph.ts'

const CHAIN = 'eth'
const ALLOWED_MS = 30_000
/** Longer than an answer may take by far: what is still pending then has failed. */
const GIVE_UP_MS = 600_000
const POLL_MS = 100
const CATEGORIES = ['sanctions', 'mixer', 'scam', 'exchange', 'gambling'] as const
const KINDS = ['transfer', 'address', 'withdrawal'] as const
type Kind = (typeof KINDS)[number]

const positive = (text: string | undefined, standard: number): number => {
  const value = Number(text ?? standard)
  if (!Number.isSafeInteger(value) || value < 1) {
    console.error('npm run drill -- screening [EDGES [SCREENINGS [SEED]]], each a positive number')
    process.exit(2)
  }
  return value
}

const [edges, screenings, seed] = [10_000_000, 60, 17].map((standard, index) =>
  positive(process.argv[index + 2], standard),
) as [number, number, number]
const startMs = Math.floor(Date.now() / DAY_MS) * DAY_MS - (DAYS + 1) * DAY_MS
const graph: GraphTerms = { edges, seed, startMs }

/** Most memory that this process, engine and server together, has had, MB. */
const memory = { peakMb: 0 }
const lookAtMemory = (): number => {
  const nowMb = Math.round(process.memoryUsage.rss() / (1 << 20))
  memory.peakMb = Math.max(memory.peakMb, nowMb)
  return nowMb
}

const textsOf = async (warehouse: Warehouse, sql: string): Promise<readonly string[]> =>
  (await warehouse.query<{ readonly text: string }>({ sql })).rows.map(({ text }) => text)

const plantWay = async (warehouse: Warehouse, hub: string): Promise<void> => {
  const moves = plantedMoves(startMs, hub)
  const transfers = moves.map(({ tx, sender, receiver, usd, timeMs }, index) => ({
    block_time: timeMs,
    block_slot: index,
    block_height: index,
    block_hash: String(index),
    tx_hash: tx,
    tx_status: 'SUCCESS',
    event_index: index,
    token_address: TOKEN,
    decimals: 6,
    sender,
    receiver,
    amount: '1000000',
    amount_usd: String(usd),
    success: 1,
    _ver: 1,
  }))
  await warehouse.insert(`${CHAIN}_transfers`, transfers)
  const rows = moves.flatMap(({ sender, receiver, usd, timeMs }) => {
    const minute = Math.floor(timeMs / 1_000)
    const sum = { minute, usd: String(usd), transfers: 1, _ver: 1 }
    return [
      { side: 'received', address: receiver, counterparty: sender, ...sum },
      { side: 'sent', address: sender, counterparty: receiver, ...sum },
    ]
  })
  await warehouse.insert(`${CHAIN}_transfer_edges`, rows)
}

/** Transfers, their edges, labels, and the planted way. */
const fill = async (warehouse: Warehouse): Promise<void> => {
  await warehouse.command(transfersSql(CHAIN, graph))
  console.error(`${edges} transfers inserted, ${lookAtMemory()} MB`)
  await warehouse.command(edgesSql(CHAIN, graph))
  console.error(`their edges inserted, ${lookAtMemory()} MB`)
  const [hub = ''] = await textsOf(warehouse, `SELECT ${addressSql(graph, '0')} AS text`)
  await plantWay(warehouse, hub)
  const labelled = await textsOf(
    warehouse,
    `SELECT DISTINCT ${addressSql(graph, 'n')} AS text FROM (${labelledSql(graph)})`,
  )
  const named = labelled.map((address, index) => ({
    address,
    category: CATEGORIES[index % CATEGORIES.length] ?? 'mixer',
  }))
  const labels = [...named, PLANTED_LABEL].map((label, index) => ({
    ...label,
    chain: '',
    entity: `Entity ${index}`,
    confidence: 1,
    evidenceUrl: '',
    validFromMs: startMs,
    validToMs: null,
  }))
  await importLabels(warehouse, { source: 'drill', format: 'csv', labels, nowMs: startMs })
  // What a finalizer writes when it has summed everything.
  const summedTo = Math.floor(Date.now() / MINUTE_MS) * (MINUTE_MS / 1_000)
  await warehouse.insert(`${CHAIN}_chain_state`, [
    { key: 'final', final_slot: 1, final_time: summedTo * 1_000, hot_from: 0, seq: 1, _ver: 1 },
    { key: 'edges', final_slot: 0, final_time: 0, hot_from: summedTo, seq: 0, _ver: summedTo },
  ])
}

/** What a question is registered with, and where its answer is. */
interface Question {
  readonly kind: Kind
  readonly body: object
  readonly expected?: PlantedQuestion
}

const questionOf = (kind: Kind, about: string, index: number): Question => {
  if (kind === 'address') return { kind, body: { address: about } }
  const direction = index % 2 === 0 ? 'received' : 'sent'
  const common = { network: 'ethereum', asset: TOKEN }
  if (kind === 'transfer') return { kind, body: { ...common, transferReference: about, direction } }
  const attemptTimestamp = new Date(startMs).toISOString()
  return { kind, body: { ...common, address: about, assetAmount: '1', attemptTimestamp } }
}

/** What is asked: drawn transfers, addresses as often as they transfer, the greatest hub among them, and the planted way. */
const questions = async (warehouse: Warehouse): Promise<readonly Question[]> => {
  const each = Math.ceil(screenings / KINDS.length)
  const drawn = `toUInt64(sipHash64(${seed}, 'question', number) % ${edges})`
  const aboutOf = (kind: Kind): string => {
    if (kind === 'transfer') return txSql(graph, drawn)
    const first = kind === 'address' ? 'if(number = 0, 0, ' : '('
    return addressSql(graph, `${first}${endSql(graph, drawn, 'sender')})`)
  }
  const all: Question[] = []
  for (const kind of KINDS) {
    const offset = kind === 'withdrawal' ? each : 0
    const sql = `SELECT DISTINCT ${aboutOf(kind)} AS text FROM numbers(${offset}, ${each})`
    const abouts = await textsOf(warehouse, sql)
    all.push(...abouts.map((about, index) => questionOf(kind, about, index)))
  }
  const planted = plantedQuestions().map((expected): Question => {
    const about = expected.kind === 'transfer' ? expected.tx : expected.address
    return { ...questionOf(expected.kind, about, 0), expected }
  })
  return [...all, ...planted]
}

interface Evidence extends ExpectedWay {
  readonly category: string
  readonly direction: string
}

/** The part of an answer that the drill reads. */
interface Answer {
  readonly externalId?: string
  readonly address?: string
  readonly status: string
  readonly rating: string | null
  readonly riskScore: number | null
  readonly riskReason: string | null
  readonly truncated: boolean
  readonly evidence: readonly Evidence[]
}

const call = async (api: TestApi, path: string, body?: object): Promise<Answer> => {
  const headers = { 'x-api-key': api.apiKey, 'content-type': 'application/json' }
  const posted = body && { method: 'POST', body: JSON.stringify(body) }
  const answer = await callApi(api, `/v2/kyt/${path}`, {
    headers: body ? headers : { 'x-api-key': api.apiKey },
    ...posted,
  })
  assert.ok(answer.status < 300, `${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body as Answer
}

const resultPath = (kind: Kind, { externalId, address }: Answer): string => {
  if (kind === 'address') return `addresses/${address}/risk`
  return `${kind === 'transfer' ? 'transfers' : 'withdrawal'}/${externalId}/summary`
}

const askedFor = async (api: TestApi, { kind, body }: Question) => {
  const start = performance.now()
  const registered = await call(api, kind, body)
  const registeredMs = performance.now() - start
  const path = resultPath(kind, registered)
  for (;;) {
    const answer = await call(api, path)
    const ms = performance.now() - start
    if (answer.status !== 'PENDING' || ms > GIVE_UP_MS) return { kind, answer, ms, registeredMs }
    await sleep(POLL_MS)
  }
}

/** What is wrong with an answer; empty where nothing is. */
const faultsOf = ({ expected }: Question, answer: Answer): readonly string[] => {
  if (answer.status !== 'COMPLETE') return [`${answer.status}: ${answer.riskReason}`]
  if (expected === undefined) return []
  const found = answer.evidence.filter(({ category }) => category === PLANTED_LABEL.category)
  const ways = found.map(
    ({ hops, sharePercent, score, path }): ExpectedWay => ({ hops, sharePercent, score, path }),
  )
  const said = {
    rating: expected.rating === null ? null : answer.rating,
    riskScore: expected.riskScore === null ? null : answer.riskScore,
    ways,
  }
  const { rating, riskScore, way } = expected
  const right = { rating, riskScore, ways: [way] }
  const [one, other] = [JSON.stringify(said), JSON.stringify(right)]
  return one === other ? [] : [`${one} instead of ${other}`]
}

const quantile = (sorted: readonly number[], part: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? 0)

const timesOf = (values: readonly number[]) => {
  const sorted = values.toSorted((one, other) => one - other)
  return { count: sorted.length, p50Ms: quantile(sorted, 0.5), slowestMs: quantile(sorted, 1) }
}

const api = await startApi()
const wrong: string[] = []
try {
  const { warehouse } = api
  const fillStart = performance.now()
  await fill(warehouse)
  const fillSeconds = Math.round((performance.now() - fillStart) / 1_000)
  const answers: Awaited<ReturnType<typeof askedFor>>[] = []
  for (const question of await questions(warehouse)) {
    const asked = await askedFor(api, question)
    answers.push(asked)
    const faults = faultsOf(question, asked.answer)
    wrong.push(...faults.map((fault) => `${JSON.stringify(question.body)}: ${fault}`))
    const { kind, ms, answer } = asked
    const bound = answer.truncated ? ', met a bound' : ''
    console.error(
      `${kind}: ${Math.round(ms)} ms, ${answer.evidence.length} exposures${bound}, ${lookAtMemory()} MB`,
    )
  }
  const times = (kind: Kind) =>
    timesOf(answers.flatMap((each) => (each.kind === kind ? [each.ms] : [])))
  const line = {
    drill: 'screening',
    edges,
    fillSeconds,
    peakMb: memory.peakMb,
    registration: timesOf(answers.map(({ registeredMs }) => registeredMs)),
    transfer: times('transfer'),
    address: times('address'),
    withdrawal: times('withdrawal'),
    over30s: answers.filter(({ ms }) => ms > ALLOWED_MS).length,
    cut: answers.filter(({ answer }) => answer.truncated).length,
    exposed: answers.filter(({ answer }) => answer.evidence.length > 0).length,
    wrong: wrong.length,
  }
  console.log(JSON.stringify(line))
  for (const each of wrong) console.error(each)
} finally {
  await api.stop()
}
process.exit(wrong.length === 0 ? 0 : 1)
