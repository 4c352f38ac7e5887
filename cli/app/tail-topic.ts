import type { Bus, LogRecord, PartitionBounds } from '../../core/bus/contract.ts'

/** Records that wait for the printer before the log is asked for more. */
const MAX_BUFFERED_RECORDS = 2_000

/**
 * Records of a topic: the last `back` of each partition, then what comes, until the signal aborts. Throws `Outage` for a
 * topic that is not there.
 */
export async function* tailTopic(
  bus: Bus,
  topic: string,
  back: number,
  signal: AbortSignal,
): AsyncGenerator<LogRecord> {
  const waiting: LogRecord[] = []
  let wake = (): void => undefined
  let drained = (): void => undefined
  const onAbort = (): void => wake()
  signal.addEventListener('abort', onAbort, { once: true })
  const tail = await bus.tail({
    topics: [topic],
    from: 'latest',
    onRecords: async (records) => {
      for (const record of records) waiting.push(record)
      wake()
      if (waiting.length < MAX_BUFFERED_RECORDS || signal.aborted) return
      await new Promise<void>((resolve) => {
        drained = resolve
      })
    },
  })
  try {
    const printed = new Map<number, number>()
    for (const bounds of await bus.ends(topic)) {
      yield* await lastRecords(bus, topic, bounds, back)
      printed.set(bounds.partition, bounds.end)
    }
    while (!signal.aborted) {
      const batch = waiting.splice(0)
      drained()
      yield* batch.filter(({ partition, offset }) => offset >= (printed.get(partition) ?? 0))
      if (waiting.length > 0 || signal.aborted) continue
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    drained()
    await tail.stop()
  }
}

/** The last records of a partition. Offsets have holes, so the look back grows until it has found enough. */
const lastRecords = async (
  bus: Bus,
  topic: string,
  { partition, low, end }: PartitionBounds,
  back: number,
): Promise<readonly LogRecord[]> => {
  for (let span = 2 * back; ; span *= 8) {
    const from = Math.max(low, end - span)
    const found: LogRecord[] = []
    for await (const record of bus.read(topic, partition, from, end)) {
      found.push(record)
      if (found.length > back) found.shift()
    }
    if (found.length >= back || from === low) return found
  }
}
