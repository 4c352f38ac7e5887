import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const PAGES = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** A heading's anchor, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(' ', '-')

const anchorsIn = (page: string): readonly string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))

const LAYERS = ['schemas', 'core', 'ingestors', 'processors', 'serving', 'simulator', 'cli']

test('the folder table of CONTRIBUTING.md names every folder of the layers, and none that is gone', () => {
  const table = read('CONTRIBUTING.md').match(/^\| folder \|.*\n(?:\|.*\n)+/m)?.[0] ?? ''
  const named = new Set([...table.matchAll(/`([\w/-]+\/)`/g)].map(([, folder = '']) => folder))
  const folders = LAYERS.flatMap((layer) => [
    `${layer}/`,
    ...readdirSync(join(ROOT, layer), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${layer}/${name}/`),
  ])
  const isNamed = (folder: string): boolean => {
    const [layer = '', name = ''] = folder.split('/')
    const row = table.split('\n').find((line) => line.startsWith(`| \`${layer}/\` |`)) ?? ''
    return named.has(folder) || row.includes(`\`${name}/\``)
  }
  assert.deepEqual(
    folders.filter((folder) => !isNamed(folder)),
    [],
  )
  const gone = [...table.matchAll(/^\| `([\w/-]+)\/` \|/gm)]
    .map(([, folder = '']) => folder)
    .filter((folder) => !existsSync(join(ROOT, folder)))
  assert.deepEqual(gone, [])
})

test('a link of a document leads to a file, and to a heading of it', () => {
  const broken = PAGES.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
      .map(([, path = '', anchor]) => ({
        target: path === '' ? page : join(dirname(page), path),
        anchor,
      }))
      .filter(
        ({ target, anchor }) =>
          !existsSync(join(ROOT, target)) ||
          (anchor !== undefined && !anchorsIn(target).includes(anchor)),
      )
      .map(({ target, anchor }) => `${page}: ${target}#${anchor ?? ''}`),
  )
  assert.deepEqual(broken, [])
})

test('a file that a document or a comment names by its path exists', () => {
  const files = [
    ...PAGES,
    ...['core', 'schemas', 'ingestors', 'processors', 'serving', 'simulator', 'cli'].flatMap(
      (folder) =>
        readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.ts'))
          .map((name) => join(folder, name)),
    ),
  ]
  const missing = files.flatMap((file) =>
    [
      ...read(file).matchAll(
        /`((?:core|schemas|ingestors|processors|serving|simulator|cli|test|docs)\/[\w./-]+\.(?:ts|md))`/g,
      ),
    ]
      .filter(([, path = '']) => !existsSync(join(ROOT, path)))
      .map(([, path]) => `${file}: ${path}`),
  )
  assert.deepEqual(missing, [])
})

const SOURCES = [
  ...['core', 'schemas', 'ingestors', 'processors', 'serving', 'simulator', 'cli', 'bench', 'test'],
].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|sql)$/.test(name))
    .map((name) => join(folder, name)),
)

test('a comment cites no document that readers of the repository do not have', () => {
  const cited = SOURCES.concat(PAGES).flatMap((file) =>
    [...read(file).matchAll(/\bcontract\/[a-z-]+\.md|\(R\d{1,2}\)|\bREADME R\d/g)].map(
      ([words]) => `${file}: ${words}`,
    ),
  )
  assert.deepEqual(cited, [])
})

test('sources and documents write "is not a pool", never "is no pool"', () => {
  const found = [...SOURCES, ...PAGES].flatMap((file) =>
    [
      ...read(file).matchAll(
        /(?<!\bthere )\b(?:is|are|was|were) no (?!other\b|longer\b|more\b|pool")\w+/g,
      ),
    ].map(([words]) => `${file}: ${words}`),
  )
  assert.deepEqual(found, [])
})

test('a heading of docs that a comment cites exists', () => {
  const missing = SOURCES.flatMap((file) =>
    [...read(file).matchAll(/\b(docs\/[\w/-]+\.md)#([\w-]+)/g)]
      .filter(
        ([, page = '', anchor = '']) =>
          !existsSync(join(ROOT, page)) || !anchorsIn(page).includes(anchor),
      )
      .map(([words]) => `${file}: ${words}`),
  )
  assert.deepEqual(missing, [])
})

test('every npm script that a document names is in package.json', () => {
  const { scripts } = JSON.parse(read('package.json')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  const unknown = PAGES.flatMap((page) =>
    [...read(page).matchAll(/npm (?:run ([\w-]+)|(start|test)\b)/g)]
      .map(([, run, short]) => run ?? short ?? '')
      .filter((name) => scripts[name] === undefined)
      .map((name) => `${page}: npm run ${name}`),
  )
  assert.deepEqual(unknown, [])
})

/** Words of an earlier private vocabulary, and what to write instead; docs/glossary.md lists the words that stay. */
const DENIED: Readonly<Record<string, RegExp>> = {
  'the product, the repository': /\bhouse\b/i,
  'simulated chain': /\bmade[- ]up\b/i,
  'dead letter': /(?<!dead[- ])\bletters?\b/i,
  'no endpoint, no process, no client': /\b(?:nobody|somebody)\b/i,
  'token creation': /\bbirths?\b/i,
  'pre-confirmed block, flashblock': /\bin the making\b/i,
  'is blocked, is halted': /\bstands still\b/i,
  'the reference API': /\b(?:rented|documented) service\b/i,
  'undecodable record': /\bpoison\b/i,
  'continues, resumes': /\b(?:goes|go|went) on\b(?! (?:[Gg]it|the)\b)/,
  'an invalid …': /\bthat (?:is|are) none\b/,
  'is reported, is called with': /\b(?:is|are|was|were|be) told\b/,
  'decision, result, assessment': /\bverdicts?\b/i,
  'parent mismatch, rejected candidate': /\bmisfits?\b/i,
}

/** Those of the denied words that are not words of a chain's own events either. */
const DENIED_IN_SOURCES = [
  'the product, the repository',
  'simulated chain',
  'no endpoint, no process, no client',
  'pre-confirmed block, flashblock',
  'the reference API',
  'undecodable record',
  'an invalid …',
  'decision, result, assessment',
  'parent mismatch, rejected candidate',
] as const

/** Of these words the older comments inside of code may keep some; what others read may not. */
const DENIED_IN_EXPORTS = ['continues, resumes', 'is reported, is called with'] as const

/** JSDoc of exports and of their members, and texts of one line: errors, log lines, answers, settings. */
const exportedTexts = (text: string): readonly string[] => [
  ...[
    ...text.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n(?= *(?:export|readonly|\w+[?(:]))/g),
    ...text.matchAll(/(['"`])((?:(?!\1)[^\n\\]|\\.)*)\1/g),
  ].map(([words]) => words),
]

test('exports and messages avoid the denied words', () => {
  const found = SOURCES.filter((file) => !/^(?:test|processors\/stats)\//.test(file)).flatMap(
    (file) =>
      exportedTexts(read(file)).flatMap((text) =>
        DENIED_IN_EXPORTS.flatMap((instead) => {
          const word = DENIED[instead]?.exec(text)?.[0]
          return word === undefined ? [] : [`${file}: ${word}, write "${instead}"`]
        }),
      ),
  )
  assert.deepEqual(found, [])
})

/** Words that titles may use of what a test builds. */
const ALLOWED_IN_TITLES: readonly string[] = ['dead letter', 'token creation']

/** Words that titles replace by the input and the expected result. */
const DENIED_IN_TITLES: Readonly<Record<string, RegExp>> = {
  ...DENIED,
  'reported, returned, published, known': /\btold\b/i,
  'no client, no account, no endpoint': /\b(?:no ?one|no-one)\b(?! of\b)/i,
}

test('test files and test titles avoid the denied words', () => {
  const found = SOURCES.filter((file) => file.startsWith('test/')).flatMap((file) => {
    const titles = [
      ...read(file).matchAll(/\b(?:test|describe|it)\(\s*(['"`])((?:(?!\1)[\s\S])*)\1/g),
    ].map(([, , title = '']) => title)
    return [file.replaceAll(/[-/.]/g, ' '), ...titles].flatMap((text) =>
      Object.entries(DENIED_IN_TITLES)
        .filter(([instead, word]) => !ALLOWED_IN_TITLES.includes(instead) && word.test(text))
        .map(([instead, word]) => `${file}: ${word.exec(text)?.[0]}, write "${instead}"`),
    )
  })
  assert.deepEqual(found, [])
})

test('sources avoid the denied words', () => {
  const found = SOURCES.filter((file) => !file.startsWith('test/')).flatMap((file) =>
    DENIED_IN_SOURCES.flatMap((instead) => {
      const word = DENIED[instead]?.exec(read(file))?.[0]
      return word === undefined ? [] : [`${file}: ${word}, write "${instead}"`]
    }),
  )
  assert.deepEqual(found, [])
})

test('documents, settings and command help avoid the denied words', () => {
  const commands = readdirSync(join(ROOT, 'cli/commands')).map((name) => `cli/commands/${name}`)
  const texts = [
    ...[...PAGES, '.env.example'].map((file) => ({ file, text: read(file) })),
    ...['cli/main.ts', ...commands].map((file) => ({
      file,
      text: [...read(file).matchAll(/\.(?:description|option|argument)\(([^;]*?)\)\n/g)]
        .map(([, words]) => words)
        .join('\n'),
    })),
  ]
  const found = texts.flatMap(({ file, text }) =>
    Object.entries(DENIED)
      .filter(([, word]) => word.test(text))
      .map(([instead, word]) => `${file}: ${word.exec(text)?.[0]}, write "${instead}"`),
  )
  assert.deepEqual(found, [])
})
