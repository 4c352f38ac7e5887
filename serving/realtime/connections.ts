import { randomUUID } from 'node:crypto'
import { Fault } from '../../core/fault.ts'
import type { Logger } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { ChainFreshness, Gone, Guard, Meter } from '../contract.ts'
import { step } from './commands.ts'
import { Connection } from './connection.ts'
import { due, pinged } from './heartbeat.ts'
import type { Hub } from './hub.ts'
import { CLOSES, type Close, type Command, PING, parseMessage } from './protocol.ts'
import { type Effect, freshSession, mayBatch, type World } from './session.ts'
import { shownBy } from './session-credentials.ts'
import type { Socket } from './socket.ts'
import { type Opening, withQuota } from './upgrade.ts'

/** What connections need. */
export interface ConnectionsOptions {
  readonly hub: Hub
  readonly guard: Guard
  readonly meter: Meter
  /** Newest freshness of every chain with data; does not fail, does not hang. */
  readonly freshness: () => Promise<Readonly<Record<string, ChainFreshness>>>
  readonly chains: ReadonlySet<string>
  readonly connectionLimit: number
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
  readonly random: () => number
}

/** Thousandths of a CU per payload byte: 0.005 CU (contract/billing-errors.md 3.3). */
const MILLI_UNITS_PER_BYTE = 5
/** Messages that may wait for the connect reply. */
const MAX_BACKLOG = 64
/** Replies in one frame, where the client splits frames. */
const MAX_BATCH = 16

/** Every open connection, and everything that happens to them. */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #bySocket = new Map<Socket, Connection>()
  readonly #perOrg = new Map<string, number>()

  constructor(options: ConnectionsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#bySocket.size
  }

  open(socket: Socket, { credentials, framePings }: Opening): void {
    const { nowMs, random, metrics } = this.#options
    const session = freshSession(randomUUID(), credentials, { framePings, nowMs: nowMs() })
    const onSlow = (connection: Connection): void => this.#review(connection)
    this.#bySocket.set(socket, new Connection(socket, session, { nowMs, random, onSlow }))
    metrics.socketConnections.set(this.size)
  }

  alive(socket: Socket): void {
    const connection = this.#bySocket.get(socket)
    if (connection) connection.pulse = { ...connection.pulse, seenMs: this.#options.nowMs() }
  }

  /** One inbound message. Commands of a connection run one after another. */
  message(socket: Socket, text: string): void {
    const connection = this.#bySocket.get(socket)
    if (connection?.open !== true) return
    this.alive(socket)
    this.#queue(connection, text)
  }

  overflowed(socket: Socket): void {
    this.#bySocket.get(socket)?.giveUp()
  }

  closed(socket: Socket): void {
    const connection = this.#bySocket.get(socket)
    if (connection === undefined) return
    this.#bySocket.delete(socket)
    connection.gone()
    for (const channel of connection.session.channels.values()) {
      this.#options.hub.leave(connection, channel)
    }
    this.#charge(connection)
    const { principal } = connection
    if (principal) this.#count(principal.orgId, -1)
    this.#options.metrics.socketConnections.set(this.size)
    this.#options.metrics.socketSubscriptions.dec(connection.session.channels.size)
  }

  /** Pings, and closes whoever is silent, expired or late. */
  beat(): void {
    const nowMs = this.#options.nowMs()
    for (const connection of this.#bySocket.values()) {
      if (!connection.open) continue
      const wish = due(connection.pulse, connection.session, nowMs)
      if (wish === undefined) continue
      if (wish !== 'ping') connection.close(wish)
      else {
        connection.pulse = pinged(connection.pulse, nowMs)
        connection.socket.ping()
        if (!connection.session.framePings) connection.send(PING)
      }
    }
  }

  /** Looks at every queue: who is slow is served one by one, or not at all. */
  sweep(): void {
    for (const connection of this.#bySocket.values()) {
      if (connection.checkQueue()) this.#review(connection)
    }
  }

  /** Charges what was pushed since the last time. */
  charge(): void {
    for (const connection of this.#bySocket.values()) this.#charge(connection)
  }

  /** Closes whoever uses a credential that is gone. */
  revoke({ appId, credentialId, kind }: Gone): void {
    for (const connection of this.#bySocket.values()) {
      const { principal } = connection
      if (principal?.appId !== appId) continue
      if (credentialId !== undefined && principal.credentialId !== credentialId) continue
      if (kind !== undefined && principal.kind !== kind) continue
      connection.close(CLOSES.invalidToken)
    }
  }

  /** Closes the next `count` connections. */
  closeSome(count: number, close: Close): void {
    let left = count
    for (const connection of this.#bySocket.values()) {
      if (!connection.open) continue
      if (left === 0) return
      left -= 1
      connection.close(close)
    }
  }

  #queue(connection: Connection, text: string): void {
    if (!connection.open) return
    if (connection.backlog === null) this.#take(connection, text)
    else if (connection.backlog.length < MAX_BACKLOG) connection.backlog.push(text)
    else connection.close(CLOSES.tooManyRequests)
  }

  #take(connection: Connection, text: string): void {
    const commands = parseMessage(text)
    if (commands === undefined) connection.close(CLOSES.badRequest)
    else if (commands.some(isCredential)) this.#takeLater(connection, commands)
    else this.#run(connection, commands, {})
  }

  /** A credential has to be looked at, and connect tells how fresh the chains are; everything behind it waits. */
  #takeLater(connection: Connection, commands: readonly Command[]): void {
    connection.backlog = []
    this.#prepare(connection, commands)
      .then((freshness) => {
        const backlog = connection.backlog ?? []
        connection.backlog = null
        if (!connection.open) return
        this.#run(connection, commands, freshness)
        for (const text of backlog) this.#queue(connection, text)
      })
      .catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'a message was not taken')
        connection.close(CLOSES.internal)
      })
  }

  /** Of several credentials in one message the first is looked at: nobody needs more. */
  async #prepare(
    connection: Connection,
    commands: readonly Command[],
  ): Promise<World['freshness']> {
    const { guard, freshness } = this.#options
    const shown = commands.flatMap((command) => shownBy(connection.session, command) ?? [])[0]
    const fresh = connection.session.phase === 'fresh' ? freshness() : {}
    if (shown !== undefined) await guard.identify(shown)
    return fresh
  }

  #run(connection: Connection, commands: readonly Command[], freshness: World['freshness']): void {
    const world = this.#world(freshness)
    const replies: string[] = []
    const effects: Effect[] = []
    let close: Close | undefined
    for (const command of commands) {
      const outcome = step(connection.session, command, world)
      this.#adopt(connection, outcome.session)
      if (outcome.reply !== undefined) replies.push(outcome.reply)
      effects.push(...(outcome.effects ?? []))
      close = outcome.close
      if (close !== undefined) break
    }
    sendAll(connection, replies)
    for (const effect of effects) this.#apply(connection, effect)
    if (close !== undefined) connection.close(close)
  }

  #adopt(connection: Connection, session: Connection['session']): void {
    const before = connection.session
    connection.session = session
    this.#options.metrics.socketSubscriptions.inc(session.channels.size - before.channels.size)
    if (session.phase === 'rejected' && before.phase !== 'rejected') {
      connection.pulse = { ...connection.pulse, rejectedMs: this.#options.nowMs() }
    }
  }

  #apply(connection: Connection, effect: Effect): void {
    const { hub } = this.#options
    if (effect.type === 'admit') this.#count(effect.principal.orgId, 1)
    else if (effect.type === 'join') {
      connection.bill(effect.recoveredBytes)
      hub.join(connection, effect.channel, effect)
    } else {
      connection.drop(effect.channel.literal)
      hub.leave(connection, effect.channel)
    }
  }

  #world(freshness: World['freshness']): World {
    const { hub, guard, meter, nowMs, chains, connectionLimit } = this.#options
    return {
      nowMs: nowMs(),
      chains,
      freshness,
      connectionLimit,
      connectionsOf: (orgId) => this.#perOrg.get(orgId) ?? 0,
      authenticate: (credentials) => withQuota(guard.authenticate(credentials), meter),
      positionOf: (channel) => hub.positionOf(channel),
      recover: (channel, since, retractions) => hub.recover(channel, since, retractions),
      historyOf: (channel) => hub.historyOf(channel),
    }
  }

  #count(orgId: string, change: number): void {
    const count = (this.#perOrg.get(orgId) ?? 0) + change
    if (count > 0) this.#perOrg.set(orgId, count)
    else this.#perOrg.delete(orgId)
  }

  #review(connection: Connection): void {
    this.#options.hub.review(connection, connection.session.channels.values())
  }

  #charge(connection: Connection): void {
    const { meter, metrics, log } = this.#options
    this.#review(connection)
    const bytes = connection.takeBytes()
    const { principal } = connection
    if (bytes === 0 || principal === null) return
    metrics.socketBytes.inc(bytes)
    try {
      const units = bytes * MILLI_UNITS_PER_BYTE
      meter.reserve(principal, units, 'streams').settle(units)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      log.info({ orgId: principal.orgId, reason: error.message }, 'stream quota used up')
      connection.close(CLOSES.quotaExceeded)
    }
  }
}

const isCredential = (command: Command): boolean =>
  command.kind === 'call' && (command.method === 'connect' || command.method === 'refresh')

const sendAll = (connection: Connection, replies: readonly string[]): void => {
  const size = mayBatch(connection.session) ? MAX_BATCH : 1
  for (let at = 0; at < replies.length; at += size) {
    connection.send(replies.slice(at, at + size).join('\n'))
  }
}
