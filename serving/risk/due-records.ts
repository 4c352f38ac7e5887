import TinyQueue from 'tinyqueue'
import { type AssessmentRow, isDue } from './assessment.ts'

/** Seconds since the oldest due record is due, 0 where none is: of those that were never screened, and of the others. */
export interface DueAges {
  readonly first: number
  readonly again: number
}

/** Records that are to be screened now or later, by due time. What is taken stays out until it is set or given back. */
export interface DueRecords {
  /** Takes in a record as it stands now. */
  set(record: AssessmentRow): void
  remove(orgId: string, id: string): void
  /** The next record that is due: those that were never screened first, organizations in turn, the longest due of each. */
  take(labelsVersion: number, nowMs: number): AssessmentRow | undefined
  /** Puts back a record that was taken, unless it was set or removed since. */
  giveBack(record: AssessmentRow): void
  /** Records that are taken are counted with the others. */
  ages(nowMs: number): DueAges
}

/** A record and how many entered before it: records of one millisecond are taken in this order. */
interface Entry {
  readonly record: AssessmentRow
  readonly place: number
}

interface OrgRecords {
  /** Records that are neither failed nor taken, by id. An entry of a queue that is not in here is obsolete. */
  readonly waiting: Map<string, AssessmentRow>
  first: TinyQueue<Entry>
  again: TinyQueue<Entry>
  entered: number
  /** Finished records by the version of their labels. */
  readonly byVersion: Map<number, Map<string, AssessmentRow>>
}

/** Obsolete entries of a queue are removed when there are more of them than records, and at least so many. */
const MIN_OBSOLETE = 64

const byDueTime = (one: Entry, other: Entry): number =>
  one.record.next_at - other.record.next_at ||
  one.record.created_at - other.record.created_at ||
  one.place - other.place

const queueOf = (entries: Entry[]): TinyQueue<Entry> => new TinyQueue(entries, byDueTime)

const isFirst = ({ status }: AssessmentRow): boolean => status === 'PENDING'

const isWaiting = ({ waiting }: OrgRecords, record: AssessmentRow): boolean =>
  waiting.get(record.id) === record

const withoutObsolete = (org: OrgRecords, queue: TinyQueue<Entry>): TinyQueue<Entry> =>
  queue.length > 2 * org.waiting.size + MIN_OBSOLETE
    ? queueOf(queue.data.filter(({ record }) => isWaiting(org, record)))
    : queue

const enter = (org: OrgRecords, record: AssessmentRow): void => {
  if (record.status === 'FAILED') return
  org.waiting.set(record.id, record)
  const entry = { record, place: org.entered++ }
  if (isFirst(record)) {
    org.first.push(entry)
    org.first = withoutObsolete(org, org.first)
    return
  }
  org.again.push(entry)
  org.again = withoutObsolete(org, org.again)
  const version = record.labels_version
  const same = org.byVersion.get(version) ?? new Map<string, AssessmentRow>()
  org.byVersion.set(version, same.set(record.id, record))
}

const leave = (org: OrgRecords, id: string): void => {
  const record = org.waiting.get(id)
  if (record === undefined) return
  org.waiting.delete(id)
  const same = org.byVersion.get(record.labels_version)
  same?.delete(id)
  if (same?.size === 0) org.byVersion.delete(record.labels_version)
}

/** The record of a queue that is due first. */
const longestDue = (org: OrgRecords, queue: TinyQueue<Entry>): AssessmentRow | undefined => {
  for (;;) {
    const record = queue.peek()?.record
    if (record === undefined || isWaiting(org, record)) return record
    queue.pop()
  }
}

const recordBefore = ({ byVersion }: OrgRecords, labelsVersion: number) => {
  for (const [version, records] of byVersion) {
    if (version < labelsVersion) return records.values().next().value
  }
  return undefined
}

const keyOf = (orgId: string, id: string): string => `${orgId}/${id}`

/** No records. Organizations stand in a ring: whose record was taken goes to its end. */
export const createDueRecords = (): DueRecords => {
  const orgs = new Map<string, OrgRecords>()
  const taken = new Map<string, AssessmentRow>()
  let newest = { labelsVersion: 0, seenMs: 0 }
  const orgOf = (orgId: string): OrgRecords => {
    const known = orgs.get(orgId)
    if (known !== undefined) return known
    const made = {
      waiting: new Map(),
      first: queueOf([]),
      again: queueOf([]),
      entered: 0,
      byVersion: new Map(),
    }
    orgs.set(orgId, made)
    return made
  }
  const remove = (orgId: string, id: string): void => {
    taken.delete(keyOf(orgId, id))
    leave(orgOf(orgId), id)
  }
  const set = (record: AssessmentRow): void => {
    remove(record.org_id, record.id)
    enter(orgOf(record.org_id), record)
  }
  const candidates = (org: OrgRecords, isNew: boolean): readonly (AssessmentRow | undefined)[] =>
    isNew
      ? [longestDue(org, org.first)]
      : [longestDue(org, org.again), recordBefore(org, newest.labelsVersion)]
  /** Due times of the oldest records of every organization; what labels made due is due since they were seen. */
  const dueTimes = (isNew: boolean): readonly number[] =>
    [
      ...[...taken.values()].filter((record) => isFirst(record) === isNew),
      ...[...orgs.values()].flatMap((org) => candidates(org, isNew)),
    ].flatMap((record) => {
      if (record === undefined) return []
      const isOlder = !isNew && record.labels_version < newest.labelsVersion
      return [isOlder ? Math.min(record.next_at, newest.seenMs) : record.next_at]
    })
  return {
    set,
    remove,
    take: (labelsVersion, nowMs) => {
      if (labelsVersion > newest.labelsVersion) newest = { labelsVersion, seenMs: nowMs }
      for (const isNew of [true, false]) {
        for (const [orgId, org] of orgs) {
          const record = candidates(org, isNew).find(
            (each) => each !== undefined && isDue(each, labelsVersion, nowMs),
          )
          if (record === undefined) continue
          orgs.delete(orgId)
          orgs.set(orgId, org)
          leave(org, record.id)
          taken.set(keyOf(orgId, record.id), record)
          return record
        }
      }
      return undefined
    },
    giveBack: (record) => {
      if (taken.get(keyOf(record.org_id, record.id)) === record) set(record)
    },
    ages: (nowMs) => {
      const age = (isNew: boolean): number =>
        dueTimes(isNew).reduce((oldest, dueMs) => Math.max(oldest, nowMs - dueMs), 0) / 1_000
      return { first: age(true), again: age(false) }
    },
  }
}
