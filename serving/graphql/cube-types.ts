import {
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigArgumentMap,
  type GraphQLFieldConfigMap,
  type GraphQLInputFieldConfigMap,
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLString,
} from 'graphql'
import {
  type Cube,
  isLeaf,
  isLeafOrTree,
  isListType,
  type Leaf,
  type LeafType,
  type Tree,
} from '../../schemas/cubes/types.ts'
import { type CubePaths, cubePaths, leafAt } from './cube-paths.ts'
import { filterTypeOf, operatorFields } from './filter-types.ts'
import { AnyType, DateTimeType, DateType, FloatType, IntType } from './scalars.ts'
import { JOIN_PREFIX } from './selection.ts'

/** Types that all cubes share. */
export interface SharedTypes {
  readonly filters: Readonly<Record<string, GraphQLInputObjectType>>
  readonly limit: GraphQLInputObjectType
  readonly interval: GraphQLInputObjectType
  readonly having: GraphQLInputObjectType
}

/** Types of one cube. */
export interface CubeTypes {
  readonly type: GraphQLObjectType
  readonly filter: GraphQLInputObjectType
  readonly compare: GraphQLEnumType
}

const OUTPUT_TYPES: Readonly<Record<LeafType, GraphQLOutputType>> = {
  String: GraphQLString,
  Int: IntType,
  Float: FloatType,
  Boolean: GraphQLBoolean,
  DateTime: DateTimeType,
  Date: DateType,
  StringList: new GraphQLList(new GraphQLNonNull(GraphQLString)),
  IntList: new GraphQLList(new GraphQLNonNull(IntType)),
  FloatList: new GraphQLList(new GraphQLNonNull(FloatType)),
}

const pathEnum = (name: string, paths: readonly string[]): GraphQLEnumType =>
  new GraphQLEnumType({
    name,
    values: Object.fromEntries(paths.map((path) => [path.replaceAll('.', '_'), { value: path }])),
  })

const nonNullList = (
  type: GraphQLInputObjectType,
): GraphQLList<GraphQLNonNull<GraphQLInputObjectType>> => new GraphQLList(new GraphQLNonNull(type))

const filterFields = (
  tree: Tree,
  prefix: string,
  { filters }: SharedTypes,
): GraphQLInputFieldConfigMap => {
  const fields: GraphQLInputFieldConfigMap = {}
  for (const [name, node] of Object.entries(tree)) {
    if (isLeaf(node))
      fields[name] = { type: filterTypeOf(filters, node.type), description: node.about }
    else fields[name] = { type: filterType(node, `${prefix}${name}`, { filters }) }
  }
  return fields
}

const filterType = (
  node: Tree[string],
  prefix: string,
  shared: Pick<SharedTypes, 'filters'>,
): GraphQLInputObjectType => {
  const two = isLeafOrTree(node) ? node : undefined
  const tree = two ? two.tree : (node as Tree)
  const leaf = two?.tree[two.leaf]
  const type: GraphQLInputObjectType = new GraphQLInputObjectType({
    name: `${prefix}Filter`,
    fields: () => ({
      ...(leaf && isLeaf(leaf) && operatorFields(leaf.type)),
      ...filterFields(tree, prefix, shared as SharedTypes),
      any: {
        type: nonNullList(type),
        description: 'One of these must match; an empty list says nothing.',
      },
    }),
  })
  return type
}

/** Paths whose values have an order: lists have none. */
const orderedPaths = (paths: CubePaths): readonly string[] =>
  [...paths].flatMap(([path, { type }]) => (isListType(type) ? [] : [path]))

const isNumeric = (leaf: Leaf): boolean => leaf.type === 'Int' || leaf.type === 'Float'

const metricFields = (
  cube: Cube,
  paths: CubePaths,
  filter: GraphQLInputObjectType,
  { having }: SharedTypes,
): GraphQLFieldConfigMap<unknown, unknown> => {
  const all = [...paths.keys()]
  const ordered = orderedPaths(paths)
  const numbers = all.filter((path) => isNumeric(leafAt(paths, path)))
  const of = (name: string, from: readonly string[]): GraphQLEnumType =>
    pathEnum(`${cube.name}${name}Of`, from)
  const uniq = of('Uniq', all)
  const common: GraphQLFieldConfigArgumentMap = {
    if: { type: filter, description: 'Only rows that match are aggregated.' },
    selectWhere: { type: having },
  }
  const metric = (
    type: GraphQLOutputType,
    from: GraphQLEnumType,
  ): GraphQLFieldConfig<unknown, unknown> => ({
    type,
    args: { of: { type: new GraphQLNonNull(from) }, ...common },
  })
  const average = of('Avg', numbers)
  return {
    count: { type: IntType, args: { of: { type: uniq }, distinct: { type: uniq }, ...common } },
    uniq: metric(IntType, uniq),
    sum: metric(FloatType, of('Sum', numbers)),
    avg: metric(FloatType, average),
    min: metric(AnyType, of('Min', ordered)),
    max: metric(AnyType, of('Max', ordered)),
    quantile: {
      type: FloatType,
      args: { of: { type: new GraphQLNonNull(average) }, level: { type: FloatType }, ...common },
    },
    calculate: {
      type: FloatType,
      args: {
        expression: { type: new GraphQLNonNull(GraphQLString) },
        selectWhere: { type: having },
      },
    },
  }
}

const dimensionFields = (
  tree: Tree,
  prefix: string,
  compare: GraphQLEnumType,
  interval: GraphQLInputObjectType,
): GraphQLFieldConfigMap<unknown, unknown> => {
  const fields: GraphQLFieldConfigMap<unknown, unknown> = {}
  for (const [name, node] of Object.entries(tree)) {
    const two = isLeafOrTree(node) ? node : undefined
    const leaf = isLeaf(node) ? node : two && (two.tree[two.leaf] as Leaf)
    const args: GraphQLFieldConfigArgumentMap = leaf
      ? {
          maximum: { type: compare, description: 'Value of the row where this is greatest.' },
          minimum: { type: compare, description: 'Value of the row where this is least.' },
          ...(leaf.bucket && { interval: { type: interval } }),
        }
      : {}
    const inner = two ? two.tree : (node as Tree)
    fields[name] = {
      args,
      type: isLeaf(node)
        ? OUTPUT_TYPES[node.type]
        : new GraphQLObjectType({
            name: `${prefix}${name}Record`,
            extensions: two ? { leaf: two.leaf } : {},
            fields: dimensionFields(inner, `${prefix}${name}`, compare, interval),
          }),
      ...(leaf && { description: leaf.about }),
    }
  }
  return fields
}

const joinedFields = (
  { joins = [] }: Cube,
  recordOf: (cube: string) => GraphQLObjectType,
): GraphQLFieldConfigMap<unknown, unknown> =>
  Object.fromEntries(
    joins.map((name) => [
      `${JOIN_PREFIX}${name}`,
      {
        type: recordOf(name),
        description: `${name} of the same transaction: one row per match, and nulls where there is none.`,
      },
    ]),
  )

/** Record, filter and path types of a cube; `recordOf` gives the record of another one. */
export const createCubeTypes = (
  cube: Cube,
  shared: SharedTypes,
  recordOf: (cube: string) => GraphQLObjectType,
): CubeTypes => {
  const paths = cubePaths(cube)
  const compare = pathEnum(`${cube.name}CompareFields`, orderedPaths(paths))
  const filter = filterType(cube.dimensions, cube.name, shared)
  const type = new GraphQLObjectType({
    name: `${cube.name}Record`,
    description: cube.about,
    fields: () => ({
      ...dimensionFields(cube.dimensions, cube.name, compare, shared.interval),
      ...metricFields(cube, paths, filter, shared),
      ...joinedFields(cube, recordOf),
    }),
  })
  return { type, filter, compare }
}

/** Arguments of a cube field: filter, page, order and the selectors. */
export const cubeArguments = (
  cube: Cube,
  { filter, compare }: CubeTypes,
  { filters, limit }: SharedTypes,
): GraphQLFieldConfigArgumentMap => {
  const paths = cubePaths(cube)
  const orderBy = new GraphQLInputObjectType({
    name: `${cube.name}OrderBy`,
    fields: {
      ascending: { type: compare },
      descending: { type: compare },
      ascendingByField: { type: GraphQLString },
      descendingByField: { type: GraphQLString },
    },
  })
  const limitBy = new GraphQLInputObjectType({
    name: `${cube.name}LimitBy`,
    fields: {
      by: { type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(compare))) },
      count: { type: IntType },
      offset: { type: IntType },
    },
  })
  const selectors = Object.entries(cube.selectors).map(([name, targets]) => [
    name,
    {
      type: filterTypeOf(filters, leafAt(paths, targets[0] ?? '').type),
      description: `Short form of a filter on ${targets.join(' or ')}.`,
    },
  ])
  return {
    where: { type: filter },
    limit: { type: limit },
    limitBy: { type: limitBy },
    orderBy: { type: nonNullList(orderBy) },
    ...Object.fromEntries(selectors),
  }
}
