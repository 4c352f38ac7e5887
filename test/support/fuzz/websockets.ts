import { WebSocket } from 'ws'
import type { Random } from '../../../simulator/node/random.ts'
import { encodeCommand, randomProtobufFrame, replyIds } from './protobuf-commands.ts'
import {
  encodeForUrl,
  mutateText,
  randomDeepJson,
  randomJson,
  randomObjectJson,
  randomText,
} from './random-values.ts'
import { FuzzFailure, type FuzzRunner, type FuzzSurface, type FuzzTarget } from './surface.ts'

const METHODS = [
  ...[
    'connect',
    'ping',
    'subscribe',
    'subscribe',
    'subscribe',
    'unsubscribe',
    'publish',
    'presence',
  ],
  ...['presence_stats', 'history', 'history', 'rpc', 'send', 'refresh', 'sub_refresh', 'unknown'],
] as const
const CHANNELS = [
  ...[
    'dex-candle:C_T_1m',
    'dex-trade:C_T',
    'dex-token-stats:C_T',
    'dex-new-tokens:C',
    'dex-new-token:C',
  ],
  ...[
    'dex-ranking-hot:C_1h',
    'dex-wallet-trade:C_W',
    'pred:evt:x',
    'dex-candle:',
    ':',
    '$private',
    '',
  ],
] as const
const FIELDS = [
  ...[
    'channel',
    'token',
    'data',
    'flag',
    'recover',
    'offset',
    'epoch',
    'limit',
    'since',
    'reverse',
  ],
  ...[
    'delta',
    'positioned',
    'recoverable',
    'join_leave',
    'tf',
    'method',
    'name',
    'version',
    'subs',
  ],
] as const
/** Fields that say from where a subscription continues. */
const POSITION = ['flag', 'offset', 'epoch', 'positioned', 'recoverable'] as const
/** For an answer or a close; nothing means that the frame hangs. */
const LIMIT_MS = 5_000

const randomChannel = (random: Random, { chain, words }: FuzzTarget): string =>
  random.pick(CHANNELS).replace('C', chain).replace('T', words.token).replace('W', words.wallet)

const randomFrame = (random: Random, target: FuzzTarget): string => {
  const how = random.below(12)
  if (how === 0) return randomJson(random)
  if (how === 1) return randomText(random)
  if (how === 2) return randomDeepJson(random)
  const channel = randomChannel(random, target)
  const fields: [string, string][] = [['channel', JSON.stringify(channel)]]
  if (how === 3) {
    fields.push(['recover', 'true'])
    for (const name of POSITION) {
      if (random.chance(0.5))
        fields.push([name, random.chance(0.3) ? randomDeepJson(random) : randomJson(random)])
    }
    return randomObjectJson(random, [
      ['id', '1'],
      ['subscribe', randomObjectJson(random, fields)],
    ])
  }
  for (let more = random.below(4); more > 0; more--)
    fields.push([random.pick(FIELDS), randomJson(random)])
  const id = random.chance(0.95) ? String(1 + random.below(1_000)) : randomJson(random)
  const frame = randomObjectJson(random, [
    ['id', id],
    [
      random.pick(METHODS),
      random.chance(0.9) ? randomObjectJson(random, fields) : randomJson(random),
    ],
  ])
  return random.chance(0.15) ? mutateText(frame, random) : frame
}

/** Waits for `what`; fails when it does not come. */
const within = (what: string, begin: (done: () => void) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new FuzzFailure(`neither answer nor close: ${what}`)),
      LIMIT_MS,
    )
    begin(() => {
      clearTimeout(timer)
      resolve()
    })
  })

const openSocket = async (target: FuzzTarget, query: string): Promise<WebSocket> => {
  const ws = new WebSocket(`ws://127.0.0.1:${target.ports.streams}/connection/websocket${query}`)
  ws.on('error', () => ws.terminate())
  await within('an upgrade', (done) => {
    ws.once('open', done)
    ws.once('close', done)
    ws.once('error', done)
  })
  return ws
}

const PROBE_COMMAND_ID = 4_294_967_295

/** What one connection sends, and how it knows the answer to its last command. */
interface Conversation {
  readonly query: string
  readonly connect: string | Buffer
  readonly frames: readonly (string | Buffer)[]
  readonly probe: string | Buffer
  readonly isProbeReply: (message: Buffer) => boolean
  /** The case in short. */
  readonly what: string
}

const jsonConversation = (random: Random, target: FuzzTarget): Conversation => {
  const query = random.chance(0.1) ? `?cf_protocol=${encodeForUrl(randomText(random))}` : ''
  const texts = Array.from({ length: 1 + random.below(4) }, () => randomFrame(random, target))
  return {
    query,
    connect: JSON.stringify({
      id: PROBE_COMMAND_ID - 1,
      connect: { token: target.nextKey() },
    }),
    frames: random.chance(0.2)
      ? [texts.join('\n')]
      : texts.map((text) => (random.chance(0.95) ? text : Buffer.from(text))),
    probe: JSON.stringify({ id: PROBE_COMMAND_ID, rpc: { method: 'nothing' } }),
    isProbeReply: (message) => message.toString().includes(`"id":${PROBE_COMMAND_ID}`),
    what: JSON.stringify(texts.map((text) => text.slice(0, 150))),
  }
}

const protobufConversation = (random: Random, target: FuzzTarget): Conversation => {
  const frames = Array.from({ length: 1 + random.below(4) }, () =>
    randomProtobufFrame(randomChannel(random, target), random),
  )
  return {
    query: '?cf_protocol=protobuf',
    connect: encodeCommand({ id: PROBE_COMMAND_ID - 1, connect: { token: target.nextKey() } }),
    frames: frames.map((frame) => (random.chance(0.95) ? frame : frame.toString('latin1'))),
    probe: encodeCommand({ id: PROBE_COMMAND_ID, rpc: {} }),
    isProbeReply: (message) => replyIds(message).includes(PROBE_COMMAND_ID),
    what: `protobuf ${frames.map((frame) => frame.toString('hex').slice(0, 150))}`,
  }
}

/** Frames, alone and several in one message, before and after a connect; each connection still answers or is closed. */
export const socketSurface: FuzzSurface = {
  name: 'sockets',
  share: 3,
  width: 4,
  open: async (target): Promise<FuzzRunner> => ({
    run: async (random) => {
      const make = random.chance(0.4) ? protobufConversation : jsonConversation
      const { query, connect, frames, probe, isProbeReply, what } = make(random, target)
      const ws = await openSocket(target, query)
      if (ws.readyState !== WebSocket.OPEN) return
      const isConnected = random.chance(0.85)
      try {
        await within(what, (done) => {
          ws.once('close', done)
          ws.on('message', (data: Buffer) => {
            if (isProbeReply(data)) done()
          })
          for (const frame of [...(isConnected ? [connect] : []), ...frames, probe]) ws.send(frame)
        })
      } finally {
        ws.terminate()
      }
    },
    close: async () => undefined,
  }),
}
