import { readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A copy that nobody has written for so long is removed: after half of it a lane that came back would start over anyway
 * (`COPY_MAX_AGE_MS`).
 */
const REMOVED_AFTER_MS = 86_400_000
/** A copy on its way out. */
const GOING = '.going'

/** Folder of one group's copies; below it store and partition. */
const groupPath = (path: string, group: string): string => join(path, encodeURIComponent(group))

/** Folder of one copy. */
export const copyPath = (path: string, group: string, store: string, partition: number): string =>
  join(groupPath(path, group), encodeURIComponent(store), String(partition))

const foldersIn = (path: string): readonly string[] => {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
  } catch {
    return []
  }
}

const writtenMs = (copy: string): number =>
  statSync(join(copy, 'data.mdb'), { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Lanes of a group whose state lies in a folder, the one that was written last first. */
export const keptLanes = (path: string, group: string): readonly number[] => {
  const own = groupPath(path, group)
  const written = new Map<number, number>()
  for (const store of foldersIn(own)) {
    for (const name of foldersIn(join(own, store))) {
      if (!/^\d{1,5}$/.test(name)) continue
      const lane = Number(name)
      const atMs = writtenMs(join(own, store, name))
      written.set(lane, Math.max(atMs, written.get(lane) ?? 0))
    }
  }
  return [...written].toSorted(([, a], [, b]) => b - a).map(([lane]) => lane)
}

/**
 * Removes copies of lanes that went elsewhere more than a day ago; `open` are those in use here. One that another process
 * holds idle is made anew there from its changelog. Returns what was removed.
 */
export const removeOldCopies = (
  path: string,
  open: ReadonlySet<string>,
  nowMs: number,
): readonly string[] => {
  const copies = foldersIn(path).flatMap((group) =>
    foldersIn(join(path, group)).flatMap((store) =>
      foldersIn(join(path, group, store)).map((lane) => join(path, group, store, lane)),
    ),
  )
  const old = copies.filter((copy) => {
    if (copy.endsWith(GOING)) return true
    const file = statSync(join(copy, 'data.mdb'), { throwIfNoEntry: false })
    return file !== undefined && !open.has(copy) && nowMs - file.mtimeMs > REMOVED_AFTER_MS
  })
  // What an earlier run left first: its name is needed.
  for (const copy of old.toSorted(
    (a, b) => Number(b.endsWith(GOING)) - Number(a.endsWith(GOING)),
  )) {
    const going = copy.endsWith(GOING) ? copy : `${copy}${GOING}`
    if (going !== copy) renameSync(copy, going)
    rmSync(going, { recursive: true, force: true })
  }
  return old
}
