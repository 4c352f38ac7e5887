import type { LogRecord } from './bus-contract.ts'
import { openOwnReader, type Reader, type ReaderPlan, type ReadFrom } from './bus-kafka-reader.ts'
import { Outage } from './fault.ts'

/** Bytes that wait for a slow reader before its partition pauses. */
const BUFFER_BYTES = 8_388_608

/** One partition from an offset up to, not including, another. */
export interface RangePlan extends Pick<ReaderPlan, 'kafka' | 'log' | 'ends'> {
  readonly name: string
  readonly range: ReadFrom & { readonly to: number }
  /** Ends a read that still waits. */
  readonly signal: AbortSignal
}

/** Bytes of a record that count against a buffer. */
export const sizeOf = ({ key, value }: LogRecord): number =>
  96 + key.length + (value?.byteLength ?? 0)

/** Committed records of a range, in order, through a bounded buffer. Throws `Outage` when the range left the log. */
export async function* readRange({ range, signal, ...plan }: RangePlan): AsyncGenerator<LogRecord> {
  if (range.from >= range.to) return
  let held: LogRecord[] = []
  let bytes = 0
  let place = range.from
  let failed: Outage | undefined
  let wake = (): void => undefined
  const fail = (outage: Outage): void => {
    failed = outage
    wake()
  }
  const onAbort = (): void => fail(new Outage('bus', 'the bus closed', { final: true }))
  signal.addEventListener('abort', onAbort, { once: true })
  let reader: Reader | undefined
  try {
    reader = await openOwnReader({
      ...plan,
      partitions: [range],
      sources: [range],
      onRecords: (records, { next }) => {
        const wanted = records.filter(({ offset }) => offset < range.to)
        held.push(...wanted)
        bytes += wanted.reduce((sum, record) => sum + sizeOf(record), 0)
        if (bytes > BUFFER_BYTES) reader?.pause(range)
        place = next
        wake()
      },
      onEmpty: ({ next }) => {
        place = next
        wake()
      },
      onHalt: fail,
    })
    while (place < range.to || held.length > 0) {
      if (failed) throw failed
      if (held.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      const batch = held
      held = []
      bytes = 0
      yield* batch
      reader.resume(range)
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    await reader?.stop()
  }
}
