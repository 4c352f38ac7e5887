import type { Bus, Lane, LogRecord, RunningTask } from '../../../core/bus/contract.ts'

/** Names of the log that members of the takeover suite work on. */
export interface MemberLog {
  readonly group: string
  readonly input: string
  readonly output: string
  readonly store: string
}

const numberIn = (bytes: Uint8Array | null | undefined): number =>
  Number(Buffer.from(bytes ?? []).toString())

/** Hands every number on, and adds it up in the lane's state; `onSend` is called with the records of a commit sent. */
export const joinAsMember = (
  bus: Bus,
  { group, input, output, store }: MemberLog,
  on: {
    readonly onSend?: (lane: Lane, records: readonly LogRecord[]) => void
    readonly onCommit?: (lane: Lane, records: readonly LogRecord[]) => void
  },
): Promise<RunningTask> =>
  bus.subscribe({
    group,
    topics: [input],
    run: async (lane) => {
      const { partition } = lane
      const state = await lane.state(store)
      for (;;) {
        const records = await lane.take({ maxRecords: 10, maxWaitMs: 200 })
        const last = records.at(-1)
        if (!last) continue
        const sum = records.reduce((total, { value }) => total + numberIn(value), 0)
        const next = String(numberIn(state.get('sum')) + sum)
        await lane.writer.commit({
          records: records.map(({ key, value }) => ({ topic: output, partition, key, value })),
          finalRecords: () => {
            on.onSend?.(lane, records)
            return []
          },
          state: [{ store, partition, key: 'sum', value: Buffer.from(next) }],
          offsets: { group, next: [{ topic: input, partition, offset: last.offset + 1 }] },
        })
        on.onCommit?.(lane, records)
      }
    },
  })
