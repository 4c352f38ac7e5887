import { readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DAY_MS } from '../../time.ts'

/**
 * A copy without a write for so long is removed: after half of it a lane that came back would start over anyway
 * (`MAX_STORE_AGE_MS`).
 */
const REMOVE_AFTER_MS = DAY_MS
/** A copy on its way out. */
const REMOVAL_SUFFIX = '.going'

/** Folder of one group's copies; below it store and partition. */
const groupPath = (path: string, group: string): string => join(path, encodeURIComponent(group))

/** Folder of one copy. */
export const storePath = (path: string, group: string, store: string, partition: number): string =>
  join(groupPath(path, group), encodeURIComponent(store), String(partition))

const listFolders = (path: string): readonly string[] => {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
  } catch {
    return []
  }
}

const modifiedMs = (copy: string): number =>
  statSync(join(copy, 'data.mdb'), { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Lanes of a group whose state lies in a folder, the one that was written last first. */
export const lanesWithLocalState = (path: string, group: string): readonly number[] => {
  const own = groupPath(path, group)
  const written = new Map<number, number>()
  for (const store of listFolders(own)) {
    for (const name of listFolders(join(own, store))) {
      if (!/^\d{1,5}$/.test(name)) continue
      const lane = Number(name)
      const atMs = modifiedMs(join(own, store, name))
      written.set(lane, Math.max(atMs, written.get(lane) ?? 0))
    }
  }
  return [...written].toSorted(([, a], [, b]) => b - a).map(([lane]) => lane)
}

/**
 * Removes copies of lanes that went elsewhere more than a day ago; `open` are those in use here. One that another process
 * holds idle is made anew there from its changelog. Returns what was removed.
 */
export const removeOldStores = (
  path: string,
  open: ReadonlySet<string>,
  nowMs: number,
): readonly string[] => {
  const copies = listFolders(path).flatMap((group) =>
    listFolders(join(path, group)).flatMap((store) =>
      listFolders(join(path, group, store)).map((lane) => join(path, group, store, lane)),
    ),
  )
  const old = copies.filter((copy) => {
    if (copy.endsWith(REMOVAL_SUFFIX)) return true
    const file = statSync(join(copy, 'data.mdb'), { throwIfNoEntry: false })
    return file !== undefined && !open.has(copy) && nowMs - file.mtimeMs > REMOVE_AFTER_MS
  })
  // What an earlier run left first: its name is needed.
  for (const copy of old.toSorted(
    (a, b) => Number(b.endsWith(REMOVAL_SUFFIX)) - Number(a.endsWith(REMOVAL_SUFFIX)),
  )) {
    const going = copy.endsWith(REMOVAL_SUFFIX) ? copy : `${copy}${REMOVAL_SUFFIX}`
    if (going !== copy) renameSync(copy, going)
    rmSync(going, { recursive: true, force: true })
  }
  return old
}
