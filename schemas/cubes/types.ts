/** The shape of a cube: what GraphQL can ask of one table, as data. One compiler serves every cube. */
import type { Vm } from '../chains.ts'
import type { Feed } from '../feeds.ts'

/** GraphQL scalar of a leaf. `Int` carries 64 bits. */
export type ScalarLeafType = 'String' | 'Int' | 'Float' | 'Boolean' | 'DateTime' | 'Date'

/** A list of values, printed as a JSON list and never null: it has filters of its own, but no order. */
export type ListLeafType = 'StringList' | 'IntList' | 'FloatList'

export type LeafType = ScalarLeafType | ListLeafType

/** One field of a record: an SQL expression over the cube's source. */
export interface Leaf {
  readonly sql: string
  readonly type: LeafType
  readonly about: string
  /** Base units and decimal places behind `sql`, from which rows are printed without rounding. */
  readonly exactUnits?: { readonly raw: string; readonly places: string }
  /** A cheaper expression that differs from `sql` in the last digit at most; for sums, averages and order. */
  readonly fast?: string
  /** An address or a hash: operands compare in lower case where the chain writes hex. */
  readonly address?: true
  /** Equality ignores case, `_` and spaces. */
  readonly folds?: true
  /** A `Decimal(38,12)` column: sums and comparisons are exact. */
  readonly exact?: true
  /** Orders rows like `sql` does, but along the table's sorting key. */
  readonly rank?: string
  /** Name of the lookup whose columns `sql` reads. */
  readonly needs?: string
  /** Aggregate over the stored buckets when an interval widens them; only on cubes of buckets. */
  readonly rollup?: string
  /** Takes `interval`; which edge of the bucket is printed. */
  readonly bucket?: 'start' | 'end' | 'duration'
  /** Only chains of this virtual machine have it: null in the rows of others. */
  readonly vm?: Vm
}

/** A field with two shapes: a leaf where no selection follows, an object where one does. */
export interface LeafOrTree {
  readonly leaf: string
  readonly tree: Tree
}

/** Record groups and leaves by the name that clients write; an alias is a second name for the same leaf. */
export interface Tree {
  readonly [name: string]: Leaf | LeafOrTree | Tree
}

/**
 * Root fields under which cubes are served: whose chains' rows they return (`vm: null` = those of every chain), and whether the
 * argument `network` names the chain.
 */
export const CUBE_GROUPS = {
  EVM: { vm: 'evm', network: 'required' },
  Solana: { vm: 'svm', network: 'optional' },
  Trading: { vm: null, network: 'none' },
} as const satisfies Readonly<
  Record<string, { readonly vm: Vm | null; readonly network: 'required' | 'optional' | 'none' }>
>

/** A root field under which a cube is served. */
export type CubeGroup = keyof typeof CUBE_GROUPS

/** The root fields, as the schema lists them. */
export const CUBE_GROUP_NAMES = Object.keys(CUBE_GROUPS) as readonly CubeGroup[]

/** A join that is made where a selected leaf needs it. */
export type Lookup =
  /** With `{chain}_tokens` by the column that holds the token's address: `<name>_symbol`, `<name>_name`, `<name>_places`. */
  | { readonly key: string }
  /** With any SELECT, on a condition over its columns and those of the cube's source. Placeholders as in `source`. */
  | { readonly select: string; readonly on: string }

/** One cube. SQL fragments come from here, values only ever as bound parameters. */
export interface Cube {
  readonly name: string
  readonly about: string
  readonly groups: readonly CubeGroup[]
  /** `DWD`: rows are events of one block each, which subscriptions send by their block; else states or buckets, sent again when they changed. */
  readonly layer: 'DWD' | 'DWM' | 'DWS'
  /** Internal price unit. */
  readonly baseCost: number
  /**
   * FROM clause of one chain. `{chain}` is its id, `{coin}` the address of its wrapped native token, `{watermark}` the start of what is not
   * rolled up yet.
   */
  readonly source: string
  /** On cubes of states: low bits of the column `_ver` that number records within a block operation, whose number stands above them. */
  readonly versionBits?: number
  /** FROM clause of subscriptions, where they send rows that queries leave out: states that a change has ended. */
  readonly liveSource?: string
  /** SELECT over the sources of all chains, `{union}`, where rows of several chains make one. */
  readonly merged?: string
  /** What further placeholders of `source` stand for on each chain. */
  readonly constants?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Name of the column that `dataset` bounds. */
  readonly time: string
  /** `dataset` bounds nothing: rows are the state of now, or clients of the reference API expect so. */
  readonly timeless?: true
  /** Columns of the source that tell chains apart; needed in the group `Trading`. */
  readonly chainColumn?: string
  readonly lookups: Readonly<Record<string, Lookup>>
  readonly dimensions: Tree
  /** Shorthand arguments: the paths that one of them must match. */
  readonly selectors: Readonly<Record<string, readonly string[]>>
  /** Conditions that hold until the same path is named in `where`. */
  readonly defaults: Readonly<Record<string, boolean>>
  /** Unique order of rows, oldest first. */
  readonly order: readonly string[]
  /** Path of the default order, newest first. */
  readonly newest: string
  /** On cubes of buckets: what one row stands for, besides the bucket. */
  readonly rowKey?: readonly string[]
  /** Cubes of the same group whose rows of the same transaction can be joined: field `join<Cube>`. */
  readonly joins?: readonly string[]
  /** Columns that a join to this cube compares; block and transaction unless it says otherwise. */
  readonly joinKey?: readonly string[]
  /** The optional feed that fills its table. */
  readonly feed?: Feed
  readonly limit: { readonly default: number; readonly max: number }
  /** Older names of the cube that are still accepted. */
  readonly aliases: readonly string[]
}

/** True for the type of a list. */
export const isListType = (type: LeafType): type is ListLeafType => type.endsWith('List')

/** True for a leaf of a tree. */
export const isLeaf = (node: Leaf | LeafOrTree | Tree): node is Leaf =>
  'sql' in node && typeof node.sql === 'string'

/** True for a field with two shapes. */
export const isLeafOrTree = (node: Leaf | LeafOrTree | Tree): node is LeafOrTree =>
  'leaf' in node && typeof node.leaf === 'string'
