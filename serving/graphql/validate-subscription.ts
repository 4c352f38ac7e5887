import { GraphQLError, type OperationDefinitionNode } from 'graphql'
import { cubeMembers, type RootMember } from './select.ts'

/**
 * A subscription has one root field (GraphQL, 5.2.3.1) with a cube in it, and rows that can still come. Throws
 * `GraphQLError`.
 */
export const validateSubscription = (
  members: readonly RootMember[],
  operation: OperationDefinitionNode,
): void => {
  const [member, ...more] = members
  const nodes = operation
  if (more.length > 0 || !member)
    throw new GraphQLError('A subscription selects one root field', { nodes })
  if (member.kind !== 'group' && member.kind !== 'flat')
    throw new GraphQLError('A subscription selects a group of cubes: introspection is a query', {
      nodes,
    })
  const selections = cubeMembers(members)
  if (selections.length === 0)
    throw new GraphQLError('A subscription selects at least one cube', { nodes })
  const archived = selections.find(({ selection }) => selection.dataset === 'archive')
  if (archived)
    throw new GraphQLError(`No new rows come to the dataset 'archive'`, { nodes: archived.node })
}
