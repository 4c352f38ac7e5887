import type { Plan } from '../../serving/graphql/plan.ts'
import { cubeMembers, type RootMember } from '../../serving/graphql/select.ts'

const NOW_MS = Date.UTC(2026, 2, 2)

const keyOf = (member: RootMember): string =>
  `${member.kind} ${member.key}: ${cubeMembers([member])
    .map(({ key }) => key)
    .join()}`

/** What a plan does: its answer's keys, its statements with their values at one moment, and its price. */
export const planFacts = ({ members, selections, queries, worstMilliUnits }: Plan): unknown => ({
  keys: members.map(keyOf),
  worstMilliUnits,
  queries: selections.map((selection) => {
    const { statement, template, prices } = queries.get(selection) ?? {}
    return {
      chains: selection.chains,
      limit: selection.limit,
      sql: statement?.sql,
      params: statement?.paramsAt(NOW_MS),
      shape: statement?.shape,
      template,
      prices,
    }
  }),
})
