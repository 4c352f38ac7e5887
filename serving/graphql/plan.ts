import { setImmediate } from 'node:timers/promises'
import { GraphQLError } from 'graphql'
import { LRUCache } from 'lru-cache'
import { compile } from './compile.ts'
import { creditFactors, creditHundredths } from './credits.ts'
import {
  checkDocument,
  operationOf,
  type ParsedDocument,
  parseText,
  variablesOf,
} from './document.ts'
import { introspect } from './introspect.ts'
import type { QueryLimits } from './limits.ts'
import { normalize } from './normalize.ts'
import type { Catalogue } from './schema.ts'
import { type GroupMember, type RootMember, select } from './select.ts'
import type { CubeSelection } from './selection.ts'
import { makeWork, PlanningTooExpensive, textSteps, type Work } from './work.ts'

/** One request as a client sends it. */
export interface GraphqlRequest {
  readonly query: string
  readonly variables?: Readonly<Record<string, unknown>>
  readonly operationName?: string
}

/** A checked request: what to ask, and where in the answer it goes. */
export interface Plan {
  readonly members: readonly RootMember[]
  readonly selections: readonly CubeSelection[]
  /** Answers of introspection fields by response key. */
  readonly introspection: Readonly<Record<string, unknown>>
  /** Most that the request can cost, in thousandths of a CU. */
  readonly worstMilliUnits: number
}

const PLANS = 500
/** Characters and nodes that are kept, a node for `NODE_CHARACTERS`. */
const CACHED_SIZE = 20_000_000
const NODE_CHARACTERS = 50

const selectionsOf = (members: readonly RootMember[]): readonly CubeSelection[] =>
  members
    .flatMap((member): readonly GroupMember[] => {
      if (member.kind === 'group') return member.members
      return member.kind === 'flat' ? [member.member] : []
    })
    .flatMap((member) => ('selection' in member ? [member.selection] : []))

interface Kept<T> {
  readonly value: T
  readonly steps: number
}

const cache = <T>(): LRUCache<string, Kept<T>> =>
  new LRUCache({
    max: PLANS,
    maxSize: CACHED_SIZE,
    sizeCalculation: ({ steps }, text) => text.length + Math.ceil(steps) * NODE_CHARACTERS + 1,
  })

/** Values nest no deeper than `levels`. Looks no further than that, so any value is safe. */
const isShallowValue = (value: unknown, levels: number): boolean => {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  return Object.values(value).every((inner) => isShallowValue(inner, levels - 1))
}

/** The statements of a plan are made once before any of them runs: one that is too long is refused with nothing done. */
const checkStatement = (selection: CubeSelection, { maxSql }: QueryLimits, work: Work): void => {
  const { sql, params = {} } = compile(selection, 0)
  work.spend(textSteps(sql.length) + Object.keys(params).length)
  if (sql.length > maxSql)
    throw new PlanningTooExpensive(`A statement of the query has more than ${maxSql} characters`)
}

/** Work that can stop between two of its stages. */
type Staged<T> = Generator<undefined, T>

const planOf = function* (
  { query, variables = {}, operationName }: GraphqlRequest,
  { catalogue, limits, documents }: Ground,
  work: Work,
): Staged<Plan> {
  let parsed = documents.get(query)?.value
  if (!parsed) {
    const document = parseText(query, limits, work)
    yield
    parsed = checkDocument(document, catalogue.schema, work)
    documents.set(query, { value: parsed, steps: work.done() })
    yield
  }
  const { fragments } = parsed
  const operation = operationOf(parsed, operationName)
  const values = variablesOf(operation, variables, { limits, work })
  const context = {
    fragments,
    variables: values,
    catalogue,
    limits,
    work,
    rewrittenVariables: new Map(),
  }
  const rewritten = normalize(operation, context)
  yield
  const members = select(rewritten, catalogue, limits, work)
  const selections = selectionsOf(members)
  yield
  for (const selection of selections) checkStatement(selection, limits, work)
  yield
  const nodes = members.flatMap((member) => (member.kind === 'introspection' ? [member.node] : []))
  const hundredths = selections.map((selection) => creditHundredths(creditFactors(selection)))
  return {
    members,
    selections,
    introspection: nodes.length > 0 ? introspect(catalogue.schema, nodes, limits, work) : {},
    worstMilliUnits: hundredths.reduce((sum, value) => sum + value * 10, 0),
  }
}

interface Ground {
  readonly catalogue: Catalogue
  readonly limits: QueryLimits
  readonly documents: LRUCache<string, Kept<ParsedDocument>>
}

/**
 * Makes plans: parse, rewrite, check and read a request; documents and plans that come again are kept. What it costs is counted
 * in the `Work` that it is given, also where it throws `GraphQLError` or `InvalidDocument`.
 */
export interface Planner {
  readonly plan: (request: GraphqlRequest, work?: Work) => Plan
  /** The same with a turn for others between the stages of a large request; `computed` is told how long each stage took. */
  readonly planInTurns: (
    request: GraphqlRequest,
    work?: Work,
    computed?: (ms: number) => void,
  ) => Promise<Plan>
}

/** Steps after which others get a turn: about 10 ms. */
const TURN_STEPS = 2_000

const timed = <T>(run: () => T, took: (ms: number) => void): T => {
  const startedMs = performance.now()
  try {
    return run()
  } finally {
    took(performance.now() - startedMs)
  }
}

/** Makes the planner of a schema. */
export const makePlanner = (catalogue: Catalogue, limits: QueryLimits): Planner => {
  const ground: Ground = { catalogue, limits, documents: cache() }
  const plans = cache<Plan>()
  const staged = function* (request: GraphqlRequest, work: Work): Staged<Plan> {
    const { query, variables = {}, operationName = '' } = request
    if (!isShallowValue(variables, limits.maxDepth))
      throw new GraphQLError('A variable is nested too deep')
    const key = JSON.stringify([query, operationName, variables])
    const known = plans.get(key)
    if (known) return known.value
    const value = yield* planOf(request, ground, work)
    plans.set(key, { value, steps: work.done() })
    return value
  }
  const newWork = () => makeWork(limits.maxSteps)
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
      let turnAt = TURN_STEPS
      for (;;) {
        const { done, value } = timed(() => stages.next(), computed)
        if (done) return value
        if (work.done() < turnAt) continue
        await setImmediate()
        turnAt = work.done() + TURN_STEPS
      }
    },
  }
}
