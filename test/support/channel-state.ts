/** Channels of every family, heard with the stock client, and what a listener is left with. */
import { GENERAL_STAT_KEYS } from '../../schemas/channel-keys.ts'
import { CHANNELS, type ChannelRow } from '../../schemas/channels.ts'
import type { ComparedAddresses } from './app-content.ts'
import type { AppStack, TestSubscription } from './app-stack.ts'
import { until } from './until.ts'

type Frame = Readonly<Record<string, unknown>>

interface SubscribedChannel {
  readonly channel: string
  readonly row: ChannelRow
  readonly listener: TestSubscription
}

/** What listening has led to. */
export interface ChannelState {
  /** Returns once nothing has come for a while. */
  quiet(): Promise<void>
  /** The newest object of each subject, by channel and what tells the subjects of one channel apart. */
  newest(): ReadonlyMap<string, string>
  /** What was told of and not taken back, as `count frame`, by channel. */
  standing(): ReadonlyMap<string, readonly string[]>
  stop(): void
}

/** Families of which a retraction is a frame with `op`. */
const RETRACTABLE = new Set(['dex-trade', 'dex-wallet-trade', 'dex-new-token'])
const RESOLUTION = '1m'
const QUIET_MS = 400

const subjectAddresses = (
  { parameters }: ChannelRow,
  subjects: ComparedAddresses,
): readonly string[] => {
  switch (parameters[0]) {
    case 'token':
      return subjects.tokens.slice(0, 3)
    case 'pool':
      return subjects.pools
    case 'pair':
      return subjects.pairs
    case 'wallet':
      return subjects.wallets.slice(0, 2)
    default:
      return []
  }
}

const channelNames = (
  row: ChannelRow,
  chain: string,
  subjects: ComparedAddresses,
): readonly string[] => {
  if (row.parameters.length === 0) return [`${row.prefix}:${chain}`]
  const suffix = row.parameters.includes('resolution') ? `_${RESOLUTION}` : ''
  return subjectAddresses(row, subjects).map(
    (address) => `${row.prefix}:${chain}_${address}${suffix}`,
  )
}

/** Subscribes to every family about the subjects; trades and new tokens with their retractions. */
export const subscribeToAllChannels = async (
  product: AppStack,
  chain: string,
  subjects: ComparedAddresses,
): Promise<ChannelState> => {
  const heard: SubscribedChannel[] = []
  // Lists that are read from the store have no stream of their own.
  for (const row of CHANNELS.filter(({ query }) => query === null)) {
    for (const channel of channelNames(row, chain, subjects)) {
      const data = RETRACTABLE.has(row.prefix) ? { retractions: true } : undefined
      heard.push({ channel, row, listener: await product.subscribe(channel, data) })
    }
  }
  const count = (): number => heard.reduce((sum, { listener }) => sum + listener.data.length, 0)
  return {
    quiet: async () => {
      let seen = -1
      let sinceMs = Date.now()
      await until(() => {
        const now = count()
        if (now !== seen) sinceMs = Date.now()
        seen = now
        return Date.now() - sinceMs > QUIET_MS
      }, 'the channels are quiet')
    },
    newest: () =>
      new Map(
        heard.flatMap((each) => (RETRACTABLE.has(each.row.prefix) ? [] : [...newestObjects(each)])),
      ),
    standing: () =>
      new Map(
        heard.flatMap((each) =>
          RETRACTABLE.has(each.row.prefix)
            ? [[each.channel, notRetractedLines(each)] as const]
            : [],
        ),
      ),
    stop: () => {
      for (const { listener } of heard) listener.stop()
    },
  }
}

/** A client keeps one object per channel; of candles those of the newest bucket that holds trades, of wallets one per token. */
const newestObjects = ({
  channel,
  row,
  listener,
}: SubscribedChannel): ReadonlyMap<string, string> => {
  if (row.candle !== null) {
    const byTime = new Map(listener.data.map((frame) => [Number(frame.t), frame]))
    const [last] = [...byTime].filter(([, { n }]) => n !== 0).sort(([one], [other]) => other - one)
    return new Map(last ? [[channel, JSON.stringify(last[1])]] : [])
  }
  const key = ({ a, ta = a, t }: Frame): string => {
    if (row.keys === GENERAL_STAT_KEYS) return ` ${t}`
    return row.delivery === 'event' ? ` ${ta}` : ''
  }
  const objects = listener.data.flatMap(frameObjects)
  return new Map(objects.map((object) => [channel + key(object), comparableLine(row, object)]))
}

/** How many objects share one batch is a matter of when they come. */
const frameObjects = (frame: Frame | readonly Frame[]): readonly Frame[] =>
  Array.isArray(frame) ? frame : [frame as Frame]

/** Without when the object was told, which may be a retraction's moment; a balance without its price on arrival. */
const comparableLine = ({ prefix, candle }: ChannelRow, frame: Frame): string => {
  const { tpiu, t, ts, ...rest } = frame
  if (candle !== null) return JSON.stringify(frame)
  return JSON.stringify(prefix === 'dex-wallet-balance' ? rest : { tpiu, ...rest })
}

const notRetractedLines = ({ listener }: SubscribedChannel): readonly string[] => {
  const counts = new Map<string, number>()
  for (const { op, ...frame } of listener.data) {
    const line = JSON.stringify(frame)
    counts.set(line, (counts.get(line) ?? 0) + (op === 'revert' ? -1 : 1))
  }
  return [...counts].flatMap(([line, n]) => (n === 0 ? [] : [`${n} ${line}`])).sort()
}
