import type { Vm } from '../../schemas/chains.ts'
import { unknownLeaf } from '../../schemas/cubes/fields.ts'
import {
  type Cube,
  isLeaf,
  isLeafOrTree,
  isListType,
  type Leaf,
  type Tree,
} from '../../schemas/cubes/types.ts'

/** A leaf with the path by which clients name it: `Trade.Buy.Amount`. */
export interface PathAndLeaf {
  readonly path: string
  readonly leaf: Leaf
}

/** Every path of a cube, the leaf form of a field with two shapes included. */
export type CubePaths = ReadonlyMap<string, Leaf>

const collectPaths = (tree: Tree, prefix: string, into: Map<string, Leaf>): void => {
  for (const [name, node] of Object.entries(tree)) {
    const path = prefix === '' ? name : `${prefix}.${name}`
    if (isLeaf(node)) into.set(path, node)
    else if (isLeafOrTree(node)) {
      const leaf = node.tree[node.leaf]
      if (leaf && isLeaf(leaf)) into.set(path, leaf)
      collectPaths(node.tree, path, into)
    } else collectPaths(node, path, into)
  }
}

/** Paths of a cube. */
export const cubePaths = (cube: Cube): CubePaths => {
  const paths = new Map<string, Leaf>()
  collectPaths(cube.dimensions, '', paths)
  return paths
}

/** What a cube's paths are asked for by, worked out once. */
export interface CubeIndex {
  readonly paths: CubePaths
  /** Paths of single values, with `_` between their steps: `Trade_Buy_Amount`. */
  readonly orderNames: ReadonlyMap<string, PathAndLeaf>
}

/** A path as `orderBy` and `calculate` write it. */
export const toUnderscorePath = (path: string): string => path.replaceAll('.', '_')

/** Works out the index of a cube when it is first asked for. */
export const createCubeIndexes = (): ((cube: Cube) => CubeIndex) => {
  const known = new WeakMap<Cube, CubeIndex>()
  return (cube) => {
    const indexed = known.get(cube)
    if (indexed) return indexed
    const paths = cubePaths(cube)
    const orderNames = new Map(
      [...paths].flatMap(([path, leaf]) =>
        isListType(leaf.type) ? [] : [[toUnderscorePath(path), { path, leaf }] as const],
      ),
    )
    const index = { paths, orderNames }
    known.set(cube, index)
    return index
  }
}

const treeOn = (tree: Tree, vm: Vm): Tree =>
  Object.fromEntries(
    Object.entries(tree).map(([name, node]): [string, Tree[string]] => {
      if (isLeafOrTree(node)) return [name, { ...node, tree: treeOn(node.tree, vm) }]
      if (!isLeaf(node)) return [name, treeOn(node, vm)]
      const isForeign = node.vm !== undefined && node.vm !== vm && !isListType(node.type)
      return [name, isForeign ? unknownLeaf(node.type, node.about) : node]
    }),
  )

/** A cube as chains of one virtual machine have it: what only others have is null. */
export const cubeOn = (cube: Cube, vm: Vm): Cube => ({
  ...cube,
  dimensions: treeOn(cube.dimensions, vm),
})

/** The leaf at a path that the table itself names. Throws when the table is wrong. */
export const leafAt = (paths: CubePaths, path: string): Leaf => {
  const leaf = paths.get(path)
  if (!leaf) throw new Error(`unknown path in the cube: ${path}`)
  return leaf
}
