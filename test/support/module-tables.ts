import { readdirSync, readFileSync } from 'node:fs'

/** A table of what the modules of a folder export under one type. */
interface ModuleTable {
  /** Folder of the modules and of the table, from the root of the repository. */
  readonly folder: string
  /** Type of the exports that belong to the table. */
  readonly type: string
  readonly imports: readonly string[]
  readonly file: string
  /** The table's declaration, around its entries. */
  readonly head: readonly string[]
  readonly tail: string
  readonly entry: (module: string, name: string) => string
}

const decoderTable = (folder: string, type: string, keys: string): ModuleTable => ({
  folder: `ingestors/${folder}/protocols`,
  type,
  imports: [
    "import type { FamilyOf } from '../../../schemas/protocols.ts'",
    `import type { ${type} } from './types.ts'`,
  ],
  file: 'decoders.ts',
  head: [
    '/** The decoder of every family of this virtual machine. */',
    `export const DECODERS: Readonly<Record<${keys}, ${type}>> = {`,
  ],
  tail: '}',
  entry: (module, name) => {
    const family = module.replaceAll('-', '_')
    return family === name ? name : `${family}: ${name}`
  },
})

const MODULES: readonly ModuleTable[] = [
  {
    folder: 'schemas/cubes',
    type: 'Cube',
    imports: ["import type { Cube } from './types.ts'"],
    file: 'all.ts',
    head: ['/** Every cube. */', 'export const CUBES: readonly Cube[] = ['],
    tail: ']',
    entry: (_module, name) => name,
  },
  // Two families are of no protocol: standards that any contract may follow.
  decoderTable('evm', 'EvmFamily', "FamilyOf<'evm'> | 'erc20' | 'erc4337'"),
  decoderTable('svm', 'SvmFamily', "FamilyOf<'svm'>"),
  decoderTable('move', 'MoveFamily', "FamilyOf<'move'>"),
]

const sourceOf = ({ folder, type, file, ...table }: ModuleTable): string => {
  const root = new URL(`../../${folder}/`, import.meta.url)
  const exported = new RegExp(`^export const (\\w+): ${type} =`, 'm')
  const found = readdirSync(root)
    .filter((path) => path.endsWith('.ts') && path !== file)
    .map((path) => path.slice(0, -'.ts'.length))
    .sort()
    .flatMap((module) => {
      const name = exported.exec(readFileSync(new URL(`${module}.ts`, root), 'utf8'))?.[1]
      return name === undefined ? [] : [{ module, name }]
    })
  const imports = [
    ...table.imports,
    ...found.map(({ module, name }) => `import { ${name} } from './${module}.ts'`),
  ]
  const origin = (line: string): string => /from '(.*)\.ts'/.exec(line)?.[1] ?? ''
  imports.sort((a, b) => (origin(a) < origin(b) ? -1 : 1))
  return [
    `// Written by \`npm run generate\` from the files of this folder that export a \`${type}\`.`,
    ...imports,
    '',
    ...table.head,
    ...found.map(({ module, name }) => `  ${table.entry(module, name)},`),
    table.tail,
    '',
  ].join('\n')
}

/** Generated modules that the product itself imports: path from the root of the repository to the content. */
export const MODULE_TABLES: Readonly<Record<string, () => string>> = Object.fromEntries(
  MODULES.map((table) => [`${table.folder}/${table.file}`, () => sourceOf(table)]),
)
