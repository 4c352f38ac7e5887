import { WebSocket } from 'ws'
import { InvalidInput, Outage } from '../errors.ts'
import { pause } from '../retry.ts'
import {
  callText,
  type Endpoint,
  endpointLabel,
  MAX_RESPONSE_BYTES,
  type OnBytes,
  OversizedAnswer,
  parseRpcMessage,
  type RpcCall,
  type RpcMessage,
  resultOfMessage,
} from './endpoint.ts'

type SettleCall = (answer: RpcMessage | Error, bytes?: number) => void

/** A call in flight, and the largest answer that it takes, bytes. */
interface AwaitedCall {
  readonly end: SettleCall
  readonly maxBytes: number
}

/** Calls in flight on one socket; more are refused rather than queued. */
const MAX_PENDING_CALLS = 4_096

/** One open socket: its pending calls and its notices. */
interface RpcSocket {
  readonly socket: WebSocket
  readonly pending: Map<number, AwaitedCall>
  readonly opened: Promise<void>
}

const openSocket = (
  url: string,
  timeoutMs: number,
  onNotice: (params: unknown) => void,
): RpcSocket => {
  const socket = new WebSocket(url, { maxPayload: MAX_RESPONSE_BYTES, handshakeTimeout: timeoutMs })
  const pending = new Map<number, AwaitedCall>()
  const fail = (error: Error): void => {
    for (const { end } of pending.values()) end(error)
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
  socket.on('message', (data: Buffer) => {
    try {
      const early = pending.get(earlyId(data) ?? 0)
      if (early && data.byteLength > early.maxBytes) return early.end(new OversizedAnswer())
      const text = String(data)
      const message = parseRpcMessage(text)
      const { method, params, id } = message.fields
      if (typeof method === 'string') {
        if (message.isDeep) throw new InvalidInput('json-too-deep', 'a notice nests too deep')
        return onNotice(params)
      }
      if (typeof id !== 'number')
        throw new InvalidInput('rpc-wrong-id', 'a response has no numeric id')
      const call = pending.get(id)
      const isOversized = call !== undefined && data.byteLength > call.maxBytes
      call?.end(isOversized ? new OversizedAnswer() : message, data.byteLength)
    } catch (error) {
      fail(error instanceof InvalidInput ? error : unreadableMessage(error))
      socket.terminate()
    }
  })
  return { socket, pending, opened }
}

/** Bytes at the beginning of a message within which nodes name its call. */
const HEADER_BYTES = 64

/** The id that an answer names before its result, so that an oversized one need not be parsed; undefined: it is not there. */
const earlyId = (data: Buffer): number | undefined => {
  const [, id] =
    /^\{(?:"jsonrpc":"2\.0",)?"id":(\d{1,15})[,}]/.exec(data.toString('latin1', 0, HEADER_BYTES)) ??
    []
  return id === undefined ? undefined : Number(id)
}

const unreadableMessage = (cause: unknown): InvalidInput =>
  new InvalidInput('unreadable-answer', 'a message of the node could not be read', { cause })

/** A node behind a WebSocket. The socket opens on the first call and again after it broke; calls are not repeated here. */
export const wsEndpoint = (url: string, timeoutMs: number): Endpoint => {
  let line: RpcSocket | undefined
  let lastId = 0
  const listeners = new Map<string, (notice: unknown) => void>()
  const onNotice = (params: unknown): void => {
    if (typeof params !== 'object' || params === null) return
    const { subscription, result } = params as { subscription?: unknown; result?: unknown }
    if (isSubscription(subscription)) listeners.get(String(subscription))?.(result)
  }
  const current = (): RpcSocket => {
    if (line === undefined || line.socket.readyState > WebSocket.OPEN) {
      listeners.clear()
      line = openSocket(url, timeoutMs, onNotice)
    }
    return line
  }
  const request: Endpoint['request'] = async (call, signal, onBytes) => {
    const { socket, pending, opened } = current()
    await opened
    signal.throwIfAborted()
    if (pending.size >= MAX_PENDING_CALLS) throw new Outage('rpc', 'too many calls in flight')
    lastId += 1
    const id = lastId
    const onTimeout = (): void => socket.terminate()
    const wait: PendingCall = {
      id,
      pending,
      timeoutMs,
      signal,
      onTimeout,
      maxBytes: call.maxBytes ?? MAX_RESPONSE_BYTES,
      ...(onBytes && { onBytes }),
    }
    const answer = await awaitResponse(wait, () => socket.send(callText(id, call)))
    return resultOfMessage(answer, { id, call })
  }
  return {
    url,
    label: endpointLabel(url),
    request,
    subscribe: (call, onNotice, signal) => {
      keepSubscribed({ request, call, listeners, onNotice, isOpen: () => line }, signal)
    },
    close: () => line?.socket.terminate(),
  }
}

interface PendingCall {
  readonly id: number
  readonly pending: Map<number, AwaitedCall>
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** A socket that does not answer is taken for dead: it may be half open after the machine slept. */
  readonly onTimeout: () => void
  readonly onBytes?: OnBytes
}

const awaitResponse = (wait: PendingCall, send: () => void): Promise<RpcMessage> =>
  new Promise((resolve, reject) => {
    const settle: SettleCall = (answer, bytes = 0) => {
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
    wait.pending.set(wait.id, { end: settle, maxBytes: wait.maxBytes })
    send()
  })

const isSubscription = (id: unknown): id is string | number =>
  typeof id === 'string' || typeof id === 'number'

interface SubscriptionDeps {
  readonly request: Endpoint['request']
  readonly call: RpcCall
  readonly listeners: Map<string, (notice: unknown) => void>
  readonly onNotice: (notice: unknown) => void
  readonly isOpen: () => RpcSocket | undefined
}

/** Pauses before a broken or refused subscription is asked for again. */
const RESUBSCRIBE_INITIAL_MS = 1_000
const RESUBSCRIBE_MAX_MS = 15_000

/** Subscribes, and again whenever the socket broke; a node without subscriptions is simply polled by the caller. */
const keepSubscribed = (subscriber: SubscriptionDeps, signal: AbortSignal): void => {
  const { request, call, listeners, onNotice, isOpen } = subscriber
  let failures = 0
  const attempt = async (): Promise<void> => {
    const id = await request(call, signal)
    if (!isSubscription(id)) {
      throw new InvalidInput('rpc-no-subscription', 'the response holds no subscription id')
    }
    listeners.set(String(id), onNotice)
    failures = 0
    isOpen()?.socket.once('close', again)
  }
  const again = (): void => {
    if (signal.aborted) return
    const waitMs = Math.min(RESUBSCRIBE_INITIAL_MS * 2 ** failures, RESUBSCRIBE_MAX_MS)
    failures += 1
    pause(waitMs, signal).then(attempt).catch(again)
  }
  attempt().catch(again)
}
