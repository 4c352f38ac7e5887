import pLimit from 'p-limit'
import type { Query } from '../../core/clickhouse/client.ts'
import { hasPassed, withDeadline } from '../../core/deadline.ts'
import { Fault } from '../../core/errors.ts'
import { MILLI_UNITS_PER_UNIT } from '../../schemas/plans.ts'
import type { ChainFreshness, FreshnessReader } from '../interfaces.ts'
import {
  type LimitedReads,
  type QueryCaller,
  queryWorkMilliUnits,
} from '../queries/limited-reads.ts'
import { type AnswerBudget, createAnswerBudget } from './answer-budget.ts'
import { type AnswerFormat, JSON_FORMAT } from './answer-format.ts'
import { type BlockScope, hasEventRows, onScopeChain } from './block-scope.ts'
import { compileQuery } from './compile.ts'
import { QueryTooExpensive } from './errors.ts'
import type { QueryLimits } from './limits.ts'
import type { Plan, PlannedQuery } from './plan.ts'
import {
  createRecordTemplate,
  JSON_FRAME,
  type RecordFrame,
  type RecordTemplate,
} from './record-template.ts'
import { rewriteValues } from './rewrite-values.ts'
import { cubeMembers, type GroupMember } from './select.ts'
import type { CubeSelection } from './selection.ts'

/** What a plan runs on. */
export interface ExecutionDeps {
  readonly reads: Pick<LimitedReads, 'queryText' | 'perOrg'>
  readonly freshness: FreshnessReader
  readonly limits: QueryLimits
  readonly nowMs: () => number
  readonly format: AnswerFormat
  /** Present: only what these blocks brought, see `compileQuery`. */
  readonly scope?: BlockScope
  /** Where the subscription can be resumed behind these blocks. */
  readonly cursor?: string
}

/** An answered request. */
export interface ExecutionResult {
  /** The whole envelope as JSON text, or in a format without one the rows; UTF-8. */
  readonly body: Buffer
  /** What it cost, in thousandths of a CU. */
  readonly milliUnits: number
  /** Records of all selections together. */
  readonly rowCount: number
}

/** The same with one moment for all selections: their windows and relative times are the same. */
type RunningDeps = Omit<ExecutionDeps, 'nowMs'> & { readonly nowMs: number }

interface CubeResult {
  /** The JSON list of records. */
  readonly list: Buffer
  readonly rowCount: number
  readonly rowsRead: number
}

const emptyResult = ({ empty }: RecordFrame = JSON_FRAME, rowsRead = 0): CubeResult => ({
  list: Buffer.from(empty),
  rowCount: 0,
  rowsRead,
})
const EMPTY_RESULT = emptyResult()

/** The statement of a selection as it was planned; of a delivery one of its own, for its blocks. */
const queryFor = (
  selection: CubeSelection,
  planned: PlannedQuery | undefined,
  { nowMs, format, scope }: RunningDeps,
  frame: RecordFrame,
): Query & { readonly template: RecordTemplate } => {
  const statement = (!scope && planned?.statement) || compileQuery(selection, scope)
  const template =
    statement === planned?.statement && format === JSON_FORMAT
      ? planned.template
      : createRecordTemplate(format.layoutOf(selection.fields, statement.shape), frame)
  return { sql: statement.sql, params: statement.paramsAt(nowMs), template }
}

const runCube = async (
  requested: CubeSelection,
  { queries }: Pick<Plan, 'queries'>,
  deps: RunningDeps,
  caller: QueryCaller,
  budget: AnswerBudget,
): Promise<CubeResult> => {
  const { reads, format, scope } = deps
  caller.signal.throwIfAborted()
  const selection = scope ? onScopeChain(requested, scope) : requested
  const isOver = scope?.added.length === 0 && hasEventRows(selection.cube)
  const frame = format.frameOf(selection.fields, budget)
  if (isOver || selection.chains.length === 0 || selection.limit.count === 0)
    return emptyResult(frame)
  const query = queryFor(selection, queries.get(requested), deps, frame)
  const { repeats, rowBytes, marked } = query.template
  const most = Math.max(1, Math.floor(budget.left() / rowBytes))
  const rows = selection.limit.count > most ? { maxRows: most } : {}
  const { body, rowCount, rowsRead } = await reads.queryText({ ...query, repeats, ...rows }, caller)
  if (rowCount === 0) {
    budget.spend(frame.empty.length)
    return emptyResult(frame, rowsRead)
  }
  const { cell, header } = frame
  const { signal } = caller
  const list = await rewriteValues(body, { marked, cell, header, budget, signal })
  return { list, rowCount, rowsRead }
}

/** Runs every cube selection once. The caller's signal has the time limit. */
const runCubes = async (
  plan: Plan,
  deps: RunningDeps,
  client: QueryCaller,
): Promise<ReadonlyMap<CubeSelection, CubeResult>> => {
  const budget = createAnswerBudget(deps.limits.maxAnswerBytes)
  const [only, ...others] = plan.selections
  try {
    if (only && others.length === 0)
      return new Map([[only, await runCube(only, plan, deps, client, budget)]])
    return await runBesideEachOther(plan, deps, client, budget)
  } catch (error) {
    if (hasPassed(client.signal))
      throw new QueryTooExpensive(`The query took longer than ${deps.limits.timeoutMs} ms`, [])
    if (error instanceof Fault && error.faultName === 'QUERY_TOO_EXPENSIVE')
      throw new QueryTooExpensive(error.message, [])
    throw error
  }
}

/** A few at a time; the first failure ends the others. */
const runBesideEachOther = async (
  plan: Plan,
  deps: RunningDeps,
  client: QueryCaller,
  budget: AnswerBudget,
): Promise<ReadonlyMap<CubeSelection, CubeResult>> => {
  const failed = new AbortController()
  const signal = AbortSignal.any([client.signal, failed.signal])
  // No more than may run: a request's own cubes never wait for each other at the gate.
  const slots = pLimit(Math.min(deps.limits.concurrency, deps.reads.perOrg))
  const running = plan.selections.map((selection) =>
    slots(
      async () =>
        [selection, await runCube(selection, plan, deps, { ...client, signal }, budget)] as const,
    ),
  )
  try {
    return new Map(await Promise.all(running))
  } catch (error) {
    failed.abort()
    await Promise.allSettled(running)
    throw error
  }
}

const chainFreshnessStats = async (
  plan: Plan,
  freshness: FreshnessReader,
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

const chargeOf = (
  plan: Plan,
  answers: ReadonlyMap<CubeSelection, CubeResult>,
  caller: QueryCaller,
): { readonly milliUnits: number; readonly cubes: readonly CubeCredits[] } => {
  let hundredths = 0
  const cubes = plan.selections.flatMap((selection): readonly CubeCredits[] => {
    const { rowCount } = answers.get(selection) ?? EMPTY_RESULT
    if (rowCount === 0) return []
    const { prices = [] } = plan.queries.get(selection) ?? {}
    return prices.map(({ cube, hundredths: price }) => {
      hundredths += price
      return { cube, credits: price / 100, row_count: rowCount }
    })
  })
  return { milliUnits: Math.max(hundredths * 10, queryWorkMilliUnits(caller.work)), cubes }
}

/** Pieces of the `data` object in order. */
const dataFragments = (
  plan: Plan,
  answers: ReadonlyMap<CubeSelection, CubeResult>,
): readonly (string | Buffer)[] => {
  const parts: (string | Buffer)[] = ['{']
  const memberPart = (member: GroupMember): string | Buffer =>
    'selection' in member
      ? (answers.get(member.selection) ?? EMPTY_RESULT).list
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
    else parts.push(plan.introspection.get(member.key) ?? 'null')
  }
  parts.push('}')
  return parts
}

/** What a delivery says of itself: its blocks, the blocks that no longer stand, the selections that have more rows than their limit lets through, and where it can be resumed. */
const deliveryFacts = (
  { members }: Plan,
  answers: ReadonlyMap<CubeSelection, CubeResult>,
  { chain, added, removed }: BlockScope,
  cursor: string | undefined,
): Readonly<Record<string, unknown>> => {
  const cut = cubeMembers(members).flatMap(({ key, selection }) => {
    const { limit } = selection
    const rowCount = answers.get(selection)?.rowCount ?? 0
    return limit.count > 0 && rowCount >= limit.count ? [key] : []
  })
  return {
    delivery: {
      chain,
      blocks: added,
      ...(removed.length > 0 && { removed }),
      ...(cut.length > 0 && { limit_reached: cut }),
      ...(cursor !== undefined && { cursor }),
    },
  }
}

const concatParts = (parts: readonly (string | Buffer)[]): Buffer => {
  const pieces: Buffer[] = []
  let text = ''
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part
      continue
    }
    pieces.push(Buffer.from(text), part)
    text = ''
  }
  return Buffer.concat([...pieces, Buffer.from(text)])
}

/**
 * Runs a plan and writes the answer as text: values stand in it as the engine printed them. Throws `Outage`, the
 * driver's error, or `QueryTooExpensive`; rejects with the signal's reason when the client has left.
 */
export const executePlan = async (
  plan: Plan,
  deps: ExecutionDeps,
  client: QueryCaller,
): Promise<ExecutionResult> => {
  const startedMs = performance.now()
  // Beside the cubes, not behind them; where they fail its outcome does not matter.
  const freshness = deps.format.rowsOnly ? {} : chainFreshnessStats(plan, deps.freshness)
  Promise.resolve(freshness).catch(() => undefined)
  const answers = await withDeadline(client.signal, deps.limits.timeoutMs, (signal) =>
    runCubes(plan, { ...deps, nowMs: deps.nowMs() }, { ...client, signal }),
  )
  const [only] = plan.selections
  if (deps.format.rowsOnly && only) {
    const { list, rowCount } = answers.get(only) ?? EMPTY_RESULT
    return { body: list, milliUnits: chargeOf(plan, answers, client).milliUnits, rowCount }
  }
  const data = dataFragments(plan, answers)
  if (plan.selections.length === 0)
    return { body: concatParts(['{"data":', ...data, '}']), milliUnits: 0, rowCount: 0 }
  const { milliUnits, cubes } = chargeOf(plan, answers, client)
  const results = [...answers.values()]
  const rowsRead = results.reduce((sum, answer) => sum + answer.rowsRead, 0)
  const rowCount = results.reduce((sum, answer) => sum + answer.rowCount, 0)
  const extensions = {
    ...(milliUnits > 0 && {
      credits: { total: milliUnits / MILLI_UNITS_PER_UNIT, unit: 'CU', cubes },
    }),
    stats: {
      rows_read: rowsRead,
      elapsed_ms: Math.round(performance.now() - startedMs),
      chains: await freshness,
    },
    ...(deps.scope && deliveryFacts(plan, answers, deps.scope, deps.cursor)),
  }
  return {
    body: concatParts(['{"data":', ...data, ',"extensions":', JSON.stringify(extensions), '}']),
    milliUnits,
    rowCount,
  }
}
