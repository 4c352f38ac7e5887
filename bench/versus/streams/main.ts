import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from '../../quantile.ts'
import { installCentrifugo } from '../centrifugo/process.ts'
import { treeSeconds } from '../process-tree.ts'
import { tokenChannel } from './messages.ts'
import { type Readers, type Received, startReaders } from './readers.ts'
import {
  type SluiceServer,
  type StreamServer,
  startCentrifugoServer,
  startSluiceServer,
} from './servers.ts'

const DEFAULT_SOCKETS = 1_000
const MAX_SOCKETS = 10_000
/** Rounds that count, after those that only warm up. */
const FULL_SPEED = { rounds: 10, warmup: 2 } as const
const STEADY = { rounds: 4, warmup: 1 } as const
const STEADY_MS = 2_000

/** How the sockets are spread over channels, and what is published. */
interface Shape {
  readonly name: string
  readonly channels: number
  /** Groups of publications of one sample at full speed, handed over without waiting for the one before. */
  readonly groups: number
  /** Publications of such a group to each channel. */
  readonly perChannel: number
  /** Publications of a channel per second at a steady pace. */
  readonly pacedPerSecond: number
  /** Into how many groups the channels are divided then, one after another. */
  readonly pacedGroups: number
}

/** Paces that both servers hold on two cores beside their clients. */
const SHAPES: readonly Shape[] = [
  {
    name: 'one channel',
    channels: 1,
    groups: 1,
    perChannel: 50,
    pacedPerSecond: 10,
    pacedGroups: 1,
  },
  {
    name: '1,000 channels',
    channels: 1_000,
    groups: 5,
    perChannel: 1,
    pacedPerSecond: 1,
    pacedGroups: 20,
  },
]

/** What one server did in one sample. */
interface Sample {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly messages: number
  readonly latenciesMs: readonly number[]
}

interface Contest {
  readonly shape: Shape
  readonly sockets: number
  readonly readers: Readers
}

/** The product and Centrifugo. */
type Servers = readonly [StreamServer, StreamServer]

/** `VERSUS_SOCKETS`, where it is set. */
const socketCount = (): number => {
  const asked = Number(process.env.VERSUS_SOCKETS ?? DEFAULT_SOCKETS)
  if (Number.isInteger(asked) && asked > 0 && asked <= MAX_SOCKETS) return asked
  throw new Error(`VERSUS_SOCKETS is a number of sockets from 1 to ${MAX_SOCKETS}`)
}

const range = (length: number, first = 0): readonly number[] =>
  Array.from({ length }, (_, index) => first + index)

/** Publishes, and measures until the last socket has everything. */
const measure = async (
  { readers, sockets }: Contest,
  server: StreamServer,
  perSocket: number,
  publishAll: () => Promise<number>,
): Promise<Sample & Received> => {
  const expected = await readers.expect(server.side, perSocket)
  const cpuBefore = treeSeconds(server.pid)
  const [received, startNs] = await Promise.all([expected.received, publishAll()])
  return {
    ...received,
    seconds: (received.atNs - startNs) / 1e9,
    cpuSeconds: treeSeconds(server.pid) - cpuBefore,
    messages: perSocket * sockets,
  }
}

/** Of one channel with many sockets less is published, so that a sample stays as large. */
const shareOf = ({ shape, sockets }: Contest): number =>
  shape.channels === 1 ? Math.min(1, DEFAULT_SOCKETS / sockets) : 1

/** As fast as it goes. */
const fullSpeed = (contest: Contest, server: StreamServer): Promise<Sample> => {
  const { channels, groups } = contest.shape
  const perChannel = Math.ceil(contest.shape.perChannel * shareOf(contest))
  const tokens = range(perChannel).flatMap(() => range(channels))
  return measure(contest, server, groups * perChannel, async () => {
    const stamps = await Promise.all(range(groups).map(() => server.publish(tokens)))
    return Math.min(...stamps)
  })
}

/** At the same pace for both: a group is handed over at its time even where the one before is still on its way. */
const steady = (contest: Contest, server: StreamServer): Promise<Sample> => {
  const { channels, pacedPerSecond, pacedGroups } = contest.shape
  const perSecond = pacedPerSecond * shareOf(contest)
  const perSocket = Math.max(1, Math.round((perSecond * STEADY_MS) / 1_000))
  const size = Math.ceil(channels / pacedGroups)
  const groups = range(pacedGroups).map((at) =>
    range(Math.min(size, channels - at * size), at * size),
  )
  const intervalMs = STEADY_MS / (perSocket * groups.length)
  return measure(contest, server, perSocket, async () => {
    const startMs = performance.now()
    const published: Promise<number>[] = []
    for (const group of range(perSocket).flatMap(() => groups)) {
      await sleep(startMs + published.length * intervalMs - performance.now())
      const done = server.publish(group)
      // Waited for below; until then a failure must not end the process.
      done.catch(() => undefined)
      published.push(done)
    }
    return Math.min(...(await Promise.all(published)))
  })
}

/** Samples of both, in turns; who begins changes each round. */
const inTurns = async (
  servers: Servers,
  { rounds, warmup }: { readonly rounds: number; readonly warmup: number },
  take: (server: StreamServer) => Promise<Sample>,
): Promise<readonly [readonly Sample[], readonly Sample[]]> => {
  const samples: readonly [Sample[], Sample[]] = [[], []]
  for (let round = -warmup; round < rounds; round += 1) {
    for (const at of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const sample = await take(servers[at])
      if (round >= 0) samples[at].push(sample)
    }
  }
  return samples
}

const rounded = (value: number): number => Number(value.toPrecision(3))
const sum = (samples: readonly Sample[], of: (sample: Sample) => number): number =>
  samples.reduce((total, sample) => total + of(sample), 0)

/** At full speed: messages per second of the median sample, and processor time of the server for each message. */
const speedOf = (samples: readonly Sample[]) => ({
  perSecond: quantile(
    samples.map(({ messages, seconds }) => messages / seconds),
    0.5,
  ),
  cpuMicros:
    (sum(samples, ({ cpuSeconds }) => cpuSeconds) * 1e6) / sum(samples, ({ messages }) => messages),
})

const latencyOf = (samples: readonly Sample[]) => {
  const all = samples.flatMap(({ latenciesMs }) => latenciesMs)
  return { p50Ms: quantile(all, 0.5), p99Ms: quantile(all, 0.99) }
}

const runShape = async (
  contest: Omit<Contest, 'readers'>,
  servers: Servers,
  token: string,
): Promise<void> => {
  const { shape, sockets } = contest
  const readers = startReaders(sockets)
  try {
    const channelOf = (index: number): string => tokenChannel(index % shape.channels)
    for (const { side, port } of servers) await readers.open({ side, port, token, channelOf })
    const entry: Contest = { ...contest, readers }
    const fast = await inTurns(servers, FULL_SPEED, (server) => fullSpeed(entry, server))
    const paced = await inTurns(servers, STEADY, (server) => steady(entry, server))
    const [speed, theirSpeed] = [speedOf(fast[0]), speedOf(fast[1])]
    const [latency, theirLatency] = [latencyOf(paced[0]), latencyOf(paced[1])]
    const row = {
      bench: 'versus-streams',
      node: process.version,
      shape: shape.name,
      sockets,
      channels: shape.channels,
      /** Messages that sockets received, at full speed. */
      perSecond: Math.round(speed.perSecond),
      centrifugoPerSecond: Math.round(theirSpeed.perSecond),
      /** Ours over Centrifugo's: above 1, ours is faster. */
      ratio: rounded(speed.perSecond / theirSpeed.perSecond),
      /** Processor time of the server, microseconds for each message, at full speed. */
      cpuMicros: rounded(speed.cpuMicros),
      centrifugoCpuMicros: rounded(theirSpeed.cpuMicros),
      /** Ours over Centrifugo's: below 1, ours needs less. */
      cpuRatio: rounded(speed.cpuMicros / theirSpeed.cpuMicros),
      /** From the hand-over of a publication to its message, at a steady pace. */
      messagesPerSecondPaced: Math.round(
        (sum(paced[0], ({ messages }) => messages) / (STEADY.rounds * STEADY_MS)) * 1_000,
      ),
      p50Ms: rounded(latency.p50Ms),
      p99Ms: rounded(latency.p99Ms),
      centrifugoP50Ms: rounded(theirLatency.p50Ms),
      centrifugoP99Ms: rounded(theirLatency.p99Ms),
      /** Ours over Centrifugo's: below 1, ours is sooner. */
      p50Ratio: rounded(latency.p50Ms / theirLatency.p50Ms),
      p99Ratio: rounded(latency.p99Ms / theirLatency.p99Ms),
      bare: 'Centrifugo 5.4.9, engine in memory, one batch request of its HTTP API for each group of publications',
      more: 'Sluice: one commit of trades to its log on the disk for each group, which its own process encodes and writes',
    }
    console.log(JSON.stringify(row))
  } finally {
    await readers.stop()
  }
}

/** A message of the product, as a socket receives it. */
const sampleMessage = async (sluice: SluiceServer): Promise<string> => {
  const readers = startReaders(1)
  try {
    const { side, port, token } = sluice
    await readers.open({ side, port, token, channelOf: tokenChannel })
    const { received } = await readers.expect(side, 1)
    const [{ sample }] = await Promise.all([received, sluice.publish([0])])
    return sample
  } finally {
    await readers.stop()
  }
}

/**
 * The product's stream server and Centrifugo, each in a process of its own, send the same trades to as many sockets of the same
 * client processes, in turns: at full speed until the last socket has everything, then at a pace that both hold. Each gets its
 * publications as its users give them to it: the product by a commit to its log, Centrifugo by a request to its HTTP API.
 */
export const versusStreamsBench = async (): Promise<void> => {
  const sockets = socketCount()
  await installCentrifugo()
  const sluice = await startSluiceServer()
  try {
    const sample = await sampleMessage(sluice)
    const centrifugo = await startCentrifugoServer(sluice.publicKeyPem, sample)
    try {
      for (const shape of SHAPES) {
        const channels = Math.min(shape.channels, sockets)
        const contest = { shape: { ...shape, channels }, sockets }
        await runShape(contest, [sluice, centrifugo], sluice.token)
      }
    } finally {
      await centrifugo.stop()
    }
  } finally {
    await sluice.stop()
  }
}
