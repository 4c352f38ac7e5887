import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../core/ops/logger.ts'
import type { BlockHeader, ChainSpec, HeaderCodec } from './producer.ts'

/** State of the canonical chain after one block. */
export interface Snapshot<Head> {
  readonly header: Head
  readonly values: readonly bigint[]
}

/** Where snapshots are kept: enough to make any block again without starting at block 0. */
export interface SnapshotStore<Head> {
  /** Newest snapshot at or below a height. */
  atOrBelow(height: number): Promise<Snapshot<Head>>
  newest(): Promise<Snapshot<Head>>
  put(snapshot: Snapshot<Head>, hashes: readonly string[]): Promise<void>
  /** Hashes of the canonical blocks up to the newest snapshot that were found when it was opened, block 0 first. */
  readonly hashes: readonly string[]
}

/** What makes the snapshots of one chain those of that chain. */
export interface ChainIdentity<Head> {
  readonly spec: ChainSpec
  readonly codec: HeaderCodec<Head>
  readonly genesis: Snapshot<Head>
}

/** More than this many are thinned: every second one of the older half goes, so that a gap stays a share of the whole. */
const MAX_SNAPSHOTS = 512

/** Snapshots held in memory when there is a folder for the others. */
const MAX_SNAPSHOTS_IN_MEMORY = 16

const snapshotsToDrop = (heights: readonly number[]): readonly number[] => {
  const half = heights.slice(1, heights.length >> 1)
  return half.filter((_, at) => at % 2 === 0)
}

interface SnapshotEntry<Head> {
  snapshot: Snapshot<Head> | undefined
}

/** Opens the snapshots of a chain; `dir` undefined keeps them in memory only. What does not belong to this spec or is damaged is left out and logged. */
export const openSnapshotStore = async <Head extends BlockHeader>(
  origin: ChainIdentity<Head>,
  { dir, log }: { readonly dir: string | undefined; readonly log: Logger },
): Promise<SnapshotStore<Head>> => {
  const { genesis } = origin
  const entries = new Map<number, SnapshotEntry<Head>>([[0, { snapshot: genesis }]])
  const folder = dir === undefined ? undefined : await openSnapshotFolder(origin, { dir, log })
  for (const height of folder?.heights ?? []) entries.set(height, { snapshot: undefined })
  const heights = (): readonly number[] => [...entries.keys()].sort((a, b) => a - b)

  const load = async (height: number): Promise<Snapshot<Head> | undefined> => {
    const entry = entries.get(height)
    if (entry?.snapshot !== undefined) return entry.snapshot
    const read = await folder?.read(height)
    if (read === undefined) entries.delete(height)
    return read
  }
  const before = async (height: number): Promise<Snapshot<Head>> => {
    for (const candidate of heights().toReversed()) {
      if (candidate > height) continue
      const snapshot = await load(candidate)
      if (snapshot !== undefined) return snapshot
    }
    return genesis
  }
  const put = async (snapshot: Snapshot<Head>, hashes: readonly string[]): Promise<void> => {
    const { height } = snapshot.header
    if (entries.has(height)) return
    await folder?.write(snapshot, hashes)
    entries.set(height, { snapshot })
    if (folder !== undefined) {
      for (const old of heights().slice(1, -MAX_SNAPSHOTS_IN_MEMORY)) {
        const entry = entries.get(old)
        if (entry) entry.snapshot = undefined
      }
    }
    if (entries.size <= MAX_SNAPSHOTS) return
    for (const gone of snapshotsToDrop(heights())) {
      entries.delete(gone)
      await folder?.remove(gone)
    }
  }
  const newest = await before(Number.MAX_SAFE_INTEGER)
  const hashes = folder?.hashes.slice(0, newest.header.height + 1) ?? [genesis.header.hash]
  return { atOrBelow: before, newest: () => before(Number.MAX_SAFE_INTEGER), put, hashes }
}

const HASH_BYTES = 32
const FILE_NAME = /^state-(\d+)$/

const serializeSnapshot = <Head>(
  { spec, codec }: ChainIdentity<Head>,
  { header, values }: Snapshot<Head>,
): string => {
  const body = JSON.stringify({
    model: codec.model,
    spec,
    header: codec.pack(header),
    values: values.map((value) => (value === 0n ? '' : value.toString(16))).join(),
  })
  return `${createHash('sha256').update(body).digest('hex')}\n${body}\n`
}

const parseSnapshot = <Head>(
  { spec, codec }: ChainIdentity<Head>,
  text: string,
): Snapshot<Head> | undefined => {
  const [sum, body = ''] = text.split('\n')
  if (createHash('sha256').update(body).digest('hex') !== sum) return undefined
  const read = JSON.parse(body) as {
    readonly model: number
    readonly spec: ChainSpec
    readonly header: unknown
    readonly values: string
  }
  if (read.model !== codec.model || JSON.stringify(read.spec) !== JSON.stringify(spec))
    return undefined
  const values = read.values.split(',').map((word) => (word === '' ? 0n : BigInt(`0x${word}`)))
  return { header: codec.unpack(read.header), values }
}

/** Writes a file so that it is there as a whole or not at all. */
const writeAtomically = async (path: string, text: string): Promise<void> => {
  const draft = `${path}.draft`
  const file = await open(draft, 'w')
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
}

const appendHashes = async (path: string, from: number, bytes: Uint8Array): Promise<void> => {
  const file = await open(path, 'a+').then(async (made) => {
    await made.close()
    return open(path, 'r+')
  })
  try {
    await file.write(bytes, 0, bytes.length, from * HASH_BYTES)
    await file.sync()
  } finally {
    await file.close()
  }
}

const openSnapshotFolder = async <Head extends BlockHeader>(
  origin: ChainIdentity<Head>,
  { dir, log }: { readonly dir: string; readonly log: Logger },
) => {
  const { codec, genesis } = origin
  await mkdir(dir, { recursive: true })
  const hashPath = join(dir, 'hashes')
  const raw = await readFile(hashPath).catch(() => Buffer.alloc(0))
  const hashes: string[] = []
  for (let at = 0; at + HASH_BYTES <= raw.length; at += HASH_BYTES)
    hashes.push(codec.hashText(raw.subarray(at, at + HASH_BYTES)))
  const pathOf = (height: number): string => join(dir, `state-${height}`)
  const names = await readdir(dir)
  const found = names.flatMap((name) => Number(FILE_NAME.exec(name)?.[1] ?? Number.NaN))
  const heights = found.filter((height) => Number.isSafeInteger(height) && height > 0)
  const read = async (height: number): Promise<Snapshot<Head> | undefined> => {
    const text = await readFile(pathOf(height), 'utf8').catch(() => '')
    const snapshot = parseSnapshot(origin, text)
    if (snapshot !== undefined && snapshot.header.hash === hashes[height]) return snapshot
    log.warn({ height }, 'skipped checkpoint: damaged, or of another chain')
    await rm(pathOf(height), { force: true })
    return undefined
  }
  const own = hashes[0] === genesis.header.hash
  return {
    heights: own ? heights : [],
    hashes: own ? hashes : [genesis.header.hash],
    read,
    write: async (snapshot: Snapshot<Head>, added: readonly string[]): Promise<void> => {
      const from = snapshot.header.height + 1 - added.length
      added.forEach((hash, at) => {
        hashes[from + at] = hash
      })
      const bytes = (list: readonly string[]) => Buffer.concat(list.map(codec.hashBytes))
      if (from === 1) await appendHashes(hashPath, 0, bytes([genesis.header.hash]))
      await appendHashes(hashPath, from, bytes(added))
      await writeAtomically(pathOf(snapshot.header.height), serializeSnapshot(origin, snapshot))
    },
    remove: (height: number): Promise<void> => rm(pathOf(height), { force: true }),
  }
}
