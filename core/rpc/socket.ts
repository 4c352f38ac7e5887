import { WebSocket } from 'ws'
import { Malformed, Outage } from '../errors.ts'
import { pause } from '../retry.ts'
import {
  type Endpoint,
  labelOf,
  MAX_ANSWER_BYTES,
  type Message,
  type OnBytes,
  parseMessage,
  type RpcCall,
  resultOf,
} from './endpoint.ts'

type Pending = (answer: Message | Error, bytes?: number) => void

/** Calls in flight on one socket; more are refused rather than queued. */
const MAX_PENDING = 4_096

/** One open socket: its pending calls and its notices. */
interface Line {
  readonly socket: WebSocket
  readonly pending: Map<number, Pending>
  readonly opened: Promise<void>
}

const openLine = (url: string, timeoutMs: number, onNotice: (params: unknown) => void): Line => {
  const socket = new WebSocket(url, { maxPayload: MAX_ANSWER_BYTES, handshakeTimeout: timeoutMs })
  const pending = new Map<number, Pending>()
  const fail = (error: Error): void => {
    for (const settle of pending.values()) settle(error)
    pending.clear()
  }
  const opened = new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve())
    socket.once('error', (cause) => reject(new Outage('rpc', 'the socket did not open', { cause })))
    socket.once('close', () => reject(new Outage('rpc', 'the socket closed')))
  })
  opened.catch(() => undefined)
  socket.on('error', () => socket.terminate())
  socket.on('close', () => fail(new Outage('rpc', 'the socket closed')))
  socket.on('message', (data) => {
    try {
      const text = String(data)
      const message = parseMessage(text)
      const { method, params, id } = message.fields
      if (typeof method === 'string') {
        if (message.isDeep) throw new Malformed('json-too-deep', 'a notice nests too deep')
        return onNotice(params)
      }
      if (typeof id !== 'number') throw new Malformed('rpc-wrong-id', 'an answer names no call')
      pending.get(id)?.(message, Buffer.byteLength(text))
    } catch (error) {
      fail(error instanceof Malformed ? error : unreadable(error))
      socket.terminate()
    }
  })
  return { socket, pending, opened }
}

const unreadable = (cause: unknown): Malformed =>
  new Malformed('unreadable-answer', 'a message of the node could not be read', { cause })

/** A node behind a WebSocket. The socket opens on the first call and again after it broke; calls are not repeated here. */
export const socketEndpoint = (url: string, timeoutMs: number): Endpoint => {
  let line: Line | undefined
  let lastId = 0
  const listeners = new Map<string, (notice: unknown) => void>()
  const onNotice = (params: unknown): void => {
    if (typeof params !== 'object' || params === null) return
    const { subscription, result } = params as { subscription?: unknown; result?: unknown }
    if (isSubscription(subscription)) listeners.get(String(subscription))?.(result)
  }
  const current = (): Line => {
    if (line === undefined || line.socket.readyState > WebSocket.OPEN) {
      listeners.clear()
      line = openLine(url, timeoutMs, onNotice)
    }
    return line
  }
  const request: Endpoint['request'] = async (call, signal, onBytes) => {
    const { socket, pending, opened } = current()
    await opened
    signal.throwIfAborted()
    if (pending.size >= MAX_PENDING) throw new Outage('rpc', 'too many calls in flight')
    lastId += 1
    const id = lastId
    const onTimeout = (): void => socket.terminate()
    const wait: Wait = { id, pending, timeoutMs, signal, onTimeout, ...(onBytes && { onBytes }) }
    const answer = await awaitAnswer(wait, () =>
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, ...call })),
    )
    return resultOf(answer, { id, call })
  }
  return {
    url,
    label: labelOf(url),
    request,
    subscribe: (call, onNotice, signal) => {
      keepSubscribed({ request, call, listeners, onNotice, isOpen: () => line }, signal)
    },
    close: () => line?.socket.terminate(),
  }
}

interface Wait {
  readonly id: number
  readonly pending: Map<number, Pending>
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** A socket that does not answer is taken for dead: it may be half open after the machine slept. */
  readonly onTimeout: () => void
  readonly onBytes?: OnBytes
}

const awaitAnswer = (wait: Wait, send: () => void): Promise<Message> =>
  new Promise((resolve, reject) => {
    const settle: Pending = (answer, bytes = 0) => {
      clearTimeout(timer)
      wait.signal.removeEventListener('abort', abort)
      wait.pending.delete(wait.id)
      if (answer instanceof Error) reject(answer)
      else {
        wait.onBytes?.(bytes)
        resolve(answer)
      }
    }
    const abort = (): void => settle(wait.signal.reason as Error)
    const timer = setTimeout(() => {
      settle(new Outage('rpc', `no answer within ${wait.timeoutMs} ms`))
      wait.onTimeout()
    }, wait.timeoutMs)
    wait.signal.addEventListener('abort', abort, { once: true })
    wait.pending.set(wait.id, settle)
    send()
  })

const isSubscription = (id: unknown): id is string | number =>
  typeof id === 'string' || typeof id === 'number'

interface Subscriber {
  readonly request: Endpoint['request']
  readonly call: RpcCall
  readonly listeners: Map<string, (notice: unknown) => void>
  readonly onNotice: (notice: unknown) => void
  readonly isOpen: () => Line | undefined
}

/** Pauses before a broken or refused subscription is asked for again. */
const AGAIN_FIRST_MS = 1_000
const AGAIN_MAX_MS = 15_000

/** Subscribes, and again whenever the socket broke; a node without subscriptions is simply polled by the caller. */
const keepSubscribed = (subscriber: Subscriber, signal: AbortSignal): void => {
  const { request, call, listeners, onNotice, isOpen } = subscriber
  let failures = 0
  const attempt = async (): Promise<void> => {
    const id = await request(call, signal)
    if (!isSubscription(id)) {
      throw new Malformed('rpc-no-subscription', 'no subscription id')
    }
    listeners.set(String(id), onNotice)
    failures = 0
    isOpen()?.socket.once('close', again)
  }
  const again = (): void => {
    if (signal.aborted) return
    const waitMs = Math.min(AGAIN_FIRST_MS * 2 ** failures, AGAIN_MAX_MS)
    failures += 1
    pause(waitMs, signal).then(attempt).catch(again)
  }
  attempt().catch(again)
}
