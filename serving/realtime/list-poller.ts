import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningTask } from '../../core/bus/contract.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { emptyWork, type LimitedReads } from '../queries/limited-reads.ts'
import type { Channel } from './channel-name.ts'
import type { Hub } from './hub.ts'
import { ListTurns } from './list-turns.ts'
import type { Payload } from './payload.ts'
import { type ListSource, listSourceOf, type ReadRows } from './polled-lists.ts'
import type { SubscribedList } from './subscribed-lists.ts'

/** What the lists are read with. */
export interface ListPollerOptions {
  readonly hub: Pick<Hub, 'listChannels' | 'publishList'>
  readonly reads: Pick<LimitedReads, 'query'>
  readonly metrics: Pick<Metrics, 'eventsDropped'>
  readonly log: Logger
  readonly nowMs: () => number
  /** Time from the start of a round to that of the next. */
  readonly everyMs?: number
}

/** Time between two readings of a list. */
const LIST_INTERVAL_MS = 5_000
/** Lists of one round: beyond that a list is read less often, see `ListTurns`. */
export const MAX_LISTS_PER_ROUND = 100
/** Whose statements these are among those of the organizations. */
const READER_ORG = 'streams'

/** Reads the lists that have subscribers, one after the other, and publishes what changed or is new to one of the subscribers. */
export const startListPoller = (options: ListPollerOptions): RunningTask => {
  const { everyMs = LIST_INTERVAL_MS } = options
  const stopping = new AbortController()
  const round = createListRound(options, stopping.signal)
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const started = performance.now()
      await round()
      const left = Math.max(0, everyMs - (performance.now() - started))
      await sleep(left, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

/** A list as it was last sent: its text as if it had been read at time 0, and when it was read. */
interface SentList {
  readonly text: string
  readonly readMs: number
}

/** Payloads of a channel, as read at a time. */
type PayloadsAt = (readMs: number) => readonly Payload[]

const EMPTY_LIST = '[]'

/** One round; it does not throw, so that a list that cannot be read leaves the others alone. */
export const createListRound = (
  { hub, reads, metrics, log, nowMs }: ListPollerOptions,
  signal: AbortSignal,
): (() => Promise<void>) => {
  let sent = new Map<string, SentList>()
  const turns = new ListTurns()
  const rows: ReadRows = async (query) => {
    const caller = { orgId: READER_ORG, plan: 'selfhost', signal, work: emptyWork() } as const
    return (await reads.query<never>(query, caller)).rows
  }
  const publish = (channel: Channel, payloadsAt: PayloadsAt, readMs: number): void => {
    const text = JSON.stringify(payloadsAt(0))
    const before = sent.get(channel.subject)
    if (before?.text !== text) sent.set(channel.subject, { text, readMs })
    if (before?.text === text) {
      if (text !== EMPTY_LIST) hub.publishList(channel, payloadsAt(before.readMs), 'newcomers')
    } else if (before !== undefined || text !== EMPTY_LIST) {
      hub.publishList(channel, payloadsAt(readMs), 'all')
    }
  }
  const read = async (source: ListSource, lists: readonly SubscribedList[]): Promise<void> => {
    try {
      const readMs = nowMs()
      const payloadsOf = await source.read(rows)
      for (const { channel } of lists) {
        const { query } = channel.row
        if (query !== null) publish(channel, (atMs) => payloadsOf(query, atMs), readMs)
      }
    } catch (error) {
      if (signal.aborted) return
      metrics.eventsDropped.inc({ stage: 'realtime', reason: 'list-not-read' })
      log.warn({ err: error, list: source.name }, 'failed to read list for streams')
    }
  }
  return async () => {
    const lists = hub.listChannels()
    const subjects = new Set(lists.map(({ channel }) => channel.subject))
    sent = new Map([...sent].filter(([subject]) => subjects.has(subject)))
    const waiting = groupBySource(lists)
    for (const name of turns.next([...waiting.values()], MAX_LISTS_PER_ROUND)) {
      const group = waiting.get(name)
      if (signal.aborted || group === undefined) return
      await read(group.source, group.lists)
    }
  }
}

/** Channels that are made of one source. */
interface SourceGroup {
  readonly name: string
  readonly source: ListSource
  readonly lists: SubscribedList[]
  readonly orgIds: Set<string>
}

const groupBySource = (lists: readonly SubscribedList[]): ReadonlyMap<string, SourceGroup> => {
  const groups = new Map<string, SourceGroup>()
  for (const list of lists) {
    const source = listSourceOf(list.channel)
    const { name } = source
    const group = groups.get(name) ?? { name, source, lists: [], orgIds: new Set<string>() }
    groups.set(name, group)
    group.lists.push(list)
    for (const orgId of list.orgIds) group.orgIds.add(orgId)
  }
  return groups
}
