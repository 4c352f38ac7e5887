import pLimit from 'p-limit'
import { Fault } from '../../core/errors.ts'
import { MILLI } from '../../schemas/plans.ts'
import type { ChainFreshness, Freshness } from '../interfaces.ts'
import { type Caller, type Reads, workMilliUnits } from '../queries/reads.ts'
import { QueryTooExpensive } from './answer.ts'
import { compile } from './compile.ts'
import { creditFactors, creditHundredths } from './credits.ts'
import type { QueryLimits } from './limits.ts'
import type { Plan } from './plan.ts'
import { recordsBytes } from './records.ts'
import type { GroupMember } from './select.ts'
import type { CubeSelection } from './selection.ts'

/** What a plan runs on. */
export interface ExecuteDeps {
  readonly reads: Pick<Reads, 'queryText' | 'perOrg'>
  readonly freshness: Freshness
  readonly limits: QueryLimits
  readonly nowMs: () => number
}

/** An answered request. */
export interface Executed {
  /** The whole envelope as JSON text, UTF-8. */
  readonly body: Buffer
  /** What it cost, in thousandths of a CU. */
  readonly milliUnits: number
}

interface CubeAnswer {
  /** The JSON list of records. */
  readonly list: Buffer
  readonly rowCount: number
  readonly rowsRead: number
}

const NOTHING: CubeAnswer = { list: Buffer.from('[]'), rowCount: 0, rowsRead: 0 }

const runCube = async (
  selection: CubeSelection,
  deps: ExecuteDeps,
  caller: Caller,
): Promise<CubeAnswer> => {
  caller.signal.throwIfAborted()
  if (selection.chains.length === 0 || selection.limit.count === 0) return NOTHING
  const { shape, ...query } = compile(selection, deps.nowMs())
  const { text, rowCount, rowsRead } = await deps.reads.queryText(query, caller)
  return { list: recordsBytes(text, rowCount, shape), rowCount, rowsRead }
}

/** Runs every cube selection once, a few at a time; the first failure ends the others. */
const runCubes = async (
  plan: Plan,
  deps: ExecuteDeps,
  client: Caller,
): Promise<ReadonlyMap<CubeSelection, CubeAnswer>> => {
  const { timeoutMs, concurrency } = deps.limits
  const failed = new AbortController()
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([client.signal, timeout, failed.signal])
  // No more than may run: a request's own cubes never wait for each other at the gate.
  const slots = pLimit(Math.min(concurrency, deps.reads.perOrg))
  const running = plan.selections.map((selection) =>
    slots(async () => [selection, await runCube(selection, deps, { ...client, signal })] as const),
  )
  try {
    return new Map(await Promise.all(running))
  } catch (error) {
    failed.abort()
    await Promise.allSettled(running)
    if (timeout.aborted && !client.signal.aborted)
      throw new QueryTooExpensive(`The query took longer than ${timeoutMs} ms`, [])
    if (error instanceof Fault && error.faultName === 'QUERY_TOO_EXPENSIVE')
      throw new QueryTooExpensive(error.message, [])
    throw error
  }
}

const chainStats = async (
  plan: Plan,
  freshness: Freshness,
): Promise<Readonly<Record<string, unknown>>> => {
  const chains = [...new Set(plan.selections.flatMap((selection) => selection.chains))]
  const found = await Promise.all(
    chains.map(async (chain) => [chain, await freshness.of(chain)] as const),
  )
  const print = ({ head, headTimeMs, since, sinceTimeMs }: ChainFreshness) => ({
    head,
    head_time: headTimeMs,
    since,
    since_time: sinceTimeMs,
  })
  return Object.fromEntries(
    found.flatMap(([chain, fresh]) => (fresh ? [[chain, print(fresh)]] : [])),
  )
}

interface CubeCredits {
  readonly cube: string
  readonly credits: number
  readonly row_count: number
}

const creditsOf = (
  plan: Plan,
  answers: ReadonlyMap<CubeSelection, CubeAnswer>,
  caller: Caller,
): { readonly milliUnits: number; readonly cubes: readonly CubeCredits[] } => {
  let hundredths = 0
  const cubes = plan.selections.flatMap((selection): readonly CubeCredits[] => {
    const { rowCount } = answers.get(selection) ?? NOTHING
    if (rowCount === 0) return []
    const price = creditHundredths(creditFactors(selection))
    hundredths += price
    return [{ cube: selection.cube.name, credits: price / 100, row_count: rowCount }]
  })
  return { milliUnits: Math.max(hundredths * 10, workMilliUnits(caller.work)), cubes }
}

/** Pieces of the `data` object in order. */
const dataParts = (
  plan: Plan,
  answers: ReadonlyMap<CubeSelection, CubeAnswer>,
): readonly (string | Buffer)[] => {
  const parts: (string | Buffer)[] = ['{']
  const memberPart = (member: GroupMember): string | Buffer =>
    'selection' in member
      ? (answers.get(member.selection) ?? NOTHING).list
      : JSON.stringify(member.name)
  const writeGroup = (members: readonly GroupMember[]): void => {
    parts.push('{')
    for (const [index, member] of members.entries())
      parts.push(`${index > 0 ? ',' : ''}"${member.key}":`, memberPart(member))
    parts.push('}')
  }
  for (const [index, member] of plan.members.entries()) {
    parts.push(`${index > 0 ? ',' : ''}"${member.key}":`)
    if (member.kind === 'group') writeGroup(member.members)
    else if (member.kind === 'flat') parts.push(memberPart(member.member))
    else if (member.kind === 'typename') parts.push(JSON.stringify(member.name))
    else parts.push(JSON.stringify(plan.introspection[member.key] ?? null))
  }
  parts.push('}')
  return parts
}

const joined = (parts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))

/**
 * Runs a plan and writes the answer as text: values stand in it as the engine printed them. Throws `Outage`, the
 * driver's error, or `QueryTooExpensive`; rejects with the signal's reason when the client has left.
 */
export const execute = async (plan: Plan, deps: ExecuteDeps, client: Caller): Promise<Executed> => {
  const startedMs = performance.now()
  const answers = await runCubes(plan, deps, client)
  const data = dataParts(plan, answers)
  if (plan.selections.length === 0)
    return { body: joined(['{"data":', ...data, '}']), milliUnits: 0 }
  const { milliUnits, cubes } = creditsOf(plan, answers, client)
  const rowsRead = [...answers.values()].reduce((sum, answer) => sum + answer.rowsRead, 0)
  const extensions = {
    ...(milliUnits > 0 && { credits: { total: milliUnits / MILLI, unit: 'CU', cubes } }),
    stats: {
      rows_read: rowsRead,
      elapsed_ms: Math.round(performance.now() - startedMs),
      chains: await chainStats(plan, deps.freshness),
    },
  }
  return {
    body: joined(['{"data":', ...data, ',"extensions":', JSON.stringify(extensions), '}']),
    milliUnits,
  }
}
