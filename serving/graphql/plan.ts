import { GraphQLError } from 'graphql'
import { LRUCache } from 'lru-cache'
import { creditFactors, creditHundredths } from './credits.ts'
import { operationOf, type ParsedDocument, parseDocument, variablesOf } from './document.ts'
import { introspect } from './introspect.ts'
import type { QueryLimits } from './limits.ts'
import { normalize } from './normalize.ts'
import type { Catalogue } from './schema.ts'
import { type GroupMember, type RootMember, select } from './select.ts'
import type { CubeSelection } from './selection.ts'

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
const CACHED_CHARACTERS = 4_000_000

const selectionsOf = (members: readonly RootMember[]): readonly CubeSelection[] =>
  members
    .flatMap((member): readonly GroupMember[] => {
      if (member.kind === 'group') return member.members
      return member.kind === 'flat' ? [member.member] : []
    })
    .flatMap((member) => ('selection' in member ? [member.selection] : []))

/** Makes the planner: parse, rewrite, check and read a request; documents and plans that come again are kept. */
export const makePlanner = (
  catalogue: Catalogue,
  limits: QueryLimits,
): ((request: GraphqlRequest) => Plan) => {
  const kept = { max: PLANS, maxSize: CACHED_CHARACTERS }
  const documents = new LRUCache<string, ParsedDocument>({
    ...kept,
    sizeCalculation: (_, text) => text.length + 1,
  })
  const plans = new LRUCache<string, Plan>({
    ...kept,
    sizeCalculation: (_, text) => text.length + 1,
  })
  const documentOf = (text: string): ParsedDocument => {
    const known = documents.get(text)
    if (known) return known
    const parsed = parseDocument(text, catalogue.schema, limits)
    documents.set(text, parsed)
    return parsed
  }
  const planOf = ({ query, variables = {}, operationName }: GraphqlRequest): Plan => {
    const parsed = documentOf(query)
    const operation = operationOf(parsed, operationName)
    const values = variablesOf(operation, variables, limits)
    const rewritten = normalize(operation, parsed.fragments, values, catalogue, limits)
    const members = select(rewritten, catalogue, limits)
    const nodes = members.flatMap((member) =>
      member.kind === 'introspection' ? [member.node] : [],
    )
    const selections = selectionsOf(members)
    const hundredths = selections.map((selection) => creditHundredths(creditFactors(selection)))
    return {
      members,
      selections,
      introspection: nodes.length > 0 ? introspect(catalogue.schema, nodes, parsed, values) : {},
      worstMilliUnits: hundredths.reduce((sum, value) => sum + value * 10, 0),
    }
  }
  return (request) => {
    const { query, variables = {}, operationName = '' } = request
    const key = JSON.stringify([query, operationName, variables])
    const known = plans.get(key)
    if (known) return known
    try {
      const plan = planOf(request)
      plans.set(key, plan)
      return plan
    } catch (error) {
      if (error instanceof RangeError) throw new GraphQLError('The document is nested too deep')
      throw error
    }
  }
}
