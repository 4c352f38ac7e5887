import { setTimeout as sleep } from 'node:timers/promises'
import type { Principal } from '../../interfaces.ts'
import type { AdmissionSlot } from '../../realtime/admission.ts'
import {
  COMMAND_RATE,
  CONTROL_FRAME_RATE,
  fullBudget,
  type InboundBudget,
  takeToken,
} from '../../realtime/inbound-rates.ts'
import type { Socket } from '../../realtime/socket.ts'
import { ConnectionClosed, LIVE_CLOSES, type LiveClose, type LiveLimits } from './limits.ts'
import type { LiveSession } from './ws-protocol.ts'

/** Time between two looks at a queue that is too long. */
const QUEUE_CHECK_MS = 25
/** How long a client may take to answer a close. */
const CLOSE_GRACE_MS = 5_000

/** What a connection tells. */
export interface LiveConnectionEvents {
  /** The client did not read for too long: the connection is closed, with so many subscriptions. */
  readonly onSlow: (subscriptions: number) => void
  readonly onError: (error: unknown) => void
}

/** One open socket with its protocol session. */
export class LiveConnection {
  readonly socket: Socket
  readonly counted: AdmissionSlot
  readonly #limits: LiveLimits
  readonly #events: LiveConnectionEvents
  session: LiveSession | undefined
  /** null = not let in yet. */
  principal: Principal | null = null
  subscriptions = 0
  /** When something last came in, and when the last ping went out. */
  seenMs: number
  pingedMs: number
  #pendingMessages = 0
  #messages: InboundBudget
  #controlFrames: InboundBudget
  #closedMs: number | undefined
  #unsent = 0
  /** Settles when everything that was given to `send` so far is with the client, or given up. */
  #sending: Promise<unknown> = Promise.resolve()

  constructor(
    socket: Socket,
    {
      counted,
      limits,
      nowMs,
      ...events
    }: LiveConnectionEvents & {
      readonly counted: AdmissionSlot
      readonly limits: LiveLimits
      readonly nowMs: number
    },
  ) {
    this.socket = socket
    this.counted = counted
    this.#limits = limits
    this.#events = events
    this.seenMs = nowMs
    this.pingedMs = nowMs
    this.#messages = fullBudget(COMMAND_RATE, nowMs)
    this.#controlFrames = fullBudget(CONTROL_FRAME_RATE, nowMs)
  }

  get open(): boolean {
    return this.#closedMs === undefined
  }

  /** A message came in, of whatever content. False where it is not to be read: the connection is over, or too many came. */
  takesMessage(nowMs: number): boolean {
    if (!this.open) return false
    this.seenMs = nowMs
    this.#messages = takeToken(this.#messages, COMMAND_RATE, nowMs)
    if (this.#messages.tokens < 0) this.close(LIVE_CLOSES.tooManyMessages)
    return this.open
  }

  /** A WebSocket-level ping or pong came in. */
  alive(nowMs: number): void {
    if (!this.open) return
    this.seenMs = nowMs
    this.#controlFrames = takeToken(this.#controlFrames, CONTROL_FRAME_RATE, nowMs)
    if (this.#controlFrames.tokens < 0) this.close(LIVE_CLOSES.tooManyMessages)
  }

  /** Hands one message to the session; what goes wrong ends this connection only. */
  message(text: string): void {
    if (!this.open || this.session === undefined) return
    if (this.#pendingMessages >= this.#limits.messagesInHand) {
      this.close(LIVE_CLOSES.tooManyMessages)
      return
    }
    this.#pendingMessages += 1
    this.session
      .message(text)
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#pendingMessages -= 1
      })
  }

  #failed(error: unknown): void {
    if (error instanceof ConnectionClosed) {
      this.close(error.close)
      return
    }
    this.#events.onError(error)
    this.close(LIVE_CLOSES.internal)
  }

  /**
   * Sends when the client has read enough of what was sent before, then waits until it has read enough of this: the transport
   * never holds more than `maxQueuedBytes` and one text. Throws `ConnectionClosed` where the client does not read.
   */
  async send(text: string): Promise<void> {
    this.#unsent += 1
    const sent = this.#sending.then(() => this.#write(text))
    const done = (): void => {
      this.#unsent -= 1
    }
    this.#sending = sent.then(done, done)
    await sent
  }

  /** Settles when what is being sent is with the client; undefined where nothing is. */
  backlog(): Promise<unknown> | undefined {
    return this.#unsent > 0 ? this.#sending : undefined
  }

  async #write(text: string): Promise<void> {
    if (!this.open) throw new ConnectionClosed(LIVE_CLOSES.unavailable)
    this.socket.send(text)
    const { maxQueuedBytes, slowTimeoutMs } = this.#limits
    const begunMs = performance.now()
    while (this.open && this.socket.buffered() > maxQueuedBytes) {
      if (performance.now() - begunMs > slowTimeoutMs) {
        this.closeSlow()
        throw new ConnectionClosed(LIVE_CLOSES.slow)
      }
      await sleep(QUEUE_CHECK_MS, undefined, { ref: false })
    }
  }

  /** Ends every subscription, then sends the close frame. */
  close({ code, reason }: LiveClose): void {
    if (!this.open) return
    this.#closedMs = performance.now()
    void this.ended(code, reason)
    this.socket.close(code, reason)
  }

  /** Closes a client that does not read. */
  closeSlow(): void {
    if (!this.open) return
    this.#events.onSlow(this.subscriptions)
    this.close(LIVE_CLOSES.slow)
  }

  /** A close frame that is not answered in time is followed by the end of the TCP connection. */
  dropIfOverdue(): void {
    if (this.#closedMs !== undefined && performance.now() - this.#closedMs > CLOSE_GRACE_MS)
      this.socket.drop()
  }

  /** The session ends once, whoever closed. */
  async ended(code: number, reason: string): Promise<void> {
    const { session } = this
    this.session = undefined
    this.#closedMs ??= performance.now()
    await session?.closed(code, reason).catch((error: unknown) => this.#events.onError(error))
  }
}
