import type { ErrorBoundary } from '../../core/ops/error-boundary.ts'
import type { Principal } from '../interfaces.ts'
import type { AdmissionSlot } from './admission.ts'
import type { Push, Subscriber } from './fanout.ts'
import { FRAME_CODECS, type Frame, type FrameCodec } from './frame-codec.ts'
import {
  type ControlFrameBudget,
  type HeartbeatState,
  initialControlBudget,
  initialHeartbeat,
} from './heartbeat.ts'
import { CLOSE_FRAMES, type CloseFrame } from './protocol.ts'
import type { Session } from './session.ts'
import type { Socket } from './socket.ts'

/** Above this, latest-value channels keep only their newest publication. */
const CONFLATE_BYTES = 256 * 1_024
/** Above this, the connection is closed as too slow. */
export const MAX_QUEUED_BYTES = 1_024 * 1_024
/** Below this, a congested connection goes back to the shared topics. */
const RESUME_BYTES = 64 * 1_024
/** How long the close frame may take to get through to a slow reader, and the answer to it to come back. */
const CLOSE_GRACE_MS = 5_000

/** One connection: its session, its clock, and what it is owed while its queue is long. */
export class Connection implements Subscriber {
  readonly socket: Socket
  session: Session
  pulse: HeartbeatState
  controls: ControlFrameBudget
  /** Where it is counted among the connections of the process and its address. */
  readonly counted: AdmissionSlot
  /** Organization whose connections it is counted among; null = not connected yet. */
  orgId: string | null = null
  /** Messages that came in while connect waits for freshness, and their length; null = none is waiting. */
  backlog: { readonly messages: Uint8Array[]; length: number } | null = null
  #congested = false
  #slowSinceMs: number | null = null
  #closed = false
  /** When the close frame was sent; null = none was. */
  #closedMs: number | null = null
  #bytes = 0
  #owesForReads = false
  /** Newest publication of each conflated channel, by literal name and facet. */
  readonly #held = new Map<string, Push>()
  readonly #nowMs: () => number
  readonly #onSlow: (connection: Connection) => void
  readonly #boundary: ErrorBoundary

  constructor(
    socket: Socket,
    session: Session,
    surroundings: {
      readonly nowMs: () => number
      readonly random: () => number
      /** It is given up: take it off the shared topics at once, or it would get publications with a hole between. */
      readonly onSlow: (connection: Connection) => void
      readonly counted: AdmissionSlot
      readonly boundary: ErrorBoundary
    },
  ) {
    const { nowMs, random, onSlow, counted, boundary } = surroundings
    this.socket = socket
    this.session = session
    this.pulse = initialHeartbeat(nowMs(), random)
    this.controls = initialControlBudget(nowMs())
    this.#nowMs = nowMs
    this.#onSlow = onSlow
    this.#boundary = boundary
    this.counted = counted
  }

  get congested(): boolean {
    return this.#congested
  }

  /** False once a close was decided: nothing more is read or sent. */
  get open(): boolean {
    return !this.#closed && this.#slowSinceMs === null
  }

  get principal(): Principal | null {
    return this.session.principal
  }

  /** What its frames are written in. */
  get codec(): FrameCodec {
    return FRAME_CODECS[this.session.encoding]
  }

  /** A reply or a push of its own. */
  send(frame: Frame): void {
    if (!this.open) return
    if (this.socket.buffered() > MAX_QUEUED_BYTES) this.giveUp()
    else this.socket.send(frame)
  }

  /** Never throws: a publication goes to others too. */
  deliver(push: Push): void {
    this.#boundary.run(
      'publish',
      () => this.#deliver(push),
      () => this.giveUp(),
    )
  }

  #deliver(push: Push): void {
    if (!this.open) return
    const queued = this.socket.buffered()
    const held = heldName(push)
    if (push.latest && (queued > CONFLATE_BYTES || this.#held.has(held))) {
      this.#held.delete(held)
      this.#held.set(held, push)
    } else if (queued > MAX_QUEUED_BYTES) this.giveUp()
    else this.#put(push)
  }

  bill(bytes: number): void {
    this.#bytes += bytes
  }

  /** Payload bytes that were read for it: charged at once, because it decides how many there are. */
  billRead(bytes: number): void {
    this.#bytes += bytes
    this.#owesForReads ||= bytes > 0
  }

  get owesForReads(): boolean {
    return this.#owesForReads
  }

  /** Payload bytes since the last call. */
  takeBytes(): number {
    const bytes = this.#bytes
    this.#bytes = 0
    this.#owesForReads = false
    return bytes
  }

  /** Nothing more of this channel is owed. */
  drop(literal: string): void {
    for (const [held, push] of this.#held) if (push.literal === literal) this.#held.delete(held)
  }

  /** Looks at the queue; true where `congested` has changed. */
  checkQueue(): boolean {
    if (this.#closed) return false
    const queued = this.socket.buffered()
    if (this.#slowSinceMs !== null) {
      if (queued === 0) this.close(CLOSE_FRAMES.slow)
      else if (this.#nowMs() - this.#slowSinceMs >= CLOSE_GRACE_MS) this.#drop()
      return false
    }
    if (queued > MAX_QUEUED_BYTES) this.giveUp()
    else if (!this.#congested && queued > CONFLATE_BYTES) return this.#turn(true)
    else if (this.#isOwed() && queued < RESUME_BYTES) return this.#relieve()
    return false
  }

  /** Too slow: the queue may drain for a while, then the connection goes, with its close frame if that gets through. */
  giveUp(): void {
    if (!this.open) return
    this.#slowSinceMs = this.#nowMs()
    this.#congested = true
    this.#held.clear()
    this.#onSlow(this)
  }

  close({ code, reason }: CloseFrame): void {
    if (this.#closed) return
    this.#closed = true
    this.#closedMs = this.#nowMs()
    this.#held.clear()
    this.socket.close(code, reason)
  }

  /** Ends a connection whose client does not answer the close frame; until then it may continue sending. */
  dropIfOverdue(): void {
    if (this.#closedMs === null || this.#nowMs() - this.#closedMs < CLOSE_GRACE_MS) return
    this.#closedMs = null
    this.socket.drop()
  }

  /** The socket is gone. */
  gone(): void {
    this.#closed = true
    this.#closedMs = null
    this.#held.clear()
  }

  #isOwed(): boolean {
    return this.#congested || this.#held.size > 0
  }

  #drop(): void {
    this.#closed = true
    this.socket.drop()
  }

  #put({ frames, payloadBytes }: Push): void {
    for (const frame of frames) this.socket.send(frame)
    this.#bytes += payloadBytes
  }

  #relieve(): boolean {
    for (const [held, push] of this.#held) {
      if (this.socket.buffered() > CONFLATE_BYTES) return false
      this.#held.delete(held)
      this.#put(push)
    }
    return this.#turn(false)
  }

  #turn(congested: boolean): true {
    this.#congested = congested
    return true
  }
}

const heldName = ({ literal, facet }: Push): string => `${literal}\n${facet}`
