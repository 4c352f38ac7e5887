import { statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { RetentionPolicy } from '../contract.ts'
import { usedBytes } from './lmdb.ts'
import type { EmbeddedLog } from './log.ts'

const MB = 1_048_576
/** Of the space that is free where the log lies, together with what the log already takes. */
const DISK_SHARE = 0.25
/** Smallest limit that is chosen from the disk, so that a small disk holds some blocks. */
const MIN_LIMIT_MB = 256

/** Shares of the limit at which something happens. */
export const FILL_THRESHOLDS = {
  /** Records that everyone has read are deleted, oldest first. */
  sweep: 0.75,
  /** A sweep ends here. */
  swept: 0.65,
  /** Operators are warned. */
  warn: 0.8,
  /** Records go even if a group has not read them. */
  hard: 0.92,
  /** Where that ends. */
  hardSwept: 0.85,
} as const

/** What limits the size of the log. */
export interface LogLimit {
  /** `LOG_MAX_MB`; 0 = sized to the disk. */
  readonly maxMb: number
  /** Upper bound of a limit that is sized to the disk. */
  readonly mapMb: number
  readonly retention: RetentionPolicy
}

/** Bytes as they are when a limit is chosen. */
export interface LogSizes {
  /** Of the file: pages that the log has whatever else fills the disk. */
  readonly fileBytes: number
  /** Of these pages in use: what no sweep deletes, as lane state and the newest values by key. */
  readonly keptBytes: number
  /** The limit until now; infinite at a start. */
  readonly limitBytes: number
}

/** Most bytes of the log in a folder: as set, or sized to the disk. */
export const logLimitBytes = (
  path: string,
  { maxMb, mapMb, retention }: LogLimit,
  sizes: LogSizes,
): number => {
  if (maxMb > 0) return maxMb * MB
  // Without retention a limit below the disk would only end the process earlier.
  if (retention === 'off') return mapMb * MB
  const { bavail, bsize } = statfsSync(path)
  return diskSizedLimit({ ...sizes, freeBytes: bavail * bsize }, mapMb * MB)
}

/**
 * A quarter of what is free and the file together, between 256 MB and `mostBytes`. When others fill the disk the limit stays above what the file
 * holds, since deleting records gives no space back; and it leaves as much beside what no sweep deletes as a small log has.
 */
export const diskSizedLimit = (
  { fileBytes, keptBytes, limitBytes, freeBytes }: LogSizes & { readonly freeBytes: number },
  mostBytes: number,
): number => {
  const least = MIN_LIMIT_MB * MB
  const filled = Math.min(limitBytes, fileBytes / FILL_THRESHOLDS.hard)
  const kept = keptBytes / FILL_THRESHOLDS.warn + least
  const possible = Math.min(fileBytes + freeBytes, Math.max(filled, kept))
  const share = (freeBytes + fileBytes) * DISK_SHARE
  return Math.floor(Math.min(mostBytes, Math.max(least, share, possible)))
}

/** Size of the log's file. It does not shrink: pages of deleted records are used again. */
export const fileBytes = (path: string): number => {
  const found = statSync(join(path, 'data.mdb'), { throwIfNoEntry: false })
  return found === undefined ? 0 : found.blocks * 512
}

/** Bytes of the pages in use that no sweep deletes: lane state, offsets, bounds, newest values by key. */
export const unremovableBytes = ({ records, state, offsets, meta }: EmbeddedLog): number =>
  usedBytes([records, state, offsets, meta])

/** Bytes of the pages in use: records, lane state, offsets and bounds all count against the limit. */
export const logUsedBytes = ({ records, batches, state, offsets, meta }: EmbeddedLog): number =>
  usedBytes([records, ...batches.tables, state, offsets, meta])
