import { closeSync, openSync, writeSync } from 'node:fs'

/** What a process has begun and not yet finished. */
export interface InFlightTracker {
  /** Notes the beginning of something; the answer notes its end. */
  begin(what: string): () => void
  /** What is in flight now, oldest first. */
  now(): readonly string[]
  close(): void
}

/** Bytes of the activity file: one line, cut or padded, so that one write replaces all of it. */
const FILE_LINE_BYTES = 1_024

/** The line of an activity file; the end of a longer list is left out. */
const formatLine = (entries: readonly string[]): Buffer => {
  const line = Buffer.alloc(FILE_LINE_BYTES, ' ')
  line.write(entries.join('; '), 0, FILE_LINE_BYTES - 1)
  line[FILE_LINE_BYTES - 1] = 0x0a
  return line
}

/**
 * Keeps the list; with `path` also in a file that outlives a killed process, to answer what it was doing.
 * The file costs a write per change, so it is off by default.
 */
export const makeInFlightTracker = (path = ''): InFlightTracker => {
  const open = new Map<number, string>()
  const file = path === '' ? undefined : openSync(path, 'w')
  let next = 0
  const show = (): void => {
    if (file !== undefined) writeSync(file, formatLine([...open.values()]), 0, FILE_LINE_BYTES, 0)
  }
  show()
  return {
    begin: (what) => {
      const id = next
      next += 1
      open.set(id, what)
      show()
      return () => {
        if (open.delete(id)) show()
      }
    },
    now: () => [...open.values()],
    close: () => {
      if (file !== undefined) closeSync(file)
    },
  }
}
