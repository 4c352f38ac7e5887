import { type Cube, isLeaf, isLeafOrTree, type Leaf, type Tree } from '../../schemas/cubes/types.ts'

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

/** The leaf at a path that the table itself names. Throws when the table is wrong. */
export const leafAt = (paths: CubePaths, path: string): Leaf => {
  const leaf = paths.get(path)
  if (!leaf) throw new Error(`no such path in the cube: ${path}`)
  return leaf
}
