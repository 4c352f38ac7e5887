import type { ErrorBoundary } from '../../core/ops/error-boundary.ts'

/** The socket as the hub sees it: what uWebSockets.js and `ws` have in common. */

import type { TlsFiles } from '../../core/config/tls-files.ts'
import type { Frame } from './frame-codec.ts'

/** One open socket. Every call on a closed one does nothing. */
export interface Socket {
  send(frame: Frame): void
  /** A WebSocket-level ping. */
  ping(): void
  /** Bytes that were sent and not yet taken by the kernel. */
  buffered(): number
  join(topic: string): void
  leave(topic: string): void
  /** Sends what is queued, then the close frame. */
  close(code: number, reason: string): void
  /** Ends the connection without a close frame. */
  drop(): void
}

/** What an upgrade request carries. Header names are lower case; absent ones are "". */
export interface UpgradeRequest {
  readonly method: string
  readonly path: string
  /** Raw query string without `?`. */
  readonly query: string
  /** Address of the peer: of the last proxy, where there is one. */
  readonly ip: string
  header(name: string): string
}

/** Answer to an upgrade: a connection with its subprotocol ("" = none), or an HTTP answer. */
export type UpgradeDecision<Context> =
  | { readonly accepted: true; readonly protocol: string; readonly context: Context }
  | {
      readonly accepted: false
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }

/** What the transport calls. */
export interface SocketEvents<Context> {
  upgrade(request: UpgradeRequest): Promise<UpgradeDecision<Context>>
  open(socket: Socket, context: Context): void
  /** The bytes of one message, text or binary; they are the library's again after the call. */
  message(socket: Socket, message: Uint8Array): void
  /** A WebSocket-level ping or pong came in. */
  alive(socket: Socket): void
  /** A publication was not queued because the socket's queue is full. */
  overflowed(socket: Socket): void
  /** An error came up while something of this socket was handled. */
  failed(socket: Socket): void
  closed(socket: Socket): void
}

/** Where the server listens, and the bounds of one socket. */
export interface SocketOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Larger messages end the connection without a close frame. */
  readonly maxInboundBytes: number
  /** A queue above this takes no more publications. */
  readonly maxQueuedBytes: number
  /** TCP connections, upgraded or not; further ones are closed at once. */
  readonly maxConnections: number
  /** Every callback of the library runs inside it. */
  readonly boundary: ErrorBoundary
  /** Present: it speaks TLS only. */
  readonly tls?: TlsFiles | undefined
}

/** A listening server. */
export interface SocketServer {
  readonly transport: 'uws' | 'ws'
  readonly port: number
  /** Sends the same bytes to every socket that joined the topic. */
  publish(topic: string, frame: Frame): void
  /** Takes no new connections. */
  refuse(): void
  /** Ends what is still open and frees the port. */
  stop(): Promise<void>
}
