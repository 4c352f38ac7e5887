/** Raw TCP sockets that speak just enough WebSocket and Centrifuge's JSON protocol to count messages cheaply, of either server. */
import { connect, type Socket } from 'node:net'
import { clientFrame, createFrameReader, eachLine, FRAME_KINDS } from './frame-reader.ts'
import {
  monotonicNs,
  type ReaderOrder,
  type ReaderWord,
  type SideName,
  stampIn,
} from './messages.ts'

/** Sockets that are being opened at the same time. */
const OPENING = 50
/** One of so many sockets measures latency. */
const LATENCY_EVERY = 4
const HEAD_END = '\r\n\r\n'
/** The credential is shown here too: ours lets an address connect without one only so often. */
const upgradeRequest = (token: string): string =>
  [
    'GET /connection/websocket HTTP/1.1',
    'Host: 127.0.0.1',
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version: 13',
    `Authorization: Bearer ${token}`,
    '\r\n',
  ].join('\r\n')
const textFrame = (text: string): Buffer => clientFrame(FRAME_KINDS.text, Buffer.from(text))
const PONG = textFrame('{}')
/** A ping of the protocol is an empty object; nothing else is as short. */
const PING_LENGTH = 2

/** Counts of one server's sockets. */
interface Tally {
  received: number
  expected: number
  latenciesMs: number[]
  sample: string
}

const say = (word: ReaderWord): void => {
  process.send?.(word)
}
const fail = (why: string): void => say({ kind: 'failed', why })

const createTally = (): Tally => ({ received: 0, expected: 0, latenciesMs: [], sample: '' })
const tallies: Readonly<Record<SideName, Tally>> = {
  sluice: createTally(),
  centrifugo: createTally(),
}

/** Counts a publication. */
const count = (side: SideName, line: { bytes: Buffer; from: number; to: number }): void => {
  const tally = tallies[side]
  tally.received += 1
  if (tally.received > tally.expected) fail(`${side} sent more than was published`)
  if (tally.received < tally.expected) return
  const { latenciesMs } = tally
  const sample = line.bytes.toString('utf8', line.from, line.to)
  say({ kind: 'received', side, atNs: monotonicNs(), latenciesMs, sample })
}

/** Calls `onBytes` with whatever follows the answer to the upgrade. */
const readUpgraded = (socket: Socket, side: SideName, onBytes: (bytes: Buffer) => void): void => {
  let head: Buffer = Buffer.alloc(0)
  const readHead = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf(HEAD_END)
    if (end === -1) return
    const text = head.toString('latin1', 0, end)
    if (text.startsWith('HTTP/1.1 101')) {
      socket.off('data', readHead).on('data', onBytes)
      onBytes(head.subarray(end + HEAD_END.length))
    } else fail(`${side} refused an upgrade: ${text}`)
  }
  socket.on('data', readHead)
}

/** Sends the commands one after another; resolves when the server has answered the last one. Then publications are counted. */
const converse = (
  socket: Socket,
  { side, index }: { readonly side: SideName; readonly index: number },
  commands: readonly string[],
): Promise<void> =>
  new Promise((resolve) => {
    const waiting = commands.map(textFrame)
    const measures = index % LATENCY_EVERY === 0
    let isUpgraded = false
    let isOpen = false
    const sendNext = (): void => {
      const next = waiting.shift()
      if (next !== undefined) socket.write(next)
      isOpen = next === undefined
      if (isOpen) resolve()
    }
    const hear = (bytes: Buffer, from: number, to: number): void => {
      if (to - from === PING_LENGTH) socket.write(PONG)
      else if (isOpen) {
        const stampNs = measures ? stampIn(bytes, from, to) : undefined
        if (stampNs !== undefined) tallies[side].latenciesMs.push((monotonicNs() - stampNs) / 1e6)
        count(side, { bytes, from, to })
      } else {
        const text = bytes.toString('utf8', from, to)
        if (text.startsWith('{"id":') && !text.includes('"error"')) sendNext()
        else fail(`${side} answered ${text}`)
      }
    }
    const read = createFrameReader((kind, bytes, from, to) => {
      if (kind === FRAME_KINDS.text) eachLine(bytes, from, to, hear)
      else if (kind === FRAME_KINDS.ping)
        socket.write(clientFrame(FRAME_KINDS.pong, bytes.subarray(from, to)))
      else fail(`${side} sent a frame ${kind}: ${bytes.toString('latin1', from, to)}`)
    })
    readUpgraded(socket, side, (bytes) => {
      read(bytes)
      if (isUpgraded) return
      isUpgraded = true
      sendNext()
    })
  })

const openAll = async ({
  side,
  port,
  token,
  channels,
}: Extract<ReaderOrder, { kind: 'open' }>): Promise<void> => {
  const connectCommand = JSON.stringify({ id: 1, connect: { token } })
  const upgrade = upgradeRequest(token)
  const entries = channels.entries()
  const openSome = async (): Promise<void> => {
    for (const [index, channel] of entries) {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('connect', () => socket.write(upgrade))
      socket.once('error', (error) => fail(`${side}: ${error.message}`))
      socket.once('close', () => fail(`${side} closed a socket`))
      const subscribeCommand = JSON.stringify({ id: 2, subscribe: { channel } })
      await converse(socket, { side, index }, [connectCommand, subscribeCommand])
    }
  }
  await Promise.all(Array.from({ length: OPENING }, openSome))
  say({ kind: 'opened', side })
}

process.on('message', (order: ReaderOrder) => {
  if (order.kind === 'open') return void openAll(order)
  Object.assign(tallies[order.side], createTally(), { expected: order.count })
  say({ kind: 'expecting', side: order.side })
})
process.once('disconnect', () => process.exit())
