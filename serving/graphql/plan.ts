import { setImmediate } from 'node:timers/promises'
import { GraphQLError } from 'graphql'
import { LRUCache } from 'lru-cache'
import { type CompiledQuery, compileQuery, type StoredRecords } from './compile.ts'
import { type CubePrice, selectionPrices } from './credits.ts'
import { introspect } from './introspection.ts'
import type { QueryLimits } from './limits.ts'
import { normalizeOperation } from './normalize.ts'
import {
  coerceVariables,
  type OperationKind,
  type ParsedDocument,
  parseDocument,
  selectOperation,
  validateDocument,
} from './parse-document.ts'
import {
  createPlanningBudget,
  type PlanningBudget,
  PlanningTooExpensive,
  stepsOfText,
} from './planning-budget.ts'
import type { RecordLayout } from './record-layout.ts'
import { createRecordTemplate, JSON_FRAME, type RecordTemplate } from './record-template.ts'
import type { CubeSchema } from './schema.ts'
import { type CubeMember, cubeMembers, type RootMember, selectCubes } from './select.ts'
import { type CubeSelection, countLeaves } from './selection.ts'
import { validateSubscription } from './validate-subscription.ts'

/** One request as a client sends it. */
export interface GraphqlRequest {
  readonly query: string
  readonly variables?: Readonly<Record<string, unknown>>
  readonly operationName?: string
  /** Default: a query. */
  readonly kind?: OperationKind
}

/** What a selection asks the engine, and what its rows cost. */
export interface PlannedQuery {
  readonly prices: readonly CubePrice[]
  readonly statement: CompiledQuery
  /** Its rows as records of JSON. */
  readonly template: RecordTemplate
}

/** A checked request: what to ask, and where in the answer it goes. */
export interface Plan {
  readonly members: readonly RootMember[]
  readonly selections: readonly CubeSelection[]
  /** Made once: what runs at different times, as subscriptions and kept plans do, differs in its parameters alone. */
  readonly queries: ReadonlyMap<CubeSelection, PlannedQuery>
  /** Answers of introspection fields as JSON, by response key. */
  readonly introspection: ReadonlyMap<string, Buffer>
  /** Most that the request can cost, in thousandths of a CU. */
  readonly worstMilliUnits: number
}

const NO_INTROSPECTION: Plan['introspection'] = new Map()
const MAX_CACHED_PLANS = 500
/** Characters, nodes and bytes of introspection that are kept, a node as `CHARACTERS_PER_NODE`. */
const MAX_CACHE_SIZE = 20_000_000
const CHARACTERS_PER_NODE = 50

/** What aliases repeat in every row costs the engine nothing, but all of it is written. */
const validateAnswerSize = (
  members: readonly CubeMember[],
  { maxValues }: Pick<QueryLimits, 'maxValues'>,
): void => {
  let values = 0
  for (const { node, selection } of members) {
    values += selection.limit.count * countLeaves(selection.fields)
    if (values > maxValues)
      throw new PlanningTooExpensive(
        `The query asks for more than ${maxValues} values (rows times fields): lower a limit or select fewer fields`,
        node,
      )
  }
}

interface CacheEntry<T> {
  readonly value: T
  readonly steps: number
  /** What is kept beside texts and nodes. */
  readonly bytes?: number
}

const createCache = <T>(): LRUCache<string, CacheEntry<T>> =>
  new LRUCache({
    max: MAX_CACHED_PLANS,
    maxSize: MAX_CACHE_SIZE,
    sizeCalculation: ({ steps, bytes = 0 }, text) =>
      text.length + Math.ceil(steps) * CHARACTERS_PER_NODE + bytes + 1,
  })

/** Values nest no deeper than `levels`. Looks no further than that, so any value is safe. */
const isShallowValue = (value: unknown, levels: number): boolean => {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  return Object.values(value).every((inner) => isShallowValue(inner, levels - 1))
}

/** Statements are made before any of them runs: one that is too long is refused with nothing done. */
const planQuery = (
  selection: CubeSelection,
  { limits: { maxSql }, stored, templates }: PlannerContext,
  work: PlanningBudget,
): PlannedQuery => {
  const statement = compileQuery(selection, undefined, stored)
  const { shape } = statement
  const template = templates.get(shape) ?? createRecordTemplate(shape, JSON_FRAME)
  templates.set(shape, template)
  const { sql, paramCount } = statement
  work.spend(stepsOfText(sql.length + template.row.length) + paramCount)
  if (sql.length > maxSql)
    throw new PlanningTooExpensive(`A statement of the query has more than ${maxSql} characters`)
  return { statement, template, prices: selectionPrices(selection) }
}

/** Work that can stop between two of its stages. */
type PlanningStages<T> = Generator<undefined, T>

const planStages = function* (
  { query, variables = {}, operationName, kind = 'query' }: GraphqlRequest,
  planner: PlannerContext,
  work: PlanningBudget,
): PlanningStages<Plan> {
  const { catalogue, limits, documents } = planner
  let parsed = documents.get(query)?.value
  if (!parsed) {
    const document = parseDocument(query, limits, work)
    yield
    parsed = validateDocument(document, catalogue.schema, work)
    documents.set(query, { value: parsed, steps: work.done() })
    yield
  }
  const { fragments, fixed } = parsed
  const operation = selectOperation(parsed, operationName, kind)
  const values = coerceVariables(operation, variables, { limits, work })
  const context = {
    fragments,
    fixed,
    variables: values,
    catalogue,
    limits,
    work,
    rewrittenVariables: new Map(),
  }
  const { keptSteps } = fixed
  const rewritten = normalizeOperation(operation, context)
  if (fixed.keptSteps !== keptSteps) documents.set(query, { value: parsed, steps: fixed.keptSteps })
  yield
  const members = selectCubes(rewritten, catalogue, context)
  if (kind === 'subscription') validateSubscription(members, operation)
  const cubes = cubeMembers(members)
  validateAnswerSize(cubes, limits)
  const selections = cubes.map(({ selection }) => selection)
  yield
  const queries = new Map(
    selections.map((selection) => [selection, planQuery(selection, planner, work)]),
  )
  yield
  const nodes = members.flatMap((member) => (member.kind === 'introspection' ? [member.node] : []))
  const prices = [...queries.values()].flatMap((query) => query.prices)
  return {
    members,
    selections,
    queries,
    introspection:
      nodes.length > 0 ? introspect(catalogue.schema, nodes, limits, work) : NO_INTROSPECTION,
    worstMilliUnits: prices.reduce((sum, { hundredths }) => sum + hundredths * 10, 0),
  }
}

interface PlannerContext {
  readonly catalogue: CubeSchema
  readonly limits: QueryLimits
  readonly documents: LRUCache<string, CacheEntry<ParsedDocument>>
  readonly stored: StoredRecords
  readonly templates: WeakMap<RecordLayout, RecordTemplate>
}

/**
 * Makes plans: parse, rewrite, check and read a request; documents and plans that come again are kept. What it costs is counted
 * in the `PlanningBudget` that it is given, also where it throws `GraphQLError` or `InvalidDocument`.
 */
export interface Planner {
  readonly plan: (request: GraphqlRequest, work?: PlanningBudget) => Plan
  /** The same with a turn for others between the stages of a large request; `computed` receives the duration of each stage. */
  readonly planInTurns: (
    request: GraphqlRequest,
    work?: PlanningBudget,
    computed?: (ms: number) => void,
  ) => Promise<Plan>
}

/** Steps after which others get a turn: about 10 ms. */
const STEPS_PER_YIELD = 2_000

const measure = <T>(run: () => T, took: (ms: number) => void): T => {
  const startedMs = performance.now()
  try {
    return run()
  } finally {
    took(performance.now() - startedMs)
  }
}

/** Makes the planner of a schema. */
export const createPlanner = (catalogue: CubeSchema, limits: QueryLimits): Planner => {
  const context: PlannerContext = {
    catalogue,
    limits,
    documents: createCache(),
    stored: new WeakMap(),
    templates: new WeakMap(),
  }
  const plans = createCache<Plan>()
  const staged = function* (request: GraphqlRequest, work: PlanningBudget): PlanningStages<Plan> {
    const { query, variables = {}, operationName = '', kind = 'query' } = request
    if (!isShallowValue(variables, limits.maxDepth))
      throw new GraphQLError('A variable is nested too deep')
    const key = JSON.stringify([query, operationName, variables, kind])
    const known = plans.get(key)
    if (known) return known.value
    const value = yield* planStages(request, context, work)
    const bytes = [...value.introspection.values()].reduce((sum, { length }) => sum + length, 0)
    plans.set(key, { value, steps: work.done(), bytes })
    return value
  }
  const newWork = () => createPlanningBudget(limits.maxSteps)
  return {
    plan: (request, work = newWork()) => {
      const stages = staged(request, work)
      for (;;) {
        const { done, value } = stages.next()
        if (done) return value
      }
    },
    planInTurns: async (request, work = newWork(), computed = () => undefined) => {
      const stages = staged(request, work)
      let turnAt = STEPS_PER_YIELD
      for (;;) {
        const { done, value } = measure(() => stages.next(), computed)
        if (done) return value
        if (work.done() < turnAt) continue
        await setImmediate()
        turnAt = work.done() + STEPS_PER_YIELD
      }
    },
  }
}
