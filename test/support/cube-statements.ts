import { CUBES } from '../../schemas/cubes/all.ts'
import { compileQuery } from '../../serving/graphql/compile.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'
import { DOCUMENTED_QUERIES, DOCUMENTED_VARIABLES } from './documented/queries.ts'

const CHAINS = ['eth', 'bsc', 'polygon', 'sol']
const NOW_MS = Date.UTC(2026, 3, 1)

/** Every statement that a documented query becomes, with its parameters, one query after the other. */
export const cubeStatements = (): string => {
  const { plan } = createPlanner(buildCubeSchema(CUBES, CHAINS), QUERY_LIMITS)
  return Object.entries(DOCUMENTED_QUERIES)
    .map(([name, query]) => {
      const variables = (DOCUMENTED_VARIABLES[name] ?? {}) as Readonly<Record<string, unknown>>
      const statements = plan({ query, variables, operationName: name }).selections.map(
        (selection) => {
          const { sql, paramsAt } = compileQuery(selection)
          return `-- ${selection.cube.name} ${JSON.stringify(paramsAt(NOW_MS))}\n${sql};\n`
        },
      )
      return `-- ${name}\n${statements.join('')}`
    })
    .join('\n')
}
