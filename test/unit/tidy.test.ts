import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { CHAINS } from '../../schemas/chains.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Who may import whom; the own layer is always allowed. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  schemas: [],
  core: ['schemas'],
  ingestors: ['schemas', 'core'],
  processors: ['schemas', 'core'],
  serving: ['schemas', 'core'],
  simulator: ['schemas', 'core'],
  cli: ['schemas', 'core', 'ingestors', 'processors', 'serving', 'simulator'],
  bench: ['schemas', 'core', 'ingestors', 'processors', 'serving', 'simulator', 'cli', 'test'],
  test: ['schemas', 'core', 'ingestors', 'processors', 'serving', 'simulator', 'cli', 'bench'],
}

/** Package to the places that may import it; tests and benchmarks may import every package. */
const OWNERS: Readonly<Record<string, RegExp>> = {
  yaml: /^serving\/risk\/label-formats\.ts$/,
  sax: /^serving\/risk\/xml-reader\.ts$/,
  kafkajs: /^core\/bus\/kafka\//,
  lmdb: /^core\/bus\//,
  msgpackr: /^core\/bus\/embedded\/batch-store\.ts$/,
  aws4fetch: /^serving\/http\/ipfs-presign\.ts$/,
  avsc: /^core\/codec\//,
  '@kafkajs/confluent-schema-registry': /^core\/codec\//,
  '@clickhouse/client': /^core\/clickhouse\//,
  chdb: /^core\/clickhouse\//,
  pino: /^core\/ops\/logger\.ts$/,
  'prom-client': /^core\/ops\/metrics\.ts$/,
  '@grpc/grpc-js': /^core\/rpc\/grpc\.ts$/,
  '@grpc/proto-loader': /^core\/rpc\/grpc\.ts$/,
  ws: /^(core\/rpc\/|serving\/realtime\/|simulator\/|cli\/commands\/listen\.ts$)/,
  '@noble/curves':
    /^(core\/(ed25519|program-derived-address)|serving\/auth\/wallet-signature)\.ts$/,
  zstddec: /^ingestors\/move\/checkpoint\/zstd\.ts$/,
  '@noble/hashes': /^(core\/keccak|ingestors\/(evm\/abi\/keccak|move\/checkpoint\/summary))\.ts$/,
  '@x402/core': /^serving\/payments\/wire\.ts$/,
  viem: /^(simulator\/|(ingestors\/flashblocks\/transactions|serving\/(auth\/wallet-signature|dex\/(aggregators\/kyberswap-call|call-runner|book-router-calls|evm-calls|evm-signed-transaction|universal-calls|permit2|permit-forms|token-permit)|payments\/(exact-evm|evm-node|evm-settlement)|red-packets\/(packet-calls|password-authority)))\.ts$)/,
  '@solana/kit':
    /^serving\/(dex\/solana-(message|signed-transaction)|payments\/svm-(transaction|settlement))\.ts$/,
  fastify: /^serving\//,
  '@fastify/ajv-compiler': /^serving\/http\/schema-validator\.ts$/,
  '@fastify/cors': /^serving\/http\//,
  '@fastify/swagger': /^serving\/http\//,
  'swagger-ui-dist': /^serving\/http\/reference-page\.ts$/,
  negotiator: /^serving\/http\/accepted-type\.ts$/,
  graphiql: /^serving\/graphql\/explorer-page\.ts$/,
  react: /^serving\/graphql\/explorer-page\.ts$/,
  'react-dom': /^serving\/graphql\/explorer-page\.ts$/,
  '@fastify/type-provider-typebox': /^serving\//,
  graphql: /^serving\/graphql\//,
  'graphql-ws': /^serving\/graphql\/live\/ws-protocol\.ts$/,
  jose: /^serving\/auth\/jwt\.ts$/,
  'uWebSockets.js': /^serving\/realtime\/uws-server\.ts$/,
  'rate-limiter-flexible': /^(serving\/|core\/rpc\/rate-limit\.ts$)/,
  'lru-cache': /^(core|ingestors|processors|serving)\//,
  cockatiel: /^serving\/dex\/aggregators\/aggregator-client\.ts$/,
  'p-limit': /^(core|ingestors|processors|serving|cli)\//,
  piscina: /^core\/runtime\/thread-pool\.ts$/,
  'fossil-delta': /^serving\/realtime\/delta\.ts$/,
  protobufjs: /^serving\/realtime\/protobuf-frames\.ts$/,
  tinyqueue: /^serving\/(webhooks\/endpoint-queue|risk\/due-records)\.ts$/,
  typebox: /^(schemas|core\/config|serving)\//,
  ulid: /^(core|serving)\//,
  commander: /^cli\//,
  'cli-progress': /^cli\//,
  tsx: /^cli\//,
  undici: /^core\/http\/guarded-client\.ts$/,
  'ipaddr.js': /^core\/http\/(guarded-client|network-address)\.ts$/,
  re2js: /^serving\/cel\/patterns\.ts$/,
  '@marcbachmann/cel-js': /^serving\/cel\//,
}

const FOLDERS = new Set([
  ...Object.keys(LAYERS),
  ...['docs', 'examples', 'console', '.ci', '.git', 'node_modules', 'dist', '.data', '.cache'],
])

interface Import {
  readonly file: string
  readonly specifier: string
}

const filesUnder = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes('fixtures/') && !file.includes('node_modules/'))

const FILES = Object.keys(LAYERS).flatMap(filesUnder)
const TEXTS = new Map(FILES.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))

const importsOf = (file: string): readonly Import[] =>
  [
    ...(TEXTS.get(file) ?? '').matchAll(
      /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?from\s+'([^']+)'|import\('([^']+)'\)|(?:^|\n)import\s+'([^']+)'/g,
    ),
  ].map(([, from, dynamic, bare]) => ({ file, specifier: from ?? dynamic ?? bare ?? '' }))

const IMPORTS = FILES.flatMap(importsOf)
const layerOf = (file: string): string => file.split('/')[0] ?? ''
const targetOf = ({ file, specifier }: Import): string =>
  relative(ROOT, resolve(ROOT, dirname(file), specifier))
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

test('the top level holds the folders of the product and no others', () => {
  const folders = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const strangers = folders.map(({ name }) => name).filter((name) => !FOLDERS.has(name))
  assert.deepEqual(strangers, [])
})

test('what maps and publishes blocks names no virtual machine: ingestors/vm does', () => {
  const naming = [...TEXTS].filter(
    ([file, text]) =>
      /^ingestors\/(?:publish|to-wire)\//.test(file) &&
      /'(?:evm|svm|move)'|\/(?:evm|svm|move)\//.test(text),
  )
  assert.deepEqual(
    naming.map(([file]) => file),
    [],
  )
})

/** Files that may name a chain: rows, the wire, examples of the API document, and a table of another source. */
const MAY_NAME_CHAINS =
  /^schemas\/(?:chains|protocols|wire)\.ts$|^schemas\/api\/|^serving\/risk\/ofac-list\.ts$/
/** Files in which `base` is a side of a pair, or an account of an instruction. */
const BASE_IS_NO_CHAIN = new Set([
  'ingestors/svm/normalize/parsed-instructions.ts',
  'processors/candles/series-store.ts',
  'schemas/cubes/dex-pool-events.ts',
  'schemas/cubes/dex-pool-slippages.ts',
  'schemas/cubes/trades.ts',
  'serving/http/dex-pools.ts',
  'serving/queries/activities.ts',
  'serving/queries/candle-sources.ts',
])
const CHAIN_WORDS = new Set<string>(
  Object.values(CHAINS).flatMap(({ id, apiName }) => [id, apiName]),
)
const CHAIN_LAYERS = new Set(['schemas', 'core', 'ingestors', 'processors', 'serving', 'cli'])

/** Chains that a file names in quotes and may not. */
const chainsNamedIn = (file: string, text: string): readonly string[] => {
  if (!CHAIN_LAYERS.has(layerOf(file)) || MAY_NAME_CHAINS.test(file)) return []
  return [...text.matchAll(/'(\w+)'/g)]
    .map(([, word = '']) => word)
    .filter((word) => CHAIN_WORDS.has(word))
    .filter((word) => word !== 'base' || !BASE_IS_NO_CHAIN.has(file))
    .map((word) => `${file}: ${word}`)
}

test('chains are named in their rows: what distinguishes one is a field of its row', () => {
  assert.deepEqual(
    [...TEXTS].flatMap(([file, text]) => chainsNamedIn(file, text)),
    [],
  )
  const branch = "if (chain === 'polygon' || chain === 'base') return"
  assert.deepEqual(chainsNamedIn('serving/http/pools.ts', branch), [
    'serving/http/pools.ts: polygon',
    'serving/http/pools.ts: base',
  ])
  assert.equal(chainsNamedIn('serving/queries/activities.ts', branch).length, 1)
})

test('one place decides that trades of failed transactions do not count', () => {
  const deciding = [...TEXTS].filter(
    ([file, text]) =>
      ['processors', 'serving'].includes(layerOf(file)) && text.includes('STATUS_FAILED'),
  )
  assert.deepEqual(
    deciding.map(([file]) => file),
    [],
  )
})

test('no file composes a signal with a timeout: garbage collection would end the timeout', () => {
  const composing = [...TEXTS]
    .filter(([file]) => layerOf(file) !== 'test')
    .filter(
      ([, text]) => text.includes('AbortSignal.any(') && text.includes('AbortSignal.timeout('),
    )
  assert.deepEqual(
    composing.map(([file]) => file),
    [],
  )
})

test('a layer imports only the layers below it', () => {
  const wrong = IMPORTS.filter(({ specifier }) => specifier.startsWith('.'))
    .map((item) => ({ ...item, from: layerOf(item.file), to: layerOf(targetOf(item)) }))
    .filter(({ from, to }) => from !== to && !LAYERS[from]?.includes(to))
    .map(({ file, specifier, from, to }) => `${file}: ${from} may not import ${to} (${specifier})`)
  assert.deepEqual(wrong, [])
})

test('a package is imported by its owner only', () => {
  const wrong = IMPORTS.filter(({ file, specifier }) => {
    if (specifier.startsWith('.') || specifier.startsWith('node:')) return false
    if (['test', 'bench'].includes(layerOf(file))) return false
    const owner = OWNERS[packageOf(specifier)]
    return owner === undefined || !owner.test(file)
  }).map(
    ({ file, specifier }) => `${file}: ${specifier} belongs to ${OWNERS[packageOf(specifier)]}`,
  )
  assert.deepEqual(wrong, [])
})

test('relative imports name the .ts file, and nothing is exported as default', () => {
  // Node reads the files of this folder before it can read TypeScript.
  const isJavaScript = (file: string, specifier: string): boolean =>
    file.startsWith('test/support/modules/') && specifier.endsWith('.js')
  const wrong = IMPORTS.filter(
    ({ file, specifier }) =>
      specifier.startsWith('.') &&
      !/\.(ts|json)$/.test(specifier) &&
      !isJavaScript(file, specifier),
  )
  assert.deepEqual(wrong, [])
  const defaults = FILES.filter((file) => /^export default/m.test(TEXTS.get(file) ?? ''))
  assert.deepEqual(defaults, [])
})

test('no object literal is spread into another one', () => {
  const spread = FILES.filter((file) => /\.\.\.\{/.test(TEXTS.get(file) ?? ''))
  assert.deepEqual(spread, [])
})

test('no source file only re-exports other files', () => {
  const barrels = FILES.filter((file) => {
    const code = (TEXTS.get(file) ?? '').replace(/\/\*[\s\S]*?\*\//g, '').trim()
    const statements = code.split('\n').filter((line) => line.trim() !== '')
    return statements.length > 0 && statements.every((line) => /^export .* from /.test(line))
  })
  assert.deepEqual(barrels, [])
})

/** Relative imports of a file that `pattern` finds. */
const edgesBy = (pattern: RegExp): ReadonlyMap<string, readonly string[]> =>
  new Map(
    FILES.map((file) => [
      file,
      [...(TEXTS.get(file) ?? '').matchAll(pattern)].map(([, specifier = '']) =>
        targetOf({ file, specifier }),
      ),
    ]),
  )

/** What each file imports for its values; types are erased and make no order of loading. */
const VALUE_EDGES = edgesBy(/(?:^|\n)(?:import|export)\s(?!type\b)[^'"`;]*?from\s+'(\.[^']+)'/g)
/** What each file imports at all: for folders, imports of types count as well. */
const ALL_EDGES = edgesBy(/(?:^|\n)(?:import|export)\s[^'"`;]*?from\s+'(\.[^']+)'/g)

/** Fails with the first way that leads back to where it began. */
const assertNoCycle = (edges: ReadonlyMap<string, readonly string[]>): void => {
  const done = new Set<string>()
  const visit = (from: string, path: readonly string[]): void => {
    const at = path.indexOf(from)
    assert.equal(at, -1, `cycle: ${[...path.slice(at), from].join(' -> ')}`)
    if (done.has(from)) return
    for (const next of edges.get(from) ?? []) visit(next, [...path, from])
    done.add(from)
  }
  for (const from of edges.keys()) visit(from, [])
}

test('source files have no import cycle', () => {
  assertNoCycle(VALUE_EDGES)
})

test('source folders have no import cycle, type imports included', () => {
  const folders = new Map<string, readonly string[]>()
  for (const [file, targets] of ALL_EDGES) {
    const folder = dirname(file)
    if (['test', 'bench'].includes(layerOf(file))) continue
    const others = targets.map(dirname).filter((target) => target !== folder)
    folders.set(folder, [...new Set([...(folders.get(folder) ?? []), ...others])])
  }
  assertNoCycle(folders)
})

test('the environment is read in the configuration and at the process edge only', () => {
  const wrong = FILES.filter((file) => /process\.env/.test(TEXTS.get(file) ?? '')).filter(
    (file) => !/^(core\/config\/load\.ts|cli\/|test\/|bench\/)/.test(file),
  )
  assert.deepEqual(wrong, [])
})

/** The licence field, or the first line of the licence file where a package has only that. */
const licenceOf = (name: string): string => {
  const folder = join(ROOT, 'node_modules', name)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  if (typeof manifest.license === 'string') return manifest.license
  return readFileSync(join(folder, 'LICENSE'), 'utf8').trim().split('\n')[0] ?? ''
}

test('every package of package.json has an owner in this test and a permissive licence', () => {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  for (const name of Object.keys(manifest.dependencies)) {
    assert.ok(OWNERS[name], `${name} has no owner in this test`)
    assert.match(licenceOf(name), /MIT|Apache-2\.0|ISC|BSD|BlueOak|0BSD|Zlib/i, name)
  }
})

test('the lockfile names no download addresses', () => {
  assert.doesNotMatch(
    readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
    /"resolved": *"https?:/,
  )
})

test('the lockfile holds every optional package of every platform, or a clean install refuses it', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<
      Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>
    >
  }
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !packages[`node_modules/${name}`] && !packages[`${path}/node_modules/${name}`],
    ),
  )
  assert.deepEqual(missing, [])
})

test('only core/ops/terminal.ts writes to the terminal, so that nothing from outside reaches it unescaped', () => {
  const wrong = FILES.filter((file) => !['test', 'bench'].includes(layerOf(file)))
    .filter((file) => file !== 'core/ops/terminal.ts')
    .filter((file) => /process\.std(out|err)\.write|\bconsole\.\w+\(/.test(TEXTS.get(file) ?? ''))
  assert.deepEqual(wrong, [])
})

/** Tables and what is written from them may be long. */
const LONG_TABLES = new Set(['schemas/wire.ts', 'schemas/protocols.ts', 'schemas/chains.ts'])
const MAX_LINES = 500
const MAX_MEDIAN_LINES = 100

const linesOf = (file: string): readonly string[] => (TEXTS.get(file) ?? '').trimEnd().split('\n')
const SOURCES = FILES.filter((file) => !['test', 'bench'].includes(layerOf(file)))

test(`no source file but a table has more than ${MAX_LINES} lines`, () => {
  const long = SOURCES.filter((file) => !LONG_TABLES.has(file))
    .map((file) => ({ file, lines: linesOf(file).length }))
    .filter(({ lines }) => lines > MAX_LINES)
  assert.deepEqual(long, [])
})

test(`half of the source files have at most ${MAX_MEDIAN_LINES} lines that are not blank`, () => {
  const counts = SOURCES.map((file) => linesOf(file).filter((line) => line.trim() !== '').length)
  const median = counts.sort((a, b) => a - b)[Math.floor(counts.length / 2)] ?? 0
  assert.ok(median <= MAX_MEDIAN_LINES, `the median is ${median}`)
})

/** Names of an earlier private vocabulary, by the name to use instead. */
const DENIED_NAMES: Readonly<Record<string, RegExp>> = {
  'Decoded…': /\bSaid[A-Z]\w*\b|\bsaidPosition\b/,
  DecodedLog: /\binterface Heard\b/,
  DecodeContext: /\bBooks\b|\b(?:build|solana|sui)Books\b/,
  DecodedBlockBuilder: /\bemptyDraft\b/,
  MetadataReader: /\bFactReader\b|\b(?:node|table)Facts\b/,
  MetadataTable: /\bFactTable\b|\bfactTable\b/,
  ProtocolRegistry: /\bProtocolBook\b|\bprotocolBook\b/,
  'RequiredLookups, requiredLookups': /\bsubjectsOf\b|\bevmSubjects\b|\bPriceSubject\b/,
  PoolVerification: /\b(?:Pool|Open|pair|factory|key|registry|vault\w*)Proof\b/,
  'verified, unverified': /\b(?:isProven|unproven)\b|\breadonly proven:/,
  'decodeUint, decodeAddress, decodeWord': /\b(?:number|address|addresses|word)Given\b/,
  'RejectedResponse, RejectedResponses': /\bRefusal(?:Book)?\b|\brefusalBook\b/,
  'parseOrReject, skippingInvalid': /\breadOrRefuse\b|\bleniently\b|\blenient\b/,
  'DeadLetterPayload, …DeadLetter':
    /\b[Ll]etterBody\b|\bletterText\b|\b(?:event|transaction|ingest|block)Letters?\b/,
  'TokenCreated, tokenCreations': /\b(?:token|take|coin)Births?\b|\bSaidBirth\b|\bbirthEvent\b/,
  chainQuirks: /\bhabitsOf\b|\bHabits\b/,
  defaultProtocol: /\breadonly usual\b/,
  compatibleFamilies: /\breadonly speaks\b|\bspeakers\b|\bspokenEvent\b/,
  'seedPricesFromPools, seedPricePools': /\bprimesFromPools\b|\bprimePools\b/,
  nativeTransfers: /\bnativeMoves\b/,
  startPendingFollower: /\bbesideChain\b/,
  effectiveLogs: /\bstandingLogs\b/,
  orientedSwap: /\bSided\b/,
  ChainContext: /\b[Ww]orkshop\b/,
  EventBatch: /\bChunk\b/,
  FetchedMetadata: /\bLearned\b/,
  CommittedHead: /\binterface Standing\b/,
  StoredAmounts: /\btype Kept\b/,
  'RetryingFollower, followWithRetry': /\binterface Patient\b|\bfollowPatiently\b/,
  takeRejectedResponses: /\breadonly refusals\b|\brefusals\?/,
  'candidateAction, rejectCandidate': /\bjudge\b|\w*[mM]isfit\w*|\bMISFIT\w*|\w+_MISFITS?\b/,
  implausibleFinality: /\bfinalityLie\b|\b(?:const|let) lies?\b/,
  'the limit by its unit, REPORT_AFTER_ROUNDS': /\w*PATIENCE\w*/,
  'the result by its type, RetryResult, AssessmentResult': /\w*[vV]erdict\w*|\b\w*VERDICT\w*/,
  'ScreeningTarget, ScoredExposure': /\bjudged\b|\bJudged\w*/,
  'VerificationContext, …Request, …Query':
    /\bquestions(?=[:)?]| =)|\b(?!GasLimit)[A-Z]\w+Question\b/,
  'lastSent…, reported…, stated…': /\b(?:const|let|readonly) told\w*|\bis?Told\w*/,
  'flush, markCommitted, reconcile…':
    /\binterface Settled\b|\bisSettling\b|\breadonly settled?\??:/,
  'context, webhookContext': /\bground\b/,
  'throwInvalidInput, decodeResult': /\bthrowMalformed\b|\bpoisonOr\b/,
  'history, scenario, params, context': /\b(?:const|let) course\b|\bcourse[:,.)]/,
  'context, contextOf': /\b(?:const|let) desk\b|\bdesk: PublishContext\b|#desks?(?:Of)?\b/,
  'env, SessionEnv': /\bworld: SessionEnv\b|#world\b/,
  'queues, entry': /#lines\b|\bline: QueueEntry\b/,
  'action, outcome': /\bfate\b|\bapplyFate\b/,
  'requester, concurrency': /\basker\b|\breadonly places: ConcurrencyLimiter\b/,
  'request, options, directive': /\b(?:Join|Endpoint)Wish\w*\b/,
  'usage, totals': /\bbook: UsageTotals\b/,
  'cipher, client': /\bsealer\b|\bposter: Pick\b/,
  'limits, limitsOf': /\bpaceOf\b|\bpace: DeliveryLimits\b/,
  'history, subjects': /\bshel(?:f|ves)(?:Of)?\b/,
  'hasUnbilledReads, closeAsSlow': /\bowesForReads\b/,
  'deps: UpgradeDeps': /\bgate: UpgradeDeps\b/,
  'check, CheckState': /\bLookState\b|\blook(?:Over|sLost)\b/,
  'NodeErrors, nodeErrorFault': /\brefusalOf\b/,
  'sellsNativeToken, acceptsNativeToken': /\b(?:sells|takes)Coin\b|\bCOIN_WORD\b/,
  'Organizations, OrganizationRegistry': /\bcreateAccounts\b|\bAccountRegistry\b/,
  WriterQueue: /\b(?:createW|W)riterTurns\b|\bturnOf\b/,
}

/** As `DENIED_NAMES`, in every layer but serving. */
const DENIED_BELOW_SERVING: Readonly<Record<string, RegExp>> = {
  'metadataReader, metadataCache, metadataOf':
    /\breadonly facts: MetadataReader\b|\blaterFacts\b|\b[fF]actCache\b|\bfactsOf\b/,
  'lookups, fetched': /\bsubjects: RequiredLookups\b|\blearned\b/,
  seedPrices: /\bprimes\b/,
  'creations, createdKey': /\bbirths\b|\bbornKey\b|\binterface Held\b/,
  updateRunningTotals: /\bconst track\b/,
  quoteAssets: /\bbook\??: QuoteAssets\b|\bbookOf\b/,
  'unfinalized, unfinalizedBlocks': /#hot\b|\bhotBlocks\b|\b(?:const|let) (?:hot|isHot)\b/,
  'maxIdleSeries, idle': /\brestingKept\b|\bresting\b(?! order)(?=[,:.(])/,
  'deadLetters, deadLetter': /\b(?:const|readonly) letters?: readonly\b|\b(?:const|let) letters?\b/,
  'runUntilHalted, cooldownUntilMs': /\brests?UntilMs\b|\brestMs\b/,
  'ReplayPosition, notReplayed': /\bReplayPlace\b|\breadonly stayed\b|\bplacesAfter\b/,
  'position, offset': /\bplaceBelow\b|\bplacesOf\b|\bcommit(?:FirstPlaces|Placed)\b/,
  'finalRecords, ranges': /\breadonly seal\?|\bspans: readonly (?:Offset|Partition)Range\b/,
  'batches, batchesOf': /\bchunks: readonly EventBatch\b|\bchunks(?:Of|At|ByKey)\b/,
  'nativeToken…, nativeBalance…':
    /\bcoin(?:Leaf|Contract|Logger|Reader|Diffs|Changes|PriceLookup|Name)\b|\b(?:is|on|claim|withdraw)Coin\b/,
}

const deniedNamesIn = (
  files: readonly string[],
  denied: Readonly<Record<string, RegExp>>,
): readonly string[] =>
  files.flatMap((file) =>
    Object.entries(denied).flatMap(([instead, names]) => {
      const name = names.exec(TEXTS.get(file) ?? '')?.[0]
      return name === undefined ? [] : [`${file}: ${name}, use ${instead}`]
    }),
  )

test('identifiers use the established technical terms', () => {
  const belowServing = SOURCES.filter((file) => layerOf(file) !== 'serving')
  assert.deepEqual(deniedNamesIn(SOURCES, DENIED_NAMES), [])
  assert.deepEqual(deniedNamesIn(belowServing, DENIED_BELOW_SERVING), [])
})
