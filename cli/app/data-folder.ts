import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Outage } from '../../core/errors.ts'
import { escapeUnsafe } from '../../core/ops/terminal.ts'
import { createFileAtomically, writeFileAtomically } from '../../core/runtime/atomic-file.ts'

const OWNER_FOLDER = 0o700
const OWNER_FILE = 0o600
/** Keeps new files from everybody but their owner, whichever library makes them. */
const OWNER_UMASK = 0o077

/** What a data folder belongs to: one chain of one origin, for ever. */
export interface DataFolderIdentity {
  readonly kind: 'simulated' | 'node' | 'recorded'
  readonly chain: string
  /** Simulator only. */
  readonly seed?: number
  readonly ratePerSecond?: number
  readonly genesisMs?: number
  /** Node only: chain id and genesis hash as the source names them. */
  readonly genesis?: string
  /** Node only: chain time at the first start, from which `--until` counts. */
  readonly sinceMs?: number
}

const readJson = <T>(path: string): T | undefined =>
  existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as T) : undefined

/** What `demo.json` holds. */
export interface DemoFile {
  readonly baseUrl: string
  readonly graphqlUrl: string
  readonly wsUrl: string
  readonly subscriptionsUrl: string
  readonly apiKey: string
  readonly tokenUrl: string
  readonly audience: string
  readonly clientId: string
  readonly clientSecret: string
  readonly adminUrl: string
  readonly adminToken: string
}

/** The demo file of a folder; undefined when there is none. */
export const findDemoFile = (path: string): DemoFile | undefined =>
  readJson<DemoFile>(join(path, 'demo.json'))

/** The demo file of a folder where a process runs. Throws `Outage` when there is none. */
export const readDemoFile = (path: string): DemoFile => {
  const demo = findDemoFile(path)
  if (demo === undefined) {
    throw new Outage(
      'disk',
      `${path} contains no demo.json; a process writes it when it starts. Start one on this folder, or pass the folder of one with --data`,
      {
        final: true,
      },
    )
  }
  return demo
}

/** A folder with the durable parts of one process. */
export interface DataFolder {
  readonly path: string
  readonly logPath: string
  readonly warehousePath: string
  readonly simulatorPath: string
  /** Names the operators' port while a process runs. */
  readonly opsPath: string
  /** What the folder was made for; undefined in a new one. */
  readonly origin: DataFolderIdentity | undefined
  /** Secret mixed into key hashes, made once. */
  readonly pepper: string
  /** Opens the admin API where the configuration names no other token, made once. */
  readonly adminToken: string
  readonly demo: Partial<DemoFile> | undefined
  /** Binds a new folder; throws `Outage` (final) when the folder belongs to another origin. */
  claim(origin: DataFolderIdentity): void
  writeDemo(demo: object): void
}

const describeIdentity = (origin: DataFolderIdentity): string =>
  origin.kind === 'recorded'
    ? `recorded blocks of ${origin.chain}`
    : origin.kind === 'node'
      ? `${origin.chain} with genesis ${origin.genesis}`
      : `simulated ${origin.chain}, seed ${origin.seed}, ${origin.ratePerSecond} trades/s, genesis ${new Date(
          origin.genesisMs ?? 0,
        ).toISOString()}`

interface FolderSecrets {
  readonly pepper: string
  readonly adminToken: string
}

/** The folder's secrets, made once: of processes that open a new folder at once, all get the first one's. */
const readSecrets = (path: string): FolderSecrets => {
  const kept = readJson<Partial<FolderSecrets>>(path)
  const made = { pepper: newSecret(), adminToken: newSecret(), ...kept }
  if (kept?.pepper !== undefined && kept.adminToken !== undefined) return made
  const text = `${JSON.stringify(made)}\n`
  if (kept !== undefined) writeFileAtomically(path, text)
  else if (!createFileAtomically(path, text)) return readSecrets(path)
  return made
}

const newSecret = (): string => randomBytes(32).toString('base64url')

/** Folders whose entries are many and made by their owner's engine; the folder around them keeps others out. */
const OPAQUE_FOLDERS = new Set(['warehouse'])

/** Another user's file, which stays as it is, and a draft that another process has just put in its place. */
const IGNORED_CHMOD_ERRORS = new Set<unknown>(['EPERM', 'ENOENT'])

/** Takes a folder and what lies in it from everybody but its owner. */
const restrictPermissions = (path: string): void => {
  const change = (entry: string, mode: number): void => {
    try {
      chmodSync(entry, mode)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && IGNORED_CHMOD_ERRORS.has(error.code)))
        throw error
    }
  }
  change(path, OWNER_FOLDER)
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, entry.name)
    if (entry.isFile()) change(inside, OWNER_FILE)
    else if (entry.isDirectory() && OPAQUE_FOLDERS.has(entry.name)) change(inside, OWNER_FOLDER)
    else if (entry.isDirectory()) restrictPermissions(inside)
  }
}

/** What a process of ours leaves in a folder before the files that make it ours; a new volume has `lost+found`. */
const KNOWN_ENTRIES = ['lost+found', 'log', 'warehouse', 'simulator', 'state']
/** Either makes a folder ours. A draft of one has its name and an ending. */
const MARKER_FILES = ['secrets.json', 'origin.json']

/** Refuses a folder in use for something else, before anything in it is changed. */
const rejectForeignFolder = (path: string): void => {
  const entries = readdirSync(path)
  if (MARKER_FILES.some((mark) => entries.includes(mark))) return
  const foreign = entries.find(
    (entry) =>
      !KNOWN_ENTRIES.includes(entry) && !MARKER_FILES.some((mark) => entry.startsWith(`${mark}.`)),
  )
  if (foreign === undefined) return
  throw new Outage(
    'disk',
    `${path} is not a data folder of Sluice: it holds ${escapeUnsafe(foreign)}. Use an empty or a new folder (--data, DATA_DIR).`,
    { final: true },
  )
}

/** Opens or makes a data folder: mode 0700, its files 0600, also when it was there with others. Throws `Outage` for a folder with other things in it. */
export const openDataFolder = (path: string): DataFolder => {
  process.umask(OWNER_UMASK)
  mkdirSync(path, { recursive: true, mode: OWNER_FOLDER })
  rejectForeignFolder(path)
  restrictPermissions(path)
  const originPath = join(path, 'origin.json')
  const demoPath = join(path, 'demo.json')
  const origin = readJson<DataFolderIdentity>(originPath)
  const secrets = readSecrets(join(path, 'secrets.json'))
  return {
    path,
    logPath: join(path, 'log'),
    warehousePath: join(path, 'warehouse'),
    simulatorPath: join(path, 'simulator'),
    opsPath: join(path, 'ops.json'),
    origin,
    ...secrets,
    demo: readJson(demoPath),
    claim: (wanted) => {
      if (origin === undefined) {
        writeFileAtomically(originPath, `${JSON.stringify(wanted, null, 2)}\n`)
      } else if (describeIdentity(origin) !== describeIdentity(wanted)) {
        throw new Outage(
          'disk',
          `${path} holds ${describeIdentity(origin)}; it cannot hold ${describeIdentity(wanted)}. Use another --data folder.`,
          { final: true },
        )
      }
    },
    writeDemo: (demo) => writeFileAtomically(demoPath, `${JSON.stringify(demo, null, 2)}\n`),
  }
}
