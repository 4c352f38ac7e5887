/** Bounds of subscriptions, beside those of each query (`QueryLimits`). */
export interface LiveLimits {
  readonly subscriptionsPerConnection: number
  /** Of one organization in this process. */
  readonly subscriptionsPerOrg: number
  /** Slots that a resumed subscription may be behind the newest block. */
  readonly maxResumeSlots: number
  /** Subscriptions of one organization in this process that catch up at the same time; more wait for their turn. */
  readonly catchUpsPerOrg: number
  /** Pause of a subscription whose statement found no place in the queue. */
  readonly busyPauseMs: number
  /** Blocks without rows after which a delivery without rows takes the cursor along. */
  readonly maxQuietBlocks: number
  /** Time for `connection_init`. */
  readonly initTimeoutMs: number
  /** Messages of one connection that are handled at the same time. */
  readonly messagesInHand: number
  /** Bytes of a `ping` or `pong` message: the payload of a `ping` is sent back. */
  readonly maxPingBytes: number
  /** Nesting of a message. */
  readonly maxDepth: number
  /** Characters of an operation's id. */
  readonly maxIdLength: number
  /** Bytes of the records of one delivery. */
  readonly maxAnswerBytes: number
  /** Above this, what is to be sent next on the connection waits until the client has read, and no delivery is made for it. */
  readonly maxQueuedBytes: number
  /** A client that reads nothing for so long is closed. */
  readonly slowTimeoutMs: number
  /** Time between two pings, and the silence after which a client is gone. */
  readonly pingMs: number
  readonly silenceMs: number
}

/** Defaults of an installation. */
export const LIVE_LIMITS: LiveLimits = {
  subscriptionsPerConnection: 32,
  subscriptionsPerOrg: 200,
  maxResumeSlots: 16_384,
  catchUpsPerOrg: 2,
  busyPauseMs: 1_000,
  maxQuietBlocks: 1_024,
  initTimeoutMs: 10_000,
  messagesInHand: 64,
  maxPingBytes: 4_096,
  maxDepth: 48,
  maxIdLength: 128,
  maxAnswerBytes: 4 * 1024 * 1024,
  maxQueuedBytes: 256 * 1024,
  slowTimeoutMs: 10_000,
  pingMs: 25_000,
  silenceMs: 60_000,
}

/** A WebSocket close of `graphql-transport-ws`. Source: its protocol document; 1013 and 1001 are RFC 6455's and mean "again later". */
export const LIVE_CLOSES = {
  badRequest: { code: 4400, reason: 'Invalid message received' },
  unauthorized: { code: 4401, reason: 'Unauthorized' },
  forbidden: { code: 4403, reason: 'Forbidden' },
  idInUse: { code: 4409, reason: 'Subscriber already exists' },
  tooManyMessages: { code: 4429, reason: 'Too many messages' },
  tooManyConnections: { code: 4429, reason: 'Too many connections' },
  slow: { code: 1013, reason: 'Slow reader' },
  unavailable: { code: 1013, reason: 'Try again later' },
  shutdown: { code: 1001, reason: 'Shutdown' },
  internal: { code: 1011, reason: 'Internal server error' },
} as const satisfies Record<string, LiveClose>

/** Code and plain words of a close. */
export interface LiveClose {
  readonly code: number
  readonly reason: string
}

/** Thrown to end a connection. */
export class ConnectionClosed extends Error {
  readonly close: LiveClose

  constructor(close: LiveClose) {
    super(close.reason)
    this.name = 'ConnectionClosed'
    this.close = close
  }
}
