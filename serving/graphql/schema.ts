import {
  GraphQLEnumType,
  type GraphQLEnumValueConfigMap,
  type GraphQLFieldConfigArgumentMap,
  type GraphQLFieldConfigMap,
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  type OperationDefinitionNode,
  specifiedDirectives,
} from 'graphql'
import { CHAINS, type ChainRow, chainRow } from '../../schemas/chains.ts'
import {
  CUBE_GROUP_NAMES,
  CUBE_GROUPS,
  type Cube,
  type CubeGroup,
} from '../../schemas/cubes/types.ts'
import { type CubeIndex, createCubeIndexes, cubeOn } from './cube-paths.ts'
import { createCubeTypes, cubeArguments, type SharedTypes } from './cube-types.ts'
import { createFilterTypes } from './filter-types.ts'
import { metricOperators } from './operators.ts'
import { DecimalType, IntType } from './scalars.ts'

/** What GraphQL serves: the schema and the facts that the passes need beside it. */
export interface CubeSchema {
  readonly schema: GraphQLSchema
  /** Cubes by every name under which they may be asked for. */
  readonly cubes: ReadonlyMap<string, Cube>
  /** The same as each group has them. */
  readonly inGroup: Readonly<Record<CubeGroup, ReadonlyMap<string, Cube>>>
  /** Chains of this installation. */
  readonly chains: readonly string[]
  /** Paths of one of these cubes. */
  readonly indexOf: (cube: Cube) => CubeIndex
}

/** Networks that documents may name whether or not the chain is ingested here. */
const ALWAYS_LISTED = Object.values<ChainRow>(CHAINS).flatMap(
  ({ networks, networkAlwaysListed }) => (networkAlwaysListed ? networks : []),
)
/** Chains of the group `Solana`, whether or not they are ingested here. */
const SVM_CHAINS = Object.values<ChainRow>(CHAINS).filter(({ vm }) => vm === 'svm')

const createEnum = (name: string, values: readonly string[], about: string): GraphQLEnumType =>
  new GraphQLEnumType({
    name,
    description: about,
    values: Object.fromEntries(values.map((value) => [value, {}])) as GraphQLEnumValueConfigMap,
  })

const createSharedTypes = (): SharedTypes => ({
  filters: createFilterTypes(),
  limit: new GraphQLInputObjectType({
    name: 'LimitInput',
    fields: { count: { type: IntType }, offset: { type: IntType } },
  }),
  interval: new GraphQLInputObjectType({
    name: 'IntervalInput',
    fields: {
      in: {
        type: new GraphQLNonNull(
          createEnum(
            'IntervalUnit',
            ['seconds', 'minutes', 'hours', 'days', 'weeks', 'months', 'quarters', 'years'],
            'Unit of an interval; weeks start on Monday.',
          ),
        ),
      },
      count: { type: IntType },
      timezone: {
        type: GraphQLString,
        description: 'IANA name of the zone at whose midnight days begin; UTC unless given.',
      },
    },
  }),
  having: new GraphQLInputObjectType({
    name: 'SelectWhere',
    description: 'Keeps the groups whose metric compares so.',
    fields: Object.fromEntries(metricOperators().map((name) => [name, { type: DecimalType }])),
  }),
})

/** The type of an operation's fields. Throws where the schema has none: the kind was checked before. */
export const rootOf = (
  { schema }: CubeSchema,
  { operation }: Pick<OperationDefinitionNode, 'operation'>,
): GraphQLObjectType => {
  const root = schema.getRootType(operation)
  if (!root) throw new Error(`the schema has no ${operation} type`)
  return root
}

/** Whether an operation's fields are of this type. */
export const isRootType = ({ schema }: CubeSchema, type: GraphQLObjectType): boolean =>
  type === schema.getQueryType() || type === schema.getSubscriptionType()

/** The chains whose rows a group returns. */
export const chainsOfGroup = (
  group: CubeGroup,
  network: string | undefined,
  chains: readonly string[],
): readonly string[] => {
  const { vm, network: names } = CUBE_GROUPS[group]
  if (vm === null) return chains
  if (names === 'required') return chains.filter((chain) => chain === network)
  return chains.filter((chain) => chainRow(chain)?.vm === vm)
}

const groupArguments = (
  group: CubeGroup,
  types: {
    readonly networks: Readonly<Partial<Record<CubeGroup, GraphQLEnumType>>>
    readonly dataset: GraphQLEnumType
    readonly aggregates: GraphQLEnumType
  },
): GraphQLFieldConfigArgumentMap => {
  const network = types.networks[group]
  const isRequired = CUBE_GROUPS[group].network === 'required'
  return {
    ...(network && { network: { type: isRequired ? new GraphQLNonNull(network) : network } }),
    dataset: { type: types.dataset },
    aggregates: { type: types.aggregates },
  }
}

const mapGroups = <Value>(
  value: (group: (typeof CUBE_GROUPS)[CubeGroup]) => Value,
): Readonly<Record<CubeGroup, Value>> =>
  Object.fromEntries(CUBE_GROUP_NAMES.map((name) => [name, value(CUBE_GROUPS[name])])) as Record<
    CubeGroup,
    Value
  >

/** Builds the schema of the cubes. */
export const buildCubeSchema = (cubes: readonly Cube[], chains: readonly string[]): CubeSchema => {
  const shared = createSharedTypes()
  const evm = chains.flatMap((chain) => {
    const row = chainRow(chain)
    return row?.vm === 'evm' ? row.networks : []
  })
  const networks = [...new Set([...ALWAYS_LISTED, ...evm])]
  const types = {
    networks: {
      EVM: createEnum('Network', networks, 'EVM chain.'),
      Solana: createEnum(
        'SolanaNetwork',
        SVM_CHAINS.flatMap((row) => row.networks),
        `${SVM_CHAINS.map(({ name }) => name).join(', ')}.`,
      ),
    },
    dataset: createEnum(
      'Dataset',
      ['combined', 'realtime', 'archive'],
      'realtime: the last 24 hours; archive: before them; combined: both.',
    ),
    aggregates: createEnum('Aggregates', ['yes', 'no', 'only'], 'Use of roll-ups.'),
  }
  const fieldsOf = (group: CubeGroup): GraphQLFieldConfigMap<unknown, unknown> =>
    Object.fromEntries(
      built
        .filter(({ cube }) => cube.groups.includes(group))
        .map(({ cube, field }) => [cube.name, field]),
    )
  const records = new Map<string, GraphQLObjectType>()
  const recordOf = (name: string): GraphQLObjectType => {
    const record = records.get(name)
    if (!record) throw new Error(`unknown cube in a join: ${name}`)
    return record
  }
  const built = cubes.map((cube) => {
    const record = createCubeTypes(cube, shared, recordOf)
    records.set(cube.name, record.type)
    return {
      cube,
      field: {
        description: cube.about,
        type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(record.type))),
        args: cubeArguments(cube, record, shared),
      },
    }
  })
  const rootFields = Object.fromEntries(
    CUBE_GROUP_NAMES.map((group) => [
      group,
      {
        type: new GraphQLObjectType({ name: group, fields: () => fieldsOf(group) }),
        args: groupArguments(group, types),
      },
    ]),
  )
  const schema = new GraphQLSchema({
    directives: specifiedDirectives.filter(({ name }) => name === 'include' || name === 'skip'),
    query: new GraphQLObjectType({ name: 'ChainStream', fields: rootFields }),
    subscription: new GraphQLObjectType({
      name: 'Subscription',
      description: 'The same cubes: rows of new blocks as they come, over graphql-transport-ws.',
      fields: rootFields,
    }),
  })
  const byName = (as: (cube: Cube) => Cube): ReadonlyMap<string, Cube> =>
    new Map(
      cubes.flatMap((cube) =>
        [cube.name, ...cube.aliases].map((name) => [name, as(cube)] as const),
      ),
    )
  const all = byName((cube) => cube)
  const inGroup = mapGroups(({ vm }) => (vm === null ? all : byName((cube) => cubeOn(cube, vm))))
  return { schema, cubes: all, inGroup, chains, indexOf: createCubeIndexes() }
}
