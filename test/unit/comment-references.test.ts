import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Names that comments cite of other programs, by where they come from. */
const FOREIGN_NAMES: Readonly<Record<string, readonly string[]>> = {
  'Kafka, lmdb, ClickHouse': ['Utils.murmur2', 'MDB_MAGIC', 'max_partitions_per_insert_block'],
  'types of ClickHouse and other languages': ['Int256', 'BigNumber'],
  'contracts and programs': [
    ...['exchange_underlying', 'TOKEN_SUPPLY', 'InitializeAccount', 'AmmInfo', 'create_v2'],
    ...['EVENT_IX_TAG', 'Wrap', 'Unwrap', 'Donation', 'tokenInfo'],
  ],
  'node protocols': [
    ...['jsonParsed', 'short_vec', 'eth_getProof', 'personal_sign', 'uWebSockets.js'],
    ...['uwebsockets', 'source_commit', 'oneof'],
  ],
  'types of Sui': [
    ...['CheckpointData', 'CheckpointTransaction', 'Signable', 'SenderSignedData', 'TypeName'],
    ...['ObjectSet', 'Argument.ArgumentKind', 'TransactionEvents'],
  ],
  'names of the GraphQL language': ['__schema', '__type'],
  'patterns and examples of names': [
    ...['X_index', 'XState', 'X_FILE', 'NNNN_name.sql', 'Block_Bucket'],
    'getV2TokenByChainByTokenAddressPrice',
  ],
  'files of a data folder and of the network': ['demo.json', '/openapi.json'],
}
const FOREIGN = new Set(Object.values(FOREIGN_NAMES).flat())

const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|[\s;{(,])\/\/[^\n]*/gm
const FILE_NAME = /^[\w./-]*\w\.(?:ts|js|mjs|md|sql|json|proto|avsc|ya?ml)$/
const IDENTIFIER = /^#?[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*(?:\(\))?$/

const SKIPPED = new Set(['node_modules', '.git', 'dist', '.data', '.cache'])
const PATHS = readdirSync(ROOT, { withFileTypes: true })
  .filter(({ name }) => !SKIPPED.has(name))
  .flatMap((entry) =>
    entry.isDirectory()
      ? readdirSync(join(ROOT, entry.name), { recursive: true, encoding: 'utf8' }).map((file) =>
          join(entry.name, file),
        )
      : [entry.name],
  )
const SOURCES = PATHS.filter((file) =>
  /^(schemas|core|ingestors|processors|serving|simulator|cli)\/.*\.ts$/.test(file),
).map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }))

/** Every end of every path: `bus.ts`, `kafka/bus.ts`, `bus/kafka/bus.ts`. */
const FILE_NAMES = new Set(
  PATHS.flatMap((path) => path.split('/').map((_, index, parts) => parts.slice(index).join('/'))),
)

/** Words of the code without its comments, of settings and of file names. */
const KNOWN_WORDS = new Set(
  [
    ...SOURCES.map(({ text }) => text.replace(COMMENT, ' ')),
    readFileSync(join(ROOT, '.env.example'), 'utf8'),
    ...PATHS.map((path) => basename(path)),
  ].flatMap((text) => text.match(/[A-Za-z_$][\w$]*/g) ?? []),
)

/** What a comment names in backticks, and files that it names without. */
const namesIn = (comment: string): readonly string[] => [
  ...[...comment.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name),
  ...[...comment.matchAll(/(?<![\w/.`@-])[a-z][a-z0-9-]*\.ts\b/g)].map(([name]) => name),
]

const isKnown = (name: string): boolean => {
  if (FOREIGN.has(name)) return true
  if (FILE_NAME.test(name)) return FILE_NAMES.has(name.replace(/^(?:\.{1,2}\/)+/, ''))
  if (!IDENTIFIER.test(name)) return true
  return name
    .replace(/^#|\(\)$/g, '')
    .split('.')
    .every((part) => KNOWN_WORDS.has(part))
}

/** Names of comments that nothing in the repository bears. */
const danglingNames = (text: string): readonly string[] =>
  (text.match(COMMENT) ?? []).flatMap(namesIn).filter((name) => !isKnown(name))

test('identifiers in backticks and files that a comment names exist', () => {
  const dangling = SOURCES.flatMap(({ file, text }) =>
    danglingNames(text).map((name) => `${file}: ${name}`),
  )
  assert.deepEqual(dangling, [])
})

test('a name that was renamed away is found, one that exists or is foreign is not', () => {
  assert.deepEqual(danglingNames('/** Up to `MOST_REPAIRS`, as in gone-away.ts. */\nlet a = 1'), [
    'MOST_REPAIRS',
    'gone-away.ts',
  ])
  assert.deepEqual(danglingNames('// `Bus.halted`, `kafka/bus.ts`, `a + b`, `jsonParsed`'), [])
})

test('every third-party name in a comment is cited', () => {
  const cited = new Set(SOURCES.flatMap(({ text }) => (text.match(COMMENT) ?? []).flatMap(namesIn)))
  assert.deepEqual(
    [...FOREIGN].filter((name) => !cited.has(name)),
    [],
  )
})
