import type { Fault } from '../../core/errors.ts'
import type { ChainFreshness, Credentials, Principal } from '../interfaces.ts'
import type { Channel } from './channel-name.ts'
import type { Encoding } from './frame-codec.ts'
import { COMMAND_RATE, fullBudget, type InboundBudget } from './inbound-rates.ts'
import type { MeteredFilters } from './metered-filters.ts'
import {
  type CloseFrame,
  type Command,
  errorReply,
  type ProtocolError,
  type PublicationFrame,
  READ_BURST_BYTES,
  type Reply,
} from './protocol.ts'
import type { PublicationFilter } from './publication-filter.ts'
import type { SubscriptionView } from './subscription-view.ts'

/** A channel as a connection has subscribed to it. */
export interface Subscription extends Channel {
  /** Null without one. */
  readonly filter: PublicationFilter | null
}

/** Immutable state of one connection. */
export interface Session {
  readonly clientId: string
  /** `rejected`: connect was answered with 109; whatever follows is ignored. */
  readonly phase: 'fresh' | 'connected' | 'rejected'
  readonly upgrade: Credentials
  readonly encoding: Encoding
  /** WebSocket pings instead of `{}` (`cf_ws_frame_ping_pong=true`). */
  readonly framePings: boolean
  readonly principal: Principal | null
  /** `connect.name`: js, go and python split frames by newline. */
  readonly name: string
  readonly channels: ReadonlyMap<string, Subscription>
  readonly bucket: InboundBudget
  /** Payload bytes that may still be read, or filtered, for it from what is kept, as of `atMs`. */
  readonly reads: { readonly bytes: number; readonly atMs: number }
}

/** Stream position of a subscriber in a recoverable channel. */
export interface Position {
  readonly epoch: string
  readonly offset: number
}

/** Result of a recovery: the missed publications, or that they are no longer retained. */
export type Recovery = {
  /** Steps of the filter, for what it let through and for what it kept out. */
  readonly filterSteps: number
} & (
  | {
      readonly recovered: true
      readonly publications: readonly PublicationFrame[]
      /** Bytes of their payloads, billed like pushed ones. */
      readonly bytes: number
    }
  | {
      readonly recovered: false
      /** Payload bytes that were read before it turned out to be too much. */
      readonly bytes: number
    }
)

/** Query of the history. */
export interface HistoryQuery {
  /** Only those after this position, or before it when reversed. */
  readonly since: number | undefined
  /** Newest first. */
  readonly reverse: boolean
  readonly limit: number
}

/** Kept publications, no more than one reply may hold. */
export interface HistoryPage {
  readonly publications: readonly PublicationFrame[]
  /** Bytes of their payloads, billed like pushed ones. */
  readonly bytes: number
}

/** What the handlers may call; every call returns at once. */
export interface SessionEnv {
  readonly nowMs: number
  readonly chains: ReadonlySet<string>
  /** Freshness for the connect reply; chains without data are left out. */
  readonly freshness: Readonly<Record<string, ChainFreshness>>
  /** True where another connection of the organization fits. */
  hasRoomFor(orgId: string): boolean
  authenticate(credentials: Credentials): Principal | Fault | undefined
  /** Current top of a recoverable channel; null = the channel is plain. */
  positionOf(channel: Channel): Position | null
  recover(channel: Channel, since: Position, view: SubscriptionView): Recovery
  /** See `SubscriptionLimits`. */
  hasRoomForSubscription(orgId: string, channel: Channel, filterText: string): boolean
  /** See `MeteredFilters`. */
  readonly filterOf: MeteredFilters
  /** True: clients without a name get both key sets where families have them. */
  readonly longNames: boolean
  /** True: subscriptions that ask for Fossil deltas get them. */
  readonly deltas: boolean
  /** Kept publications of a recoverable channel; undefined where some after `since` are no longer kept. */
  historyOf(channel: Channel, query: HistoryQuery): HistoryPage | undefined
}

/** Side effects, executed in order after the replies of the message are written. */
export type Effect =
  | { readonly type: 'admit'; readonly principal: Principal }
  | { readonly type: 'leave'; readonly channel: Subscription }
  /** Payload bytes of a history reply. */
  | { readonly type: 'bill'; readonly bytes: number }
  | {
      readonly type: 'join'
      readonly channel: Subscription
      readonly view: SubscriptionView
      /** Publications up to here are not sent: the client has them. */
      readonly after: number
      /** Payload bytes of the recovered publications in the reply. */
      readonly recoveredBytes: number
    }

/** Outcome of one command. */
export interface CommandResult {
  readonly session: Session
  readonly reply?: Reply
  readonly effects?: readonly Effect[]
  readonly close?: CloseFrame
}
/** A command with an id: it is answered. */
export type MethodCall = Extract<Command, { kind: 'call' }>

/** What one method does: a session in, the next one and what follows out. */
export type CommandHandler = (session: Session, call: MethodCall, env: SessionEnv) => CommandResult

/** A connection that was just opened. */
export const createSession = (
  clientId: string,
  upgrade: Credentials,
  {
    encoding,
    framePings,
    nowMs,
  }: { readonly encoding: Encoding; readonly framePings: boolean; readonly nowMs: number },
): Session => ({
  clientId,
  phase: 'fresh',
  upgrade,
  encoding,
  framePings,
  principal: null,
  name: '',
  channels: new Map(),
  bucket: fullBudget(COMMAND_RATE, nowMs),
  reads: { bytes: READ_BURST_BYTES, atMs: nowMs },
})

/** True where several replies may share one frame. */
export const canBatchReplies = ({ encoding, name }: Session): boolean =>
  encoding === 'protobuf' || ['js', 'go', 'python'].includes(name)

/** Answers a command with an error; the session stays as it is. */
export const replyWithError = (
  session: Session,
  { id }: MethodCall,
  error: ProtocolError,
): CommandResult => ({
  session,
  reply: errorReply(id, error),
})
