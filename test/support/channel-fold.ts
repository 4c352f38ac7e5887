/** Channels of every family, heard with the stock client, and what a listener is left with. */
import { CHANNELS, type ChannelRow } from '../../schemas/channels.ts'
import type { Listener, Product } from './product.ts'
import type { Subjects } from './surfaces.ts'
import { until } from './until.ts'

type Frame = Readonly<Record<string, unknown>>

interface Heard {
  readonly channel: string
  readonly row: ChannelRow
  readonly listener: Listener
}

/** What listening has led to. */
export interface Ear {
  /** Returns once nothing has come for a while. */
  quiet(): Promise<void>
  /** The newest object of each subject, by channel and what tells the subjects of one channel apart. */
  newest(): ReadonlyMap<string, string>
  /** What was told of and not taken back, as `count frame`, by channel. */
  standing(): ReadonlyMap<string, readonly string[]>
  stop(): void
}

/** Families of which a retraction is a frame with `op`. */
const NETTED = new Set(['dex-trade', 'dex-wallet-trade', 'dex-new-token'])
const RESOLUTION = '1m'
const QUIET_MS = 400

const addressesOf = ({ parameters }: ChannelRow, subjects: Subjects): readonly string[] => {
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

const channelsOf = (row: ChannelRow, chain: string, subjects: Subjects): readonly string[] => {
  if (row.parameters.length === 0) return [`${row.prefix}:${chain}`]
  const suffix = row.parameters.includes('resolution') ? `_${RESOLUTION}` : ''
  return addressesOf(row, subjects).map((address) => `${row.prefix}:${chain}_${address}${suffix}`)
}

/** Subscribes to every family about the subjects; trades and new tokens with their retractions. */
export const listen = async (product: Product, chain: string, subjects: Subjects): Promise<Ear> => {
  const heard: Heard[] = []
  for (const row of CHANNELS) {
    for (const channel of channelsOf(row, chain, subjects)) {
      const data = NETTED.has(row.prefix) ? { retractions: true } : undefined
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
      new Map(heard.flatMap((each) => (NETTED.has(each.row.prefix) ? [] : [...newestOf(each)]))),
    standing: () =>
      new Map(
        heard.flatMap((each) =>
          NETTED.has(each.row.prefix) ? [[each.channel, standingOf(each)] as const] : [],
        ),
      ),
    stop: () => {
      for (const { listener } of heard) listener.stop()
    },
  }
}

/** A client keeps one object per channel; of candles those of the newest bucket that holds trades, of wallets one per token. */
const newestOf = ({ channel, row, listener }: Heard): ReadonlyMap<string, string> => {
  if (row.candle !== null) {
    const byTime = new Map(listener.data.map((frame) => [Number(frame.t), frame]))
    const [last] = [...byTime].filter(([, { n }]) => n !== 0).sort(([one], [other]) => other - one)
    return new Map(last ? [[channel, JSON.stringify(last[1])]] : [])
  }
  const key = ({ ta }: Frame): string => (row.delivery === 'event' ? ` ${ta}` : '')
  const objects = listener.data.flatMap(objectsOf)
  return new Map(objects.map((object) => [channel + key(object), lineOf(row, object)]))
}

/** How many objects share one batch is a matter of when they come. */
const objectsOf = (frame: Frame | readonly Frame[]): readonly Frame[] =>
  Array.isArray(frame) ? frame : [frame as Frame]

/** Without when the object was told, which may be a retraction's moment; a balance without its price on arrival. */
const lineOf = ({ prefix, candle }: ChannelRow, frame: Frame): string => {
  const { tpiu, t, ts, ...rest } = frame
  if (candle !== null) return JSON.stringify(frame)
  return JSON.stringify(prefix === 'dex-wallet-balance' ? rest : { tpiu, ...rest })
}

const standingOf = ({ listener }: Heard): readonly string[] => {
  const counts = new Map<string, number>()
  for (const { op, ...frame } of listener.data) {
    const line = JSON.stringify(frame)
    counts.set(line, (counts.get(line) ?? 0) + (op === 'revert' ? -1 : 1))
  }
  return [...counts].flatMap(([line, n]) => (n === 0 ? [] : [`${n} ${line}`])).sort()
}
