import { randomUUID } from 'node:crypto'
import { Fault } from '../../core/errors.ts'
import type { ErrorBoundary } from '../../core/ops/error-boundary.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { isRevoked } from '../auth/is-revoked.ts'
import type { ChainFreshness, Guard, Meter, RevokedCredential } from '../interfaces.ts'
import type { AdmissionControl, ConnectionRefusal } from './admission.ts'
import type { Channel } from './channel-name.ts'
import { commandCredentials } from './connect-commands.ts'
import { Connection } from './connection.ts'
import { runCommand } from './dispatch-command.ts'
import type { Frame } from './frame-codec.ts'
import { nextHeartbeatAction, withPingSent } from './heartbeat.ts'
import type { Hub } from './hub.ts'
import { COMMAND_RATE, CONTROL_FRAME_RATE, takeToken } from './inbound-rates.ts'
import { createMeteredFilters, type MeteredFilters } from './metered-filters.ts'
import {
  CLOSE_FRAMES,
  type CloseFrame,
  type Command,
  type Reply,
  UNSUBSCRIBE_REASONS,
} from './protocol.ts'
import { createFilterCompiler } from './publication-filter.ts'
import { canBatchReplies, createSession, type Effect, type SessionEnv } from './session.ts'
import type { Socket } from './socket.ts'
import { SubscriptionLimits } from './subscription-limits.ts'
import { type ConnectionContext, checkQuota } from './upgrade.ts'

/** What connections need. */
export interface ConnectionRegistryOptions {
  readonly hub: Hub
  readonly guard: Guard
  readonly meter: Meter
  /** Newest freshness of every chain with data; does not fail, does not hang. */
  readonly freshness: () => Promise<Readonly<Record<string, ChainFreshness>>>
  readonly chains: ReadonlySet<string>
  readonly admission: AdmissionControl
  /** See `SessionEnv.longNames`. */
  readonly longNames: boolean
  /** See `SessionEnv.deltas`. */
  readonly deltas: boolean
  readonly boundary: ErrorBoundary
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
  readonly random: () => number
}

/** Thousandths of a CU per payload byte: 0.005 CU. */
const MILLI_UNITS_PER_BYTE = 5
/** Messages that may wait for the connect reply: clients send each subscription in a message of its own without waiting. */
const MAX_BACKLOG = COMMAND_RATE.burst
/** Bytes of the messages that may wait. */
const MAX_BACKLOG_BYTES = 256 * 1_024
/** Replies in one frame, where the client splits frames. */
const MAX_BATCH = 16
/** Characters, or bytes, in one frame of several replies: some clients refuse messages above 1 MiB. */
const MAX_BATCH_LENGTH = 256 * 1_024

/** Input of the commands of a message. */
interface Prepared extends Pick<SessionEnv, 'freshness'> {
  /** Why the credential of the message was not checked. */
  readonly unchecked?: Fault
}

/** Every open connection, and everything that happens to them. */
export class ConnectionRegistry {
  readonly #options: ConnectionRegistryOptions
  readonly #bySocket = new Map<Socket, Connection>()
  readonly #filters: MeteredFilters
  readonly #limits = new SubscriptionLimits()

  constructor(options: ConnectionRegistryOptions) {
    this.#options = options
    this.#filters = createMeteredFilters(createFilterCompiler(), options.nowMs)
  }

  get size(): number {
    return this.#bySocket.size
  }

  /** What to answer to an upgrade from the address; undefined where another connection fits. */
  refusal(address: string): ConnectionRefusal | undefined {
    return this.#options.admission.refusal(address)
  }

  open(socket: Socket, { credentials, encoding, framePings, address }: ConnectionContext): void {
    const { nowMs, random, metrics, boundary, admission } = this.#options
    // Asked again: many upgrades may have been decided at the same time.
    if (admission.refusal(address) !== undefined) {
      const { code, reason } = CLOSE_FRAMES.tooManyRequests
      socket.close(code, reason)
      return
    }
    const session = createSession(randomUUID(), credentials, {
      encoding,
      framePings,
      nowMs: nowMs(),
    })
    const onSlow = (connection: Connection): void => this.#reconcile(connection)
    const admissionSlot = admission.opened(address)
    const connectionOptions = { nowMs, random, onSlow, admissionSlot, boundary }
    const connection = new Connection(socket, session, connectionOptions)
    this.#bySocket.set(socket, connection)
    metrics.socketConnections.set(this.size)
  }

  /** An error came up while something of this connection was handled: only it ends. */
  failed(socket: Socket): void {
    const connection = this.#bySocket.get(socket)
    if (connection === undefined) socket.drop()
    else connection.close(CLOSE_FRAMES.internal)
  }

  /** A WebSocket-level ping or pong came in. */
  alive(socket: Socket): void {
    const connection = this.#bySocket.get(socket)
    if (connection?.open !== true) return
    const nowMs = this.#options.nowMs()
    connection.heartbeat = { ...connection.heartbeat, seenMs: nowMs }
    connection.controlFrames = takeToken(connection.controlFrames, CONTROL_FRAME_RATE, nowMs)
    if (connection.controlFrames.tokens < 0) connection.close(CLOSE_FRAMES.tooManyRequests)
  }

  /** One inbound message. Commands of a connection run one after another. */
  message(socket: Socket, message: Uint8Array): void {
    const connection = this.#bySocket.get(socket)
    if (connection?.open !== true) return
    connection.heartbeat = { ...connection.heartbeat, seenMs: this.#options.nowMs() }
    this.#queue(connection, message)
  }

  overflowed(socket: Socket): void {
    this.#bySocket.get(socket)?.closeAsSlow()
  }

  closed(socket: Socket): void {
    const connection = this.#bySocket.get(socket)
    if (connection === undefined) return
    const { boundary, hub, metrics } = this.#options
    this.#bySocket.delete(socket)
    connection.markClosed()
    connection.admissionSlot.closed()
    metrics.socketConnections.set(this.size)
    metrics.socketSubscriptions.dec(connection.session.channels.size)
    for (const channel of connection.session.channels.values()) {
      this.#limits.remove(connection.orgId, channel)
      boundary.run('close', () => hub.leave(connection, channel))
    }
    boundary.run('close', () => this.#charge(connection))
  }

  /** Pings connections, and closes silent, expired or overdue ones. */
  checkHeartbeats(): void {
    const nowMs = this.#options.nowMs()
    this.#each((connection) => {
      connection.dropIfOverdue()
      if (!connection.open) return
      const action = nextHeartbeatAction(connection.heartbeat, connection.session, nowMs)
      if (action === undefined) return
      if (action !== 'ping') connection.close(action)
      else {
        connection.heartbeat = withPingSent(connection.heartbeat, nowMs)
        connection.socket.ping()
        if (!connection.session.framePings) connection.send(connection.codec.ping)
      }
    })
  }

  /** Checks every queue: slow connections are served directly, or closed. */
  sweep(): void {
    this.#each((connection) => {
      if (connection.checkQueue()) this.#reconcile(connection)
    })
  }

  /** Charges what was pushed since the last time. */
  charge(): void {
    this.#each((connection) => this.#charge(connection))
  }

  /** Does something for every connection; where that fails, only that connection ends. */
  #each(work: (connection: Connection) => void): void {
    const { boundary } = this.#options
    for (const connection of this.#bySocket.values()) {
      boundary.run(
        'timer',
        () => work(connection),
        () => connection.close(CLOSE_FRAMES.internal),
      )
    }
  }

  /** Closes connections with a revoked credential. */
  revoke(revoked: RevokedCredential): void {
    this.#each((connection) => {
      if (isRevoked(revoked, connection.principal)) connection.close(CLOSE_FRAMES.invalidToken)
    })
  }

  /** Ends the subscriptions to channels of which something was lost; their clients subscribe again and learn it. */
  unsubscribe(lost: (channel: Channel) => boolean): void {
    this.#each((connection) => {
      const ended = [...connection.session.channels.values()].filter(lost)
      if (ended.length === 0) return
      const channels = new Map(connection.session.channels)
      for (const channel of ended) {
        channels.delete(channel.literal)
        this.#limits.remove(connection.orgId, channel)
        this.#apply(connection, { type: 'leave', channel })
        const { insufficientState } = UNSUBSCRIBE_REASONS
        connection.send(connection.codec.formatUnsubscribe(channel.literal, insufficientState))
      }
      this.#replaceSession(connection, { ...connection.session, channels })
    })
  }

  /** Closes the next `count` connections. */
  closeSome(count: number, close: CloseFrame): void {
    let left = count
    this.#each((connection) => {
      if (!connection.open || left === 0) return
      left -= 1
      connection.close(close)
    })
  }

  #queue(connection: Connection, message: Uint8Array): void {
    if (!connection.open) return
    const { backlog } = connection
    if (backlog === null) this.#receive(connection, message)
    else if (backlog.messages.length < MAX_BACKLOG && backlog.length < MAX_BACKLOG_BYTES) {
      backlog.messages.push(Uint8Array.from(message))
      backlog.length += message.length
    } else connection.close(CLOSE_FRAMES.tooManyRequests)
  }

  #receive(connection: Connection, message: Uint8Array): void {
    const commands = connection.codec.parse(message)
    if (commands === undefined) connection.close(CLOSE_FRAMES.badRequest)
    else if (commands.some(carriesCredential)) this.#runWhenPrepared(connection, commands)
    else this.#run(connection, commands, { freshness: {} })
  }

  /** A credential has to be authenticated, and connect returns the freshness of the chains; later messages wait. */
  #runWhenPrepared(connection: Connection, commands: readonly Command[]): void {
    connection.backlog = { messages: [], length: 0 }
    this.#prepare(connection, commands)
      .then((prepared) => {
        const waiting = connection.backlog?.messages ?? []
        connection.backlog = null
        if (!connection.open) return
        this.#run(connection, commands, prepared)
        for (const message of waiting) this.#queue(connection, message)
      })
      .catch((error: unknown) => {
        const { boundary } = this.#options
        boundary.failed('message', error)
        boundary.run('message', () => connection.close(CLOSE_FRAMES.internal))
      })
  }

  /** Of several credentials in one message only the first is authenticated. */
  async #prepare(connection: Connection, commands: readonly Command[]): Promise<Prepared> {
    const { guard, freshness } = this.#options
    const presented = commands.flatMap(
      (command) => commandCredentials(connection.session, command) ?? [],
    )[0]
    const fresh = connection.session.phase === 'fresh' ? freshness() : {}
    const identified = presented && (await guard.identify(presented))
    // What was not checked is not wrong: the answer at once, from what was checked before, would say so.
    const isUnchecked =
      identified instanceof Fault &&
      (identified.faultName === 'RATE_LIMIT' || identified.status >= 500)
    return { freshness: await fresh, ...(isUnchecked && { unchecked: identified }) }
  }

  #run(connection: Connection, commands: readonly Command[], prepared: Prepared): void {
    const env = this.#sessionEnv(prepared)
    const replies: Reply[] = []
    const effects: Effect[] = []
    let close: CloseFrame | undefined
    for (const command of commands) {
      const outcome = runCommand(connection.session, command, env)
      this.#replaceSession(connection, outcome.session)
      if (outcome.reply !== undefined) replies.push(outcome.reply)
      for (const effect of outcome.effects ?? []) {
        this.#count(connection, effect)
        effects.push(effect)
      }
      close = outcome.close
      if (close !== undefined) break
    }
    sendReplies(connection, replies)
    for (const effect of effects) this.#apply(connection, effect)
    if (connection.hasUnbilledReads) this.#charge(connection)
    if (close !== undefined) connection.close(close)
  }

  /** Counted before it is executed: the next command of the message is decided by it. */
  #count({ orgId }: Connection, effect: Effect): void {
    if (effect.type === 'join') this.#limits.add(orgId, effect.channel)
    else if (effect.type === 'leave') this.#limits.remove(orgId, effect.channel)
  }

  #replaceSession(connection: Connection, session: Connection['session']): void {
    const before = connection.session
    connection.session = session
    this.#options.metrics.socketSubscriptions.inc(session.channels.size - before.channels.size)
    if (session.phase === 'rejected' && before.phase !== 'rejected') {
      connection.heartbeat = { ...connection.heartbeat, rejectedMs: this.#options.nowMs() }
    }
  }

  #apply(connection: Connection, effect: Effect): void {
    const { hub } = this.#options
    if (effect.type === 'admit') {
      connection.admissionSlot.accepted(effect.principal.orgId)
    } else if (effect.type === 'bill') connection.billRead(effect.bytes)
    else if (effect.type === 'join') {
      connection.billRead(effect.recoveredBytes)
      hub.join(connection, effect.channel, effect)
    } else {
      connection.discard(effect.channel.literal)
      hub.leave(connection, effect.channel)
    }
  }

  #sessionEnv({ freshness, unchecked }: Prepared): SessionEnv {
    const { hub, guard, meter, nowMs, chains, admission } = this.#options
    return {
      nowMs: nowMs(),
      chains,
      freshness,
      hasRoomFor: (orgId) => admission.hasRoomFor(orgId),
      authenticate: (credentials) =>
        unchecked ?? checkQuota(guard.authenticate(credentials), meter),
      positionOf: (channel) => hub.positionOf(channel),
      recover: (channel, since, view) => hub.recover(channel, since, view),
      hasRoomForSubscription: (...asked) => this.#limits.hasRoomFor(...asked),
      filterOf: (orgId, row, text) =>
        this.#limits.filterOf(orgId, row, text) ?? this.#filters(orgId, row, text),
      longNames: this.#options.longNames,
      deltas: this.#options.deltas,
      historyOf: (channel, query) => hub.historyOf(channel, query),
    }
  }

  #reconcile(connection: Connection): void {
    this.#options.hub.reconcile(connection, connection.session.channels.values())
  }

  #charge(connection: Connection): void {
    const { meter, metrics, log } = this.#options
    this.#reconcile(connection)
    const bytes = connection.takeBytes()
    const { principal } = connection
    if (bytes === 0 || principal === null) return
    metrics.socketBytes.inc(bytes)
    const units = bytes * MILLI_UNITS_PER_BYTE
    try {
      meter.reserve(principal, units, 'streams').settle(units)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      log.info({ orgId: principal.orgId, reason: error.message }, 'stream quota exceeded')
      // It was delivered, so it counts, beyond the quota too: what is left would pay for the next ten seconds again.
      meter.reserve(principal, 0, 'streams').settle(units)
      connection.close(CLOSE_FRAMES.quotaExceeded)
    }
  }
}

const carriesCredential = (command: Command): boolean =>
  command.kind === 'call' && (command.method === 'connect' || command.method === 'refresh')

const sendReplies = (connection: Connection, replies: readonly Reply[]): void => {
  const { codec } = connection
  const maxReplies = canBatchReplies(connection.session) ? MAX_BATCH : 1
  let batch: Frame[] = []
  let length = 0
  const flush = (): void => {
    if (batch.length > 0) connection.send(codec.join(batch))
    batch = []
    length = 0
  }
  for (const reply of replies) {
    const frame = codec.formatReply(reply)
    if (batch.length >= maxReplies || length + frame.length > MAX_BATCH_LENGTH) flush()
    batch.push(frame)
    length += frame.length
  }
  flush()
}
